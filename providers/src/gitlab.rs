//! GitLab: either a signing token (Standard Webhooks, proves the body) or the older secret token,
//! sent in the clear, which proves the sender only. The secret's form decides which is demanded:
//! a `whsec_` one is never satisfied by a token, so nobody can step down to the weaker proof.
//!
//! Source: docs.gitlab.com/user/project/integrations/webhooks; gitlab-org/gitlab!230944.

mod key;
mod subject;

use self::key::key;
use self::subject::{FACTS, FIELDS, FORWARDED, subject};
use crate::sign::{self, Coverage};
use crate::standard_webhooks::{Key, WEBHOOK};
use crate::text::{Unit, time_us};
use crate::{
    Draft, Event, Facts, Position, Proved, Provider, Rejection, Request, Secret, Signed, Verified,
    Window, example, identity, json,
};

/// Project, group and system hooks of GitLab.
pub(crate) struct GitLab;

const TOKEN: &str = "x-gitlab-token";

fn is_signing_token(secret: &Secret) -> bool {
    secret.expose().starts_with("whsec_")
}

impl Provider for GitLab {
    fn name(&self) -> &'static str {
        "gitlab"
    }

    fn facts(&self) -> Facts {
        FACTS
    }

    /// The weaker of the two; a proof says which it was.
    fn coverage(&self) -> Coverage {
        Coverage::Sender
    }

    fn forwarded(&self) -> &'static [&'static str] {
        FORWARDED
    }

    fn body_bytes_max(&self) -> usize {
        // GitLab sends payloads up to 25 MB.
        26_214_400
    }

    fn horizon_days(&self) -> u32 {
        // Resends are offered from a delivery log of about 7 days.
        10
    }

    fn answer_deadline_ms(&self) -> Option<u32> {
        Some(10_000)
    }

    fn secret_fault(&self, secret: &Secret) -> Option<String> {
        match is_signing_token(secret) {
            true => Key::fault(secret, false),
            false => secret.api_key_fault(),
        }
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, window: Window) -> Verified<'r> {
        if is_signing_token(secret) {
            return WEBHOOK.verify(request, &Key::read(secret, false)?, window);
        }
        sign::prove_token(request, secret.expose().as_bytes(), request.header(TOKEN)?)
    }

    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let request = proved.request();
        let fields = json::fields(request.body, FIELDS).unwrap_or_default();
        let [kind, name, action, top_action, project, project_id, group, ids @ ..] =
            json::texts(&fields);
        let header = identity::header_text(request, "x-gitlab-event");
        let kind = kind.or(name).unwrap_or(&header);
        let owner = match (project.or(project_id), group) {
            (Some(project), _) => Some(format!("project:{project}")),
            (None, group) => group.map(|group| format!("group:{group}")),
        };
        let (subject, times) = subject(kind, ids);
        let subject = subject.map(|(label, id)| format!("{label}:{id}"));
        let entity = match &subject {
            Some(own) => identity::entity(&[owner.as_deref(), Some(own)]),
            None => identity::entity(&[owner.as_deref()]),
        };
        let at = times.into_iter().flatten().find_map(|at| time_us(at, Unit::Seconds));
        Ok(vec![Event {
            key: key(proved)?,
            kind: identity::kind(&[kind, action.or(top_action).unwrap_or_default()]),
            entity,
            position: Position::at(at),
            volatile: &[],
            part: None,
        }])
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let body = draft.body.map_or_else(|| example::gitlab(draft.kind), <[u8]>::to_vec);
        let title = draft.kind.split('.').next().unwrap_or_default().replace('_', " ");
        let mut headers = example::headers(&[
            ("Content-Type", "application/json"),
            ("X-Gitlab-Event", &format!("{title} Hook")),
            ("Idempotency-Key", draft.key),
        ]);
        if is_signing_token(secret) {
            let trio = WEBHOOK.sign(draft, &Key::read(secret, false).ok()?, &body)?;
            headers.extend(trio);
        } else {
            headers.push(("X-Gitlab-Token".to_owned(), secret.expose().to_owned()));
        }
        Some(Signed { headers, body })
    }
}
