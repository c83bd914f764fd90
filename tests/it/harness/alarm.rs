//! Alarms: what stands, what an endpoint was told, and looks that are waited for.

use super::ledger::until;
use super::server::Server;
use super::stub::{Received, Stub};
use super::world::World;
use serde_json::Value;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Looks often.
pub const WATCHFUL: &str = "[alarms]\ninterval = \"100ms\"\n";

/// Looks often, and sends alarms to a stub. Further keys may follow.
pub fn watchful(ops: &Stub) -> String {
    format!("{WATCHFUL}url = {:?}\nallow_private = true\n", ops.url())
}

/// What a circuit is called that only serves to be seen.
const BEACON: &str = "beacon";

/// Alarms about anything but beacons.
fn is_news(subject: &str) -> bool {
    !subject.starts_with(BEACON)
}

impl Server {
    /// The alarms that stand, such as `dead github-out/refused`, sorted.
    pub async fn alarms(&self) -> Vec<String> {
        let answer = self.get("/api/alarms").await;
        let text = |alarm: &Value, field: &str| alarm[field].as_str().unwrap().to_owned();
        let items = answer["items"].as_array().unwrap().iter();
        let news = items.filter(|alarm| is_news(alarm["subject"].as_str().unwrap()));
        let mut alarms: Vec<String> = news
            .map(|alarm| format!("{} {}", text(alarm, "alarm"), text(alarm, "subject")))
            .collect();
        alarms.sort();
        alarms
    }

    /// Waits until these alarms stand and no others.
    pub async fn until_alarms(&self, expected: &[&str]) {
        until(&format!("the alarms {expected:?}"), async || {
            (self.alarms().await == expected).then_some(())
        })
        .await;
    }

    /// How many lines of its log have a text in them.
    pub fn lines_with(&self, text: &str) -> usize {
        self.errors().lines().filter(|line| line.contains(text)).count()
    }

    /// Waits until so many lines of its log have a text in them, and no more.
    pub async fn until_lines(&self, text: &str, lines: usize) {
        until(&format!("{lines} lines with {text:?}"), async || {
            (self.lines_with(text) == lines).then_some(())
        })
        .await;
    }

    /// Waits until it has looked at everything as it is now: a circuit that opens now is seen,
    /// and that it closes after that.
    pub async fn looked(&self, world: &World) {
        static BEACONS: AtomicUsize = AtomicUsize::new(0);
        let name = format!("{BEACON}{}", BEACONS.fetch_add(1, Ordering::Relaxed));
        let stands = async || {
            let answer = self.get("/api/alarms").await;
            let items = answer["items"].as_array().unwrap();
            items.iter().any(|alarm| alarm["subject"] == *name)
        };
        open_circuit(world, &name).await;
        until("an alarm about the beacon", async || stands().await.then_some(())).await;
        close_circuit(world, &name).await;
        until("the beacon to be over", async || (!stands().await).then_some(())).await;
    }
}

/// Opens the circuit of a destination for an hour.
pub async fn open_circuit(world: &World, destination: &str) {
    let now_us = super::sender::now() * 1_000_000;
    let until_us = now_us + 3_600_000_000;
    let values = format!("('{destination}', 'open', {now_us}, {until_us}, 1, '5 of 5 failed')");
    let columns = "destination, state, since_us, until_us, opens, reason";
    world.database.run(&format!("INSERT INTO circuits ({columns}) VALUES {values}")).await;
}

/// Closes the circuit of a destination.
pub async fn close_circuit(world: &World, destination: &str) {
    let text = format!("DELETE FROM circuits WHERE destination = '{destination}'");
    world.database.run(&text).await;
}

/// What a stub was told, such as `raised dead github-out/refused`, in the order of its coming.
pub fn told(ops: &Stub) -> Vec<String> {
    let received = ops.received();
    let bodies = received.iter().map(notice);
    let news = bodies.filter(|body| is_news(body["subject"].as_str().unwrap()));
    let line = |body: Value| {
        let text = |field: &str| body[field].as_str().unwrap().to_owned();
        format!("{} {} {}", text("state"), text("alarm"), text("subject"))
    };
    news.map(line).collect()
}

/// Waits until a stub was told this, in this order, and nothing else.
pub async fn until_told(ops: &Stub, expected: &[&str]) {
    until(&format!("{expected:?} to be told"), async || (told(ops) == expected).then_some(()))
        .await;
}

/// The body of a request that tells of an alarm.
pub fn notice(received: &Received) -> Value {
    serde_json::from_slice(&received.body).expect("JSON")
}
