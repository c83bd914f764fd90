//! What a sender is told, and the one map from that to HTTP statuses.

use crate::delivery::{Recorded, Verdict};
use actix_web::http::StatusCode;
use providers::Reply;

/// The answer to a request, on its way to the one map from answers to statuses.
#[derive(Debug)]
pub enum Answer {
    /// Recorded, or seen before.
    Recorded(Vec<Recorded>),
    /// What the provider wants to hear.
    Reply(Reply),
    /// There is no such source.
    NoSource,
    /// Not proved; the provider may want a status of its own.
    NotProved(u16),
    /// Proved, but not readable.
    Unreadable,
    /// The body is larger than the source allows.
    TooLarge,
    /// The body did not arrive in time, or broke off.
    Incomplete,
    /// Over the source's rate.
    TooMany,
    /// Our own fault: the sender may try again.
    Unavailable,
}

impl Answer {
    /// The one map from answers to HTTP statuses.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Recorded(recorded) => {
                match recorded.iter().any(|one| one.verdict == Verdict::Conflict) {
                    true => StatusCode::CONFLICT,
                    false => StatusCode::OK,
                }
            }
            Self::Reply(reply) => StatusCode::from_u16(reply.status).unwrap_or(StatusCode::OK),
            Self::NoSource => StatusCode::NOT_FOUND,
            Self::NotProved(status) => {
                StatusCode::from_u16(*status).unwrap_or(StatusCode::UNAUTHORIZED)
            }
            Self::Unreadable => StatusCode::BAD_REQUEST,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Incomplete => StatusCode::REQUEST_TIMEOUT,
            Self::TooMany => StatusCode::TOO_MANY_REQUESTS,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// Seconds after which the sender may try again, where that helps.
    pub fn retry_after_s(&self) -> Option<u32> {
        match self {
            Self::TooMany => Some(1),
            Self::Unavailable => Some(5),
            _ => None,
        }
    }
}
