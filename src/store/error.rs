//! What can go wrong in the store, as far as somebody acts on the difference.

/// What can go wrong in the store, as far as somebody acts on the difference.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Down, locked, full or read-only: nothing was stored, and it may work later.
    #[error("the store is unavailable: {0}")]
    Unavailable(String),
    /// Two transactions got in each other's way; the same work may be tried at once.
    #[error("the store broke off a transaction: {0}")]
    Contended(String),
    /// The statement itself is refused; trying again would not help.
    #[error("the store refused: {0}")]
    Refused(String),
    /// More is waiting to be stored than the configuration allows.
    #[error("the store's queue is full")]
    QueueFull,
}

impl StoreError {
    /// The same error for another waiter of a batch.
    pub(super) fn again(&self) -> Self {
        match self {
            Self::Unavailable(text) => Self::Unavailable(text.clone()),
            Self::Contended(text) => Self::Contended(text.clone()),
            Self::Refused(text) => Self::Refused(text.clone()),
            Self::QueueFull => Self::QueueFull,
        }
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        let text = error.to_string();
        let Some(database) = error.as_database_error() else {
            return match error {
                sqlx::Error::Encode(_) | sqlx::Error::Decode(_) => Self::Refused(text),
                _ => Self::Unavailable(text),
            };
        };
        let code = database.code().unwrap_or_default();
        match code.as_ref() {
            "40001" | "40P01" => Self::Contended(text),
            // Constraint, data and syntax errors of both engines.
            code if code.starts_with("22") || code.starts_with("23") => Self::Refused(text),
            code if code.starts_with("42") => Self::Refused(text),
            "1" | "18" | "19" | "20" | "25" => Self::Refused(text),
            code if is_sqlite_constraint(code) => Self::Refused(text),
            _ => Self::Unavailable(text),
        }
    }
}

/// SQLite's extended codes keep the primary one in the low byte; 19 is a broken constraint.
fn is_sqlite_constraint(code: &str) -> bool {
    code.len() < 5 && code.parse::<u32>().is_ok_and(|code| code & 0xff == 19)
}
