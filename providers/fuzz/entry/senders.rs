//! What there is to bend: the genuine requests of every provider, from its file of vectors.

use std::sync::LazyLock;

use providers::{ALL, Provider};

use crate::case::Case;
use crate::file::{Proof, load};

/// One provider and its genuine requests.
pub struct Sender {
    pub provider: &'static dyn Provider,
    pub proof: Proof,
    pub cases: Vec<Case>,
    /// Requests without a proof, for what is read of them.
    pub events: Vec<Case>,
    /// Whether one of them holds several events.
    pub splits: bool,
    /// Bodies that were really signed.
    pub bodies: Vec<Vec<u8>>,
    /// Headers of any of its requests.
    pub header_names: Vec<String>,
    /// A kind that it signs.
    pub kind: String,
    /// Whether it answers to handshakes before a proof.
    pub shakes_hands: bool,
}

pub static SENDERS: LazyLock<Vec<Sender>> = LazyLock::new(|| ALL.iter().map(read).collect());

impl Sender {
    /// The sender of a name that is in `ALL`.
    pub fn of(name: &str) -> &'static Self {
        let found = SENDERS.iter().find(|sender| sender.provider.name() == name);
        found.expect("every provider is a sender")
    }
}

fn read(provider: &&'static dyn Provider) -> Sender {
    let provider = *provider;
    let file = load(provider);
    let shakes_hands = file.handshake.iter().any(|handshake| !handshake.none);
    let genuine = file.vector.iter().filter(|vector| vector.expect == "valid");
    let mut cases: Vec<Case> = genuine.map(Case::of).collect();
    for it in file.challenge {
        let url = it.url.as_deref();
        let case = Case::new(&it.method, url, &it.headers, &it.body, &it.secrets, it.now_unix);
        cases.push(Case { keys: it.key, ..case });
    }
    let splits = file.event.iter().any(|event| event.expect.len() > 1);
    let events = file.event.iter().map(|it| {
        Case::new(&it.method, it.url.as_deref(), &it.headers, &it.body, &[], 1_767_225_600)
    });
    let events: Vec<Case> = events.collect();
    let names = cases
        .iter()
        .chain(&events)
        .flat_map(|case| case.headers.iter().map(|(name, _)| name.clone()));
    let common = ["content-type", "authorization", "x-request-id"].map(str::to_owned);
    let mut header_names: Vec<String> = names.chain(common).collect();
    header_names.sort();
    header_names.dedup();
    let bodies = cases.iter().map(|case| case.body.clone()).collect();
    let kind = file.trial.kind;
    Sender {
        provider,
        proof: file.proof,
        cases,
        events,
        splits,
        bodies,
        header_names,
        kind,
        shakes_hands,
    }
}
