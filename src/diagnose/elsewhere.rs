//! The request is good, but not here: another secret, another source, another sender, another URL.

use super::{Case, Cause, Diagnosis, SECRETS_MAX, found, proves};
use providers::{ALL, Rejection, Request, Secret};

/// Other sources that are looked at.
const SOURCES_MAX: usize = 32;

/// Secrets in the forms that senders' secrets have. Their values do not matter: the question is
/// whether a request carries a proof of the sender's form.
const FORMS: [&str; 2] = ["whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=", "user:password"];

/// Senders that are named at most: adopters of one scheme cannot be told apart.
const NAMED_MAX: usize = 3;

/// Signed with the secret of another source, or with a text that is meant for something else.
pub(super) fn other_secret(case: &Case<'_>) -> Option<Diagnosis> {
    if case.source.verify_token.as_ref().is_some_and(|token| case.proves(&case.request, token)) {
        let text = "it is signed with verify_token, which is for registering the URL only: give \
            the sender's signing secret under secrets, or the sender the right one";
        return Some(found(Cause::OtherSecret, text));
    }
    let others = case.others.iter().filter(|other| other.name != case.source.name);
    let other = others.take(SOURCES_MAX).find(|other| {
        let secrets = other.secrets.iter().take(SECRETS_MAX);
        secrets.into_iter().any(|secret| case.proves(&case.request, secret))
    })?;
    let text = format!(
        "it is signed with the secret of the source {:?}: the secrets were mixed up, or the sender \
         has the URL of this source in the place of that one's",
        other.name
    );
    Some(found(Cause::OtherSecret, text))
}

/// Another source, with another provider, would have proved it.
pub(super) fn other_source(case: &Case<'_>) -> Option<Diagnosis> {
    let others = case.others.iter().filter(|other| other.name != case.source.name);
    let other = others.take(SOURCES_MAX).find(|other| {
        let url = other.url(case.target);
        let request = Request { url: &url, ..case.request };
        let secrets = other.secrets.iter().take(SECRETS_MAX);
        secrets.into_iter().any(|secret| proves(other, &request, secret, case.window))
    })?;
    let text = format!(
        "the source {:?} ({}) would have proved it: the sender has the wrong URL",
        other.name,
        other.provider.name()
    );
    Some(found(Cause::OtherSource, text))
}

/// It carries the proof of another kind of sender.
pub(super) fn other_sender(case: &Case<'_>) -> Option<Diagnosis> {
    // Any sender may use this one, for whatever it likes.
    let lines = case.request.headers.iter().filter(|(name, _)| *name != "authorization");
    let headers: Vec<(&str, &[u8])> = lines.copied().collect();
    let request = Request { headers: &headers, body: b"", ..case.request };
    let forms: Vec<Secret> = FORMS.iter().filter_map(|form| Secret::new(form)).collect();
    let own = case.source.provider.name();
    let carried = ALL.iter().filter(|provider| provider.name() != own).filter(|provider| {
        forms.iter().any(|form| {
            let verified = provider.verify(&request, form, case.window);
            matches!(
                verified,
                Ok(_) | Err(Rejection::SignatureMismatch | Rejection::TimestampOutside { .. })
            )
        })
    });
    let names: Vec<&str> = carried.map(|provider| provider.name()).take(NAMED_MAX).collect();
    if names.is_empty() {
        return None;
    }
    let names = names.join(" or ");
    let text = format!("it is signed as by {names}, and the provider of this source is {own}");
    Some(found(Cause::OtherSender, text))
}

/// Signed for another URL than the configured one.
pub(super) fn other_url(case: &Case<'_>) -> Option<Diagnosis> {
    let url = urls(case).into_iter().find(|url| {
        let request = Request { url, ..case.request };
        case.tried().any(|secret| case.proves(&request, secret))
    })?;
    // The query may hold a token, and is not a part of what is configured.
    let url = url.split('?').next().unwrap_or_default();
    let name = &case.source.name;
    let text = format!("it is signed for the URL {url}: set sources.{name}.public_url to it");
    Some(found(Cause::OtherUrl, text))
}

/// URLs that the sender may have been given, by what it asked for and by how the configured one
/// may be written. They only explain: what proves a request is never taken from its headers.
fn urls(case: &Case<'_>) -> Vec<String> {
    let text = |name: &'static str| {
        let value = case.request.header_lines(name).next()?;
        std::str::from_utf8(value).ok().filter(|host| host.len() < 256)
    };
    let query = case.target.split_once('?').map(|(_, query)| format!("?{query}"));
    let query = query.unwrap_or_default();
    let mut bases = Vec::new();
    for host in [text("host"), text("x-forwarded-host")].into_iter().flatten() {
        let path = case.target.split('?').next().unwrap_or_default();
        bases.extend(["https", "http"].map(|scheme| format!("{scheme}://{host}{path}")));
    }
    if let Some(url) = &case.source.public_url {
        bases.push(url.clone());
        bases.push(match url.strip_prefix("https://") {
            Some(rest) => format!("http://{rest}"),
            None => url.replacen("http://", "https://", 1),
        });
    }
    let turned = |base: &String| match base.strip_suffix('/') {
        Some(bare) => bare.to_owned(),
        None => format!("{base}/"),
    };
    let all: Vec<String> = bases.iter().cloned().chain(bases.iter().map(turned)).collect();
    all.iter().flat_map(|base| [format!("{base}{query}"), base.clone()]).collect()
}
