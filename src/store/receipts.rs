//! Every later receipt of a delivery, as far as there is room: who asks why something came again
//! wants to know when it did and from where.

use super::Store;
use super::conn::Tx;
use super::error::StoreError;
use super::repeat::{Judged, Repeat};
use super::sql::{Arg, Column};
use super::view::ReceiptView;
use crate::clock::Time;
use crate::delivery::{DeliveryId, KeptHeaders, PEER};
use std::collections::BTreeMap;

/// Receipts that are kept of one delivery. Senders repeat themselves a few dozen times; whatever
/// comes after that is only counted.
const KEPT_MAX: i64 = 100;

/// Notes repeats. `totals` are the counts of each delivery with these repeats among them.
pub(super) async fn note(
    tx: &mut Tx,
    repeats: &[Repeat<'_>],
    judged: &[Judged],
    mut totals: BTreeMap<DeliveryId, i64>,
) -> Result<(), StoreError> {
    let (mut deliveries, mut numbers, mut times) = (Vec::new(), Vec::new(), Vec::new());
    let (mut peers, mut same) = (Vec::new(), Vec::new());
    // From the last one back, so that the numbers grow in the order of their coming.
    for (repeat, judged) in repeats.iter().zip(judged).rev() {
        let Some(total) = totals.get_mut(&judged.first) else { continue };
        if *total <= KEPT_MAX {
            deliveries.push(judged.first.0);
            numbers.push(*total);
            times.push(repeat.arrival.received_us);
            let headers = KeptHeaders::from_bytes(&repeat.arrival.headers);
            let peer = headers.get(PEER).unwrap_or_default();
            peers.push(String::from_utf8_lossy(peer).into_owned());
            same.push(judged.same.into());
        }
        *total -= 1;
    }
    tx.run_rows(
        "WITH v(delivery, n, at_us, same, peer) AS ({rows})
         INSERT INTO receipts (delivery, n, at_us, same, peer) SELECT * FROM v WHERE true
         ON CONFLICT (delivery, n) DO NOTHING",
        vec![],
        vec![
            Column::Int(deliveries),
            Column::Int(numbers),
            Column::Int(times),
            Column::Int(same),
            Column::Text(peers),
        ],
    )
    .await?;
    Ok(())
}

impl Store {
    /// The later receipts of a delivery, in the order of their coming.
    pub async fn receipts_of(&self, id: DeliveryId) -> Result<Vec<ReceiptView>, StoreError> {
        let text = "SELECT at_us, peer, same FROM receipts WHERE delivery = $1 ORDER BY n";
        let rows = self.pools.read(text, vec![Arg::Int(id.0)]).await?;
        rows.iter()
            .map(|row| {
                let is_same = row.int(2)? == 1;
                let said = if is_same { "duplicate" } else { "conflict" }.to_owned();
                Ok(ReceiptView { at: Time(row.int(0)?), from: row.text(1)?, said })
            })
            .collect()
    }
}
