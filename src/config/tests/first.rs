//! The first start, and the file that may be missing.

use super::environment;
use crate::config::{Config, Fault, Files, kept_secret, show};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

fn start(data: &Path, more: &[(&str, &str)], files: Files) -> Result<Config, Vec<Fault>> {
    let data = data.display().to_string();
    let mut variables = vec![("POSTHOUSE__STORE__DATA_DIR", data.as_str())];
    variables.extend_from_slice(more);
    Config::from_text(None, Vec::new(), environment(&variables), files)
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("it is there").permissions().mode() & 0o777
}

#[test]
fn the_first_start_generates_secrets_once() {
    let directory = tempfile::tempdir().expect("a directory");
    let data = directory.path().join("deep/data");
    let config = start(&data, &[], Files::MayCreate).expect("loads");
    let secret = |config: &Config, name: &str| config.sources[name].secrets[0].expose().to_owned();
    let (github, stripe) = (secret(&config, "github"), secret(&config, "stripe"));
    assert!(github.len() == 64 && github.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let letters = stripe.strip_prefix("whsec_").expect("as Stripe's");
    assert!(letters.len() >= 32 && letters.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    let routes: Vec<_> = config.routes.iter().map(|route| &*route.name).collect();
    assert_eq!(routes, ["github-log", "stripe-log"]);
    assert_eq!(mode(&data), 0o700);
    assert_eq!(mode(&data.join("github-secret")), 0o600);
    assert_eq!(fs::read_dir(&data).expect("a directory").count(), 2, "nothing else is left");
    let notes = config.notes.join("\n");
    assert!(notes.contains("github-secret") && !notes.contains(&github), "{notes}");
    let again = start(&data, &[], Files::MayCreate).expect("loads");
    assert_eq!(secret(&again, "github"), github);
    assert_eq!(secret(&again, "stripe"), stripe);
}

#[test]
fn a_check_writes_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let data = directory.path().join("data");
    let config = start(&data, &[], Files::Untouched).expect("loads");
    assert!(!data.exists());
    assert!(show(&config).contains("github-secret (generated on first start)"));
}

#[test]
fn a_faulty_first_start_writes_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let data = directory.path().join("data");
    let wrong = [("POSTHOUSE__WORKERS__LEASE", "soon"), ("POSTHOUSE__STORE__BATCH_MAX", "0")];
    let found = start(&data, &wrong, Files::MayCreate).expect_err("refused");
    let paths: Vec<_> = found.iter().map(|fault| fault.path.as_str()).collect();
    assert_eq!(paths, ["store.batch_max", "workers.lease"]);
    assert!(!data.exists());
}

#[test]
fn the_environment_may_have_the_secrets_of_the_first_start() {
    let directory = tempfile::tempdir().expect("a directory");
    let given = [("GITHUB_WEBHOOK_SECRET", "from-outside"), ("STRIPE_WEBHOOK_SECRET", "whsec_out")];
    let config = start(directory.path(), &given, Files::MayCreate).expect("loads");
    assert_eq!(config.sources["github"].secrets[0].expose(), "from-outside");
    assert_eq!(fs::read_dir(directory.path()).expect("a directory").count(), 0);
    let empty = [("GITHUB_WEBHOOK_SECRET", ""), ("STRIPE_WEBHOOK_SECRET", "whsec_out")];
    let found = start(directory.path(), &empty, Files::MayCreate).expect_err("refused");
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].path, "sources.github.secrets[0]");
}

#[test]
fn a_file_that_was_named_must_be_there() {
    let directory = tempfile::tempdir().expect("a directory");
    let missing = directory.path().join("posthouse.toml");
    let load = |path: &Path| {
        Config::load(Some(path), Vec::new(), environment(&[("S", "x")]), Files::Untouched)
    };
    let found = load(&missing).expect_err("refused");
    assert!(found[0].to_string().contains("posthouse.toml cannot be read"), "{found:?}");
    let source = "[sources.github]\nprovider = \"github\"\nsecrets = [\"env:S\"]\n";
    fs::write(&missing, format!("{source}{}", super::ROUTE)).expect("written");
    assert_eq!(load(&missing).expect("loads").sources.len(), 1);
}

#[test]
fn a_kept_secret_is_generated_once_and_never_replaced() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("data/admin-token");
    let (first, created) = kept_secret(&path).expect("generated");
    assert!(created && mode(&path) == 0o600);
    assert_eq!(kept_secret(&path).expect("read"), (first, false));
    fs::write(&path, "\n").expect("written");
    assert!(kept_secret(&path).is_err(), "an empty token is none");
}
