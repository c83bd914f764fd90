//! Links that a sender wants visited, such as the one that confirms a subscription. The crate never
//! visits one: it says which, and only of a request that is proved.

use crate::keys;

/// A link that a proved request asks to be visited. Whoever does so keeps to https and to the hosts
/// named here, follows no redirect, and bounds time and size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visit {
    /// The URL as the request has it.
    pub url: String,
    /// The sender's own hosts; a `*` stands for one label of the name.
    pub hosts: &'static [&'static str],
}

impl Visit {
    /// Whether the link is of the sender's own: https, of one of `hosts`, on the usual port, and
    /// free of what two readers could understand differently.
    pub fn is_of_sender(&self) -> bool {
        keys::is_of_hosts(&self.url, self.hosts)
    }
}
