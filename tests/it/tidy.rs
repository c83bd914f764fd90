//! House rules as tests: who may know whom, how large things may grow, and which tables in the
//! READMEs must say what the code says. Each failure names the remedy.

use posthouse::job::State;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Modules of `src`, lowest first. A module may use those before its own line, and those on it
/// only where `SAME` says so.
const LAYERS: &[&[&str]] = &[
    &["delivery", "job", "clock", "source"],
    &["config"],
    &["store", "telemetry", "decide", "circuit", "deliver", "diagnose"],
    &["keep", "keys", "quarantine", "breaker", "refusals", "retry", "retain", "alarm"],
    &["replay"],
    &["process", "receive", "reconcile"],
    &["queue", "sweep", "http"],
    &["admin"],
    &["app"],
    &["cli"],
];

/// Uses within a layer, from and to.
const SAME: &[(&str, &str)] = &[
    ("delivery", "job"),
    ("job", "delivery"),
    ("clock", "delivery"),
    ("source", "job"),
    ("source", "delivery"),
];

/// Crates that only some modules may know.
const KNOWN_BY: &[(&str, &[&str])] = &[
    ("sqlx", &["store"]),
    ("actix_web", &["http", "receive", "admin"]),
    ("apalis", &["queue"]),
    ("apalis_core", &["queue"]),
    // `config` checks names of headers by the rule of the client that will send them.
    ("reqwest", &["deliver", "keys", "cli", "config"]),
    ("clap", &["cli", "app"]),
    ("prometheus", &["telemetry"]),
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![root().join(folder)];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of the project") {
            let path = entry.expect("an entry of the project").path();
            match path.is_dir() {
                true => open.push(path),
                false if path.extension().is_some_and(|found| found == extension) => {
                    found.push(path);
                }
                false => {}
            }
        }
    }
    assert!(!found.is_empty(), "no .{extension} files under {folder}");
    found.sort();
    found
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

/// The module of `src` that a file belongs to.
fn module(path: &Path) -> String {
    let within = path.strip_prefix(root().join("src")).expect("a file of src");
    let first = within.components().next().expect("a name").as_os_str().to_string_lossy();
    first.trim_end_matches(".rs").to_owned()
}

fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&module))
}

