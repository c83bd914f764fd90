//! Visits links that senders want visited, each once, however often it is asked for.
//!
//! It visits only what a proved request asks for, and of that only the sender's own hosts. What is
//! said there is not read: that it was answered is all that counts.

use super::cache::Kind;
use super::{Place, Remote, Unfetched, bare_https};
use crate::delivery::Micros;
use providers::Visit;
use std::time::Duration;

/// How long it is remembered that a link was visited. As long as a token of Amazon SNS is good;
/// it asks again for an hour at most.
pub(super) const VISITED_AGE: Duration = Duration::from_secs(3 * 86_400);

pub(super) const VISITS: Kind = Kind {
    count: |metrics, fetched| {
        let outcome = match fetched {
            Ok(_) => "done",
            Err(Unfetched::Forged(_)) => "refused",
            Err(Unfetched::Failed(_)) => "failed",
        };
        metrics.visits.with_label_values(&[outcome]).inc();
    },
    failure: "a link that a sender wants visited could not be",
};

/// What a visit came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Visited {
    /// It was made now.
    Now,
    /// It was made before.
    Before,
    /// There is nothing to be visited: to try again would not help.
    Refused(String),
    /// It could not be made now.
    Failed(String),
}

impl Remote {
    /// Visits a link of a proved request.
    pub async fn visit(&self, visit: &Visit, now_us: Micros) -> Visited {
        let Some(place) = place(visit) else {
            let why = "it leads to no host of the sender".to_owned();
            (VISITS.count)(&self.visits.metrics, &Err(Unfetched::Forged(why.clone())));
            return Visited::Refused(why);
        };
        self.visit_place(&place, now_us).await
    }

    pub(super) async fn visit_place(&self, place: &Place, now_us: Micros) -> Visited {
        match self.visits.get(place, None, now_us).await {
            Ok(found) if found.at_us == now_us => Visited::Now,
            Ok(_) => Visited::Before,
            Err(Unfetched::Forged(why)) => Visited::Refused(why),
            Err(Unfetched::Failed(why)) => Visited::Failed(why),
        }
    }
}

/// Checks where a link leads. The provider says of which hosts it may be; what its own check lets
/// through is looked at by another one's eyes as well.
pub(super) fn place(visit: &Visit) -> Option<Place> {
    let url = bare_https(&visit.url).filter(|_| visit.is_of_sender())?;
    Some(Place {
        post: None,
        name: url.to_string(),
        realm: visit.hosts.first().copied().unwrap_or_default(),
        is_named: true,
        url,
    })
}
