//! Which layer wins, and how text of the environment becomes values.

use super::{ROUTE, environment, load, load_github};
use crate::config::{Config, Database, Files, Size, show};
use crate::source::{OnDead, Order, Target};
use std::path::Path;
use std::time::Duration;

#[test]
fn flags_win_over_the_environment_over_the_file_over_defaults() {
    let text = "[workers]\nconcurrency = 2\nlease = \"10s\"\n[server]\nthreads = 3\n";
    let source = "[sources.github]\nprovider = \"github\"\nsecrets = [\"env:S\"]\n";
    let variables = [
        ("S", "x"),
        ("POSTHOUSE__WORKERS__CONCURRENCY", "4"),
        ("posthouse__Workers__Lease", "20s"),
        ("POSTHOUSE_WORKERS__POLL", "5s"),
    ];
    let flags = vec![("workers.concurrency".to_owned(), "8".to_owned())];
    let text = format!("{text}{source}{ROUTE}");
    let config = Config::from_text(Some(&text), flags, environment(&variables), Files::Untouched);
    let config = config.expect("loads");
    assert_eq!(config.workers.concurrency, 8);
    assert_eq!(config.workers.lease, Duration::from_secs(20));
    assert_eq!(config.server.threads, Some(3));
    assert_eq!(config.workers.poll, Duration::from_secs(1), "one underscore is not ours");
}

#[test]
fn the_environment_can_say_everything() {
    let variables = [
        ("A", "first"),
        ("B", "second"),
        ("POSTHOUSE__SERVER__BODY_MEMORY", "134217728"),
        ("POSTHOUSE__STORE__URL", "env:DB"),
        ("DB", "postgres://u:p@h/d"),
        ("POSTHOUSE__SOURCES__SHOP-1__PROVIDER", "shopify"),
        ("POSTHOUSE__SOURCES__SHOP-1__SECRETS", "env:A, env:B"),
        ("POSTHOUSE__SOURCES__SHOP-1__DISABLED", "false"),
        ("POSTHOUSE__DESTINATIONS__RUN__TYPE", "command"),
        ("POSTHOUSE__DESTINATIONS__RUN__ARGV", "['deploy', 'a,b']"),
        ("POSTHOUSE__ROUTES", "[{source = 'shop-1', destination = 'run', order = 'none'}]"),
    ];
    let config = Config::from_text(None, Vec::new(), environment(&variables), Files::Untouched);
    let config = config.expect("loads");
    assert_eq!(config.server.body_memory, Size(128 << 20));
    let secrets: Vec<_> = config.sources["shop-1"].secrets.iter().map(|s| s.expose()).collect();
    assert_eq!(secrets, ["first", "second"]);
    let Target::Command(command) = &config.destinations["run"].target else { panic!("command") };
    assert_eq!(command.argv, ["deploy", "a,b"]);
    assert_eq!(config.routes[0].order, Order::None);
    assert_eq!(config.sources.len(), 1, "not a first start");
}

