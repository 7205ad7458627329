//! The allowed dependencies between crates, as `[workspace.metadata.arrows]` in the root `Cargo.toml` lists them, and the
//! forbidden ones of whole trees. The crates exist for these rules, which a program checks because the compiler only
//! rejects cycles.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

use crate::Problems;

/// (crate, crate that its tree must not contain, reason)
const ABSENT: [(&str, &str, &str); 3] = [
    (
        "zygote",
        "tokio",
        "the zygote forks: it has one thread and no runtime",
    ),
    ("hearth", "php-sys", "the supervisor never links PHP"),
    (
        "load",
        "hyper",
        "the load generator shares no code with the server",
    ),
];

type Arrows = BTreeMap<String, BTreeSet<String>>;

pub(crate) fn check() -> Problems {
    let metadata = metadata();
    let (drawn, actual) = (drawn(&metadata), actual(&metadata));
    let mut problems = compare(&drawn, &actual);
    for (start, absent, why) in ABSENT {
        if actual.contains_key(start) && tree(start).contains(absent) {
            problems.push(format!("`{start}` depends on `{absent}`: {why}"));
        }
    }
    problems
}

fn compare(drawn: &Arrows, actual: &Arrows) -> Problems {
    let mut problems = Vec::new();
    for (name, uses) in actual {
        let Some(allowed) = drawn.get(name) else {
            problems.push(format!(
                "crate `{name}` has no row in [workspace.metadata.arrows]: add it with its arrows"
            ));
            continue;
        };
        problems.extend(
            uses.difference(allowed)
                .map(|to| format!("`{name}` uses `{to}`, but no arrow says so")),
        );
        problems.extend(
            allowed
                .difference(uses)
                .map(|to| format!("arrow `{name}` → `{to}` is drawn but not used")),
        );
    }
    let gone = drawn.keys().filter(|name| !actual.contains_key(*name));
    problems.extend(gone.map(|name| {
        format!("[workspace.metadata.arrows] has a row for `{name}`, which is no crate")
    }));
    problems
}

fn metadata() -> Value {
    let text = cargo(&["metadata", "--no-deps", "--format-version", "1"]);
    serde_json::from_str(&text).expect("cargo metadata prints JSON")
}

/// Returns the table of `Cargo.toml`.
fn drawn(metadata: &Value) -> Arrows {
    let table = metadata["metadata"]["arrows"]
        .as_object()
        .cloned()
        .unwrap_or_default();
    let names = |list: &Value| list.as_array().into_iter().flatten().map(text).collect();
    table
        .iter()
        .map(|(name, list)| (name.clone(), names(list)))
        .collect()
}

/// Returns whether a manifest is one of the server's or the laboratory's.
fn is_ours(manifest: &str) -> bool {
    manifest.contains("/crates/") || manifest.contains("/lab/")
}

/// Returns the dependencies in the manifests under `crates/` and `lab/`; those of tests only are left out.
fn actual(metadata: &Value) -> Arrows {
    let packages: Vec<&Value> = metadata["packages"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|package| is_ours(&text(&package["manifest_path"])))
        .collect();
    let ours: BTreeSet<String> = packages
        .iter()
        .map(|package| text(&package["name"]))
        .collect();
    packages
        .iter()
        .map(|package| (text(&package["name"]), uses(package, &ours)))
        .collect()
}

fn uses(package: &Value, ours: &BTreeSet<String>) -> BTreeSet<String> {
    let dependencies = package["dependencies"].as_array().into_iter().flatten();
    dependencies
        .filter(|dependency| dependency["kind"] != "dev")
        .map(|dependency| text(&dependency["name"]))
        .filter(|name| ours.contains(name))
        .collect()
}

/// Returns every crate that the build of `start` depends on.
fn tree(start: &str) -> BTreeSet<String> {
    let lines = cargo(&[
        "tree",
        "-p",
        start,
        "-e",
        "normal,build",
        "--prefix",
        "none",
        "--format",
        "{p}",
    ]);
    lines
        .lines()
        .filter_map(|line| line.split(' ').next())
        .map(str::to_owned)
        .collect()
}

pub(crate) fn cargo(arguments: &[&str]) -> String {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo)
        .args(arguments)
        .output()
        .expect("cargo starts");
    assert!(
        output.status.success(),
        "cargo {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("cargo prints UTF-8")
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrows(rows: &[(&str, &[&str])]) -> Arrows {
        rows.iter()
            .map(|(name, to)| {
                (
                    (*name).to_owned(),
                    to.iter().map(|to| (*to).to_owned()).collect(),
                )
            })
            .collect()
    }

    #[test]
    fn equal_tables_have_no_problem() {
        let table = arrows(&[("a", &["b"]), ("b", &[])]);
        assert_eq!(compare(&table, &table), Problems::new());
    }

    #[test]
    fn each_difference_is_named() {
        let drawn = arrows(&[("a", &["b"]), ("b", &["c"]), ("gone", &[])]);
        let actual = arrows(&[("a", &["b", "c"]), ("b", &[]), ("c", &[])]);
        assert_eq!(
            compare(&drawn, &actual),
            [
                "`a` uses `c`, but no arrow says so",
                "arrow `b` → `c` is drawn but not used",
                "crate `c` has no row in [workspace.metadata.arrows]: add it with its arrows",
                "[workspace.metadata.arrows] has a row for `gone`, which is no crate",
            ]
        );
    }
}
