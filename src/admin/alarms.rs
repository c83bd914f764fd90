//! The alarms that stand now.

use super::Admin;
use super::answer::Fault;
use crate::clock::Time;
use crate::store::Alarm;
use actix_web::HttpResponse;
use actix_web::web::Data;
use serde_json::{Value, json};

/// `GET /api/alarms`
pub(super) async fn alarms(admin: Data<Admin>) -> Result<HttpResponse, Fault> {
    let alarms = admin.store.alarms().await?;
    let standing = alarms.iter().filter(|alarm| alarm.cleared_us.is_none());
    let items: Vec<Value> = standing.map(shown).collect();
    Ok(HttpResponse::Ok().json(json!({ "items": items })))
}

fn shown(alarm: &Alarm) -> Value {
    json!({
        "alarm": alarm.cause.word(),
        "subject": alarm.subject,
        "since": Time(alarm.raised_us),
        "last_at": Time(alarm.last_us),
        "count": alarm.count,
        "detail": alarm.detail,
    })
}
