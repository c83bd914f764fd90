//! Handshakes before a proof: each is answered as its case says, or is none at all.

use providers::{ALL, Handshaking, Request, Secret};

use crate::case::lower;
use crate::file::{URL, load};

#[test]
fn every_handshake_is_answered_as_its_case_says() {
    for provider in ALL {
        for case in load(*provider).handshake {
            let name = format!("{}: {}", provider.name(), case.name);
            let headers = lower(&case.headers);
            let headers: Vec<(&str, &[u8])> =
                headers.iter().map(|(name, value)| (name.as_str(), value.as_slice())).collect();
            let url = case.url.as_deref().unwrap_or(URL);
            let (method, body) = (&*case.method, case.body.as_bytes());
            let request = Request { method, url, headers: &headers, body };
            let secrets: Vec<Secret> = case.secrets.iter().filter_map(|s| Secret::new(s)).collect();
            let token = case.verify_token.as_deref().and_then(Secret::new);
            let pending = case.pending;
            let at = Handshaking { secrets: &secrets, verify_token: token.as_ref(), pending };
            let handshake = provider.handshake(&request, &at);
            if case.none {
                assert_eq!(handshake, None, "{name}");
                continue;
            }
            let handshake = handshake.unwrap_or_else(|| panic!("{name}: not taken for one"));
            let reply = handshake.reply;
            assert_eq!(reply.status, case.status, "{name}");
            assert_eq!(String::from_utf8_lossy(&reply.body), case.reply, "{name}");
            assert_eq!(handshake.plants, case.plants, "{name}");
            assert!(handshake.plants.is_none() || pending, "{name}: planted at any time");
            if !case.content_type.is_empty() {
                assert_eq!(reply.content_type, case.content_type, "{name}");
            }
            for (header, value) in &case.reply_headers {
                let sent = reply.headers.iter().any(|(n, v)| n == header && v == value);
                assert!(sent, "{name}: {header}: {value} is not in {:?}", reply.headers);
            }
        }
    }
}

#[test]
fn an_ordinary_request_is_no_handshake() {
    for provider in ALL {
        for vector in load(*provider).vector.iter().filter(|vector| vector.expect == "valid") {
            let case = crate::case::Case::of(vector);
            for pending in [false, true] {
                let at = Handshaking { secrets: &case.secrets, verify_token: None, pending };
                let taken = case.run(|request, _| provider.handshake(request, &at));
                assert_eq!(taken, None, "{}: {}", provider.name(), vector.name);
            }
        }
    }
}
