//! Waits on the ledger and reads it, through the admin API.

use super::server::Server;
use super::wire::{Request, Response, Wire};
use serde_json::Value;
use std::time::{Duration, Instant};

/// How long anything may take that is expected to happen soon.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Between two looks.
pub const PAUSE: Duration = Duration::from_millis(10);

/// The states of jobs that something is still to be done for.
const OPEN: [&str; 4] = ["waiting", "ready", "running", "retrying"];

/// Looks again and again until there is something to see.
pub async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(seen) = look().await {
            return seen;
        }
        assert!(begun.elapsed() < PATIENCE, "waited in vain for {what}");
        tokio::time::sleep(PAUSE).await;
    }
}

impl Server {
    /// A request to the admin API, with the token.
    pub async fn ask(&self, method: &str, path: &str, body: Option<Value>) -> Response {
        let mut request = Request::new(method, path);
        request = request.header("Authorization", format!("Bearer {}", self.token));
        if let Some(body) = body {
            request = request.header("Content-Type", "application/json");
            request.body = body.to_string().into_bytes();
        }
        self.admin_exchange(&request).await
    }

    /// A request to the admin listener, exactly as it is.
    pub async fn admin_exchange(&self, request: &Request) -> Response {
        let mut wire = Wire::connect(self.admin).await.expect("the admin listener is there");
        wire.exchange(request).await.expect("the admin API answers")
    }

    /// What a GET comes to, which must be 200.
    pub async fn get(&self, path: &str) -> Value {
        let response = self.ask("GET", path, None).await;
        assert_eq!(response.status, 200, "{path}: {}", response.text());
        response.json()
    }

    /// What a POST comes to, which must be a 2xx.
    pub async fn command(&self, path: &str, body: Value) -> Value {
        let response = self.ask("POST", path, Some(body)).await;
        assert!(response.status / 100 == 2, "{path}: {} {}", response.status, response.text());
        response.json()
    }

    /// All rows of a list, newest first, over all its pages. `query` is empty or begins with `?`.
    async fn all(&self, path: &str, query: &str) -> Vec<Value> {
        let mut rows = Vec::new();
        let mut next = String::new();
        loop {
            let and = if query.is_empty() { "?" } else { "&" };
            let mut page = self.get(&format!("{path}{query}{and}limit=100{next}")).await;
            rows.append(page["items"].as_array_mut().expect("a page has items"));
            match page["next"].as_str() {
                Some(cursor) => next = format!("&before={cursor}"),
                None => return rows,
            }
        }
    }

    /// Deliveries, newest first. `query` is empty or such as `?source=github`.
    pub async fn deliveries(&self, query: &str) -> Vec<Value> {
        self.all("/api/deliveries", query).await
    }

    /// Jobs, newest first. `query` is empty or such as `?state=dead`.
    pub async fn jobs(&self, query: &str) -> Vec<Value> {
        self.all("/api/jobs", query).await
    }

    /// The only delivery there is.
    pub async fn only_delivery(&self) -> Value {
        let mut deliveries = self.deliveries("").await;
        assert_eq!(deliveries.len(), 1, "{deliveries:#?}");
        deliveries.remove(0)
    }

    /// `delivery`, its `jobs` with their `attempts`, and the `operations` on it.
    pub async fn delivery(&self, id: &str) -> Value {
        self.get(&format!("/api/deliveries/{id}")).await
    }

    /// The body of a delivery.
    pub async fn body(&self, id: &str) -> Vec<u8> {
        let response = self.ask("GET", &format!("/api/deliveries/{id}/body"), None).await;
        assert_eq!(response.status, 200, "{}", response.text());
        response.body
    }

    /// Waits until no job is open any more, and returns all jobs.
    pub async fn settled(&self) -> Vec<Value> {
        until("every job to be settled", async || {
            let jobs = self.jobs("").await;
            let open = |job: &Value| OPEN.contains(&job["state"].as_str().unwrap_or_default());
            (!jobs.iter().any(open)).then_some(jobs)
        })
        .await
    }

    /// The value of a metric, `0` when there is none. `series` is its name with its labels.
    pub async fn metric(&self, series: &str) -> f64 {
        let text = self.metrics().await;
        let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        line.map_or(0.0, |value| value.parse().expect("a number"))
    }

    /// All metrics.
    pub async fn metrics(&self) -> String {
        let response = self.admin_exchange(&Request::new("GET", "/metrics")).await;
        assert_eq!(response.status, 200);
        response.text()
    }
}
