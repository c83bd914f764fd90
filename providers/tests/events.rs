//! What events the providers read: key, kind, entity, position and volatile fields, over bodies in
//! the shape of the real ones. Nothing is signed here (`admit_unsigned`), except where the proof
//! changes the reading; signatures are the business of `vectors.rs`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use providers::{
    ALL, Admitted, Draft, Event, Provider, Rejection, Request, Secret, Window, admit,
    admit_unsigned, find,
};

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
fn github_reads_key_kind_lane_and_time() {
    let event = github(
        "pull_request",
        r#"{"action":"opened","number":2,"pull_request":{"url":"u","id":279147437,"number":2,
        "title":"Update","user":{"login":"x","id":3},"labels":[{"id":1}],
        "updated_at":"2019-05-15T15:20:33Z","head":{"repo":{"id":9}}},
        "repository":{"id":186853002,"name":"Hello-World","owner":{"id":21}},"sender":{"id":4}}"#,
    );
    assert_eq!(event.key, "7d3c-01");
    assert_eq!(event.kind, "pull_request.opened");
    assert_eq!(entity(&event), "repository:186853002/pull_request:2");
    assert_eq!(event.position.occurred_at_us, Some(1_557_933_633 * SECOND_US));
    assert_eq!(event.position.sequence, None);
    assert!(event.volatile.is_empty() && event.part.is_none());
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
fn stripe_reads_snapshot_connect_and_thin_events() {
    let event = read(
        "stripe",
        &[],
        r#"{"id":"evt_1AbC","object":"event","api_version":"2026-06-24","created":1700000500,
        "data":{"object":{"id":"sub_1","object":"subscription","items":{"data":[{"id":"si_1"}]}},
        "previous_attributes":{"id":"x"}},"pending_webhooks":2,
        "type":"customer.subscription.updated"}"#,
    )
    .unwrap();
    assert_eq!(event.key, "evt_1AbC");
    assert_eq!(event.kind, "customer.subscription.updated");
    assert_eq!(entity(&event), "sub_1");
    assert_eq!(event.position.occurred_at_us, Some(1_700_000_500 * SECOND_US));
    assert_eq!(event.volatile, ["/pending_webhooks"]);
    let connect = r#"{"id":"evt_2","account":"acct_9","data":{"object":{"id":"in_1"}}}"#;
    assert_eq!(entity(&read("stripe", &[], connect).unwrap()), "acct_9/in_1");
    let thin = r#"{"id":"evt_3","object":"v2.core.event","type":"v1.billing.meter.error",
        "created":"2022-02-15T00:27:45.330Z","related_object":{"id":"mtr_123"}}"#;
    let thin = read("stripe", &[], thin).unwrap();
    assert_eq!(entity(&thin), "mtr_123");
    assert_eq!(thin.position.occurred_at_us, Some(1_644_884_865_330_000));
    for bad in ["{}", "not json", r#"{"id":null}"#, r#"{"id":""}"#, r#"{"id":"a\u0000"}"#] {
        assert!(matches!(read("stripe", &[], bad), Err(Rejection::Unreadable(_))), "{bad}");
    }
    let upcoming = r#"{"id":"evt_4","type":"invoice.upcoming","data":{"object":{"id":null}}}"#;
    assert_eq!(read("stripe", &[], upcoming).unwrap().entity, None);
}

