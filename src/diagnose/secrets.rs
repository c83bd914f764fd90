//! The secret is the right one, and was written or decoded in another way by the sender.

use super::{BODY_BYTES_MAX, Case, Cause, Diagnosis, found, keyed};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use providers::Secret;

/// A form of the secret would have proved it.
pub(super) fn other_form(case: &Case<'_>) -> Option<Diagnosis> {
    if case.request.body.len() > BODY_BYTES_MAX {
        return None;
    }
    let claims = keyed::claims(&case.request);
    case.tried().find_map(|secret| {
        let text = secret.expose();
        let fits = |form: &str| {
            form != text && Secret::new(form).is_some_and(|form| case.proves(&case.request, &form))
        };
        let as_text = forms(text).into_iter().find(|(_, form)| fits(form)).map(|(what, _)| what);
        let as_bytes = || {
            let decoded = decoded(text).into_iter();
            let mut fitting = decoded.filter(|(_, key)| keyed::fits(&case.request, key, &claims));
            fitting.next().map(|(what, _)| what)
        };
        let what = as_text.or_else(as_bytes)?;
        let text = format!(
            "it is signed with this secret {what}: configure it as the sender shows it, and look \
             at how its scheme decodes it"
        );
        Some(found(Cause::SecretForm, text))
    })
}

/// Texts that the sender may have meant.
fn forms(text: &str) -> Vec<(&'static str, String)> {
    let bare = text.strip_prefix("whsec_").unwrap_or(text);
    let trimmed = text.trim();
    let mut forms = vec![
        ("without white space around it", trimmed.to_owned()),
        ("with a line end at its end", format!("{trimmed}\n")),
        ("without its quotation marks", trimmed.trim_matches(['"', '\'']).to_owned()),
        ("without its prefix whsec_", bare.to_owned()),
        ("with the prefix whsec_", format!("whsec_{bare}")),
        ("taken as it stands instead of decoded from base64", STANDARD.encode(text)),
        ("taken as it stands instead of decoded from base64", STANDARD.encode(bare)),
        ("taken as it stands instead of decoded from hexadecimal", hex::encode(text)),
    ];
    for (what, bytes) in decoded(text) {
        forms.extend(String::from_utf8(bytes).map(|text| (what, text)));
    }
    forms
}

/// Keys that are written in the text.
fn decoded(text: &str) -> Vec<(&'static str, Vec<u8>)> {
    let bare = text.trim();
    let bare = bare.strip_prefix("whsec_").unwrap_or(bare);
    let unpadded = bare.trim_end_matches('=');
    let hexadecimal = hex::decode(bare).map(|key| ("decoded from hexadecimal", key));
    let base64 = STANDARD_NO_PAD.decode(unpadded).map(|key| ("decoded from base64", key));
    let url_safe = URL_SAFE_NO_PAD.decode(unpadded);
    let url_safe = url_safe.map(|key| ("decoded from URL-safe base64", key));
    let all = [hexadecimal.ok(), base64.ok(), url_safe.ok()].into_iter().flatten();
    all.filter(|(_, key)| !key.is_empty()).collect()
}
