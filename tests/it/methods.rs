//! Deliveries that come by another method than POST: received where their sender has such, and
//! nowhere else; what is none is answered as ever and recorded nowhere.

use crate::harness::*;
use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};

const BODY: &str = r#"{"action":"opened","repository":{"id":7},"issue":{"number":3}}"#;

/// A source of a forge's, of GitHub's secret, to a stub.
fn forge(provider: &str, stub: &Stub) -> String {
    straight(provider, stub)
        .replace(&format!("{}_SECRET", provider.to_uppercase()), "GITHUB_SECRET")
}

/// A delivery of a forge's by GET: the payload is in the query, and the signature over it.
fn by_get(name: &str, key: &str, secret: &str) -> Request {
    let payload = BODY.replace('{', "%7B").replace('"', "%22").replace('}', "%7D");
    Request::new("GET", &format!("/hooks/{name}?payload={payload}"))
        .header(&format!("X-{name}-Event"), "issues")
        .header(&format!("X-{name}-Delivery"), key)
        .header(&format!("X-{name}-Signature"), sha256_hex(secret, &[BODY.as_bytes()]))
}

both!(a_forge_may_deliver_by_get, |world| async {
    for name in ["gitea", "forgejo"] {
        let stub = Stub::ok().await;
        let server = world.serve(&forge(name, &stub)).await;
        let request = by_get(name, &format!("{name}-1"), GITHUB);
        let answer = server.exchange(&request).await;
        assert_eq!((answer.status, answer.json()["status"].as_str()), (200, Some("accepted")));
        let again = server.exchange(&request).await;
        assert_eq!(again.json()["status"], "duplicate", "{name}");
        let received = stub.until(1).await;
        assert_eq!(String::from_utf8_lossy(&received[0].body), BODY, "{name}: it was in the query");
        assert_eq!(received[0].header("content-type").as_deref(), Some("application/json"));
        let found = server.deliveries(&format!("?source={name}")).await;
        assert_eq!((found.len(), found[0]["kind"].as_str()), (1, Some("issues.opened")), "{name}");
        // The same by POST is the same delivery.
        let posted = Request { method: "POST".into(), body: BODY.into(), ..request };
        let posted = posted.header("Content-Type", "application/json");
        assert_eq!(server.post(name, posted).await.json()["status"], "duplicate", "{name}");
    }
});

both!(sanity_may_deliver_by_any_method, |world| async {
    let stub = Stub::ok().await;
    let config = straight("sanity", &stub).replace("SANITY_SECRET", "GITHUB_SECRET");
    let server = world.serve(&config).await;
    let by = |method: &str, secret: &str| {
        let (body, time) = (format!("{{\"_id\":{method:?}}}"), format!("{}000", now()));
        let body = if method == "GET" { String::new() } else { body };
        let text = [time.as_bytes(), b".", body.as_bytes()];
        let tag = BASE64_URL_SAFE_NO_PAD.encode(hex::decode(sha256_hex(secret, &text)).unwrap());
        Request { body: body.into(), ..Request::new(method, "/hooks/sanity") }
            .header("idempotency-key", method)
            .header("sanity-operation", "update")
            .header("sanity-webhook-signature", format!("t={time},v1={tag}"))
    };
    let methods = ["POST", "PUT", "PATCH", "DELETE", "GET"];
    for method in methods {
        assert_eq!(server.exchange(&by(method, OTHER)).await.status, 401, "{method}");
        let answer = server.exchange(&by(method, GITHUB)).await;
        assert_eq!((answer.status, answer.text().contains("accepted")), (200, true), "{method}");
    }
    assert_eq!(server.deliveries("").await.len(), methods.len());
    let look = server.exchange(&Request::new("GET", "/hooks/sanity")).await;
    assert_eq!((look.status, look.text().as_str()), (200, ""));
    let none = server.exchange(&Request::new("OPTIONS", "/hooks/sanity")).await;
    assert_eq!(none.header("allow"), Some("GET, HEAD, POST, PUT, PATCH, DELETE"));
    assert_eq!(server.deliveries("").await.len(), methods.len());
});

