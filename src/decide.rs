//! `decide`: from an outcome and the history of a job to the effect to commit. Pure: the time and
//! the dice are arguments.

use crate::delivery::Micros;
use crate::job::{Class, Effect, Lease, Outcome};
use crate::source::{OnDead, Retry, Route, Statuses};
use std::time::Duration;

/// Decides what follows.
///
/// `dice` lies in `0.0..1.0`. A wait is drawn evenly between nothing and the bound of its try
/// ("full jitter"), so that jobs that failed together do not come back together.
pub fn decide(
    outcome: &Outcome,
    lease: &Lease,
    route: &Route,
    now_us: Micros,
    dice: f64,
) -> Effect {
    let die = |pause_route| Effect::Die { halt_lane: route.on_dead == OnDead::Halt, pause_route };
    let class = class(outcome, route);
    match class {
        Class::Accepted => return Effect::Succeed,
        Class::Refused => return die(false),
        Class::Gone => return die(true),
        Class::Uncertain if !route.idempotent => {
            let halt_lane = route.on_uncertain == OnDead::Halt;
            let first_probe_us = now_us.saturating_add(micros(probe_wait(Duration::ZERO)));
            return Effect::Doubt {
                halt_lane,
                probe_us: route.reconciles.then_some(first_probe_us),
            };
        }
        Class::Uncertain | Class::Failed | Class::Unreached => {}
    }
    if lease.tries >= route.retry.max_attempts {
        return die(false);
    }
    let own = match class {
        // Nothing happened out there, and most often a new connection comes about at once.
        Class::Unreached if lease.tries == 1 => Duration::ZERO,
        _ => bound(&route.retry, lease.tries).mul_f64(dice),
    };
    let asked = outcome.retry_after_ms.map(Duration::from_millis).unwrap_or_default();
    let wait = own.max(asked).min(route.retry.cap);
    let due_us = now_us.saturating_add(micros(wait));
    if due_us.saturating_sub(lease.since_us) > micros(route.retry.max_age) {
        return die(false);
    }
    Effect::Retry { due_us }
}

/// The class of an outcome, as the route wants its status to be read.
fn class(outcome: &Outcome, route: &Route) -> Class {
    let answered = matches!(outcome.class, Class::Refused | Class::Gone | Class::Failed);
    let Some(status) = outcome.status.filter(|_| answered) else { return outcome.class };
    let among = |list: &[Statuses]| list.iter().any(|statuses| statuses.has(status));
    if among(&route.retry.dead_on) {
        Class::Refused
    } else if among(&route.retry.retry_on) {
        Class::Failed
    } else {
        outcome.class
    }
}

/// The wait before the next question whether an uncertain attempt happened, by the age of the
/// doubt: it doubles with every question. The destination may still be at it, and after a quarter
/// of an hour only patience helps.
pub fn probe_wait(age: Duration) -> Duration {
    const FIRST: Duration = Duration::from_secs(2);
    const LONGEST: Duration = Duration::from_secs(900);
    age.clamp(FIRST, LONGEST)
}

/// The longest wait after the n-th try: the base, doubled with every try, up to the cap.
fn bound(retry: &Retry, tries: i64) -> Duration {
    let doublings = u32::try_from(tries.saturating_sub(1)).unwrap_or(0).min(31);
    retry.base.saturating_mul(1 << doublings).min(retry.cap)
}

fn micros(duration: Duration) -> Micros {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