#[test]
fn the_standard_webhooks_family_reads_its_bodies() {
    for (provider, header, body, kind, lane, at_us) in [
        (
            "standard_webhooks",
            "webhook-id",
            r#"{"type":"invoice.paid","timestamp":"2022-11-03T20:26:10.344522Z",
            "data":{"id":"1f81eb52"}}"#,
            "invoice.paid",
            "1f81eb52",
            Some(1_667_507_170_344_522),
        ),
        ("svix", "svix-id", r#"{"type":"ping","data":{"success":true}}"#, "ping", "none", None),
        ("svix", "webhook-id", r#"{"type":"ping"}"#, "ping", "none", None),
        (
            "clerk",
            "svix-id",
            r#"{"data":{"id":"user_29w","updated_at":1654012591835},"object":"event",
            "type":"user.created","timestamp":1654012591999}"#,
            "user.created",
            "user_29w",
            Some(1_654_012_591_835_000),
        ),
        (
            "resend",
            "svix-id",
            r#"{"type":"email.sent","created_at":"2026-01-01T00:00:00.000Z",
            "data":{"email_id":"56761188","to":["a@example.com"]}}"#,
            "email.sent",
            "56761188",
            Some(1_767_225_600_000_000),
        ),
        (
            "openai",
            "webhook-id",
            r#"{"id":"evt_6","object":"event","created_at":1750861210,
            "type":"response.completed","data":{"id":"resp_123"}}"#,
            "response.completed",
            "resp_123",
            Some(1_750_861_210_000_000),
        ),
        (
            "supabase_auth",
            "webhook-id",
            r#"{"user":{"id":"8484b834"},"email_data":{"email_action_type":"signup"}}"#,
            "",
            "8484b834",
            None,
        ),
    ] {
        let signature = header.replace("-id", "-signature");
        let event = read(provider, &[(header, "msg_1"), (&signature, "v1,x")], body).unwrap();
        assert_eq!((event.key.as_str(), event.kind.as_str()), ("msg_1", kind), "{provider}");
        assert_eq!(entity(&event), lane, "{provider}");
        assert_eq!(event.position.occurred_at_us, at_us, "{provider}");
        assert!(matches!(read(provider, &[], body), Err(Rejection::Unreadable(_))), "{provider}");
    }
    let long = "m".repeat(300);
    assert_eq!(read("svix", &[("svix-id", &long)], "no json").unwrap().key, long);
}

#[test]
fn gitlab_takes_the_idempotency_key_and_never_the_event_uuid_alone() {
    let uuid = ("x-gitlab-event-uuid", "2f6b0c11");
    let keyed = |key: &str, body: &str| {
        read("gitlab", &[uuid, ("idempotency-key", key)], body).unwrap().key
    };
    assert_eq!(keyed("7d3c-9b", "{}"), "7d3c-9b");
    assert_ne!(keyed("7d3c-9b", "{}"), keyed("7d3c-9c", "{}"));
    assert!(read("gitlab", &[uuid, ("idempotency-key", "")], "{}").is_err());
    let old = |uuid: &str, body: &str| {
        read("gitlab", &[("x-gitlab-event-uuid", uuid)], body).unwrap().key
    };
    assert_eq!(old("u", "{\"n\":1}"), old("u", "{\"n\":1}"));
    assert_ne!(old("u", "{\"n\":1}"), old("u", "{\"n\":2}"));
    assert_ne!(old("u", "{\"n\":1}"), old("v", "{\"n\":1}"));
    assert!(old("u", "{}").starts_with("sha256:"));
}

#[test]
fn gitlab_reads_kind_lane_and_both_forms_of_time() {
    for (body, kind, lane, at_us) in [
        (
            r#"{"object_kind":"merge_request","project":{"id":1},"object_attributes":{"id":99,
            "iid":1,"action":"open","updated_at":"2013-12-03T17:23:34Z"}}"#,
            "merge_request.open",
            "project:1/merge_request:99",
            Some(1_386_091_414_000_000),
        ),
        (
            r#"{"object_kind":"note","project_id":1,"object_attributes":{"id":1244,"action":
            "create","noteable_type":"MergeRequest","noteable_id":99,
            "updated_at":"2017-09-15 16:50:55 UTC"},"merge_request":{"id":99}}"#,
            "note.create",
            "project:1/merge_request:99",
            Some(1_505_494_255_000_000),
        ),
        (
            r#"{"object_kind":"note","project":{"id":5},"object_attributes":{"noteable_type":
            "Commit","noteable_id":null},"commit":{"id":"cfe32cf"}}"#,
            "note",
            "project:5/commit:cfe32cf",
            None,
        ),
        (
            r#"{"object_kind":"push","event_name":"push","ref":"refs/heads/main","project_id":15,
            "project":{"id":15},"commits":[{"id":"a","timestamp":"2011-12-12T14:27:31+02:00"}]}"#,
            "push",
            "project:15/ref:refs/heads/main",
            None,
        ),
        (
            r#"{"object_kind":"deployment","deployment_id":15,"project":{"id":30},
            "status_changed_at":"2021-04-28 21:50:00 +0200"}"#,
            "deployment",
            "project:30/deployment:15",
            Some(1_619_639_400_000_000),
        ),
        (
            r#"{"object_kind":"build","build_id":1977,"project_id":380,"build_finished_at":null}"#,
            "build",
            "project:380/build:1977",
            None,
        ),
        (
            r#"{"event_name":"project_create","project_id":74}"#,
            "project_create",
            "project:74",
            None,
        ),
        ("no json", "Push Hook", "none", None),
    ] {
        let headers = [("x-gitlab-event", "Push Hook"), ("idempotency-key", "k")];
        let event = read("gitlab", &headers, body).unwrap();
        assert_eq!(event.kind, kind);
        assert_eq!(entity(&event), lane, "{kind}");
        assert_eq!(event.position.occurred_at_us, at_us, "{kind}");
    }
}

