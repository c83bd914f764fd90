//! What is read of events beyond single cases: whole tables of lanes, odd keys, forms. The cases
//! themselves stand in `vectors/`; signatures are the business of `catalogue`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use providers::{ALL, Admitted, Event, Rejection, Request, Secret, admit_unsigned, find};

const SECOND_US: i64 = 1_000_000;

fn read(
    provider: &str,
    headers: &[(&str, &str)],
    body: impl AsRef<[u8]>,
) -> Result<Event, Rejection> {
    let headers: Vec<(&str, &[u8])> =
        headers.iter().map(|(name, value)| (*name, value.as_bytes())).collect();
    let body = body.as_ref();
    let request = Request { method: "POST", url: "https://example.com/h", headers: &headers, body };
    match admit_unsigned(find(provider).unwrap(), &request)? {
        Admitted::Events { mut events, .. } => {
            assert_eq!(events.len(), 1, "{provider} reads one event per request");
            Ok(events.remove(0))
        }
        Admitted::Challenge(reply) => panic!("a challenge: {reply:?}"),
    }
}

fn github(event: &str, body: &str) -> Event {
    read("github", &[("x-github-event", event), ("x-github-delivery", "7d3c-01")], body).unwrap()
}

fn entity(event: &Event) -> &str {
    event.entity.as_deref().unwrap_or("none")
}

