//! Visits what a recorded request asks for, such as the link that confirms a subscription.
//!
//! Only after its record is durable: what was confirmed can be found. It is asked for again by the
//! sender as long as it did not work, so that nothing has to be remembered over a restart.

use super::{Entry, Intake};
use crate::keys::Visited;
use providers::Visit;

impl Intake {
    /// Visits a link, if there is one and the source wants it. An error says why it could not be
    /// done now: the sender is to ask again.
    pub(super) async fn visit(&self, entry: &Entry, visit: Option<&Visit>) -> Result<(), String> {
        let (Some(visit), source) = (visit, &entry.source) else { return Ok(()) };
        if !source.confirm {
            tracing::warn!(source = %source.name,
                "a subscription waits to be confirmed by hand: its link is in the delivery");
            return Ok(());
        }
        match self.keys.visit(visit, self.clock.now_us()).await {
            Visited::Now => tracing::info!(source = %source.name, "a subscription is confirmed"),
            Visited::Before => {}
            Visited::Refused(why) => tracing::error!(source = %source.name, why,
                "a subscription cannot be confirmed by its link, which is in the delivery"),
            Visited::Failed(why) => return Err(why),
        }
        Ok(())
    }
}
