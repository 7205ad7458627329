//! Check for retired words: names that this project once invented for things that have a standard name.

use std::fs;
use std::path::Path;

use crate::Problems;
use crate::fences::{entries, files};

/// The word as a part of a name, and its replacement.
const RETIRED: [(&str, &str); 18] = [
    ("bell", "eventfd"),
    ("desk", "dispatcher"),
    ("doomed", "evict reason, or pending fatal error"),
    ("door", "front channel"),
    ("flight", "pending request"),
    ("forsake", "abort"),
    ("glance", "poll"),
    ("habit", "tuner"),
    ("intake", "listener, or connector"),
    ("lane", "ring, or priority"),
    ("ledger", "lease table"),
    ("obituary", "exit status"),
    ("passage", "end signal"),
    ("patience", "timeout"),
    ("seat", "consumer, or guard"),
    ("staff", "worker counts"),
    ("wear", "recycle policy"),
    ("worn", "recycling"),
];
/// Standard names of the field that contain such a word.
const STANDARD: [&str; 3] = ["in_flight", "InFlight", "ornOut"];
/// Verbs of speech and sight, with which no name of more than one part begins, and their replacements. A name that is a
/// sentence, such as that of a test, is exempt.
const VERBS: [(&str, &str); 6] = [
    ("ask", "request, or query"),
    ("look", "check, or lookup"),
    ("said", "last_logged, or output"),
    ("say", "send, log or print"),
    ("tell", "notify, send or report"),
    ("told", "notified, or logged"),
];
/// The most parts of a name that is not a sentence.
const MOST_PARTS: usize = 5;
const FOLDERS: [&str; 5] = ["crates", "lab", "php", "tests", "tools"];

pub(crate) fn check(checkout: &Path) -> Problems {
    let mut problems = Vec::new();
    for folder in FOLDERS.map(|folder| checkout.join(folder)) {
        for directory in entries(&folder) {
            let found = if directory.is_dir() {
                files(&directory, &["rs", "c", "h", "php"])
            } else {
                vec![directory]
            };
            for file in found
                .iter()
                .filter(|file| !file.ends_with("xtask/src/names.rs"))
            {
                let shown = file.strip_prefix(checkout).unwrap_or(file).display();
                let text = fs::read_to_string(file).unwrap_or_default();
                problems.extend(file_problems(&shown.to_string(), &text));
            }
        }
    }
    problems
}

fn file_problems(shown: &str, text: &str) -> Problems {
    let stem = shown
        .rsplit('/')
        .next()
        .and_then(|name| name.split('.').next());
    let mut problems: Problems = retired_in(stem.unwrap_or_default())
        .map(|(word, instead)| format!("{shown}: a file called {word}: say {instead}"))
        .collect();
    for (number, line) in text.lines().enumerate() {
        let is_comment = ["//", "/*", "*", "#"]
            .iter()
            .any(|start| line.trim_start().starts_with(start));
        if !is_comment {
            problems.extend(line_problems(&format!("{shown}:{}", number + 1), line));
        }
    }
    problems
}

/// Returns the problems of the names in a line; text between quotes is ignored.
fn line_problems(place: &str, line: &str) -> Problems {
    let code = line.split(['"', '\'']).step_by(2);
    let names = code.flat_map(|part| part.split(|c: char| !c.is_alphanumeric() && c != '_'));
    let found = names.flat_map(|name| {
        let found = retired_in(name).chain(verb_of(name));
        found.map(move |found| (name, found))
    });
    found
        .map(|(name, (word, instead))| {
            format!("{place}: `{name}`: {word} is retired: say {instead}")
        })
        .collect()
}

fn retired_in(name: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let is_standard = STANDARD.iter().any(|known| name.contains(known));
    let parts: Vec<String> = if is_standard { Vec::new() } else { parts(name) };
    RETIRED.into_iter().filter(move |(word, _)| {
        parts
            .iter()
            .any(|part| part == word || part.strip_suffix('s') == Some(word))
    })
}

/// Returns the verb of speech or sight with which a name begins, and its replacement.
fn verb_of(name: &str) -> Option<(&'static str, &'static str)> {
    let parts = parts(name);
    let known = VERBS.into_iter().find(|(verb, _)| parts[0] == *verb);
    known.filter(|_| (2..=MOST_PARTS).contains(&parts.len()))
}

/// Splits a name into its parts: `aName`, `a_name` and `A_NAME` have the parts `a` and `name`.
pub(crate) fn parts(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        if c == '_' || c.is_uppercase() && was_lower {
            parts.push(String::new());
        }
        if c != '_' {
            parts
                .last_mut()
                .expect("it begins with one")
                .extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase();
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_retired_word_is_found_as_a_part_of_a_name_only() {
        let found = |line| line_problems("x.rs:1", line).len();
        assert_eq!(found("let seat = Desk::open();"), 2);
        assert_eq!(found("self.next_seats(LANE_HEAD)"), 2);
        assert_eq!(found("unseated(\"a seat\", in_flight, lanes_of)"), 1);
        assert_eq!(
            file_problems("crates/x/src/door.rs", "// a door\n").len(),
            1
        );
        assert_eq!(found("tell_front(LOOK_AGAIN, ask, look, lookup_all)"), 2);
        assert_eq!(found("fn ask_and_it_is_answered_at_once() {"), 0);
    }
}