#[test]
fn slack_reads_events_interactions_and_commands() {
    let json = [("content-type", "application/json")];
    let form = [("content-type", "application/x-www-form-urlencoded")];
    let event = r#"{"token":"z","team_id":"T061EG9R6","api_app_id":"A0","event":{"type":"message",
        "channel":"C2147483705","user":"U2","text":"hi","event_ts":"1355517523.000005"},
        "type":"event_callback","event_id":"Ev0PV52K25","event_time":1355517523}"#;
    let event = read("slack", &json, event).unwrap();
    assert_eq!((event.key.as_str(), event.kind.as_str()), ("Ev0PV52K25", "message"));
    assert_eq!(entity(&event), "T061EG9R6/C2147483705");
    assert_eq!(event.position.occurred_at_us, Some(1_355_517_523_000_005));

    let created = r#"{"team_id":"T1","event":{"type":"channel_created","channel":{"id":"C9"}},
        "type":"event_callback","event_id":"Ev1","event_time":1355517523}"#;
    let created = read("slack", &json, created).unwrap();
    assert_eq!(entity(&created), "T1/C9");
    assert_eq!(created.position.occurred_at_us, Some(1_355_517_523_000_000));

    let action = "payload=%7B%22type%22%3A%22block_actions%22%2C%22trigger_id%22%3A%221.2.d8c%22%2C\
        %22team%22%3A%7B%22id%22%3A%22T1%22%7D%2C%22channel%22%3A%7B%22id%22%3A%22C1%22%7D%2C\
        %22actions%22%3A%5B%7B%22action_ts%22%3A%221548426417.840180%22%7D%5D%7D";
    let action = read("slack", &form, action).unwrap();
    assert_eq!((action.key.as_str(), action.kind.as_str()), ("1.2.d8c", "block_actions"));
    assert_eq!(entity(&action), "T1/C1");
    assert_eq!(action.position.occurred_at_us, Some(1_548_426_417_840_180));

    let command = "token=x&team_id=T1&channel_id=G8&command=%2Fsend+it&text=&trigger_id=39.4.80";
    let command = read("slack", &form, command).unwrap();
    assert_eq!((command.key.as_str(), command.kind.as_str()), ("39.4.80", "/send it"));
    assert_eq!(entity(&command), "T1/G8");

    let limited =
        |minute| format!(r#"{{"type":"app_rate_limited","minute_rate_limited":{minute}}}"#);
    let limited = |minute| read("slack", &json, limited(minute)).unwrap().key;
    assert_eq!(limited(1), limited(1));
    assert_ne!(limited(1), limited(2));
    assert!(read("slack", &form, "a=b").is_err() && read("slack", &json, "no").is_err());
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
fn shopify_reads_both_families_of_headers() {
    let body = r#"{"id":820982911946154508,"admin_graphql_api_id":"gid://shopify/Order/82",
        "updated_at":"2021-12-31T19:00:00-05:00","line_items":[{"id":1}]}"#;
    for prefix in ["x-shopify-", "shopify-"] {
        let name = |end: &str| format!("{prefix}{end}");
        let headers = [
            (name("hmac-sha256"), "x"),
            (name("topic"), "orders/create"),
            (name("shop-domain"), "shop.myshopify.com"),
            (name("webhook-id"), "b54557e4"),
            (name("event-id"), "98880550"),
            (name("triggered-at"), "2022-01-01T00:00:01.123456789Z"),
        ];
        let headers: Vec<(&str, &str)> = headers.iter().map(|(n, v)| (n.as_str(), *v)).collect();
        let event = read("shopify", &headers, body).unwrap();
        assert_eq!((event.key.as_str(), event.kind.as_str()), ("b54557e4", "orders/create"));
        assert_eq!(entity(&event), "shop.myshopify.com/gid://shopify/Order/82");
        assert_eq!(event.position.occurred_at_us, Some(1_640_995_200_000_000));
        let plain = read("shopify", &headers, r#"{"id":820982911946154508}"#).unwrap();
        assert_eq!(entity(&plain), "shop.myshopify.com/orders:820982911946154508");
        assert_eq!(plain.position.occurred_at_us, Some(1_640_995_201_123_456));
        let edited = read("shopify", &headers, r#"{"order_edit":{"id":1,"order_id":82}}"#).unwrap();
        assert_eq!(entity(&edited), "shop.myshopify.com/gid://shopify/Order/82");
        assert_eq!(read("shopify", &headers, "<xml/>").unwrap().entity, None);
    }
    assert!(matches!(read("shopify", &[], body), Err(Rejection::Unreadable(_))));
}

/// Secrets that the providers accept, by name.
fn secret_of(provider: &dyn Provider) -> Secret {
    let text = match provider.name() {
        "github" | "stripe" | "slack" | "shopify" | "gitlab" => "whsec-like but plain",
        "supabase_auth" => "v1,whsec_c3VwYWJhc2UtYXV0aC1ob29rLXNlY3JldC0zMmJ5dGU=",
        _ => "whsec_c3VwYWJhc2UtYXV0aC1ob29rLXNlY3JldC0zMmJ5dGU=",
    };
    Secret::new(text).unwrap()
}

fn trial(provider: &dyn Provider, secret: &Secret, draft: &Draft<'_>) -> (Event, Vec<u8>) {
    let signed = provider.sign(draft, secret).unwrap();
    let headers: Vec<(String, String)> = signed
        .headers
        .iter()
        .map(|(name, value)| (name.to_ascii_lowercase(), value.clone()))
        .collect();
    let headers: Vec<(&str, &[u8])> =
        headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
    let request = Request { method: "POST", url: "", headers: &headers, body: &signed.body };
    let window = Window { now_s: draft.now_s, tolerance_s: 300 };
    match admit(provider, &request, std::slice::from_ref(secret), window) {
        Ok(Admitted::Events { mut events, .. }) => (events.remove(0), signed.body),
        other => panic!("{}: {other:?}", provider.name()),
    }
}

#[test]
fn every_provider_signs_trial_events_that_it_admits_itself() {
    for provider in ALL {
        let secret = secret_of(*provider);
        assert_eq!(provider.secret_fault(&secret), None, "{}", provider.name());
        let kind = match provider.name() {
            "github" => "pull_request.closed",
            "gitlab" => "merge_request.open",
            "shopify" => "orders/create",
            "slack" => "message",
            _ => "invoice.paid",
        };
        let draft = Draft { kind, key: "trial-1", body: None, now_s: 1_767_225_600 };
        let (event, body) = trial(*provider, &secret, &draft);
        assert_eq!((event.key.as_str(), event.kind.as_str()), ("trial-1", kind));
        assert!(serde_json::from_slice::<serde_json::Value>(&body).is_ok());
        assert!(event.entity.is_some(), "{}", provider.name());
        let own = Draft { body: Some(br#"{"n":1.0,"id":"evt_old"}"#), ..draft };
        let (event, body) = trial(*provider, &secret, &own);
        assert_eq!(event.key, "trial-1", "{}: an own body", provider.name());
        assert!(body.starts_with(br#"{"n":1.0,"#), "{}", provider.name());
    }
    for kind in [
        "ping",
        "push",
        "issues.opened",
        "issue_comment.created",
        "check_run.completed",
        "release.published",
        "workflow_run.completed",
        "star.created",
    ] {
        let draft = Draft { kind, key: "1", body: None, now_s: 1 };
        let github = find("github").unwrap();
        let (event, _) = trial(github, &secret_of(github), &draft);
        assert_eq!(event.kind, kind);
    }
    for kind in [
        "customer.subscription.updated",
        "invoice.paid",
        "payment_intent.succeeded",
        "charge.refunded",
        "customer.created",
        "checkout.session.completed",
        "price.updated",
    ] {
        let draft = Draft { kind, key: "evt_1", body: None, now_s: 7 };
        let stripe = find("stripe").unwrap();
        let (event, _) = trial(stripe, &secret_of(stripe), &draft);
        assert_eq!((event.kind.as_str(), event.position.occurred_at_us), (kind, Some(7_000_000)));
    }
    let draft = Draft { kind: "push", key: "1", body: None, now_s: 1 };
    let signing_token = Secret::new("whsec_c2VjcmV0LXNlY3JldA==").unwrap();
    assert_eq!(trial(find("gitlab").unwrap(), &signing_token, &draft).0.key, "1");
    let public = Secret::new("whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=").unwrap();
    assert!(find("svix").unwrap().sign(&draft, &public).is_none());
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
