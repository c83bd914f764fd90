//! What processes used, as the kernel says in `/proc`.

use anyhow::Context;
use std::fs;

/// Microseconds in one tick of `/proc/PID/stat`: USER_HZ is 100 on every Linux that Rust runs on.
const TICK_US: u64 = 10_000;

/// CPU time of a process and of its children that ended, in microseconds.
pub fn cpu_us(pid: u32) -> anyhow::Result<u64> {
    let fields = stat(pid)?;
    // utime, stime, cutime and cstime are fields 14 to 17; the third one is at index 0 here.
    let ticks = fields.iter().skip(11).take(4).filter_map(|field| field.parse::<u64>().ok());
    Ok(ticks.sum::<u64>() * TICK_US)
}

/// CPU time of a process and of its living children, in microseconds: those that ended while this
/// was read are counted with their parent the next time.
pub fn family_cpu_us(parent: u32) -> anyhow::Result<u64> {
    let mut sum_us = cpu_us(parent)?;
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
        let is_child = stat(pid).is_ok_and(|fields| fields.get(1) == Some(&parent.to_string()));
        if is_child {
            sum_us += cpu_us(pid).unwrap_or_default();
        }
    }
    Ok(sum_us)
}

/// The fields of `/proc/PID/stat` after the name, which may hold spaces: state, parent, and so on.
fn stat(pid: u32) -> anyhow::Result<Vec<String>> {
    let path = format!("/proc/{pid}/stat");
    let text = fs::read_to_string(&path).context(path)?;
    let (_, rest) = text.rsplit_once(')').context("a process without a name")?;
    Ok(rest.split_whitespace().map(str::to_owned).collect())
}

/// Resident memory of a process.
#[derive(Clone, Copy, Debug, Default)]
pub struct Memory {
    /// The most there ever was, in MiB.
    pub peak_mib: f64,
    /// What there is now, in MiB.
    pub now_mib: f64,
}

/// Resident memory of a process.
pub fn memory(pid: u32) -> anyhow::Result<Memory> {
    let path = format!("/proc/{pid}/status");
    let text = fs::read_to_string(&path).context(path)?;
    let mib = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok());
        kib.map(|kib| kib / 1024.0).with_context(|| format!("{name} is not in /proc"))
    };
    Ok(Memory { peak_mib: mib("VmHWM:")?, now_mib: mib("VmRSS:")? })
}
