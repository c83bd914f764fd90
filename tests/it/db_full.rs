//! A full disk under SQLite: refused while it is full, never half done, and well again by itself.

use crate::harness::*;
use nix::unistd::geteuid;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

/// What a server writes to, which can be filled to the last byte.
enum Disk {
    /// A file system of its own, for those who may mount one.
    Mounted(PathBuf),
    /// The bound that the kernel puts on the files of a process, for everybody else.
    Bounded(u32),
}

impl Disk {
    /// A small disk under the data of a world, if this process may mount one.
    fn mount(world: &World) -> Option<Self> {
        let data = world.path().join("data");
        std::fs::create_dir(&data).unwrap();
        if !geteuid().is_root() {
            return None;
        }
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=16m", "tmpfs"]).arg(&data);
        mount.status().is_ok_and(|status| status.success()).then_some(Self::Mounted(data))
    }

    fn fill(&self) {
        match self {
            Self::Mounted(data) => {
                let mut file = File::create(data.join("filler")).unwrap();
                while file.write_all(&[0; 4096]).is_ok() {}
                while file.write_all(&[0]).is_ok() {}
            }
            Self::Bounded(pid) => limit(*pid, "4096"),
        }
    }

    fn free(&self) {
        match self {
            Self::Mounted(data) => std::fs::remove_file(data.join("filler")).unwrap(),
            Self::Bounded(pid) => limit(*pid, "unlimited"),
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        if let Self::Mounted(data) = self {
            let _ = Command::new("umount").arg("--lazy").arg(data).status();
        }
    }
}

/// Bounds the files of a process; a shell had it ignore the signal that comes with the bound.
fn limit(pid: u32, bytes: &str) {
    let mut prlimit = Command::new("prlimit");
    prlimit.args([format!("--pid={pid}"), format!("--fsize={bytes}:unlimited")]);
    assert!(prlimit.status().unwrap().success());
}

#[test]
fn a_full_disk_is_our_fault_and_passes_without_a_restart() {
    run(Engine::Sqlite, async |world| {
        let stub = Stub::ok().await;
        let mounted = Disk::mount(&world);
        let launch = world.posthouse(&straight("github", &stub));
        let server = launch.after("trap '' XFSZ").serve().await;
        let disk = mounted.unwrap_or(Disk::Bounded(server.pid()));
        assert_eq!(server.post("github", push("one", 0)).await.status, 200);
        server.settled().await;

        disk.fill();
        // What still fits into pages that are there already may be taken; then it is full.
        let padded = |n: usize| {
            let pad: String =
                (0..2000).map(|_| char::from(rand::random_range(b'a'..=b'z'))).collect();
            github(&format!("7d3c0071-{n}"), format!("{{\"n\":{n},\"pad\":\"{pad}\"}}"))
        };
        let mut accepted = 1;
        let mut n = 0;
        while server.post("github", padded(n)).await.status == 200 {
            (accepted, n) = (accepted + 1, n + 1);
            assert!(n < 1000, "the disk is never full");
        }
        for n in n..n + 10 {
            let answer = server.post("github", padded(n)).await;
            assert_eq!((answer.status, answer.header("retry-after")), (503, Some("5")));
        }
        assert_eq!(server.admin_exchange(&Request::new("GET", "/readyz")).await.status, 503);
        assert_eq!(server.deliveries("").await.len(), accepted);

        disk.free();
        for n in n..n + 10 {
            let answer = server.post("github", padded(n)).await;
            assert_eq!(answer.status, 200, "{}", answer.text());
        }
        let jobs = server.settled().await;
        assert!(jobs.iter().all(|job| job["state"] == "succeeded"), "{jobs:#?}");
        assert_eq!(server.deliveries("").await.len(), accepted + 10);
        assert_eq!(stub.calls(), accepted + 10);
        let query = "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'";
        assert_eq!(world.database.number(query).await, 1);
        drop(server);
    });
}
