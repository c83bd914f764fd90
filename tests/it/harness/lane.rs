//! Deliveries about something, and what must hold for them at a destination: a branch is a lane.

use super::sender::github;
use super::stub::Received;
use super::wire::Request;
use std::collections::BTreeMap;

/// Further keys of a route: whatever failed is tried again at once.
pub const SOON: &str = "backoff = \"1ms\"\nbackoff_max = \"20ms\"\n";

/// The `n`-th push to a branch. Its key is `<branch>-<n>`.
pub fn push(branch: &str, n: usize) -> Request {
    let about = r#""repository":{"id":7}"#;
    let body = format!(r#"{{"ref":"refs/heads/{branch}","n":{n},{about}}}"#);
    github(&format!("{branch}-{n}"), body)
}

/// The lane of a branch, as destinations and the ledger name it.
pub fn lane_of(branch: &str) -> String {
    format!("repository:7/ref:refs/heads/{branch}")
}

/// The key of the delivery, which must have no colon in it.
pub fn key_of(received: &Received) -> String {
    let idempotency_key = received.header("idempotency-key").expect("a key");
    idempotency_key.split(':').nth(1).expect("a key").to_owned()
}

/// The keys of the deliveries, in the order in which they came.
pub fn keys_of(received: &[Received]) -> Vec<String> {
    received.iter().map(key_of).collect()
}

/// A number in a header of ours.
pub fn number(received: &Received, name: &str) -> i64 {
    let text = received.header(name).unwrap_or_else(|| panic!("{name} is missing"));
    text.parse().expect("a number")
}

/// Sorts requests by their lanes, and sees to it that no lane ever had two of them open at once.
pub fn by_lane(received: &[Received]) -> BTreeMap<String, Vec<Received>> {
    let mut lanes: BTreeMap<String, Vec<Received>> = BTreeMap::new();
    for one in received {
        let lane = one.header("posthouse-lane").expect("a lane");
        lanes.entry(lane).or_default().push(one.clone());
    }
    for (lane, requests) in &lanes {
        for pair in requests.windows(2) {
            let overlap = pair[0].ended.is_none_or(|ended| pair[1].begun < ended);
            let [first, second] = [&pair[0], &pair[1]].map(key_of);
            assert!(!overlap, "{lane}: {second} began before {first} had ended");
        }
    }
    lanes
}

/// Sees to it that a lane was worked off in order: numbers without gaps, later deliveries later,
/// and after a failed attempt the same delivery again, until it was answered with 200.
pub fn in_order(lane: &[Received], answered: impl Fn(&Received) -> bool) {
    let (mut sequence, mut delivery) = (1, 0);
    for one in lane {
        assert_eq!(number(one, "posthouse-sequence"), sequence, "{}", key_of(one));
        assert!(number(one, "posthouse-delivery") >= delivery, "{}", key_of(one));
        delivery = number(one, "posthouse-delivery");
        if answered(one) {
            (sequence, delivery) = (sequence + 1, delivery + 1);
        }
    }
}
