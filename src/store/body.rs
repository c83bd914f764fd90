//! How bodies are kept: as they are, or compressed once, with a mark in the row.

use super::error::StoreError;
use bytes::Bytes;
use std::cell::RefCell;

/// A body as stored.
pub(super) struct Stored {
    pub(super) encoding: &'static str,
    pub(super) bytes: Bytes,
}

/// Below this, compression saves less than a page of the log and costs more than it saves.
const COMPRESS_FROM_BYTES: usize = 2048;

/// zstd's fastest ordinary level: 10 KB of JSON take about 30 us and shrink to a fifth; PostgreSQL
/// took 150 us for the same.
const LEVEL: i32 = 1;

type Compressor = zstd::bulk::Compressor<'static>;

thread_local! {
    // A context is some hundred KiB; making one for every body would cost more than its work.
    static COMPRESSOR: RefCell<Option<Compressor>> = const { RefCell::new(None) };
}

/// Packs a body for the store.
pub(super) fn pack(body: &Bytes) -> Stored {
    let plain = || Stored { encoding: "plain", bytes: body.clone() };
    if body.len() < COMPRESS_FROM_BYTES {
        return plain();
    }
    COMPRESSOR.with_borrow_mut(|slot| {
        if slot.is_none() {
            *slot = Compressor::new(LEVEL).ok();
        }
        match slot.as_mut().map(|compressor| compressor.compress(body)) {
            Some(Ok(bytes)) if bytes.len() < body.len() => {
                Stored { encoding: "zstd", bytes: bytes.into() }
            }
            _ => plain(),
        }
    })
}

/// Unpacks a stored body of `body_bytes` bytes; `None` once retention has forgotten it.
pub(super) fn unpack(
    encoding: &str,
    bytes: Vec<u8>,
    body_bytes: i64,
) -> Result<Option<Bytes>, StoreError> {
    match encoding {
        "plain" => Ok(Some(bytes.into())),
        "zstd" => {
            let capacity = usize::try_from(body_bytes).unwrap_or(0);
            let body = zstd::bulk::decompress(&bytes, capacity).map_err(|error| {
                StoreError::Refused(format!("a stored body is damaged: {error}"))
            })?;
            Ok(Some(body.into()))
        }
        _ => Ok(None),
    }
}
