//! The first start: what runs when there is neither a file nor a source in the environment.
//!
//! GitHub and Stripe, delivered to the log, with secrets from the environment or generated once.
//! A generated secret is a file that only its owner can read; one that is there is never replaced.

use super::Fault;
use super::read::{Place, Reading};
use super::secret::without_line_end;
use ::config::{Map, Value};
use providers::Secret;
use rand::distr::{Alphanumeric, SampleString};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// Whether loading may write anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Files {
    /// `serve`: secrets of the first start are generated into files.
    MayCreate,
    /// `check`: everything stays as it is.
    Untouched,
}

/// A source of the first start: its name, which is also its provider's, the environment variable
/// that may have its secret, and how one is generated in the provider's form.
type Generated = (&'static str, &'static str, fn() -> String);

/// The sources of the first start: the two senders that most people try first.
const SOURCES: [Generated; 2] = [
    ("github", "GITHUB_WEBHOOK_SECRET", random_hex),
    ("stripe", "STRIPE_WEBHOOK_SECRET", || format!("whsec_{}", random_letters())),
];

/// The keys and values that stand in for a file. What is not to be found in a file yet is noted
/// in `unwritten`.
pub(super) fn layer(data_dir: &Path, reading: &mut Reading) -> Vec<(String, Value)> {
    let mut values = vec![("destinations.log.type".to_owned(), "log".into())];
    let mut routes = Vec::new();
    reading.notes.get_mut().push("no configuration file: this is the first start".into());
    for (name, variable, generate) in SOURCES {
        let path = data_dir.join(format!("{name}-secret"));
        let reference = if reading.environment.contains_key(variable) {
            format!("env:{variable}")
        } else {
            if !path.try_exists().unwrap_or(true) {
                reading.unwritten.insert(path.clone(), generate());
            }
            format!("file:{}", path.display())
        };
        let at = Place { reading, path: format!("sources.{name}") };
        at.note(&format!("its secret is {reference}"));
        values.push((format!("sources.{name}.provider"), name.into()));
        values.push((format!("sources.{name}.secrets"), vec![reference].into()));
        let route = [("source", name), ("destination", "log")];
        let route: Map<String, Value> =
            route.map(|(key, name)| (key.to_owned(), name.into())).into_iter().collect();
        routes.push(Value::from(route));
    }
    values.push(("routes".to_owned(), routes.into()));
    values
}

/// Writes the secrets that were not found in files. A secret that meanwhile came to be there, by
/// another process, is left alone.
pub(super) fn write(reading: &Reading) -> Result<(), Fault> {
    for (path, text) in &reading.unwritten {
        create(path, text).map_err(|error| Fault {
            path: "store.data_dir".into(),
            message: format!("{} cannot be written: {error}", path.display()),
        })?;
    }
    Ok(())
}

/// The secret kept in a file, generated when there is no such file; `true` when it was generated
/// now. For secrets of Posthouse's own, such as the admin token.
pub fn kept_secret(path: &Path) -> io::Result<(Secret, bool)> {
    let created = !path.try_exists()? && create(path, &random_hex())?;
    let text = fs::read_to_string(path)?;
    let secret = Secret::new(without_line_end(&text)).filter(|_| !text.trim().is_empty());
    secret.map(|secret| (secret, created)).ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidData, "the file is empty; delete it or fill it")
    })
}

/// Keeps a secret in a file that only its owner can read; `false` when there is one already, which
/// stays as it is. It is on disk when this returns.
pub fn keep_secret(path: &Path, text: &str) -> io::Result<bool> {
    create(path, text)
}

/// 32 random bytes, twice what guessing could ever reach, in hexadecimal.
fn random_hex() -> String {
    hex::encode(rand::random::<[u8; 32]>())
}

/// As random, in letters and digits, as Stripe's secrets are.
fn random_letters() -> String {
    Alphanumeric.sample_string(&mut rand::rng(), 43)
}

/// Creates a file of mode 0600 with its contents, or leaves the one that is there: `false`.
///
/// The contents are written under another name and linked into place: no crash and no second
/// process ever leaves or sees an empty secret.
fn create(path: &Path, text: &str) -> io::Result<bool> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new("."));
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let draft =
        directory.join(format!(".{name}.{}", Alphanumeric.sample_string(&mut rand::rng(), 8)));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
    let linked = write!(file, "{text}")
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::hard_link(&draft, path));
    fs::remove_file(&draft)?;
    match linked {
        Ok(()) => File::open(directory)?.sync_all().map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}
