//! The cases `config/*` and `exposure/*` of the collection of real-world trouble, each as far as
//! loading decides it. The names of the tests are the ids of the cases.

use super::{ROUTE, faults, load, load_github, only};
use crate::config::{Config, show};
use std::fs;

const SECRET: &str = "gh-cedar-lantern-41";

/// The secret of the source `github`, whose reference is `reference`.
fn loaded(reference: &str, variables: &[(&str, &str)]) -> Result<(String, Config), Vec<String>> {
    let source = format!("[sources.github]\nprovider = \"github\"\nsecrets = [{reference:?}]\n");
    let config = load(&format!("{source}{ROUTE}"), variables)?;
    let secret = config.sources["github"].secrets[0].expose().to_owned();
    Ok((secret, config))
}

/// The secret read from a file with these contents.
fn from_file(contents: &str) -> Result<(String, Config), Vec<String>> {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("secret");
    fs::write(&path, contents).expect("a file");
    loaded(&format!("file:{}", path.display()), &[])
}

fn secret_of(provider: &str, secret: &str) -> Result<Config, Vec<String>> {
    let source = format!("[sources.github]\nprovider = {provider:?}\nsecrets = [\"env:S\"]\n");
    load(&format!("{source}{ROUTE}"), &[("S", secret)])
}

#[test]
fn secret_file_with_final_newline() {
    for contents in [format!("{SECRET}\n"), format!("{SECRET}\r\n")] {
        let (secret, config) = from_file(&contents).expect("loads");
        assert_eq!(secret, SECRET);
        let mentions = |note: &String| {
            note.starts_with("sources.github.secrets[0]: ") && note.contains("line end")
        };
        assert!(config.notes.iter().any(mentions), "{:?}", config.notes);
    }
    let (secret, config) = from_file(SECRET).expect("loads");
    assert_eq!((secret.as_str(), config.notes.len()), (SECRET, 0));
    assert_eq!(from_file("two  words\n\n").expect("loads").0, "two  words\n", "exactly one");
    assert_eq!(from_file(" a  b \n").expect("loads").0, " a  b ", "blanks are kept");
    assert_eq!(from_file("a\r").expect("loads").0, "a\r", "no line end");
}

#[test]
fn standard_secret_without_padding() {
    for secret in ["whsec_cGViYmxlLWNhbnlvbi1vcmJpdC0yMg", "cGViYmxlLWNhbnlvbi1vcmJpdC0yMg=="] {
        let config = secret_of("standard_webhooks", secret).expect("loads");
        assert_eq!(config.sources["github"].secrets[0].expose(), secret);
    }
}

#[test]
fn signature_prefix_pasted_into_secret() {
    let pasted = secret_of("standard_webhooks", "v1,whsec_aGFyYm9yLXF1YXJ0ei1sYW50ZXJuLTI0");
    only(&pasted.expect_err("refused"), "sources.github.secrets[0]", "did you mean whsec_");
    let pasted = secret_of("stripe", "sk_test_51NotASigningSecret");
    only(&pasted.expect_err("refused"), "sources.github.secrets[0]", "looks like an API key");
}

#[test]
fn stripe_secret_is_not_base64() {
    let secret = "whsec_aGFyYm9yLXF1YXJ0ei1sYW50ZXJuLTI0";
    let config = secret_of("stripe", secret).expect("loads");
    assert_eq!(config.sources["github"].secrets[0].expose(), secret, "prefix and all");
}

#[test]
fn empty_secret_forgeable() {
    let at = "sources.github.secrets[0]";
    only(&loaded("env:S", &[("S", "")]).expect_err("refused"), at, "S is empty");
    only(&loaded("env:S", &[("S", " \t")]).expect_err("refused"), at, "S is empty");
    only(&loaded("env:S", &[]).expect_err("refused"), at, "S is not set");
    only(&loaded("", &[]).expect_err("refused"), at, "expected a reference");
    for contents in ["", "\n", "\r\n", "\n\n"] {
        only(&from_file(contents).expect_err("refused"), at, "is empty");
    }
    only(&loaded("file:/nowhere/secret", &[]).expect_err("refused"), at, "cannot be read");
    let none = "[sources.github]\nprovider = \"github\"\nsecrets = []\n";
    only(&faults(&format!("{none}{ROUTE}"), &[]), "sources.github.secrets", "unsigned = true");
    let unsigned = "[sources.github]\nprovider = \"github\"\nunsigned = true\n";
    let config = load(&format!("{unsigned}{ROUTE}"), &[]).expect("loads");
    assert!(config.sources["github"].unsigned);
    assert!(config.notes.iter().any(|note| note.contains("from anyone")), "{:?}", config.notes);
    let both = "[sources.github]\nprovider = \"github\"\nunsigned = true\nsecrets = [\"env:S\"]\n";
    let both = faults(&format!("{both}{ROUTE}"), &[("S", SECRET)]);
    only(&both, "sources.github.unsigned", "beside secrets");
}

