//! The three forges of one descent, and the names of their headers. Gitea sends those of Gogs and
//! GitHub along, and Forgejo those of Gitea; each is held to its own.

use crate::Facts;

/// One forge.
pub(crate) struct Forge {
    pub(super) name: &'static str,
    pub(super) facts: Facts,
    pub(super) signature: &'static str,
    pub(super) event: &'static str,
    pub(super) delivery: &'static str,
    pub(super) forwarded: &'static [&'static str],
    pub(super) answer_deadline_ms: u32,
    /// A hook may be set to put its payload into the query of a GET.
    pub(super) gets: bool,
}

const FACTS: Facts = Facts {
    title: "Gitea",
    proof: "HMAC-SHA256 hex over the JSON, also out of a form or query",
    key: "`X-Gitea-Delivery`",
    entity: "repository and pull request, issue, ref ...",
    position: "`updated_at` of it; unknown of pushes",
};

/// Gitea waits 5 seconds unless its `DELIVER_TIMEOUT` says otherwise.
pub(crate) const GITEA: Forge = Forge {
    name: "gitea",
    facts: FACTS,
    signature: "x-gitea-signature",
    event: "x-gitea-event",
    delivery: "x-gitea-delivery",
    forwarded: &["x-gitea-event", "x-gitea-event-type", "x-gitea-delivery"],
    answer_deadline_ms: 5_000,
    gets: true,
};

/// Forgejo. A version so old that it sends Gitea's headers only is a source of `gitea`.
pub(crate) const FORGEJO: Forge = Forge {
    name: "forgejo",
    facts: Facts { title: "Forgejo", key: "`X-Forgejo-Delivery`", ..FACTS },
    signature: "x-forgejo-signature",
    event: "x-forgejo-event",
    delivery: "x-forgejo-delivery",
    forwarded: &["x-forgejo-event", "x-forgejo-event-type", "x-forgejo-delivery"],
    answer_deadline_ms: 5_000,
    gets: true,
};

/// Gogs, from which the others descend.
pub(crate) const GOGS: Forge = Forge {
    name: "gogs",
    facts: Facts {
        title: "Gogs",
        proof: "HMAC-SHA256 hex over the JSON, also out of a form",
        key: "`X-Gogs-Delivery`",
        ..FACTS
    },
    signature: "x-gogs-signature",
    event: "x-gogs-event",
    delivery: "x-gogs-delivery",
    forwarded: &["x-gogs-event", "x-gogs-delivery"],
    answer_deadline_ms: 15_000,
    gets: false,
};
