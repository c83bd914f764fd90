//! Ends what the tests started when the test process ends, however it ends.
//!
//! A shell waits at the far end of a pipe. The kernel closes the pipe with the process, even after
//! `kill -9`; the shell then stops the programs it was told of and removes their directories.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{LazyLock, Mutex, PoisonError};

/// Programs are killed, `databases` shut down at once by SIGQUIT, as PostgreSQL calls it: their own
/// children then end too. Whoever is still there after five seconds is killed.
const SCRIPT: &str = r#"
pids= databases=
while read -r what which; do
    case $what in
        kill) pids="$pids $which " ;;
        stop) pids="$pids $which " databases="$databases $which " ;;
        forget)
            case $pids in
                *" $which "*) pids="${pids%% $which *} ${pids#* $which }" ;;
            esac ;;
        remove) set -- "$@" "$which" ;;
    esac
done
for pid in $pids; do
    case $databases in
        *" $pid "*) kill -QUIT "$pid" ;;
        *) kill -KILL "$pid" ;;
    esac
done
n=0
for pid in $pids; do
    while kill -0 "$pid" && [ $n -lt 50 ]; do sleep 0.1; n=$((n + 1)); done
    kill -KILL "$pid"
done
for path; do rm -rf -- "$path"; done
"#;

static SHELL: LazyLock<Mutex<Child>> = LazyLock::new(|| {
    let mut shell = Command::new("sh");
    // A group of its own, so that Ctrl-C in a terminal ends the tests and not their guard.
    shell.args(["-c", SCRIPT]).process_group(0);
    shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    Mutex::new(shell.spawn().expect("a shell"))
});

/// Kills a program at the end.
pub fn kill_at_end(pid: u32) {
    tell(&format!("kill {pid}"));
}

/// Shuts a PostgreSQL server down at the end.
pub fn stop_at_end(pid: u32) {
    tell(&format!("stop {pid}"));
}

/// Forgets a process, which has ended already: its number may come again.
pub fn forget(pid: u32) {
    tell(&format!("forget {pid}"));
}

/// Removes a directory at the end.
pub fn remove_at_end(path: &Path) {
    tell(&format!("remove {}", path.display()));
}

fn tell(line: &str) {
    let mut shell = SHELL.lock().unwrap_or_else(PoisonError::into_inner);
    let pipe = shell.stdin.as_mut().expect("a pipe");
    writeln!(pipe, "{line}").expect("the guard is there");
}