#[test]
fn dollar_sign_in_secret() {
    for secret in [
        "s3cr$Lm7Nq0R$$x{y}",
        "12345",
        "0012",
        "1e3",
        "true",
        "\"quoted\"",
        "'single'",
        "a,b",
        "[a]",
        "a # b",
        "${SECRET}",
        "env:OTHER",
        "back\\slash\\n",
        "\u{fc}ml\u{e4}ut",
    ] {
        let (found, config) = loaded("env:S", &[("S", secret), ("OTHER", "x")]).expect("loads");
        assert_eq!(found, secret);
        assert!(config.notes.is_empty(), "{:?}", config.notes);
        assert_eq!(from_file(secret).expect("loads").0, secret);
        assert_eq!(from_file(&format!("{secret}\n")).expect("loads").0, secret);
    }
}

#[test]
fn secrets_in_api_cli_and_ui() {
    let text = "
        [admin]
        token = \"env:TOKEN\"
        [store]
        url = \"postgres://posthouse:pg-secret-7@db/posthouse?password=pg-secret-8\"
        [destinations.out]
        type = \"http\"
        url = \"https://example.com/in?key=url-secret-1\"
        sign_with = \"env:SIGN\"
        headers.Authorization = \"env:AUTH\"
        [[routes]]
        source = \"github\"
        destination = \"out\"
    ";
    let secrets = [
        ("TOKEN", "adm-token-linden-2"),
        ("SIGN", "whsec_c2lnbi1zZWNyZXQtMw"),
        ("AUTH", "Bearer dest-secret-9"),
    ];
    let config = load_github(text, &secrets).expect("loads");
    let outputs = [
        show(&config),
        config.shown().to_string(),
        format!("{config:?}"),
        format!("{:?} {:?} {:?}", config.admin, config.store, config.database),
        format!("{:?}", config.notes),
    ];
    for output in &outputs {
        for secret in ["cedar", "linden", "c2lnbi1z", "dest-secret", "pg-secret"] {
            assert!(!output.contains(secret), "{secret} in {output}");
        }
    }
    for text in ["env:TOKEN (set)", "env:SECRET (set)", "env:AUTH (set)", "env:SIGN (set)"] {
        assert!(outputs[0].contains(text) && outputs[1].contains(text), "{text}");
    }
    assert!(!outputs[0].contains("url-secret"), "{}", outputs[0]);
    assert!(outputs[0].contains("postgres://posthouse:***@db/posthouse?***"), "{}", outputs[0]);
}

#[test]
fn admin_api_without_token() {
    let open = "[admin]\nlisten = \"0.0.0.0:8081\"\n";
    only(&load_github(open, &[]).expect_err("refused"), "admin.listen", "admin.token");
    let empty = format!("{open}token = \"env:TOKEN\"\n");
    let refused = load_github(&empty, &[("TOKEN", "")]).expect_err("refused");
    only(&refused, "admin.token", "is empty");
    let config = load_github(&empty, &[("TOKEN", "adm-token-linden-2")]).expect("loads");
    assert_eq!(config.admin.token().expect("a token").expose(), "adm-token-linden-2");
    for listen in ["127.0.0.1:9000", "[::1]:9000", "127.8.8.8:1"] {
        let config = load_github(&format!("[admin]\nlisten = \"{listen}\"\n"), &[]);
        assert!(config.expect("loads").admin.token().is_none());
    }
}

#[test]
fn endpoint_guessing_and_oracle() {
    let disabled = "
        [sources.old]
        provider = \"github\"
        secrets = [\"env:SECRET\"]
        disabled = true
    ";
    let config = load_github(disabled, &[]).expect("loads");
    assert!(config.sources["old"].disabled && !config.sources["github"].disabled);
    assert!(config.notes.is_empty(), "{:?}", config.notes);
}
