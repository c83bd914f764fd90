//! Example bodies for trying a source out: the common kinds in the shape of the real ones, and a
//! small stand-in for every other kind. They are signed here and sent to ourselves; no provider
//! reads them.

use serde_json::{Value, json};

use crate::Draft;

/// Header lines out of pairs.
pub(crate) fn headers(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// The body that a draft brings, or an example with texts put where they belong.
pub(crate) fn filled(draft: &Draft<'_>, example: &str, texts: &[(&str, &str)]) -> Vec<u8> {
    if let Some(own) = draft.body {
        return own.to_vec();
    }
    texts.iter().fold(example.into(), |body: Vec<u8>, (pointer, text)| {
        crate::json::with_text(&body, pointer, text).unwrap_or(body)
    })
}

/// An envelope that says its kind in `/type` and what it is about at `entity`.
pub(crate) fn envelope(kind: &str, entity: &str) -> Vec<u8> {
    let body = written(json!({ "type": kind }));
    crate::json::with_text(&body, entity, "example").unwrap_or(body)
}

/// A GitHub body of an event, with its action set where the event has one.
pub(crate) fn github(event: &str, action: &str) -> Vec<u8> {
    let text = match event {
        "check_run" => include_str!("../bodies/github/check_run.json"),
        "issue_comment" => include_str!("../bodies/github/issue_comment.json"),
        "issues" => include_str!("../bodies/github/issues.json"),
        "ping" => include_str!("../bodies/github/ping.json"),
        "pull_request" => include_str!("../bodies/github/pull_request.json"),
        "push" => include_str!("../bodies/github/push.json"),
        "release" => include_str!("../bodies/github/release.json"),
        "workflow_run" => include_str!("../bodies/github/workflow_run.json"),
        _ => include_str!("../bodies/github/other.json"),
    };
    match action {
        "" => text.into(),
        action => crate::json::with_text(text.as_bytes(), "/action", action).unwrap_or_default(),
    }
}

/// A Stripe event around an example object of its kind.
pub(crate) fn stripe(kind: &str, now_s: i64) -> Vec<u8> {
    let text = match kind.rsplit_once('.').map_or(kind, |(object, _)| object) {
        "charge" => include_str!("../bodies/stripe/charge.json"),
        "checkout.session" => include_str!("../bodies/stripe/checkout.session.json"),
        "customer" => include_str!("../bodies/stripe/customer.json"),
        "customer.subscription" => include_str!("../bodies/stripe/customer.subscription.json"),
        "invoice" => include_str!("../bodies/stripe/invoice.json"),
        "payment_intent" => include_str!("../bodies/stripe/payment_intent.json"),
        _ => r#"{"id":"obj_example","object":"example"}"#,
    };
    let object: Value = serde_json::from_str(text).unwrap_or_default();
    written(json!({
        "id": "evt_example", "object": "event", "api_version": "2025-03-31.basil",
        "created": now_s, "data": { "object": object }, "livemode": false,
        "pending_webhooks": 1, "request": { "id": null, "idempotency_key": null }, "type": kind,
    }))
}

/// A GitLab body that names its kind; for a push also the branch.
pub(crate) fn gitlab(kind: &str) -> Vec<u8> {
    let (object_kind, action) = kind.split_once('.').unwrap_or((kind, ""));
    let project = json!({ "id": 15, "path_with_namespace": "example/letters" });
    written(match object_kind {
        "push" | "tag_push" => json!({
            "object_kind": object_kind, "ref": "refs/heads/main", "project_id": 15,
            "before": "95790bf891e76fee5e1747ab589903a6a1f80f22",
            "after": "da1560886d4f094c3e6c9ef40349f7d38b5d27d7", "project": project,
        }),
        _ => json!({
            "object_kind": object_kind, "project": project,
            "object_attributes": { "id": 99, "iid": 1, "action": action,
                "updated_at": "2026-01-01T00:00:00Z" },
        }),
    })
}

/// An Events API body around an inner event of this kind.
pub(crate) fn slack(kind: &str, now_s: i64) -> Vec<u8> {
    written(json!({
        "type": "event_callback", "team_id": "T0EXAMPLE", "event_id": "Ev0EXAMPLE",
        "event_time": now_s, "event": { "type": kind, "channel": "C0EXAMPLE",
            "user": "U0EXAMPLE", "text": "hello", "event_ts": format!("{now_s}.000100") },
    }))
}

/// A Shopify resource.
pub(crate) fn shopify(topic: &str) -> Vec<u8> {
    let resource = topic.split('/').next().unwrap_or_default();
    written(json!({
        "id": 820_982_911_946_154_508_i64, "updated_at": "2026-01-01T00:00:00-05:00",
        "example": resource,
    }))
}

/// A moment as RFC 3339 text.
pub(crate) fn date(now_s: i64) -> String {
    jiff::Timestamp::from_second(now_s).unwrap_or_default().to_string()
}

/// A value as a body.
pub(crate) fn written(body: Value) -> Vec<u8> {
    body.to_string().into_bytes()
}
