//! `decide`: from an outcome and the history of a job to the effect to commit. Pure: the time and
//! the dice are arguments.

use crate::delivery::Micros;
use crate::job::{Class, Effect, Lease, Outcome};
use crate::source::{OnDead, Retry, Route};
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
    let asked = match outcome.class {
        Class::Accepted => return Effect::Succeed,
        Class::Refused => return die(false),
        Class::Gone => return die(true),
        Class::Failed { retry_after_ms } => retry_after_ms.map(Duration::from_millis),
        Class::Unknown => None,
    };
    if lease.tries >= route.retry.max_attempts {
        return die(false);
    }
    let own = bound(&route.retry, lease.tries).mul_f64(dice);
    let wait = own.max(asked.unwrap_or_default()).min(route.retry.cap);
    let due_us = now_us.saturating_add(micros(wait));
    if due_us.saturating_sub(lease.since_us) > micros(route.retry.max_age) {
        return die(false);
    }
    Effect::Retry { due_us }
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
mod tests {
    use super::*;
    use crate::delivery::DeliveryId;
    use crate::job::{JobId, Parcel};
    use crate::source::Order;
    use std::sync::Arc;

    const NOW_US: Micros = 1_800_000_000_000_000;

    fn route() -> Route {
        Route {
            name: "r".into(),
            source: "s".into(),
            destination: "d".into(),
            events: vec![],
            order: Order::Arrival,
            retry: Retry {
                max_attempts: 4,
                max_age: Duration::from_secs(3600),
                base: Duration::from_secs(2),
                cap: Duration::from_secs(10),
            },
            on_dead: OnDead::Continue,
        }
    }

    fn lease(tries: i64) -> Lease {
        Lease {
            job: JobId::new(DeliveryId(1), 0),
            route: "r".into(),
            lane: None,
            attempt: tries,
            tries,
            token: 1,
            since_us: NOW_US - 1_000_000,
            sequence: None,
            nonce: None,
            claimed_us: NOW_US,
            delivery: Arc::new(Parcel::nameless(DeliveryId(1))),
        }
    }

    fn after(class: Class, tries: i64, dice: f64) -> Effect {
        decide(&Outcome::new(class, ""), &lease(tries), &route(), NOW_US, dice)
    }

    const FAILED: Class = Class::Failed { retry_after_ms: None };

    fn wait_ms(effect: &Effect) -> i64 {
        match effect {
            Effect::Retry { due_us } => (due_us - NOW_US) / 1000,
            other => panic!("not a retry: {other:?}"),
        }
    }

    #[test]
    fn waits_double_up_to_the_cap_and_are_drawn_between_nothing_and_the_bound() {
        for (tries, bound_ms) in [(1, 2000), (2, 4000), (3, 8000)] {
            assert_eq!(wait_ms(&after(FAILED, tries, 0.0)), 0);
            assert_eq!(wait_ms(&after(FAILED, tries, 0.5)), bound_ms / 2);
        }
        assert_eq!(bound(&route().retry, 60), Duration::from_secs(10));
    }

    #[test]
    fn the_last_try_is_followed_by_death() {
        let dead = Effect::Die { halt_lane: false, pause_route: false };
        assert_eq!(after(FAILED, 4, 0.1), dead);
        assert_eq!(after(Class::Unknown, 4, 0.1), dead);
        assert_eq!(after(Class::Refused, 1, 0.1), dead);
        assert_eq!(after(Class::Gone, 1, 0.1), Effect::Die { halt_lane: false, pause_route: true });
        assert_eq!(after(Class::Accepted, 4, 0.1), Effect::Succeed);
    }

    #[test]
    fn a_destination_may_ask_for_more_patience_but_not_beyond_the_cap() {
        let asked = |ms| Class::Failed { retry_after_ms: Some(ms) };
        assert_eq!(wait_ms(&after(asked(7_000), 1, 0.9)), 7_000);
        assert_eq!(wait_ms(&after(asked(1), 1, 0.5)), 1_000);
        assert_eq!(wait_ms(&after(asked(86_400_000), 1, 0.0)), 10_000);
    }

    #[test]
    fn no_try_is_planned_beyond_the_age_limit() {
        let mut old = lease(1);
        old.since_us = NOW_US - 3_599_500_000;
        let outcome = Outcome::new(FAILED, "");
        let effect = decide(&outcome, &old, &route(), NOW_US, 0.9);
        assert_eq!(effect, Effect::Die { halt_lane: false, pause_route: false });
        let effect = decide(&outcome, &old, &route(), NOW_US, 0.1);
        assert_eq!(wait_ms(&effect), 200);
    }

    #[test]
    fn a_route_can_ask_for_its_lane_to_halt() {
        let route = Route { on_dead: OnDead::Halt, ..route() };
        let outcome = Outcome::new(Class::Refused, "");
        let effect = decide(&outcome, &lease(1), &route, NOW_US, 0.0);
        assert_eq!(effect, Effect::Die { halt_lane: true, pause_route: false });
    }
}
