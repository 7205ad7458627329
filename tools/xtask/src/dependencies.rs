//! Checks of external crates: their licences, their source, and crates that a program contains in two versions.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::Problems;
use crate::arrows::{cargo, text};

/// Licences under which the package may be distributed, beside its own.
const LICENCES: [&str; 11] = [
    "0BSD",
    "Apache-2.0",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "NCSA",
    "Unicode-3.0",
    "Zlib",
];
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";
/// Crates that the installed programs contain in two versions, until the crates that use them agree.
const TWICE: [&str; 6] = [
    "base64",
    "getrandom",
    "syn",
    "thiserror",
    "thiserror-impl",
    "winnow",
];

pub(crate) fn check() -> Problems {
    let metadata = cargo(&["metadata", "--format-version", "1"]);
    let metadata: Value = serde_json::from_str(&metadata).expect("cargo metadata prints JSON");
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let mut problems: Problems = packages.filter_map(package_problem).collect();
    problems.extend(twice(&shipped()).into_iter().map(|name| {
        format!("`{name}` is in the programs in two versions: use one, or list it in xtask's dependencies.rs")
    }));
    problems
}

fn package_problem(package: &Value) -> Option<String> {
    let source = package["source"].as_str()?;
    let (name, licence) = (text(&package["name"]), text(&package["license"]));
    if source != REGISTRY {
        return Some(format!(
            "`{name}` comes from {source}: only crates.io is used"
        ));
    }
    (!is_allowed(&licence)).then(|| format!("`{name}` has the licence \"{licence}\""))
}

/// Returns whether a licence is allowed: `A AND (B OR C)` in SPDX; old crates have `A/B`.
fn is_allowed(licence: &str) -> bool {
    let plain = licence.replace(['(', ')'], "").replace('/', " OR ");
    let one_of = |choice: &str| {
        choice
            .split(" OR ")
            .any(|one| LICENCES.contains(&one.trim()))
    };
    plain.split(" AND ").all(one_of)
}

/// Returns `name version` of every crate in the installed programs.
fn shipped() -> String {
    cargo(&[
        "tree", "-p", "hearth", "-p", "worker", "-e", "normal", "--prefix", "none", "--format",
        "{p}",
    ])
}

fn twice(tree: &str) -> BTreeSet<&str> {
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for line in tree.lines() {
        let mut words = line.split(' ');
        if let (Some(name), Some(version)) = (words.next(), words.next()) {
            versions.entry(name).or_default().insert(version);
        }
    }
    let several = versions
        .into_iter()
        .filter(|(_, versions)| versions.len() > 1);
    several
        .map(|(name, _)| name)
        .filter(|name| !TWICE.contains(name))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_licence_is_allowed_if_one_of_its_choices_is() {
        for licence in [
            "MIT OR GPL-3.0",
            "Unlicense/MIT",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "Apache-2.0 AND ISC",
        ] {
            assert!(is_allowed(licence), "{licence}");
        }
        for licence in [
            "GPL-3.0",
            "MIT AND GPL-3.0",
            "",
            "(MIT OR Apache-2.0) AND AGPL-3.0",
        ] {
            assert!(!is_allowed(licence), "{licence}");
        }
    }

    #[test]
    fn two_versions_of_a_crate_are_found() {
        assert_eq!(
            twice("a v1.0.0\nb v1.0.0\na v2.0.0 (*)\nsyn v2.0.0\nsyn v3.0.0\n"),
            BTreeSet::from(["a"])
        );
    }
}
