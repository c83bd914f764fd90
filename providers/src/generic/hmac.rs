//! A configured sender that signs: header, hash, encoding and the signed bytes are settings.

use super::place::{Place, header_name};
use super::places::Places;
use super::template::{Piece, pieces};
use super::{HmacSettings, SecretForm, configured};
use crate::sign::{self, Encoding, Stamp};
use crate::text::Unit;
use crate::{
    Draft, Event, Facts, Proved, Provider, Rejection, Request, Secret, Signed, Verified, Window,
};

pub(super) struct GenericHmac {
    header: &'static str,
    settings: HmacSettings,
    time: Option<&'static str>,
    signed: Vec<Piece>,
    places: Places,
}

impl GenericHmac {
    pub(super) fn new(settings: HmacSettings) -> Result<Self, String> {
        let header = header_name(&settings.header).map_err(|fault| format!("header: {fault}"))?;
        let places = Places::new(settings.event.clone(), header)?;
        let time = settings.timestamp_header.as_deref().map(header_name).transpose();
        let time = time.map_err(|fault| format!("timestamp_header: {fault}"))?;
        let id = match places.key {
            Place::Header(name) => Some(name),
            _ => None,
        };
        let signed = pieces(&settings.signed, id, time)?;
        Ok(Self { header, settings, time, signed, places })
    }

    fn key(&self, secret: &Secret) -> Result<Vec<u8>, Rejection> {
        let decoded = match self.settings.secret {
            SecretForm::Text => return Ok(secret.expose().as_bytes().to_vec()),
            SecretForm::Hex => Encoding::Hex.read_secret(secret.expose()),
            SecretForm::Base64 => Encoding::Base64.read_secret(secret.expose()),
        };
        decoded.ok_or(Rejection::SecretUnusable("it is not of the configured encoding"))
    }
}

impl Provider for GenericHmac {
    fn name(&self) -> &'static str {
        "generic_hmac"
    }

    fn facts(&self) -> Facts {
        configured("Your own sender, signing", "an HMAC, as configured")
    }

    fn forwarded(&self) -> &'static [&'static str] {
        self.places.headers
    }

    fn secret_fault(&self, secret: &Secret) -> Option<String> {
        self.key(secret).err().map(|fault| fault.to_string())
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, window: Window) -> Verified<'r> {
        let key = self.key(secret)?;
        let HmacSettings { prefix, encoding, algorithm, timestamp_unit, .. } = &self.settings;
        let claim = sign::claimed(request, self.header, prefix, *encoding)?;
        let mut parts = Vec::with_capacity(self.signed.len());
        for piece in &self.signed {
            parts.push(match piece {
                Piece::Text(text) => text.as_bytes(),
                Piece::Header(name) => request.header(name)?,
                Piece::Body => request.body,
                Piece::Method => request.method.as_bytes(),
                Piece::Url => request.url.as_bytes(),
            });
        }
        let stamp = match self.time {
            Some(name) => Some(Stamp::read(name, request.header(name)?, *timestamp_unit)?),
            None => None,
        };
        let proved = sign::prove_hmac(request, *algorithm, &key, &parts, &[claim])?;
        stamp.map_or(Ok(proved), |stamp| proved.within(stamp, window))
    }

    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        self.places.events(proved)
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let (mut headers, body) = self.places.fill(draft);
        if let Some(name) = self.time {
            let now = match self.settings.timestamp_unit {
                Unit::Seconds => draft.now_s,
                Unit::Millis => draft.now_s.saturating_mul(1000),
            };
            headers.push((name.to_owned(), now.to_string()));
        }
        let mut parts = Vec::with_capacity(self.signed.len());
        for piece in &self.signed {
            parts.push(match piece {
                Piece::Text(text) => text.as_bytes(),
                Piece::Header(name) => {
                    headers.iter().find(|(header, _)| header == name)?.1.as_bytes()
                }
                Piece::Body => &body,
                Piece::Method => b"POST",
                Piece::Url => draft.url.as_bytes(),
            });
        }
        let tag = sign::hmac(self.settings.algorithm, &self.key(secret).ok()?, &parts)?;
        let signature = self.settings.encoding.write(&tag);
        headers.push((self.header.to_owned(), format!("{}{signature}", self.settings.prefix)));
        Some(Signed { headers, body })
    }
}