#[test]
fn what_was_left_out_is_filled_in() {
    let text = "
        [server]
        public_url = \"https://hooks.example.com/\"
        [destinations.out]
        type = \"http\"
        url = \"https://example.com\"
        headers.X-Token = \"env:SECRET\"
        [[routes]]
        source = \"github\"
        destination = \"out\"
        events = [\"pull_request.*\"]
    ";
    let config = load_github(text, &[]).expect("loads");
    let source = &config.sources["github"];
    assert_eq!(source.body_bytes_max, source.provider.body_bytes_max());
    assert_eq!(source.public_url.as_deref(), Some("https://hooks.example.com/hooks/github"));
    assert_eq!(source.tolerance_s, 300);
    assert_eq!((source.unsigned, source.disabled, source.rate_per_s), (false, false, None));
    let Target::Http(http) = &config.destinations["out"].target else { panic!("http") };
    assert_eq!(http.timeout, Duration::from_secs(15));
    assert_eq!(http.connect_timeout, Duration::from_secs(5));
    assert!(!http.allow_private && http.sign_with.is_none());
    assert_eq!(http.headers["x-token"].expose(), "gh-cedar-lantern-41");
    let route = &config.routes[1];
    assert_eq!(&*route.name, "github-out");
    assert_eq!((route.order, route.on_dead), (Order::Arrival, OnDead::Continue));
    assert_eq!((route.retry.max_attempts, route.retry.base), (100, Duration::from_secs(1)));
    assert!(route.matches("pull_request.opened") && !route.matches("push"));
    assert_eq!(config.shown()["destinations"]["out"]["timeout"], "15s");
    assert_eq!(config.shown()["sources"]["github"]["body_max"], "25MiB");
    assert_eq!(config.shown()["store"]["url"], "sqlite:./data/posthouse.db");
    let shown = show(&config);
    assert!(shown.starts_with("[server]\nlisten = \"127.0.0.1:8080\"\n"), "{shown}");
    assert!(shown.contains("\n\n[destinations.log]\ntype = \"log\"\n"), "{shown}");
    assert!(shown.contains("events = [\"pull_request.*\"]\n"), "{shown}");
}

#[test]
fn the_database_is_sqlite_beneath_data_dir_or_as_its_url_says() {
    for (store, path) in [
        ("", "./data/posthouse.db"),
        ("data_dir = \"/d?1\"", "/d?1/posthouse.db"),
        ("url = \"sqlite:a/b.db\"", "a/b.db"),
        ("url = \"sqlite:///a/b.db\"", "/a/b.db"),
    ] {
        let config = load_github(&format!("[store]\n{store}\n"), &[]).expect("loads");
        assert_eq!(config.database.url(), format!("sqlite:{path}"));
        let Database::Sqlite(found) = config.database else { panic!("SQLite") };
        assert_eq!(found, Path::new(path));
    }
    let url = "postgresql://u:p@h/d?sslmode=require";
    let config = load_github("[store]\nurl = \"env:DB\"\n", &[("DB", url)]).expect("loads");
    assert_eq!(config.database.url(), url);
}

#[test]
fn dedup_keys_live_as_long_as_the_provider_redelivers() {
    let days = |days: u64| Duration::from_secs(days * 86_400);
    let keep = |text: &str| load_github(text, &[]).expect("loads");
    let retention = "[retention]\nbodies = \"1d\"\nkeys = \"2d\"\n";
    let horizon = u64::from(keep("").sources["github"].provider.horizon_days());
    assert_eq!(keep(retention).sources["github"].keep_keys, days(horizon));
    assert_eq!(keep("[retention]\nkeys = \"99d\"\n").sources["github"].keep_keys, days(99));
    let source = "[sources.github]\nprovider = \"github\"\nsecrets = [\"env:S\"]\n";
    let text = format!("{source}keep_keys = \"3d\"\n{ROUTE}{retention}");
    let config = load(&text, &[("S", "x")]).expect("loads");
    assert_eq!(config.sources["github"].keep_keys, days(3));
    let noted = |note: &String| note.starts_with("sources.github.keep_keys: github may redeliver");
    assert!(config.notes.iter().any(noted), "{:?}", config.notes);
}

#[test]
fn what_is_never_used_is_noted() {
    let text = "
        [sources.lonely]
        provider = \"gitlab\"
        secrets = [\"env:SECRET\"]
        [destinations.idle]
        type = \"handler\"
    ";
    let notes = load_github(text, &[]).expect("loads").notes.join("\n");
    assert!(
        notes.contains("sources.lonely: has no route: it records, and nothing runs"),
        "{notes}"
    );
    assert!(notes.contains("destinations.idle: has no route"), "{notes}");
}

#[test]
fn chance_never_decides_between_variables() {
    for other in ["posthouse__server__listen", "POSTHOUSE__SERVER"] {
        let variables = [("POSTHOUSE__SERVER__LISTEN", "127.0.0.1:1"), (other, "127.0.0.1:2")];
        let found = load_github("", &variables).expect_err("refused").join("\n");
        assert!(found.contains("is set twice in the environment"), "{found}");
    }
    let dashed =
        [("POSTHOUSE__SOURCES__GITHUB__RATE", "5"), ("POSTHOUSE__SOURCES__GITHUB__RATES", "5")];
    let found = load_github("", &dashed).expect_err("refused").join("\n");
    assert!(!found.contains("twice"), "{found}");
}
