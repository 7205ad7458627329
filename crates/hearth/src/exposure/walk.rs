//! Walks everything below a document root, within limits that keep it quick.

use std::collections::{BTreeMap, HashSet};
use std::fs::DirEntry;
use std::path::{Path, PathBuf};

/// The number of entries after which the walk ends.
const MOST: usize = 50_000;
const DEEPEST: usize = 12;

/// Extensions of files that are for no client: logs, data, and secrets of programs.
const PRIVATE: [&str; 13] = [
    "log", "sqlite", "sqlite3", "db", "db3", "sql", "dump", "pem", "key", "p12", "pfx", "env",
    "htpasswd",
];

/// Names of directories for such files.
const DIRECTORIES: [&str; 13] = [
    "log",
    "logs",
    "storage",
    "data",
    "db",
    "database",
    "databases",
    "backup",
    "backups",
    "private",
    "tmp",
    "temp",
    "var",
];

/// Directories with third-party code, in which no app writes.
const SKIPPED: [&str; 2] = ["node_modules", "bower_components"];

/// The findings of a walk. Paths are as clients see them, without a slash at the end; that of the root is empty.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    /// The directory and the text of each `.htaccess`.
    pub(crate) htaccess: Vec<(String, String)>,
    /// Names of private files by their directory.
    pub(crate) private: BTreeMap<String, Vec<String>>,
    seen: usize,
    /// Directories visited so far, because links may lead to one again.
    known: HashSet<PathBuf>,
}

impl Walk {
    pub(crate) fn of(root: &Path) -> Walk {
        let mut walk = Walk::default();
        walk.directory(root, "", 0);
        walk
    }

    fn directory(&mut self, directory: &Path, place: &str, depth: usize) {
        let Ok(real) = directory.canonicalize() else {
            return;
        };
        let Ok(entries) = std::fs::read_dir(directory) else {
            return;
        };
        if depth > DEEPEST || !self.known.insert(real) {
            return;
        }
        let mut entries: Vec<DirEntry> = entries.filter_map(Result::ok).collect();
        entries.sort_by_key(DirEntry::file_name);
        for entry in entries {
            self.seen += 1;
            if self.seen > MOST {
                return;
            }
            self.entry(&entry, place, depth);
        }
    }

    fn entry(&mut self, entry: &DirEntry, place: &str, depth: usize) {
        let Ok(name) = entry.file_name().into_string() else {
            return;
        };
        let path = entry.path();
        if name == ".htaccess" {
            if let Ok(text) = std::fs::read_to_string(&path) {
                self.htaccess.push((place.to_owned(), text));
            }
            return;
        }
        if name.starts_with('.') || SKIPPED.contains(&name.as_str()) {
            return;
        }
        // The server follows links, too.
        if path.is_dir() {
            return self.directory(&path, &format!("{place}/{name}"), depth + 1);
        }
        if private_ending(&name).is_some() {
            self.private.entry(place.to_owned()).or_default().push(name);
        }
    }
}

pub(crate) fn private_ending(name: &str) -> Option<&'static str> {
    let (_, ending) = name.rsplit_once('.')?;
    PRIVATE
        .into_iter()
        .find(|private| ending.eq_ignore_ascii_case(private))
}

/// Whether directories of this name contain nothing but private files.
pub(crate) fn is_private_directory(directory: &str) -> bool {
    let name = directory.rsplit('/').next().unwrap_or_default();
    DIRECTORIES.contains(&name)
}
