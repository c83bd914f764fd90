//! The one map from what can go wrong in the API to HTTP: always JSON, `{"error": "..."}`.

use crate::delivery::NotAnId;
use crate::job::State;
use crate::replay::ReplayError;
use crate::store::StoreError;
use actix_web::http::StatusCode;
use actix_web::http::header::{HeaderValue, RETRY_AFTER};
use actix_web::{HttpResponse, ResponseError};
use serde_json::json;

/// Why a request is not answered with what it asked for.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    /// The request makes no sense.
    #[error("{0}")]
    BadRequest(String),
    /// What it names is not there.
    #[error("{0}")]
    NotFound(String),
    /// It was there, and retention has forgotten it.
    #[error("{0}")]
    Gone(String),
    /// The state of a job does not allow it.
    #[error("a job that is {} cannot be {what}", .state.word())]
    NotAllowed { state: State, what: &'static str },
    /// The body is larger than any request to this API needs.
    #[error("the body is larger than {0} bytes")]
    TooLarge(usize),
    /// The store's own fault.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<NotAnId> for Fault {
    fn from(error: NotAnId) -> Self {
        Self::BadRequest(error.to_string())
    }
}

impl From<ReplayError> for Fault {
    fn from(error: ReplayError) -> Self {
        match error {
            ReplayError::Ambiguous => Self::BadRequest(error.to_string()),
            ReplayError::NoRoute(_) | ReplayError::NoDelivery(_) => {
                Self::NotFound(error.to_string())
            }
            ReplayError::Store(error) => Self::Store(error),
        }
    }
}

impl ResponseError for Fault {
    fn status_code(&self) -> StatusCode {
        match self {
            Self::BadRequest(_) => StatusCode::BAD_REQUEST,
            Self::NotFound(_) => StatusCode::NOT_FOUND,
            Self::Gone(_) => StatusCode::GONE,
            Self::NotAllowed { .. } => StatusCode::CONFLICT,
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Store(StoreError::Refused(_)) => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Store(_) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    fn error_response(&self) -> HttpResponse {
        match self {
            Self::NotAllowed { state, .. } => HttpResponse::build(self.status_code())
                .json(json!({ "error": self.to_string(), "state": state })),
            Self::Store(error) => {
                tracing::error!(%error, "the admin API could not use the store");
                let mut answer = refusal(self.status_code(), &self.to_string());
                if self.status_code() == StatusCode::SERVICE_UNAVAILABLE {
                    answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("5"));
                }
                answer
            }
            _ => refusal(self.status_code(), &self.to_string()),
        }
    }
}

/// A refusal with its reason.
pub(super) fn refusal(status: StatusCode, reason: &str) -> HttpResponse {
    HttpResponse::build(status).json(json!({ "error": reason }))
}