both!(twilio_may_call_by_get_and_its_fields_are_kept, |world| async {
    let stub = Stub::ok().await;
    let url = "https://hooks.example.com/hooks/twilio";
    let config = straight("twilio", &stub).replace("TWILIO_SECRET", "GITHUB_SECRET");
    let config = config.replace("[destinations", &format!("public_url = {url:?}\n[destinations"));
    let server = world.serve(&config).await;
    let query = "CallSid=CA1&CallStatus=ringing&From=%2B1500";
    let text = format!("{url}?{query}");
    let tag = BASE64_STANDARD.encode(hex::decode(sha1_hex(GITHUB, &[text.as_bytes()])).unwrap());
    let request = Request::new("GET", &format!("/hooks/twilio?{query}"));
    assert_eq!(server.exchange(&request).await.text(), "", "nobody has signed it");
    let signed = request.header("X-Twilio-Signature", tag);
    let answer = server.exchange(&signed).await;
    assert_eq!((answer.status, answer.json()["status"].as_str()), (200, Some("accepted")));
    assert_eq!(String::from_utf8_lossy(&stub.until(1).await[0].body), query);
    let forged = signed.clone().to("/hooks/twilio?CallSid=CA2");
    assert_eq!(server.exchange(&forged).await.status, 401);
    assert_eq!(server.only_delivery().await["kind"], "call.ringing");
});

both!(a_forged_get_is_refused_and_any_other_is_but_a_look, |world| async {
    let stub = Stub::ok().await;
    let config = forge("gitea", &stub)
        + &named_source("gogs", "gogs").replace("GOGS_SECRET", "GITHUB_SECRET")
        + &route("gogs", "out")
        + &source("github")
        + &route("github", "out");
    let server = world.serve(&config).await;
    let answer = server.exchange(&by_get("gitea", "1", OTHER)).await;
    assert_eq!((answer.status, answer.text().as_str()), (401, ""));
    let rejected = "posthouse_rejected_total{reason=\"signature\",source=\"gitea\"}";
    assert_eq!(server.metric(rejected).await, 1.0);
    let good = by_get("gitea", "1", GITHUB);
    let looks = [
        (good.clone().without("X-gitea-Signature"), 200),
        (Request { method: "HEAD".into(), ..good.clone() }, 200),
        (by_get("gogs", "1", GITHUB), 200),
        (Request { path: good.path.replace("/gitea?", "/github?"), ..good.clone() }, 200),
        (Request { path: good.path.replace("/gitea?", "/nobody?"), ..good.clone() }, 404),
    ];
    for (request, status) in looks {
        let answer = server.exchange(&request).await;
        let what = format!("{} {}", request.method, request.path);
        assert_eq!((answer.status, answer.text().as_str()), (status, ""), "{what}");
    }
    let put = server.exchange(&Request { method: "PUT".into(), ..good }).await;
    assert_eq!((put.status, put.header("allow")), (405, Some("GET, HEAD, POST")));
    assert_eq!(server.deliveries("").await.len(), 0);
    let metrics = server.metrics().await;
    let refused = metrics.lines().filter(|line| line.starts_with("posthouse_rejected_total"));
    assert_eq!(refused.count(), 1, "{metrics}");
    // It is kept as it came, and judged by the same way once the secret is mended.
    until("the refused request in the quarantine", async || {
        let kept = server.get("/api/quarantine").await;
        (kept["items"].as_array().unwrap().len() == 1).then_some(())
    })
    .await;
    drop(server);
    let server = world.serve(&config.replacen("GITHUB_SECRET", "OTHER_SECRET", 1)).await;
    let ran = server.cli(["rejections", "promote", "--source", "gitea"]).run().await;
    assert!(ran.output.contains("1 of 1 recorded"), "{ran:?}");
    assert_eq!(String::from_utf8_lossy(&stub.until(1).await[0].body), BODY);
});
