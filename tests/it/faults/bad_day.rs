//! The table "On a bad day" in docs/guide/running.md: its lines are those of the log, its metrics are there.

use std::path::Path;

use regex::Regex;

use crate::support::{admin, ok, one_worker};

fn table() -> String {
    let page = std::fs::read_to_string(testkit::checkout().join("docs/guide/running.md"));
    let page = page.expect("the page");
    let section = page.split("## On a bad day").nth(1).expect("the section");
    section.split("\n## ").next().expect("a section").to_owned()
}

/// All of the programs' sources, as one text.
fn sources(directory: &Path, text: &mut String) {
    for entry in std::fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, text);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            text.push_str(&std::fs::read_to_string(&path).expect("a source"));
        }
    }
}

/// Log lines are the code in the third column.
#[test]
fn the_log_says_what_the_guide_says_that_it_says() {
    let mut text = String::new();
    for name in ["supervisor", "worker", "front", "server"] {
        sources(&testkit::checkout().join("crates").join(name), &mut text);
    }
    let code = Regex::new("`([^`]+)`").expect("a pattern");
    // What is put in when the line is written.
    let varies = Regex::new(
        r"…|=[^ =]+|\(.*?\)|\d+|was killed by SIG[A-Z]+|/[a-z]+|: a fatal.*|: a request that.*|: [A-Z].*|\[.*",
    )
    .expect("a pattern");
    let table = table();
    let rows = table.lines().filter(|line| line.starts_with("| ")).skip(1);
    let mut checked = 0;
    for row in rows {
        let column = row.split('|').nth(3).expect("a column");
        for line in code.captures_iter(column).map(|found| found[1].to_owned()) {
            if line.starts_with("PHP ") || line == "info" {
                continue;
            }
            for part in varies.split(&line) {
                let part = part.trim_matches([' ', ';', ':', '(', ')']);
                assert!(
                    text.contains(part),
                    "no {part:?} of {line:?} in the sources"
                );
                checked += usize::from(part.len() > 5);
            }
        }
    }
    assert!(checked > 12, "{checked}");
}

#[test]
fn the_metrics_of_the_guide_are_there() {
    let server = one_worker("return fn () => 'fine';")
        .args(["--concurrency", "1", "--admin", "127.0.0.1:0"])
        .start();
    let page = ok(&admin(&server, "/metrics"));
    let names = Regex::new("`(hearth_[a-z_]+)`").expect("a pattern");
    let table = table();
    let named: Vec<_> = names
        .captures_iter(&table)
        .map(|found| found[1].to_owned())
        .collect();
    assert!(named.len() > 12);
    for name in named {
        assert!(page.contains(&format!("# TYPE {name} ")), "no {name}");
    }
    server.stop();
}
