//! Check for pronouns that stand for people: in this project's texts the subject is a thing, such as the worker or the
//! client.

use std::fs;
use std::path::Path;

use crate::Problems;
use crate::fences::files;
use crate::names::parts;

const RETIRED: [&str; 6] = [
    "anybody",
    "everybody",
    "nobody",
    "somebody",
    "whoever",
    "whom",
];
const FOLDERS: [&str; 8] = [
    "crates", "docs", "examples", "fuzz", "lab", "php", "tests", "tools",
];
const ENDS: [&str; 6] = ["rs", "c", "h", "php", "phpt", "md"];

pub(crate) fn check(checkout: &Path) -> Problems {
    let mut found = Vec::new();
    for folder in FOLDERS {
        found.extend(files(&checkout.join(folder), &ENDS));
    }
    found.extend(
        [
            "README.md",
            "ARCHITECTURE.md",
            "CONTRIBUTING.md",
            "CHANGELOG.md",
        ]
        .map(|name| checkout.join(name)),
    );
    let mut problems = Vec::new();
    for file in found
        .iter()
        .filter(|file| !file.ends_with("xtask/src/prose.rs"))
    {
        let shown = file.strip_prefix(checkout).unwrap_or(file).display();
        let text = fs::read_to_string(file).unwrap_or_default();
        for (number, line) in text.lines().enumerate() {
            let found = words(line)
                .into_iter()
                .find(|word| RETIRED.contains(&word.as_str()));
            let problem = |word| format!("{shown}:{}: `{word}`: say which thing", number + 1);
            problems.extend(found.map(problem));
        }
    }
    problems
}

/// Returns the words of a line, without text between quotes and without options of commands.
fn words(line: &str) -> Vec<String> {
    let is_comment = ["//", "*", "/*", "#"]
        .iter()
        .any(|start| line.trim_start().starts_with(start));
    // In a sentence an apostrophe is no quote.
    let quotes: &[char] = if is_comment {
        &['"', '`']
    } else {
        &['"', '`', '\'']
    };
    let text = line.split(quotes).step_by(2);
    let names =
        text.flat_map(|part| part.split(|c: char| !c.is_alphanumeric() && !"_-".contains(c)));
    let words = names
        .filter(|name| !name.starts_with("--"))
        .flat_map(|name| name.split('-').flat_map(parts));
    words.filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_sentences_and_names() {
        assert_eq!(
            words("fn nobody_waits(\"whom\", --kill-whom) // it's"),
            ["fn", "nobody", "waits", "it"]
        );
    }
}
