//! The ceiling: the same web server with the same settings, which reads and verifies as Posthouse
//! does, and answers without storing anything. What it reaches, no store can exceed.

use actix_web::web::{Bytes, Data, PayloadConfig};
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
use posthouse::clock::wall_us;
use providers::{Admitted, Provider, Request, Secret, Window, admit};
use serde_json::json;
use std::io::Read;
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

/// Who sends, and what proves it.
struct Source {
    provider: &'static dyn Provider,
    secrets: Vec<Secret>,
}

/// Serves until standard input is closed.
pub fn serve() -> anyhow::Result<()> {
    let provider = providers::find("github").ok_or_else(|| anyhow::anyhow!("no such provider"))?;
    let secrets = Secret::new(crate::request::SECRET).into_iter().collect();
    let source = Data::new(Source { provider, secrets });
    let largest = provider.body_bytes_max();
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("receiving http://{}/hooks/github", listener.local_addr()?);
    thread::spawn(|| {
        let _ = std::io::stdin().read(&mut [0]);
        std::process::exit(0);
    });
    // As `posthouse::http::serve`, with the defaults of the configuration.
    let server = HttpServer::new(move || {
        App::new()
            .app_data(source.clone())
            .app_data(PayloadConfig::new(largest))
            .route("/hooks/{source}", web::to(hook))
    })
    .workers(thread::available_parallelism()?.get())
    .client_request_timeout(Duration::from_secs(10))
    .keep_alive(Duration::from_secs(75))
    .disable_signals()
    .listen(listener)?;
    Ok(actix_web::rt::System::new().block_on(server.run())?)
}

async fn hook(request: HttpRequest, body: Bytes, source: Data<Source>) -> HttpResponse {
    let headers: Vec<_> =
        request.headers().iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
    let method = request.method().as_str();
    let request = Request { method, url: "", headers: &headers, body: &body };
    let window = Window { now_s: wall_us() / 1_000_000, tolerance_s: 300 };
    match admit(source.provider, &request, &source.secrets, window) {
        Ok(Admitted::Events { .. }) => HttpResponse::Ok()
            .json(json!({ "delivery": "1", "status": "accepted", "state": "waiting" })),
        _ => HttpResponse::Unauthorized().finish(),
    }
}
