//! Checks of the source text: unsafe code outside its crates, types of the engine in Rust, and version conditions outside
//! their one header.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Problems;

/// The only crates that may contain unsafe code: the zygote for `fork` and its inherited descriptors, `shm` for its mapping
/// and its lock.
const UNSAFE: [&str; 5] = ["php-sys", "php", "hook", "zygote", "shm"];
/// Types of the engine, which Rust must not use: C passes our own structs of pointers and lengths.
const ZEND: [&str; 6] = [
    "zval",
    "zend_string",
    "zend_object",
    "zend_array",
    "HashTable",
    "zend_execute_data",
];

pub(crate) fn check(checkout: &Path) -> Problems {
    let mut problems = Vec::new();
    let folders = ["crates", "lab"].map(|folder| entries(&checkout.join(folder)));
    for directory in folders.into_iter().flatten() {
        let name = directory
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default()
            .to_owned();
        for file in files(&directory, &["rs", "c", "h"]) {
            let text = fs::read_to_string(&file).unwrap_or_default();
            let shown = file
                .strip_prefix(checkout)
                .unwrap_or(&file)
                .display()
                .to_string();
            problems.extend(file_problems(&name, &shown, &text));
        }
    }
    problems
}

fn file_problems(name: &str, shown: &str, text: &str) -> Problems {
    let extension = shown
        .rsplit_once('.')
        .map_or("", |(_, extension)| extension);
    let root = ["lib.rs", "main.rs"]
        .iter()
        .any(|end| shown.ends_with(&format!("/{name}/src/{end}")));
    let mut problems = Vec::new();
    if root && !UNSAFE.contains(&name) && !text.contains("#![forbid(unsafe_code)]") {
        problems.push(format!("{shown}: no #![forbid(unsafe_code)]"));
    }
    let lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim_start().starts_with("//"));
    for (number, line) in lines {
        let place = format!("{shown}:{}", number + 1);
        if extension == "rs" {
            let found = ZEND.iter().filter(|word| has_word(line, word));
            problems.extend(found.map(|word| format!("{place}: `{word}`: no Zend type in Rust")));
        } else if line.trim_start().starts_with('#')
            && line.contains("PHP_VERSION_ID")
            && !shown.ends_with("compat.h")
        {
            problems.push(format!(
                "{place}: a condition on PHP_VERSION_ID belongs into compat.h"
            ));
        }
    }
    problems
}

fn has_word(line: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    line.split(|c| !part(c)).any(|found| found == word)
}

pub(crate) fn entries(directory: &Path) -> Vec<PathBuf> {
    let mut list: Vec<PathBuf> = fs::read_dir(directory)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    list.sort();
    list
}

/// Returns the files below a directory whose names have one of these extensions.
pub(crate) fn files(directory: &Path, ends: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in entries(directory) {
        if path.is_dir() {
            found.extend(files(&path, ends));
        } else if path
            .extension()
            .is_some_and(|extension| ends.iter().any(|known| extension == *known))
        {
            found.push(path);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_that_is_crossed_is_named_with_its_line() {
        let root = "crates/ipc/src/lib.rs";
        assert_eq!(
            file_problems("ipc", root, "//! Docs\n"),
            [format!("{root}: no #![forbid(unsafe_code)]")]
        );
        let php = "crates/php/src/task.rs";
        assert_eq!(
            file_problems("php", php, "// a zval\nx: *mut zval,\n"),
            [format!("{php}:2: `zval`: no Zend type in Rust")]
        );
        assert!(file_problems("php", php, "let zvalue = 1;\n").is_empty());
        let sapi = "crates/php-sys/csrc/engine/sapi.c";
        assert_eq!(
            file_problems("php-sys", sapi, "#if PHP_VERSION_ID < 80300\n").len(),
            1
        );
        assert!(
            file_problems(
                "php-sys",
                "crates/php-sys/csrc/compat.h",
                "#if PHP_VERSION_ID < 80300\n"
            )
            .is_empty()
        );
    }
}
