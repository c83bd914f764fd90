//! The public listener: limits, paths and the one place that makes HTTP answers.
//!
//! It serves `/hooks/{source}` and nothing else; the admin API has a listener of its own.

mod running;

pub use running::Running;

use crate::delivery::Recorded;
use crate::receive::{Answer, Head, Intake, header_lines};
use actix_http::{ConnectionType, HttpService, Request, Response};
use actix_service::{fn_service, map_config};
use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::dev::AppConfig;
use actix_web::http::header::{ALLOW, CONTENT_LENGTH, RETRY_AFTER};
use actix_web::http::{Method, StatusCode};
use actix_web::web::{Bytes, Data, Payload};
use actix_web::{App, HttpMessage, HttpRequest, HttpResponse, web};
use serde_json::json;
use std::convert::Infallible;
use std::net::TcpListener;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// Limits of the public listener.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Threads that serve connections.
    pub threads: usize,
    /// Connections at once, over all threads.
    pub connections: usize,
    /// Time for the head of a request to arrive.
    pub header_timeout: Duration,
    /// Time for answers under way when the listener stops.
    pub shutdown: Duration,
}

/// How long an idle connection is kept. Providers send in bursts; a connection costs little.
const KEEP_ALIVE: Duration = Duration::from_secs(75);

/// How long a client that is refused may go on sending before its connection is cut: closed at
/// once, it could lose the answer that is on its way.
const LINGER: Duration = Duration::from_secs(5);

/// Starts the public listener. Signals are the caller's to handle.
pub fn serve(
    listener: TcpListener,
    intake: Arc<Intake>,
    limits: Limits,
) -> std::io::Result<Running> {
    let intake = Data::from(intake);
    let builder = actix_server::Server::build()
        .workers(limits.threads)
        .max_concurrent_connections(limits.connections.div_ceil(limits.threads))
        .shutdown_timeout(limits.shutdown.as_secs())
        .disable_signals();
    let stopping = builder.graceful_shutdown_signal();
    // Built by hand: the usual builder always invites a body that is announced with `Expect`.
    let builder = builder.listen("public", listener, move || {
        let (stopping, invited) = (stopping.clone(), intake.clone());
        let app = App::new()
            .app_data(intake.clone())
            .route("/hooks/{source}", web::to(hook))
            .route("/hooks/{source}/", web::to(hook))
            .default_service(web::to(|rest: Payload| async {
                HttpResponse::NotFound().body(Unread::nothing(rest))
            }));
        HttpService::build()
            .graceful_shutdown_signal(move || {
                let stopping = stopping.clone();
                async move { stopping.notified().await }
            })
            .client_request_timeout(limits.header_timeout)
            .keep_alive(KEEP_ALIVE)
            .client_disconnect_timeout(LINGER)
            .expect(fn_service(move |head: Request| {
                let answer = invite(&invited, head);
                async move { answer }
            }))
            .finish(map_config(app, |()| AppConfig::default()))
            .tcp()
    })?;
    Ok(Running::start(builder.run()))
}

/// Invites a body that is announced with `Expect: 100-continue`, or says at once that it will
/// not be taken.
fn invite(intake: &Intake, head: Request) -> Result<Request, Response<BoxBody>> {
    let name = head.path().strip_prefix("/hooks/").unwrap_or_default().trim_end_matches('/');
    let announced = head.headers().get(CONTENT_LENGTH);
    let announced = announced.and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    let limit = intake.entry(name).map(|entry| entry.source.body_bytes_max);
    match (announced, limit) {
        (Some(announced), Some(limit)) if announced > limit => {
            let mut refusal = Response::new(Answer::TooLarge.status());
            refusal.head_mut().set_connection_type(ConnectionType::Close);
            Err(refusal.map_into_boxed_body())
        }
        _ => Ok(head),
    }
}

async fn hook(request: HttpRequest, mut body: Payload, intake: Data<Intake>) -> HttpResponse {
    let name = request.match_info().query("source");
    let uri = request.uri();
    let head = Head {
        peer: request.peer_addr().map(|peer| peer.ip()),
        method: request.method().as_str(),
        target: uri.path_and_query().map_or("/", |target| target.as_str()),
        headers: request.headers().iter().map(|(n, v)| (n.as_str(), v.as_bytes())).collect(),
    };
    if *request.method() == Method::POST || intake.is_delivery(name, &head) {
        let answer = intake.receive(name, head, &mut body).await;
        return respond(&answer, body);
    }
    if let Some(answer) = intake.greet(name, &head) {
        return respond(&answer, body);
    }
    match *request.method() {
        Method::GET | Method::HEAD => {
            let known = intake.entry(name).is_some();
            let status = if known { StatusCode::OK } else { StatusCode::NOT_FOUND };
            HttpResponse::build(status).body(Unread::nothing(body))
        }
        _ => {
            let mut allowed = vec!["GET", "HEAD", "POST"];
            let known = intake.entry(name).map_or(&[][..], |entry| entry.source.provider.methods());
            allowed.extend(known.iter().filter(|method| **method != "POST"));
            let mut answer = HttpResponse::MethodNotAllowed();
            answer.insert_header((ALLOW, allowed.join(", "))).body(Unread::nothing(body))
        }
    }
}

fn respond(answer: &Answer, rest: Payload) -> HttpResponse {
    let mut response = HttpResponse::build(answer.status());
    if let Some(seconds) = answer.retry_after_s() {
        response.insert_header((RETRY_AFTER, seconds));
    }
    match answer {
        Answer::Reply(reply) => {
            for line in header_lines(reply) {
                response.insert_header(line);
            }
            let text = Bytes::from(reply.body.clone());
            response.content_type(reply.content_type).body(Unread { _rest: rest, text })
        }
        Answer::Recorded(recorded) => match recorded.as_slice() {
            [one] => response.json(described(one)),
            several => {
                let several: Vec<_> = several.iter().map(described).collect();
                response.json(json!({ "deliveries": several }))
            }
        },
        // The unread rest of a body would otherwise be taken for the next request.
        Answer::TooLarge | Answer::Incomplete => response.force_close().body(Unread::nothing(rest)),
        _ => response.body(Unread::nothing(rest)),
    }
}

/// An answer that holds the rest of the request's body. Once the rest is dropped, actix reads a
/// chunked body on to its end, however long that takes; while it is held, actix closes.
struct Unread {
    _rest: Payload,
    text: Bytes,
}

impl Unread {
    fn nothing(rest: Payload) -> Self {
        Self { _rest: rest, text: Bytes::new() }
    }
}

impl MessageBody for Unread {
    type Error = Infallible;

    fn size(&self) -> BodySize {
        BodySize::Sized(self.text.len() as u64)
    }

    fn poll_next(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Infallible>>> {
        let text = std::mem::take(&mut self.text);
        Poll::Ready((!text.is_empty()).then_some(Ok(text)))
    }
}

fn described(one: &Recorded) -> serde_json::Value {
    let mut told = json!({ "delivery": one.id, "status": one.verdict.word(), "state": one.state });
    if let Some(first_us) = one.first_us {
        told["received_at"] = crate::clock::rfc3339(first_us).into();
    }
    told
}
