//! The README's table of providers is made of what the code says.

use providers::{ALL, Coverage, Provider};

const BEGIN: &str = "<!-- providers: begin (made by tests/readme.rs; do not edit) -->\n";
const END: &str = "<!-- providers: end -->";

fn row(provider: &dyn Provider) -> String {
    let facts = provider.facts();
    let coverage = match provider.coverage() {
        Coverage::Body => "body",
        Coverage::Sender => "sender",
        Coverage::Nothing => "nothing",
    };
    let (horizon, body) = (provider.horizon_days(), provider.body_bytes_max() >> 20);
    let deadline = match provider.answer_deadline_ms() {
        Some(ms) if ms % 1000 == 0 => format!("{} s", ms / 1000),
        Some(ms) => format!("{ms} ms"),
        None => "-".to_owned(),
    };
    let (name, title) = (provider.name(), facts.title);
    format!(
        "| `{name}` | {title} | {} | {coverage} | {} | {} | {} | {horizon} d | {body} MiB | \
         {deadline} |\n",
        facts.proof, facts.key, facts.entity, facts.position
    )
}

#[test]
fn the_table_of_providers_is_the_list_in_the_code() {
    let mut table =
        "| name | sender | proof | coverage | key | entity | position | horizon | body \
                     | answer |\n|---|---|---|---|---|---|---|---|---|---|\n"
            .to_owned();
    for provider in ALL {
        let facts = provider.facts();
        for text in [facts.title, facts.proof, facts.key, facts.entity, facts.position] {
            let plain = !text.is_empty() && !text.contains(['|', '\n']);
            assert!(plain, "{}: a fact is empty or breaks the table: {text:?}", provider.name());
        }
        table.push_str(&row(*provider));
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
    let readme = std::fs::read_to_string(path).expect("README.md can be read");
    let from = readme.find(BEGIN).expect("the begin mark in README.md") + BEGIN.len();
    let to = readme.find(END).expect("the end mark in README.md");
    if std::env::var_os("PROVIDERS_WRITE_README").is_some() {
        let written = format!("{}{table}{}", &readme[..from], &readme[to..]);
        std::fs::write(path, written).expect("README.md can be written");
        return;
    }
    let is_new = |row: &&str| !readme[from..to].lines().any(|line| line == *row);
    let new: Vec<&str> = table.lines().filter(is_new).collect();
    assert!(
        readme[from..to] == table,
        "README.md has other rows; run the tests once with PROVIDERS_WRITE_README=1 and look at \
         the change. Rows as they should be: {new:#?}"
    );
}

#[test]
fn providers_are_listed_by_name_and_only_once() {
    let names: Vec<&str> = ALL.iter().map(|provider| provider.name()).collect();
    assert!(names.windows(2).all(|pair| pair[0] < pair[1]), "{names:?}");
}
