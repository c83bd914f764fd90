//! A configured sender that shows a shared token: the sender is proved, the content is not.

use super::place::header_name;
use super::places::Places;
use super::{TokenSettings, configured};
use crate::sign::{self, Coverage};
use crate::{
    Draft, Event, Facts, Proved, Provider, Rejection, Request, Secret, Signed, Verified, Window,
};

pub(super) struct GenericToken {
    header: &'static str,
    prefix: String,
    places: Places,
}

impl GenericToken {
    pub(super) fn new(settings: TokenSettings) -> Result<Self, String> {
        let header = header_name(&settings.header).map_err(|fault| format!("header: {fault}"))?;
        let places = Places::new(settings.event, header)?;
        Ok(Self { header, prefix: settings.prefix, places })
    }
}

impl Provider for GenericToken {
    fn name(&self) -> &'static str {
        "generic_token"
    }

    fn facts(&self) -> Facts {
        configured("Your own sender, with a token", "a token in a header")
    }

    fn coverage(&self) -> Coverage {
        Coverage::Sender
    }

    fn forwarded(&self) -> &'static [&'static str] {
        self.places.headers
    }

    fn secret_fault(&self, _: &Secret) -> Option<String> {
        // Any text may have been agreed upon, one that looks like an API key included.
        None
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, _: Window) -> Verified<'r> {
        let claim = request
            .header(self.header)?
            .strip_prefix(self.prefix.as_bytes())
            .ok_or(Rejection::HeaderMalformed(self.header, "it does not begin with its prefix"))?;
        sign::prove_token(request, secret.expose().as_bytes(), claim)
    }

    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        self.places.events(proved)
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let (mut headers, body) = self.places.fill(draft);
        let token = format!("{}{}", self.prefix, secret.expose());
        headers.push((self.header.to_owned(), token));
        Some(Signed { headers, body })
    }
}
