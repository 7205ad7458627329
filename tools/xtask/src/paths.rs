//! Check that the files and folders that the developers' documents name exist.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use crate::Problems;
use crate::fences::{entries, files};

/// Folders with code and documents; a path that begins with one of these is relative to the checkout's top.
const FOLDERS: [&str; 9] = [
    "bench", "crates", "docs", "examples", "fuzz", "lab", "php", "tests", "tools",
];
/// Extensions by which a name is taken for one of our files, in whichever folder.
const ENDS: [&str; 4] = ["rs", "c", "h", "toml"];

pub(crate) fn check(checkout: &Path) -> Problems {
    let mut pages = files(&checkout.join("docs/internals"), &["md"]);
    pages.extend(["ARCHITECTURE.md", "CONTRIBUTING.md"].map(|name| checkout.join(name)));
    let known = ends_of_paths(checkout);
    let mut problems = Vec::new();
    for page in &pages {
        let text = fs::read_to_string(page).unwrap_or_default();
        let shown = page.strip_prefix(checkout).unwrap_or(page).display();
        let exists = |link: &str| page.with_file_name(link).exists();
        let missing = links(&text).into_iter().filter(|link| !exists(link));
        problems.extend(missing.map(|link| format!("{shown}: the link to {link} leads nowhere")));
        let missing = paths(&text)
            .into_iter()
            .filter(|path| !known.contains(path.trim_end_matches('/')));
        problems.extend(missing.map(|path| format!("{shown}: there is no `{path}`")));
    }
    problems
}

/// Returns all ends of the paths of files and folders: `crates/x/src/y.rs`, `x/src/y.rs`, `src/y.rs` and `y.rs`.
fn ends_of_paths(checkout: &Path) -> HashSet<String> {
    let mut known = HashSet::new();
    let mut folders: Vec<_> = FOLDERS.map(|folder| checkout.join(folder)).into();
    while let Some(folder) = folders.pop() {
        for path in [folder.clone()].into_iter().chain(entries(&folder)) {
            let shown = path.strip_prefix(checkout).unwrap_or(&path);
            let shown = shown.to_string_lossy().into_owned();
            let starts = shown.match_indices('/').map(|(at, _)| at + 1);
            known.extend(starts.map(|at| shown[at..].to_owned()));
            known.insert(shown);
            if path.is_dir() && path != folder {
                folders.push(path);
            }
        }
    }
    known
}

/// Returns the text between backquotes that is the path of a file or folder of ours.
fn paths(text: &str) -> Vec<&str> {
    let quoted = text
        .lines()
        .flat_map(|line| line.split('`').skip(1).step_by(2));
    let is_path = |word: &&str| {
        let plain = word
            .bytes()
            .all(|c| c.is_ascii_alphanumeric() || b"._-/".contains(&c));
        let first = word.split('/').next().unwrap_or_default();
        let from_top = word.contains('/') && FOLDERS.contains(&first);
        let end = word.rsplit_once('.').map(|(_, end)| end);
        // A name with capitals, such as NAME.stub.php, stands for many files.
        let is_one = !word.bytes().any(|c| c.is_ascii_uppercase());
        // A `.phpt` is one of PHP's own tests, whose path begins with a folder of PHP's source.
        let is_phps = end == Some("phpt");
        plain && is_one && !is_phps && (from_top || end.is_some_and(|end| ENDS.contains(&end)))
    };
    quoted.filter(is_path).collect()
}

/// Returns the files that a page links to.
fn links(text: &str) -> Vec<&str> {
    let targets = text
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split([')', '#']).next());
    targets
        .filter(|target| !target.is_empty() && !target.contains("://"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_a_path_and_what_is_not() {
        let text = "`crates/php-sys/csrc` and `task.rs`, `NAME_arginfo.h`, `ext/pdo`, `app.php`, `php`, `a b.rs`; \
                    [x](y.md#z), [y](https://a.b/c.md), [z](#here)";
        assert_eq!(paths(text), ["crates/php-sys/csrc", "task.rs"]);
        assert_eq!(links(text), ["y.md"]);
    }
}