#[test]
fn github_puts_each_event_into_the_lane_of_what_it_is_about() {
    let repository = r#""repository":{"id":7,"pushed_at":1557933657}"#;
    for (event, fields, lane) in [
        ("push", r#""ref":"refs/heads/main""#, "repository:7/ref:refs/heads/main"),
        ("create", r#""ref":"main","ref_type":"branch""#, "repository:7/ref:refs/heads/main"),
        ("delete", r#""ref":"v1","ref_type":"tag""#, "repository:7/ref:refs/tags/v1"),
        ("issues", r#""issue":{"number":5}"#, "repository:7/issue:5"),
        ("issue_comment", r#""issue":{"number":5}"#, "repository:7/issue:5"),
        (
            "issue_comment",
            r#""issue":{"number":5,"pull_request":{"url":"u"}}"#,
            "repository:7/pull_request:5",
        ),
        ("pull_request_review", r#""pull_request":{"number":5}"#, "repository:7/pull_request:5"),
        ("check_run", r#""check_run":{"id":12}"#, "repository:7/check_run:12"),
        ("workflow_run", r#""workflow_run":{"id":13}"#, "repository:7/workflow_run:13"),
        ("deployment_status", r#""deployment":{"id":14}"#, "repository:7/deployment:14"),
        ("star", r#""starred_at":null"#, "repository:7"),
        ("invented", r#""x":1"#, "repository:7"),
    ] {
        let read = github(event, &format!("{{{fields},{repository}}}"));
        assert_eq!(entity(&read), lane, "{event}");
    }
    let organization = github("membership", r#"{"action":"added","organization":{"id":38}}"#);
    assert_eq!(entity(&organization), "organization:38");
    let body = r#"{"action":"created","installation":{"id":9,"updated_at":1557933591}}"#;
    let installation = github("installation", body);
    assert_eq!(entity(&installation), "installation:9");
    assert_eq!(installation.position.occurred_at_us, Some(1_557_933_591 * SECOND_US));
    let push = github("push", &format!(r#"{{"ref":"r",{repository}}}"#));
    assert_eq!(push.position.occurred_at_us, Some(1_557_933_657 * SECOND_US));
    let body = r#"{"check_run":{"id":1,"started_at":"2019-05-15T15:20:33Z","completed_at":null}}"#;
    let run = github("check_run", body).position.occurred_at_us;
    assert_eq!(run, Some(1_557_933_633 * SECOND_US));
}

#[test]
fn github_reads_json_out_of_a_form_and_under_any_media_type() {
    let json = r#"{"ref":"refs/heads/main","repository":{"id":7}}"#;
    let form = "payload=%7B%22ref%22%3A%22refs%2Fheads%2Fmain%22%2C%22repository%22%3A%7B%22id%22\
                %3A7%7D%7D";
    for (content_type, body) in [
        ("application/json", json),
        ("Application/JSON; charset=utf-8", json),
        ("application/json; charset=x-klingon", json),
        ("text/plain", json),
        ("application/x-www-form-urlencoded", form),
        ("Application/X-WWW-Form-Urlencoded; charset=utf-8", form),
    ] {
        let headers = [
            ("x-github-event", "push"),
            ("x-github-delivery", "1"),
            ("content-type", content_type),
        ];
        let event = read("github", &headers, body).unwrap();
        assert_eq!(entity(&event), "repository:7/ref:refs/heads/main", "{content_type}");
    }
    for body in [
        "",
        "--XbX\r\n",
        "{\"a\":1",
        "[[[[",
        "{\"repository\":null}",
        "{\"repository\":[1,2]}",
        "{\"repository\":{\"id\":{}},\"ref\":[]}",
    ] {
        let event = github("push", body);
        assert_eq!((event.kind.as_str(), event.entity), ("push", None), "{body}");
    }
}

#[test]
fn a_key_is_taken_whole_or_refused_and_nothing_holds_a_nul() {
    let key = |value: &str| read("github", &[("x-github-delivery", value)], "{}");
    assert_eq!(key(&"k".repeat(512)).unwrap().key.len(), 512);
    assert_eq!(key("Schlüssel").unwrap().key, "Schlüssel");
    for bad in ["", "a\0b", "a\nb", "a\x7fb", &"k".repeat(513)] {
        assert!(matches!(key(bad), Err(Rejection::Unreadable(_))), "{bad:?}");
    }
    assert!(matches!(read("github", &[], "{}"), Err(Rejection::Unreadable(_))));
    let twice = [("x-github-delivery", "1"), ("x-github-delivery", "1")];
    assert!(matches!(read("github", &twice, "{}"), Err(Rejection::Unreadable(_))));

    let headers = [("x-github-delivery", "1"), ("x-github-event", "pu\0sh\u{1b}[31m")];
    let body = r#"{"ref":"a\u0000b","repository":{"id":"7\u0000"},"action":"\u0000x"}"#;
    assert_eq!(read("github", &headers, body).unwrap().kind, "push[31m.x");
    let event = github("push", body);
    assert_eq!(entity(&event), "repository:7/ref:ab");
    let long = format!(r#"{{"ref":"{}","repository":{{"id":7}}}}"#, "r".repeat(300));
    let event = github(&"e".repeat(400), &long);
    assert_eq!(event.kind.len(), 128);
    let event = github("push", &long);
    assert!(entity(&event).starts_with("sha256:") && entity(&event).len() <= 256);
    let odd: Vec<(&str, &[u8])> = vec![("x-github-delivery", b"\xff\xfe")];
    let request = Request { method: "POST", url: "", headers: &odd, body: b"{}" };
    assert!(admit_unsigned(find("github").unwrap(), &request).is_err());
}

#[test]
fn slack_answers_the_certificate_probe_and_only_a_real_challenge() {
    let slack = find("slack").unwrap();
    let ask = |content_type: &str, body: &str| {
        let headers: [(&str, &[u8]); 1] = [("content-type", content_type.as_bytes())];
        let body = body.as_bytes();
        admit_unsigned(slack, &Request { method: "POST", url: "", headers: &headers, body })
    };
    let form = "application/x-www-form-urlencoded";
    match ask(form, "ssl_check=1&token=x") {
        Ok(Admitted::Challenge(reply)) => assert_eq!((reply.status, reply.body.len()), (200, 0)),
        other => panic!("{other:?}"),
    }
    let body = r#"{"type":"message","challenge":"x"}"#;
    assert!(matches!(ask("application/json", body), Ok(Admitted::Events { .. })));
}

#[test]
fn secrets_of_the_wrong_form_are_told_apart() {
    for (provider, text, fault) in [
        ("standard_webhooks", "v1,whsec_aGFyYm9y", Some("did you mean whsec_")),
        ("supabase_auth", "v1,whsec_aGFyYm9y", None),
        ("svix", "whsec_!!!", Some("not base64")),
        ("svix", "whsec_", Some("empty")),
        ("svix", "whsk_aGFyYm9y", Some("private key")),
        ("svix", "whpk_aGFyYm9y", Some("32 bytes")),
        ("svix", "whsec_aGFyYm9y|whsec_aGFyYm9y", Some("one by one")),
        ("svix", "cGViYmxlLWNhbnlvbi1vcmJpdC0yMg", None),
        ("stripe", "sk_test_51NotASigningSecret", Some("API key (sk_test_")),
        ("stripe", "whsec_not base64 at all", None),
        ("github", "ghp_abc", Some("API key")),
        ("github", "s3cr$Lm7Nq0R$$x{y}", None),
        ("slack", "xoxb-1", Some("API key")),
        ("gitlab", "glpat-1", Some("API key")),
        ("gitlab", "whsec_?", Some("not base64")),
        ("shopify", "shpat_1", Some("API key")),
        ("shopify", "shpss_1", None),
    ] {
        let secret = Secret::new(text).unwrap();
        let found = find(provider).unwrap().secret_fault(&secret);
        match fault {
            None => assert_eq!(found, None, "{provider} {text}"),
            Some(fault) => {
                assert!(found.as_ref().is_some_and(|f| f.contains(fault)), "{provider}: {found:?}");
            }
        }
    }
}

#[test]
fn no_header_with_a_proof_or_credential_travels_on() {
    for provider in ALL {
        for header in provider.forwarded() {
            assert_eq!(*header, header.to_ascii_lowercase());
            for part in ["signature", "hmac", "token", "authorization", "cookie", "secret"] {
                assert!(!header.contains(part), "{}: {header}", provider.name());
            }
        }
    }
}
