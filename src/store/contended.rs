//! Transactions that got in each other's way are tried again.

use super::error::StoreError;

/// Times that work is tried again at once when another transaction was in its way.
const TRIES: usize = 8;

/// Does it again at once while other transactions are in its way, a bounded number of times.
pub(super) async fn while_contended<T, F: Future<Output = Result<T, StoreError>>>(
    once: impl Fn() -> F,
) -> Result<T, StoreError> {
    let mut tries = 0;
    loop {
        match once().await {
            Err(StoreError::Contended(_)) if tries < TRIES => tries += 1,
            result => return result,
        }
    }
}
