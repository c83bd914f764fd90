//! `[alarms]`, and how long a source may be silent.

use super::{load_github, only};
use std::time::Duration;

#[test]
fn alarms_are_logged_unless_there_is_somebody_to_tell() {
    let config = load_github("", &[]).expect("loads");
    assert!(config.alarm_destination.is_none());
    assert_eq!(config.alarms.oldest, Duration::from_secs(300));
    assert_eq!(config.sources["github"].silent_after, None);
}

#[test]
fn the_endpoint_is_read_as_a_destination_is() {
    let text = "
        [alarms]
        url = \"https://ops.example.com/alarms?key=1\"
        headers.Authorization = \"env:AUTH\"
        timeout = \"3s\"
        [sources.other]
        provider = \"github\"
        secrets = [\"env:SECRET\"]
        silent_after = \"2h\"
    ";
    let config = load_github(text, &[("AUTH", "Bearer ops-7")]).expect("loads");
    let endpoint = config.alarm_destination.as_ref().expect("an endpoint");
    assert_eq!(endpoint.url.as_str(), "https://ops.example.com/alarms?key=1");
    assert_eq!(endpoint.headers["authorization"].expose(), "Bearer ops-7");
    assert_eq!((endpoint.timeout, endpoint.allow_private), (Duration::from_secs(3), false));
    assert_eq!(config.sources["other"].silent_after, Some(Duration::from_secs(7200)));
    let shown = config.shown()["alarms"].to_string();
    assert!(shown.contains("env:AUTH (set)") && !shown.contains("ops-7"), "{shown}");
    assert!(!shown.contains("key=1"), "{shown}");
}

#[test]
fn an_endpoint_that_cannot_be_meant_is_a_fault() {
    for (text, path, what) in [
        ("url = \"ftp://a\"", "alarms.url", "http://"),
        ("url = \"http://me:pw@a\"", "alarms.url", "no user name"),
        ("headers.A = \"env:SECRET\"", "alarms.headers", "without a url"),
        ("url = \"http://a\"\nheaders.Host = \"env:SECRET\"", "alarms.headers.Host", "itself"),
        ("oldest = \"0s\"", "alarms.oldest", "between 1s and 30d"),
        ("every = \"5s\"", "alarms.every", "unknown key"),
    ] {
        let found = load_github(&format!("[alarms]\n{text}"), &[]).err().unwrap_or_default();
        only(&found, path, what);
    }
}
