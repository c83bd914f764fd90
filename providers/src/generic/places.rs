//! Reads events where a configuration says they stand, and puts them there for a trial.

use super::EventSettings;
use super::place::{Place, kept, place};
use crate::text::{Unit, time_us};
use crate::{Draft, Event, Position, Proved, Rejection, identity, json};

/// [`EventSettings`], checked.
#[derive(Clone, Debug)]
pub(super) struct Places {
    pub(super) key: Place,
    kind: Option<Place>,
    entity: Option<Place>,
    occurred_at: Option<Place>,
    unit: Unit,
    volatile: &'static [&'static str],
    /// The headers among the places: they describe the event and travel on.
    pub(super) headers: &'static [&'static str],
}

impl Places {
    /// `secret_header` carries the proof, so nothing about the event may be read from it.
    pub(super) fn new(settings: EventSettings, secret_header: &str) -> Result<Self, String> {
        let place = |setting: &str, text: &str| {
            let place = place(text).map_err(|fault| format!("event.{setting}: {fault}"))?;
            match place {
                Place::Header(name) if name == secret_header => {
                    Err(format!("event.{setting}: this header carries the proof"))
                }
                place => Ok(place),
            }
        };
        let optional = |setting, text: &Option<String>| match text.as_deref() {
            Some("digest") => Err(format!("event.{setting}: only the key can be a digest")),
            text => text.map(|text| place(setting, text)).transpose(),
        };
        if let Some(fault) = settings.volatile.iter().find_map(|text| json::pointer_fault(text)) {
            return Err(format!("event.volatile: {fault}"));
        }
        let key = place("key", &settings.key)?;
        let kind = optional("kind", &settings.kind)?;
        let entity = optional("entity", &settings.entity)?;
        let occurred_at = optional("occurred_at", &settings.occurred_at)?;
        let all = [Some(&key), kind.as_ref(), entity.as_ref(), occurred_at.as_ref()];
        let header = |place: Option<&Place>| match place {
            Some(Place::Header(name)) => Some(*name),
            _ => None,
        };
        let headers: Vec<_> = all.into_iter().filter_map(header).collect();
        let volatile: Vec<_> = settings.volatile.into_iter().map(kept).collect();
        Ok(Self {
            key,
            kind,
            entity,
            occurred_at,
            unit: settings.occurred_at_unit,
            volatile: Box::leak(volatile.into_boxed_slice()),
            headers: Box::leak(headers.into_boxed_slice()),
        })
    }

    pub(super) fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let request = proved.request();
        let body = json::view(request.header("content-type").ok(), request.body);
        let all =
            [Some(&self.key), self.kind.as_ref(), self.entity.as_ref(), self.occurred_at.as_ref()];
        let pointers = all.map(|place| match place {
            Some(Place::Json(pointer)) => pointer.as_str(),
            _ => "",
        });
        let fields = json::fields(&body, pointers).unwrap_or_default();
        let texts = json::texts(&fields);
        let read = |index: usize| match all[index] {
            Some(Place::Header(name)) => Some(identity::header_text(request, name)),
            _ => texts[index].map(str::to_owned),
        };
        let key = match &self.key {
            Place::Header(name) => identity::header_key(request, name)?,
            Place::Json(_) => identity::key(read(0).unwrap_or_default().as_bytes())?,
            Place::Digest if self.volatile.is_empty() => identity::digest(&[request.body]),
            Place::Digest => match json::canonical(&body, self.volatile) {
                Some(canonical) => identity::digest(&[&canonical]),
                None => identity::digest(&[request.body]),
            },
        };
        let occurred_at_us = read(3).and_then(|at| time_us(&at, self.unit));
        Ok(vec![Event {
            key,
            kind: identity::kind(&[&read(1).unwrap_or_default()]),
            entity: identity::entity(&[read(2).as_deref()]),
            position: Position::at(occurred_at_us),
            volatile: self.volatile,
            part: None,
        }])
    }

    /// Puts key and kind where this sender carries them, into headers or body.
    pub(super) fn fill(&self, draft: &Draft<'_>) -> (Vec<(String, String)>, Vec<u8>) {
        let mut headers = vec![("Content-Type".to_owned(), "application/json".to_owned())];
        let mut body = draft.body.unwrap_or(b"{\"example\":true}").to_vec();
        for (place, text) in [(Some(&self.key), draft.key), (self.kind.as_ref(), draft.kind)] {
            match place {
                Some(Place::Header(name)) => headers.push(((*name).to_owned(), text.to_owned())),
                Some(Place::Json(pointer)) => {
                    body = json::with_text(&body, pointer, text).unwrap_or(body);
                }
                _ => {}
            }
        }
        (headers, body)
    }
}
