//! How fast the disk makes small writes durable: what every figure with a store depends on.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::time::{Duration, Instant};

/// Bytes written before each sync: a row of `pgbench`, a small delivery.
const WRITE_BYTES: usize = 1024;

/// How long it is tried.
const LENGTH: Duration = Duration::from_secs(1);

/// Writes of 1 KB that one thread makes durable in a second, over the same place of a file, as
/// both stores write their logs.
pub fn syncs_per_second() -> anyhow::Result<f64> {
    let mut file: File = tempfile::tempfile()?;
    let block = [b'x'; WRITE_BYTES];
    let begun = Instant::now();
    let mut count = 0;
    while begun.elapsed() < LENGTH {
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&block)?;
        file.sync_data()?;
        count += 1;
    }
    Ok(f64::from(count) / begun.elapsed().as_secs_f64())
}
