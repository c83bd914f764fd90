//! What follows from which outcome.

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
        order_by: None,
        hold: Duration::ZERO,
        retry: Retry {
            max_attempts: 4,
            max_age: Duration::from_secs(3600),
            base: Duration::from_secs(2),
            cap: Duration::from_secs(10),
            retry_on: vec![],
            dead_on: vec![],
        },
        on_dead: OnDead::Continue,
        on_uncertain: OnDead::Continue,
        idempotent: true,
        reconciles: false,
        frees: Arc::default(),
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
        entity: None,
        sequence: None,
        position: None,
        stale: false,
        rank: 0,
        nonce: None,
        claimed_us: NOW_US,
        delivery: Arc::new(Parcel::nameless(DeliveryId(1))),
    }
}

fn after(class: Class, tries: i64, dice: f64) -> Effect {
    decide(&Outcome::new(class, ""), &lease(tries), &route(), NOW_US, dice)
}

fn wait_ms(effect: &Effect) -> i64 {
    match effect {
        Effect::Retry { due_us } => (due_us - NOW_US) / 1000,
        other => panic!("not a retry: {other:?}"),
    }
}

const DEAD: Effect = Effect::Die { halt_lane: false, pause_route: false };

#[test]
fn waits_double_up_to_the_cap_and_are_drawn_between_nothing_and_the_bound() {
    for class in [Class::Failed, Class::Uncertain] {
        for (tries, bound_ms) in [(1, 2000), (2, 4000), (3, 8000)] {
            assert_eq!(wait_ms(&after(class, tries, 0.0)), 0);
            assert_eq!(wait_ms(&after(class, tries, 0.5)), bound_ms / 2);
        }
    }
    assert_eq!(bound(&route().retry, 60), Duration::from_secs(10));
}

#[test]
fn only_a_failure_before_any_effect_is_tried_again_at_once_and_only_once() {
    assert_eq!(wait_ms(&after(Class::Unreached, 1, 0.9)), 0);
    assert_eq!(wait_ms(&after(Class::Unreached, 2, 0.5)), 2000);
    assert_eq!(wait_ms(&after(Class::Failed, 1, 0.9)), 1800);
}

#[test]
fn the_last_try_is_followed_by_death() {
    assert_eq!(after(Class::Failed, 4, 0.1), DEAD);
    assert_eq!(after(Class::Uncertain, 4, 0.1), DEAD);
    assert_eq!(after(Class::Refused, 1, 0.1), DEAD);
    assert_eq!(after(Class::Gone, 1, 0.1), Effect::Die { halt_lane: false, pause_route: true });
    assert_eq!(after(Class::Accepted, 4, 0.1), Effect::Succeed);
    let once = Route { retry: Retry { max_attempts: 1, ..route().retry }, ..route() };
    let outcome = Outcome::new(Class::Unreached, "");
    assert_eq!(decide(&outcome, &lease(1), &once, NOW_US, 0.0), DEAD);
}

#[test]
fn what_may_have_happened_is_not_repeated_where_a_repeat_would_do_harm() {
    let route = Route { idempotent: false, on_uncertain: OnDead::Halt, ..route() };
    let outcome = Outcome::new(Class::Uncertain, "");
    let doubt = |route: &Route| decide(&outcome, &lease(4), route, NOW_US, 0.0);
    assert_eq!(doubt(&route), Effect::Doubt { halt_lane: true, probe_us: None });
    let asking = Route { reconciles: true, on_uncertain: OnDead::Continue, ..route };
    let probe_us = Some(NOW_US + 2_000_000);
    assert_eq!(doubt(&asking), Effect::Doubt { halt_lane: false, probe_us });
    let outcome = Outcome::new(Class::Failed, "");
    assert_eq!(wait_ms(&decide(&outcome, &lease(1), &asking, NOW_US, 0.0)), 0);
}

#[test]
fn questions_about_doubts_become_rarer_up_to_a_quarter_of_an_hour() {
    let waits = [0, 2, 4, 8, 800, 90_000].map(|age| probe_wait(Duration::from_secs(age)).as_secs());
    assert_eq!(waits, [2, 2, 4, 8, 800, 900]);
}

#[test]
fn a_route_can_read_statuses_in_its_own_way() {
    let statuses = |list: &[&str]| list.iter().map(|text| text.parse().unwrap()).collect();
    let retry = Retry {
        retry_on: statuses(&["404", "410"]),
        dead_on: statuses(&["503", "404"]),
        ..route().retry
    };
    let route = Route { retry, ..route() };
    let effect = |class, status| {
        let outcome = Outcome { status: Some(status), ..Outcome::new(class, "") };
        decide(&outcome, &lease(1), &route, NOW_US, 0.0)
    };
    assert_eq!(effect(Class::Failed, 503), DEAD);
    assert_eq!(effect(Class::Refused, 404), DEAD);
    assert_eq!(wait_ms(&effect(Class::Gone, 410)), 0);
    assert_eq!(wait_ms(&effect(Class::Failed, 500)), 0);
    assert_eq!(effect(Class::Accepted, 503), Effect::Succeed);
}

#[test]
fn a_destination_may_ask_for_more_patience_but_not_beyond_the_cap() {
    let asked = |ms, dice| {
        let outcome = Outcome { retry_after_ms: Some(ms), ..Outcome::new(Class::Failed, "") };
        wait_ms(&decide(&outcome, &lease(1), &route(), NOW_US, dice))
    };
    assert_eq!(asked(7_000, 0.9), 7_000);
    assert_eq!(asked(1, 0.5), 1_000);
    assert_eq!(asked(86_400_000, 0.0), 10_000);
}

#[test]
fn no_try_is_planned_beyond_the_age_limit() {
    let mut old = lease(1);
    old.since_us = NOW_US - 3_599_500_000;
    let outcome = Outcome::new(Class::Failed, "");
    assert_eq!(decide(&outcome, &old, &route(), NOW_US, 0.9), DEAD);
    assert_eq!(wait_ms(&decide(&outcome, &old, &route(), NOW_US, 0.1)), 200);
}

#[test]
fn a_route_can_ask_for_its_lane_to_halt() {
    let route = Route { on_dead: OnDead::Halt, ..route() };
    let outcome = Outcome::new(Class::Refused, "");
    let effect = decide(&outcome, &lease(1), &route, NOW_US, 0.0);
    assert_eq!(effect, Effect::Die { halt_lane: true, pause_route: false });
}
