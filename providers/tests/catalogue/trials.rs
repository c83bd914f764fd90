//! Requests signed here for trying a source out: the provider admits them itself, and key and kind
//! come back as they were asked for.

use providers::{ALL, Admitted, Draft, Event, Provider, Request, Secret, Window, admit, samples};

use crate::file::{File, URL, load};

fn trial(provider: &dyn Provider, secret: &Secret, draft: &Draft<'_>) -> (Event, Vec<u8>) {
    let who = provider.name();
    let signed = provider.sign(draft, secret).unwrap_or_else(|| panic!("{who}: not signed"));
    let lower = |(name, value): &(String, String)| (name.to_ascii_lowercase(), value.clone());
    let headers: Vec<(String, String)> = signed.headers.iter().map(lower).collect();
    let headers: Vec<(&str, &[u8])> =
        headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
    let query = provider.query(secret);
    let url = query.map_or(draft.url.to_owned(), |query| format!("{}?{query}", draft.url));
    let request = Request { method: "POST", url: &url, headers: &headers, body: &signed.body };
    let window = Window { now_s: draft.now_s, tolerance_s: 300 };
    match admit(provider, &request, std::slice::from_ref(secret), window) {
        Ok(Admitted::Events { mut events, .. }) => (events.remove(0), signed.body),
        other => panic!("{who}: what sign() made is not admitted, vectors: trial: {other:?}"),
    }
}

/// The secret to try a provider out with.
fn secret_of(file: &File) -> Secret {
    let first = || file.vector.iter().find(|vector| vector.expect == "valid");
    let secret = file.trial.secret.clone().or_else(|| first()?.secrets.first().cloned());
    Secret::new(&secret.unwrap()).unwrap()
}

#[test]
fn whoever_can_be_signed_for_has_samples_and_each_is_read_as_what_it_is() {
    for provider in ALL {
        let (file, who) = (load(*provider), provider.name());
        let kinds = samples(who);
        assert_eq!(!kinds.is_empty(), file.trial.signs, "{who}: samples.rs, trial.signs");
        for kind in kinds {
            let draft = Draft { kind, key: "key-1", body: None, now_s: 1_767_225_600, url: URL };
            let (event, body) = trial(*provider, &secret_of(&file), &draft);
            assert_eq!(event.kind, *kind, "{who}");
            if ["github", "stripe"].contains(&who) {
                // The stand-in for a kind that is written with as many letters.
                let other = kind.replace(|letter: char| letter.is_alphabetic(), "x");
                let other = Draft { kind: &other, ..draft };
                let other = provider.sign(&other, &secret_of(&file)).unwrap();
                assert_ne!(body.len(), other.body.len(), "{kind} is but a stand-in");
            }
        }
    }
}

#[test]
fn every_provider_signs_trial_events_that_it_admits_itself() {
    for provider in ALL {
        let (file, who) = (load(*provider), provider.name());
        let trial_of = &file.trial;
        let secret = secret_of(&file);
        let kind = &*trial_of.kind;
        let draft = Draft { kind, key: "trial-1", body: None, now_s: 1_767_225_600, url: URL };
        if !trial_of.signs {
            assert_eq!(provider.sign(&draft, &secret), None, "{who}: vectors: trial.signs");
            continue;
        }
        assert_eq!(provider.secret_fault(&secret), None, "{who}");
        let (event, _) = trial(*provider, &secret, &draft);
        let keeps_key = event.key == draft.key;
        assert_eq!(keeps_key, trial_of.keeps_key, "{who}: vectors: trial.keeps_key: {event:?}");
        let keeps_kind = event.kind == kind;
        assert_eq!(keeps_kind, trial_of.keeps_kind, "{who}: vectors: trial.keeps_kind: {event:?}");
        let (again, _) = trial(*provider, &secret, &Draft { key: "trial-2", ..draft });
        assert_ne!(
            event.key, again.key,
            "{who}: two trials are two events: sign() ignores the key"
        );
        if trial_of.own_body.is_empty() {
            continue;
        }
        let own = Draft { body: Some(trial_of.own_body.as_bytes()), ..draft };
        let (event, body) = trial(*provider, &secret, &own);
        let keeps_key = event.key == draft.key;
        assert_eq!(keeps_key, trial_of.keeps_key, "{who}: vectors: trial.own_body: {event:?}");
        let text = String::from_utf8_lossy(&body).into_owned();
        assert!(text.contains(&trial_of.own_keeps), "{who}: vectors: trial.own_keeps: {text}");
    }
}

#[test]
fn every_kind_of_github_and_stripe_has_an_example() {
    for (who, kinds) in [
        (
            "github",
            &[
                "ping",
                "push",
                "issues.opened",
                "issue_comment.created",
                "check_run.completed",
                "release.published",
                "workflow_run.completed",
                "pull_request.closed",
                "star.created",
            ][..],
        ),
        (
            "stripe",
            &[
                "customer.subscription.updated",
                "invoice.paid",
                "payment_intent.succeeded",
                "charge.refunded",
                "customer.created",
                "checkout.session.completed",
                "price.updated",
            ],
        ),
    ] {
        let provider = providers::find(who).unwrap();
        for kind in kinds {
            let draft = Draft { kind, key: "evt_1", body: None, now_s: 7, url: URL };
            let (event, body) = trial(provider, &Secret::new("a secret").unwrap(), &draft);
            assert_eq!(event.kind, *kind);
            assert!(serde_json::from_slice::<serde_json::Value>(&body).is_ok());
            if who == "stripe" {
                assert_eq!(event.position.occurred_at_us, Some(7_000_000));
            }
        }
    }
}

#[test]
fn the_form_of_a_secret_decides_whether_and_how_a_trial_is_signed() {
    let draft = Draft { kind: "push", key: "1", body: None, now_s: 1, url: URL };
    let signing_token = Secret::new("whsec_c2VjcmV0LXNlY3JldA==").unwrap();
    let gitlab = providers::find("gitlab").unwrap();
    assert_eq!(trial(gitlab, &signing_token, &draft).0.key, "1");
    let public = Secret::new("whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=").unwrap();
    assert!(providers::find("svix").unwrap().sign(&draft, &public).is_none());
}
