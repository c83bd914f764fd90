//! Everything that can be wrong is found, with its path, and all of it at once.

use super::{ROUTE, faults, load_github, only};

/// The faults of GitHub, the log and further text.
fn wrong(text: &str) -> Vec<String> {
    let secret = ("WORD", "s3cr3t-word");
    load_github(text, &[secret]).expect_err(text)
}

#[test]
fn all_faults_are_reported_at_once_with_the_paths_of_their_keys() {
    let text = "
        color = \"red\"
        [server]
        listen = \"nowhere\"
        body_timeout = 30
        conections_max = 5
        [workers]
        concurrency = 0
        lease = \"soon\"
        [retention]
        keys = \"1d\"
        [sources.Bad]
        provider = \"githob\"
        secrets = [\"literal\", \"env:MISSING\"]
        [sources.github]
        unsigned = \"yes\"
        [destinations.out]
        type = \"http\"
        url = \"ftp://example.com\"
        [destinations.run]
        type = \"command\"
        [destinations.odd]
        type = \"pigeon\"
        [[routes]]
        source = \"gitlab\"
        destination = \"run\"
        max_age = \"never\"
    ";
    let found = faults(text, &[("POSTHOUSE__STORE__SIZE", "3")]);
    let paths: Vec<_> = found.iter().filter_map(|fault| fault.split(": ").next()).collect();
    let expected = [
        "server.listen",
        "server.body_timeout",
        "server.conections_max",
        "store.size",
        "workers.concurrency",
        "workers.lease",
        "sources.Bad.secrets[0]",
        "sources.Bad.secrets[1]",
        "sources.github.unsigned",
        "destinations.odd.type",
        "routes[0].max_age",
        "color",
        "retention.keys",
        "sources.Bad",
        "sources.Bad.provider",
        "sources.github.provider",
        "sources.github.secrets",
        "destinations.out.url",
        "destinations.run.argv",
        "routes[0].source",
    ];
    assert_eq!(paths, expected, "{found:#?}");
}

#[test]
fn unknown_keys_are_refused_wherever_they_come_from() {
    only(&wrong("[sources.github.hidden]\n"), "sources.github.hidden", "unknown key; known here:");
    let found = load_github("", &[("POSTHOUSE__SERVER__LISEN", "127.0.0.1:1")]);
    only(&found.expect_err("refused"), "server.lisen", "from the environment");
    let found = load_github("", &[("POSTHOUSE__", "x")]).expect_err("refused");
    only(&found, "\"\"", "unknown key");
}

#[test]
fn a_literal_secret_is_refused_and_never_repeated() {
    for value in ["\"gh-maple-99\"", "\"$GH_MAPLE\"", "12345", "true", "[\"gh-maple-99\"]"] {
        let text = format!("[sources.github]\nprovider=\"github\"\nsecrets=[{value}]\n{ROUTE}");
        let found = faults(&text, &[]);
        only(&found, "sources.github.secrets[0]", "put it into an environment variable or a file");
        assert!(!found[0].contains("MAPLE") && !found[0].contains("maple"), "{found:?}");
    }
    for text in ["secrets = \"gh-maple-99\"", "secrets = [\"env:gh-maple-99\"]"] {
        let text = format!("[sources.github]\nprovider = \"github\"\n{text}\n{ROUTE}");
        assert!(!faults(&text, &[]).concat().contains("maple"));
    }
    let broken = faults("[admin]\ntoken = \"gh-maple-99\n", &[]).concat();
    assert!(broken.contains("line 2") && !broken.contains("maple"), "{broken}");
    let found = load_github("", &[("POSTHOUSE__ADMIN__TOKEN", "gh-maple-99")]);
    assert!(!found.expect_err("refused").concat().contains("maple"));
    let scheme = "[sources.g]\nprovider = \"generic_hmac\"\nsecrets = [\"env:WORD\"]\n\
        scheme = { header = \"x-sig\", secret = \"gh-maple-99\", event = { key = \"digest\" } }\n";
    let found = wrong(scheme);
    only(&found, "sources.g.scheme.secret", "cannot have this value");
    assert!(!found.concat().contains("maple"), "{found:?}");
}

#[test]
fn wrong_types_and_limits_are_refused_in_a_file() {
    for (text, path, message) in [
        ("[server]\nthreads = \"4\"", "server.threads", "a whole number"),
        ("[server]\nthreads = 0", "server.threads", "between 1 and 1024"),
        ("[server]\nthreads = -1", "server.threads", "a whole number"),
        ("[server]\nheader_timeout = \"10\"", "server.header_timeout", "a duration such as"),
        ("[server]\nheader_timeout = \"1h\"", "server.header_timeout", "between 100ms and 5m"),
        ("[server]\nbody_memory = \"64MB\"", "server.body_memory", "a size such as"),
        ("[server]\npublic_url = \"example.com\"", "server.public_url", "an http or https URL"),
        ("[server]\npublic_url = \"https://a/?b\"", "server.public_url", "no query"),
        ("[store]\nurl = \"mysql://a/b\"", "store.url", "expected sqlite:PATH"),
        ("[store]\nurl = \"sqlite::memory:\"", "store.url", "the path of a file"),
        ("[store]\nurl = \"env:NONE\"", "store.url", "NONE is not set"),
        ("[[routes]]\nsource = \"github\"", "routes[1].destination", "is missing"),
        ("[retention]\nkeys = \"1d\"", "retention.keys", "less than retention.bodies"),
        (
            "[sources.u]\nprovider=\"github\"\nunsigned=true\nkeep_keys=\"1d\"",
            "sources.u.keep_keys",
            "retention.bodies",
        ),
        ("[server]\nbody_memory = \"24MiB\"", "server.body_memory", "sources.github.body_max"),
        ("[store]\nqueue_bytes = \"24MiB\"", "store.queue_bytes", "sources.github.body_max"),
        ("[admin]\nlisten = \"127.0.0.1:8080\"", "admin.listen", "the same as server.listen"),
        ("[server]\nlisten = \"0.0.0.0:8081\"", "admin.listen", "the same as server.listen"),
    ] {
        only(&wrong(text), path, message);
    }
    let zero = "[server]\nlisten = \"127.0.0.1:0\"\n[admin]\nlisten = \"127.0.0.1:0\"\n";
    assert!(load_github(zero, &[]).is_ok(), "any free port");
}

#[test]
fn sources_and_routes_are_needed_and_their_names_are_checked() {
    let found = faults("", &[]);
    assert!(found[0].starts_with("sources: there is none"), "{found:?}");
    assert!(found[1].starts_with("routes: there is none"), "{found:?}");
    let twin = "[sources.GitHub]\nprovider = \"github\"\nsecrets = [\"env:WORD\"]\n";
    only(&wrong(twin), "sources.GitHub", "differs from github only in case");
    for name in ["_a", "-a", "a.b", "\u{fc}", &"a".repeat(65)] {
        let text = format!("[destinations.\"{name}\"]\ntype = \"log\"\n");
        assert!(wrong(&text)[0].contains("lower case letters"), "{name}");
    }
    let twice = "[[routes]]\nsource = \"github\"\ndestination = \"log\"\n";
    only(&wrong(twice), "routes[1].name", "the same as that of routes[0]: github-log");
    let nowhere = "[[routes]]\nsource = \"github\"\ndestination = \"lag\"\n";
    only(&wrong(nowhere), "routes[1].destination", "no destination \"lag\"; known: log");
    let second = "[[routes]]\nsource = \"github\"\ndestination = \"log\"\nname = \"b\"\n";
    for (text, path) in [
        ("events = []", "routes[1].events"),
        ("events = [\"push\", \"\"]", "routes[1].events[1]"),
        ("events = [\"*a*b*c*d*e\"]", "routes[1].events[0]"),
        ("backoff = \"2h\"", "routes[1].backoff"),
        ("max_attempts = 0", "routes[1].max_attempts"),
        ("order = \"strict\"", "routes[1].order"),
    ] {
        assert!(wrong(&format!("{second}{text}"))[0].starts_with(path), "{text}");
    }
}

#[test]
fn providers_are_known_and_generic_ones_well_set() {
    let source = "[sources.a]\nsecrets = [\"env:WORD\"]\n";
    let hmac = format!("{source}provider = \"generic_hmac\"\n");
    for (text, path, message) in [
        (
            format!("{source}provider = \"Standard-Webhooks\""),
            "provider",
            "perhaps standard_webhooks",
        ),
        (format!("{source}provider = \"github\"\nscheme = {{}}"), "scheme", "generic_hmac"),
        (hmac.clone(), "scheme", "is missing"),
        (format!("{hmac}scheme = {{ }}"), "scheme.header", "is missing"),
        (format!("{hmac}scheme = {{ headr = \"a\" }}"), "scheme", "unknown field `headr`"),
        (
            format!("{hmac}scheme = {{ header = \"x-sig\", event = {{ key = \"x\" }} }}"),
            "scheme",
            "event.key",
        ),
    ] {
        only(&wrong(&text), &format!("sources.a.{path}"), message);
    }
    let good = format!("{hmac}scheme = {{ header = \"x-sig\", event = {{ key = \"digest\" }} }}");
    let config = load_github(&good, &[("WORD", "w")]).expect("loads");
    assert_eq!(config.sources["a"].provider.name(), "generic_hmac");
}

#[test]
fn destinations_take_only_what_they_can_use() {
    let http = "[destinations.a]\ntype = \"http\"\n";
    for (text, key, message) in [
        (http.to_owned(), "url", "is missing"),
        (format!("{http}url = \"https://u:hunter2@b/\""), "url", "user name and password"),
        (format!("{http}url = \"https://b/#c\""), "url", "fragment"),
        (format!("{http}url = \"http://b\"\nargv = [\"c\"]"), "argv", "no use"),
        (format!("{http}url = \"http://b\"\nheaders.A = \"b\""), "headers.A", "a reference"),
        (
            format!("{http}url = \"http://b\"\nheaders.Host = \"env:WORD\""),
            "headers.Host",
            "itself",
        ),
        (format!("{http}url = \"http://b\"\nsign_with = \"env:WORD\""), "sign_with", "base64"),
        ("[destinations.a]\ntype = \"log\"\ntimeout = \"1s\"".to_owned(), "timeout", "no use"),
        ("[destinations.a]\ntype = \"command\"\nargv = []".to_owned(), "argv", "is missing"),
        ("[destinations.a]\n".to_owned(), "type", "is missing"),
    ] {
        let found = wrong(&text);
        only(&found, &format!("destinations.a.{key}"), message);
        assert!(!found[0].contains("hunter2"));
    }
}