/// The code of a file: without comments and without its tests.
fn code(path: &Path) -> String {
    let text = text(path);
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

fn is_test(path: &Path) -> bool {
    let name = shown(path);
    name.ends_with("_tests.rs")
        || name.contains("/tests")
        || name.ends_with("sample.rs")
        || name.ends_with("stub.rs")
}

#[test]
fn modules_use_only_what_lies_beneath_them() {
    let mut wrong = Vec::new();
    for path in files("src", "rs") {
        let from = module(&path);
        if ["lib", "main"].contains(&from.as_str()) || is_test(&path) {
            continue;
        }
        let own = layer(&from).unwrap_or_else(|| panic!("{from}: add it to LAYERS"));
        let code = code(&path);
        for piece in code.split("crate::").skip(1) {
            let used: String =
                piece.chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect();
            if used.is_empty() || used == from || layer(&used).is_none() {
                continue;
            }
            let is_beneath = layer(&used).is_some_and(|used| used < own);
            if !is_beneath && !SAME.contains(&(from.as_str(), used.as_str())) {
                wrong.push(format!("{} uses crate::{used}", shown(&path)));
            }
        }
    }
    assert!(wrong.is_empty(), "arrows point down only; move the thing, not the rule:\n{wrong:#?}");
}

#[test]
fn crates_are_known_only_where_they_belong() {
    let mut wrong = Vec::new();
    for path in files("src", "rs") {
        let (from, code) = (module(&path), code(&path));
        for (name, allowed) in KNOWN_BY {
            let used = code.contains(&format!("{name}::"));
            if used && !allowed.contains(&from.as_str()) && !is_test(&path) {
                wrong.push(format!("{} uses {name}", shown(&path)));
            }
        }
    }
    assert!(wrong.is_empty(), "only its own module may know a crate:\n{wrong:#?}");
}

#[test]
fn files_functions_and_lines_stay_small() {
    let mut wrong = Vec::new();
    let mut all: Vec<(PathBuf, usize)> = Vec::new();
    all.extend(files("src", "rs").into_iter().map(|path| (path, 250)));
    all.extend(files("providers/src", "rs").into_iter().map(|path| (path, 250)));
    all.extend(files("tests", "rs").into_iter().map(|path| (path, 400)));
    for (path, lines_max) in all {
        let text = text(&path);
        let tested = text.split("#[cfg(test)]").next().unwrap_or_default();
        let lines = tested.lines().count();
        if lines > lines_max {
            wrong.push(format!("{} has {lines} lines, at most {lines_max}", shown(&path)));
        }
        let mut start = None;
        for (at, line) in text.lines().enumerate() {
            if line.chars().count() > 100 {
                wrong.push(format!("{}:{} is wider than 100 columns", shown(&path), at + 1));
            }
            let indent = line.len() - line.trim_start().len();
            let opens = line.contains("fn ") && line.trim_end().ends_with('{')
                || line.trim_start().starts_with("fn ")
                || line.trim_start().starts_with("pub fn ")
                || line.trim_start().starts_with("async fn ")
                || line.trim_start().starts_with("pub async fn ");
            if opens && start.is_none() && !line.trim_end().ends_with(';') {
                start = Some((at, indent));
            }
            if let Some((from, depth)) = start
                && line.trim_end() == format!("{}}}", " ".repeat(depth))
            {
                if at - from + 1 > 70 {
                    let long = at - from + 1;
                    wrong.push(format!(
                        "{}:{} is a function of {long} lines",
                        shown(&path),
                        from + 1
                    ));
                }
                start = None;
            }
        }
    }
    assert!(wrong.is_empty(), "split by what they do, not by length:\n{wrong:#?}");
}

#[test]
fn every_module_says_what_it_is_for() {
    for path in files("src", "rs").into_iter().chain(files("providers/src", "rs")) {
        let first = text(&path).lines().next().unwrap_or_default().to_owned();
        let documented = first.starts_with("//!") || first.starts_with("#![doc");
        assert!(documented, "{}: begin with what the module is for", shown(&path));
    }
}

#[test]
fn both_engines_have_the_same_migrations() {
    let names = |engine: &str| -> BTreeSet<String> {
        let found = files(&format!("migrations/{engine}"), "sql");
        found
            .iter()
            .map(|path| path.file_name().expect("a name").to_string_lossy().into())
            .collect()
    };
    assert_eq!(names("sqlite"), names("postgres"), "write the migration for the other engine too");
    let tables = |engine: &str| -> BTreeSet<String> {
        let all: String =
            files(&format!("migrations/{engine}"), "sql").iter().map(|p| text(p)).collect();
        let named = all.split("CREATE TABLE ").skip(1);
        named.map(|rest| rest.split([' ', '(']).next().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(tables("sqlite"), tables("postgres"));
}

#[test]
fn the_map_shows_the_moves_of_a_job_that_the_code_allows() {
    let readme = text(&root().join("src/README.md"));
    let rows = readme.lines().filter(|line| line.starts_with("| `"));
    let rows = rows.map(|line| line.trim_matches('|').split('|').map(str::trim).collect());
    let rows: Vec<Vec<&str>> = rows.collect();
    for state in State::ALL {
        let name = format!("`{}`", state.word());
        let row = rows.iter().find(|row| row[0] == name);
        let row = row.unwrap_or_else(|| panic!("src/README.md: the table lacks {name}"));
        let moves: Vec<&str> = state.moves().iter().map(|to| to.word()).collect();
        assert_eq!(row[2], moves.join(", "), "src/README.md: what {name} may become");
    }
}

#[test]
fn the_readme_lists_every_key_of_the_configuration() {
    let mut table = String::from("| key | default | meaning |\n|---|---|---|\n");
    for key in posthouse::config::keys() {
        let limits = key.limits.map_or(String::new(), |(low, high)| format!(" ({low} to {high})"));
        let meaning = key.meaning.trim().replace('\n', " ");
        let default = if key.default.is_empty() { "" } else { key.default };
        let default = if default.is_empty() { String::new() } else { format!("`{default}`") };
        table.push_str(&format!("| `{}` | {default}{limits} | {meaning} |\n", key.path));
    }
    let path = root().join("README.md");
    let readme = text(&path);
    let begin = "<!-- keys: begin (made by a test, see tests/it/tidy.rs; do not edit) -->\n";
    let end = "<!-- keys: end -->";
    let from = readme.find(begin).expect("the begin mark in README.md") + begin.len();
    let to = readme.find(end).expect("the end mark in README.md");
    if std::env::var_os("POSTHOUSE_WRITE_README").is_some() {
        let written = format!("{}{table}{}", &readme[..from], &readme[to..]);
        fs::write(&path, written).expect("README.md can be written");
        return;
    }
    assert_eq!(
        readme[from..to],
        table,
        "run the tests once with POSTHOUSE_WRITE_README=1 and look at the change"
    );
}
