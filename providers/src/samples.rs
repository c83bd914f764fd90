//! Which kinds of event there are examples of, for people who try a source out. Every provider
//! that signs makes a small stand-in of any other kind as well. Nothing is signed here.

/// The kinds that a provider has an example of, the commonest first.
pub fn samples(name: &str) -> &'static [&'static str] {
    match name {
        "github" => &[
            "push",
            "pull_request.opened",
            "issues.opened",
            "issue_comment.created",
            "check_run.completed",
            "workflow_run.completed",
            "release.published",
            "ping",
        ],
        "stripe" => &[
            "invoice.paid",
            "payment_intent.succeeded",
            "charge.succeeded",
            "checkout.session.completed",
            "customer.created",
            "customer.subscription.updated",
        ],
        "gitlab" => &["push", "tag_push", "merge_request.open", "issue.open"],
        "slack" => &["message", "app_mention"],
        "shopify" => &["orders/create", "products/update"],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::samples;
    use crate::{ALL, Admitted, Draft, Request, Secret, Window, admit};

    #[test]
    fn every_sample_is_signed_and_read_as_what_it_is() {
        let secret = Secret::new("lantern-41").unwrap();
        let window = Window { now_s: 1_767_225_600, tolerance_s: 300 };
        let mut count = 0;
        for provider in ALL {
            for kind in samples(provider.name()) {
                let draft = Draft { kind, key: "key-1", body: None, now_s: window.now_s, url: "" };
                let signed = provider.sign(&draft, &secret).unwrap();
                let lower = |(name, value): &(String, String)| {
                    (name.to_ascii_lowercase(), value.clone().into_bytes())
                };
                let lines: Vec<(String, Vec<u8>)> = signed.headers.iter().map(lower).collect();
                let headers: Vec<(&str, &[u8])> =
                    lines.iter().map(|(name, value)| (&**name, &**value)).collect();
                let body = &signed.body;
                let request = Request { method: "POST", url: "", headers: &headers, body };
                let admitted = admit(*provider, &request, std::slice::from_ref(&secret), window);
                let Ok(Admitted::Events { events, .. }) = admitted else {
                    panic!("{kind} of {}: {admitted:?}", provider.name())
                };
                assert_eq!(events[0].kind, *kind, "{}", provider.name());
                if ["github", "stripe"].contains(&provider.name()) {
                    // The stand-in for a kind that is written with as many letters.
                    let kind = kind.replace(|letter: char| letter.is_alphabetic(), "x");
                    let other = provider.sign(&Draft { kind: &kind, ..draft }, &secret).unwrap();
                    assert_ne!(body.len(), other.body.len(), "{kind} is but a stand-in");
                }
                count += 1;
            }
        }
        assert_eq!(count, 22, "a provider is spelt otherwise here than in ALL");
    }
}
