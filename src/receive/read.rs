//! Reads a body: all of it, byte for byte, within the source's limit and the memory there is.

use super::{Answer, Entry, Head, Intake};
use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt};
use tokio::sync::SemaphorePermit;

impl Intake {
    /// Reads the whole body, byte for byte, within the source's limit and the memory there is.
    pub(super) async fn read<E>(
        &self,
        entry: &Entry,
        head: &Head<'_>,
        mut body: impl Stream<Item = Result<Bytes, E>> + Unpin,
    ) -> Result<(Bytes, Option<SemaphorePermit<'_>>), Answer> {
        let limit = entry.source.body_bytes_max;
        let declared = head.headers.iter().find(|(name, _)| *name == "content-length");
        let declared =
            declared.and_then(|(_, value)| std::str::from_utf8(value).ok()?.parse().ok());
        if declared.is_some_and(|bytes: usize| bytes > limit) {
            return Err(Answer::TooLarge);
        }
        let mut held: Option<SemaphorePermit<'_>> = None;
        let mut hold = |bytes: usize| {
            let bytes = u32::try_from(bytes).map_err(|_| Answer::TooLarge)?;
            let permit = self.memory.try_acquire_many(bytes).map_err(|_| Answer::Unavailable)?;
            match &mut held {
                Some(held) => held.merge(permit),
                None => held = Some(permit),
            }
            Ok(())
        };
        let mut first = Bytes::new();
        let mut whole = BytesMut::new();
        let mut bytes = 0;
        while let Some(chunk) = body.next().await {
            let chunk = chunk.map_err(|_| Answer::Incomplete)?;
            bytes += chunk.len();
            if bytes > limit {
                return Err(Answer::TooLarge);
            }
            hold(chunk.len())?;
            if first.is_empty() {
                // Most bodies come in one piece, and are then not copied.
                first = chunk;
            } else {
                if whole.is_empty() {
                    whole.reserve(declared.unwrap_or(first.len() * 2).min(limit));
                    whole.extend_from_slice(&first);
                }
                whole.extend_from_slice(&chunk);
            }
        }
        Ok((if whole.is_empty() { first } else { whole.freeze() }, held))
    }
}
