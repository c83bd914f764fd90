//! What became of the requests that `trigger` sent, counted and put into one line.

use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// What one answer meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Meaning {
    Accepted,
    Duplicate,
    Revived,
    /// 2xx in the provider's own words, which tell no more.
    Answered,
    Conflict,
    /// Not proved.
    Rejected,
    /// Another status, or no answer.
    Failed,
}

impl Meaning {
    const ALL: [Self; 7] = [
        Self::Accepted,
        Self::Duplicate,
        Self::Revived,
        Self::Answered,
        Self::Conflict,
        Self::Rejected,
        Self::Failed,
    ];

    /// The meaning of a word in an answer.
    pub(super) fn of(word: &str) -> Option<Self> {
        let found = |meaning: &Self| meaning.words().0 == word;
        Self::ALL.into_iter().find(found)
    }

    /// The word for one and for several.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Accepted => ("accepted", "accepted"),
            Self::Duplicate => ("duplicate", "duplicates"),
            Self::Revived => ("revived", "revived"),
            Self::Answered => ("answered", "answered"),
            Self::Conflict => ("conflict", "conflicts"),
            Self::Rejected => ("rejected", "rejected"),
            Self::Failed => ("failed", "failed"),
        }
    }
}

/// Counts of answers.
#[derive(Debug, Default)]
pub(super) struct Tally {
    counts: BTreeMap<Meaning, u64>,
    /// What failed ones failed for.
    pub(super) reasons: BTreeMap<String, u64>,
    /// The deliveries that answers named.
    pub(super) deliveries: BTreeSet<String>,
}

impl Tally {
    pub(super) fn add(&mut self, meaning: Meaning) {
        *self.counts.entry(meaning).or_default() += 1;
    }

    pub(super) fn failed(&mut self, reason: String) {
        self.add(Meaning::Failed);
        *self.reasons.entry(reason).or_default() += 1;
    }

    pub(super) fn count(&self, meaning: Meaning) -> u64 {
        self.counts.get(&meaning).copied().unwrap_or(0)
    }

    /// Whether at least one request ended in the ledger.
    pub(super) fn any_taken(&self) -> bool {
        use Meaning::{Accepted, Answered, Duplicate, Revived};
        [Accepted, Duplicate, Revived, Answered].iter().any(|meaning| self.count(*meaning) > 0)
    }

    /// Whether every request was refused as not proved.
    pub(super) fn all_rejected(&self) -> bool {
        self.counts.keys().eq([&Meaning::Rejected])
    }

    /// One line, such as `1 accepted, 49 duplicates`. `refusal` is the status of a rejection.
    pub(super) fn line(&self, refusal: u16) -> String {
        let part = |(meaning, count): (&Meaning, &u64)| {
            let (one, several) = meaning.words();
            let status = match meaning {
                Meaning::Rejected => format!(" ({refusal})"),
                _ => String::new(),
            };
            format!("{count} {}{status}", if *count == 1 { one } else { several })
        };
        match self.counts.is_empty() {
            true => "nothing was sent".to_owned(),
            false => self.counts.iter().map(part).collect::<Vec<_>>().join(", "),
        }
    }

    /// All counts, those of nothing included.
    pub(super) fn json(&self) -> Value {
        let counts = Meaning::ALL
            .iter()
            .map(|meaning| (meaning.words().0.to_owned(), Value::from(self.count(*meaning))));
        let mut all: Map<String, Value> = counts.collect();
        all.insert("deliveries".into(), self.deliveries.iter().cloned().collect());
        all.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(meanings: &[Meaning]) -> String {
        let mut tally = Tally::default();
        for meaning in meanings {
            tally.add(*meaning);
        }
        tally.line(401)
    }

    #[test]
    fn the_line_counts_in_words() {
        use Meaning::*;
        let mut fifty = vec![Duplicate; 49];
        fifty.push(Accepted);
        assert_eq!(line(&fifty), "1 accepted, 49 duplicates");
        assert_eq!(line(&[Duplicate]), "1 duplicate");
        assert_eq!(line(&[Rejected, Rejected]), "2 rejected (401)");
        assert_eq!(line(&[Conflict, Failed, Accepted]), "1 accepted, 1 conflict, 1 failed");
        assert_eq!(line(&[Conflict, Conflict, Revived]), "1 revived, 2 conflicts");
        assert_eq!(line(&[]), "nothing was sent");
    }

    #[test]
    fn what_was_taken_and_what_was_refused_are_told_apart() {
        let mut tally = Tally::default();
        assert!(!tally.all_rejected() && !tally.any_taken());
        tally.add(Meaning::Rejected);
        assert!(tally.all_rejected() && !tally.any_taken());
        tally.add(Meaning::Revived);
        assert!(!tally.all_rejected() && tally.any_taken());
    }

    #[test]
    fn words_of_answers_are_known() {
        assert_eq!(Meaning::of("revived"), Some(Meaning::Revived));
        assert_eq!(Meaning::of("conflict"), Some(Meaning::Conflict));
        assert_eq!(Meaning::of("???"), None);
    }
}
