//! What an alarm is: why there is one, about what, and how far it has been told.

use crate::delivery::Micros;

/// Why there is an alarm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// Jobs of a route are dead by one fault.
    Dead,
    /// Jobs of a route are uncertain.
    Uncertain,
    /// Lanes of a route stand still.
    Halted,
    /// A destination is left alone, because it is broken.
    Circuit,
    /// A job of a route could run and does not.
    Oldest,
    /// A source has not sent for longer than is usual.
    Silent,
    /// A source sent other content under a key that was taken.
    Conflict,
    /// A job of a route was taken from a worker that is gone.
    Takeover,
}

impl Cause {
    /// Every cause.
    pub const ALL: [Self; 8] = [
        Self::Dead,
        Self::Uncertain,
        Self::Halted,
        Self::Circuit,
        Self::Oldest,
        Self::Silent,
        Self::Conflict,
        Self::Takeover,
    ];

    /// The word used in the store, in answers, in the log and in metrics.
    pub fn word(self) -> &'static str {
        match self {
            Self::Dead => "dead",
            Self::Uncertain => "uncertain",
            Self::Halted => "halted",
            Self::Circuit => "circuit",
            Self::Oldest => "oldest",
            Self::Silent => "silent",
            Self::Conflict => "conflict",
            Self::Takeover => "takeover",
        }
    }

    /// It merely happened; nothing lasts that could be looked at again.
    pub fn is_event(self) -> bool {
        matches!(self, Self::Conflict | Self::Takeover)
    }
}

/// What an alarm is about: its cause, and a route, a source, a destination, or a route and a
/// fault (`ROUTE/FAULT`).
pub type Subject = (Cause, String);

/// An alarm as it stands in the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alarm {
    /// Why.
    pub cause: Cause,
    /// What it is about, see [`Subject`].
    pub subject: String,
    /// Since when.
    pub raised_us: Micros,
    /// When it happened last, or was last seen to be so.
    pub last_us: Micros,
    /// How many jobs, lanes or events; at most `COUNT_MAX` of what can only be counted by
    /// looking.
    pub count: i64,
    /// One line: an example, or since when.
    pub detail: String,
    /// When it clears by itself, if it merely happened.
    pub clears_us: Option<Micros>,
    /// When the log was told last.
    pub told_us: Option<Micros>,
    /// When it cleared; somebody is still to be told.
    pub cleared_us: Option<Micros>,
    /// What the http destination knows, see `tell`.
    pub(crate) sent: i64,
}

impl Alarm {
    /// One that has just been raised.
    #[cfg(test)]
    pub fn raised((cause, subject): &Subject, now_us: Micros) -> Self {
        Self {
            cause: *cause,
            subject: subject.clone(),
            raised_us: now_us,
            last_us: now_us,
            count: 1,
            detail: String::new(),
            clears_us: None,
            told_us: None,
            cleared_us: None,
            sent: 0,
        }
    }

    /// What it is about.
    pub fn about(&self) -> Subject {
        (self.cause, self.subject.clone())
    }

    /// Whether the log is to be told of its beginning or its end.
    pub fn is_untold(&self) -> bool {
        self.told_us.is_none() || self.told_us < self.cleared_us
    }
}

/// What stands behind an alarm now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// What the alarm is about.
    pub about: Subject,
    /// How many, see [`Alarm::count`].
    pub count: i64,
    /// One line.
    pub detail: String,
}

/// Jobs and lanes are counted up to here: more of them are no other news, and counting 100,000
/// every minute would be felt.
pub const COUNT_MAX: i64 = 1000;
