//! The README's table of providers says what the code says.

use providers::{ALL, Coverage};

#[test]
fn the_table_of_providers_is_the_list_in_the_code() {
    let readme = include_str!("../README.md");
    let rows: Vec<Vec<&str>> = readme
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    let listed = rows.iter().map(|row| row[0].trim_matches('`').to_owned());
    let known = ALL.iter().map(|provider| provider.name().to_owned());
    assert!(listed.eq(known), "README: the table lists every provider of ALL, in its order");
    for (row, provider) in rows.iter().zip(ALL) {
        let name = provider.name();
        let [_, proof, coverage, key, entity, position, horizon, body] = row[..] else {
            panic!("README: {name} has {} columns", row.len());
        };
        for text in [proof, key, entity, position] {
            assert!(!text.is_empty(), "README: a column of {name} is empty");
        }
        let word = match provider.coverage() {
            Coverage::Body => "body",
            Coverage::Sender => "sender",
            Coverage::Nothing => "nothing",
        };
        assert!(coverage.starts_with(word), "README: the coverage of {name} is {word}");
        assert_eq!(horizon, format!("{} d", provider.horizon_days()), "README: {name}");
        let body_max = provider.body_bytes_max() >> 20;
        assert_eq!(body, format!("{body_max} MiB"), "README: {name}");
    }
}

#[test]
fn providers_are_listed_by_name_and_only_once() {
    let names: Vec<&str> = ALL.iter().map(|provider| provider.name()).collect();
    assert!(names.windows(2).all(|pair| pair[0] < pair[1]), "{names:?}");
}
