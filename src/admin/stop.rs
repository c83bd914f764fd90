//! What is paused, pausing and resuming: sources, routes, destinations and lanes.

use super::Admin;
use super::answer::Fault;
use super::query::json;
use crate::source::{Scope, Stop};
use actix_web::HttpResponse;
use actix_web::web::{Data, Payload};
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;

/// Characters of the reason for a pause: a line in a table.
const REASON_CHARS_MAX: usize = 300;

/// Characters of an entity; no lane has a longer one.
const ENTITY_CHARS_MAX: usize = 256;

/// What is to be paused or resumed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    scope: Scope,
    /// Of the source, route or destination; for a lane that of its route.
    name: String,
    /// What the lane is about.
    #[serde(default)]
    entity: String,
    #[serde(default)]
    reason: String,
}

/// `GET /api/pauses`
pub(super) async fn pauses(admin: Data<Admin>) -> Result<HttpResponse, Fault> {
    Ok(HttpResponse::Ok().json(json!({ "items": admin.store.pauses().await? })))
}

/// `POST /api/pauses`
pub(super) async fn pause(body: Payload, admin: Data<Admin>) -> Result<HttpResponse, Fault> {
    let asked: Asked = json(body).await?;
    let stop = asked.stop()?;
    if !admin.knows(&asked) {
        return Err(unknown(&asked));
    }
    if asked.reason.chars().count() > REASON_CHARS_MAX {
        let text = format!("reason: at most {REASON_CHARS_MAX} characters");
        return Err(Fault::BadRequest(text));
    }
    let reason = if asked.reason.is_empty() { "paused by an operator" } else { &asked.reason };
    admin.store.pause(&stop, reason).await?;
    let told = json!({ "scope": stop.scope, "name": stop.name, "paused": true });
    Ok(HttpResponse::Ok().json(told))
}

/// `POST /api/pauses/resume`. What is not configured any more may still be paused.
pub(super) async fn resume(body: Payload, admin: Data<Admin>) -> Result<HttpResponse, Fault> {
    let asked: Asked = json(body).await?;
    let stop = asked.stop()?;
    let was_paused = admin.store.resume(&stop, admin.routes_of(&asked)).await?;
    if !was_paused && !admin.knows(&asked) {
        return Err(unknown(&asked));
    }
    let (scope, name) = (stop.scope, stop.name);
    let told = json!({ "scope": scope, "name": name, "paused": false, "was_paused": was_paused });
    Ok(HttpResponse::Ok().json(told))
}

impl Asked {
    fn stop(&self) -> Result<Stop, Fault> {
        if self.entity.chars().count() > ENTITY_CHARS_MAX {
            let text = format!("entity: at most {ENTITY_CHARS_MAX} characters");
            return Err(Fault::BadRequest(text));
        }
        match (self.scope, self.entity.as_str()) {
            (Scope::Lane, "") => Err(Fault::BadRequest("entity: a lane is about one".into())),
            (Scope::Lane, entity) => Ok(Stop::new(Scope::Lane, &format!("{}/{entity}", self.name))),
            (scope, "") => Ok(Stop::new(scope, &self.name)),
            _ => Err(Fault::BadRequest("entity: only a lane is about one".into())),
        }
    }
}

fn unknown(asked: &Asked) -> Fault {
    let what = match asked.scope {
        Scope::Lane => Scope::Route,
        scope => scope,
    };
    Fault::NotFound(format!("there is no {} {:?}", what.word(), asked.name))
}

impl Admin {
    fn knows(&self, asked: &Asked) -> bool {
        let name = asked.name.as_str();
        match asked.scope {
            Scope::Source => self.sources.iter().any(|source| *source.name == *name),
            Scope::Route | Scope::Lane => self.routes.iter().any(|route| *route.name == *name),
            Scope::Destination => self.destinations.contains_key(name),
        }
    }

    /// The routes whose jobs may run again.
    fn routes_of(&self, asked: &Asked) -> Vec<Arc<str>> {
        let name = asked.name.as_str();
        let of = self.routes.iter().filter(|route| match asked.scope {
            Scope::Source => false,
            Scope::Route | Scope::Lane => *route.name == *name,
            Scope::Destination => *route.destination == *name,
        });
        of.map(|route| route.name.clone()).collect()
    }
}
