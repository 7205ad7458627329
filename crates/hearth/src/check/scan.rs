//! Evidence in an app's files: its packages, the files of known frameworks, and code that keeps state where the next request
//! finds it.
//!
//! Lines are read, not run: each finding is shown with its place, for a person to judge.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Folders that contain code of other projects, or no code.
const NOT_THE_APP: [&str; 9] = [
    "vendor",
    "node_modules",
    "var",
    "storage",
    "cache",
    "tests",
    "Tests",
    "wp-includes",
    "wp-admin",
];
const MOST_FILES: usize = 5000;
/// Longer files are generated.
const MOST_BYTES: u64 = 1 << 20;

/// A kind of code that matters for the mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CodeSmell {
    StaticProperty,
    StaticVariable,
    Global,
    Persistent,
    Exit,
}

/// The first place where a kind was found, and the number of places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) place: String,
    pub(crate) line: String,
    pub(crate) count: usize,
}

/// All evidence of an app.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    /// The project's folder.
    pub(crate) root: PathBuf,
    /// Composer's packages and their versions.
    pub(crate) packages: BTreeMap<String, String>,
    /// The file that lists them, relative to the root.
    pub(crate) named_in: &'static str,
    pub(crate) code: BTreeMap<CodeSmell, Found>,
    /// The number of the app's own scripts.
    pub(crate) files: usize,
    /// A script with a loop on frankenphp_handle_request(), relative to the root.
    pub(crate) worker_script: Option<PathBuf>,
}

impl Scan {
    /// Reads the files that belong to `app`, a script or a folder.
    pub(crate) fn of(app: &Path) -> Scan {
        let project = project(app);
        let mut evidence = Scan {
            root: project.clone().unwrap_or_else(|| folder(app).to_owned()),
            ..Scan::default()
        };
        evidence.read_packages();
        let files = match project.is_none() && app.is_file() {
            true => required(app),
            false => below(&evidence.root),
        };
        evidence.files = files.len();
        for file in &files {
            evidence.read_code(file);
        }
        evidence
    }

    pub(crate) fn has(&self, relative: &str) -> bool {
        self.root.join(relative).exists()
    }

    pub(crate) fn package(&self, name: &str) -> Option<&str> {
        self.packages.get(name).map(String::as_str)
    }

    fn read_packages(&mut self) {
        let json = |name: &str| -> Option<serde_json::Value> {
            serde_json::from_slice(&std::fs::read(self.root.join(name)).ok()?).ok()
        };
        let listed = |value: &serde_json::Value| -> BTreeMap<String, String> {
            let packages = value.get("packages").unwrap_or(value).as_array();
            packages
                .into_iter()
                .flatten()
                .filter_map(|package| {
                    let text = |key| Some(package.get(key)?.as_str()?.to_owned());
                    Some((text("name")?, text("version")?))
                })
                .collect()
        };
        for name in ["composer.lock", "vendor/composer/installed.json"] {
            if let Some(value) = json(name) {
                self.packages = listed(&value);
                self.named_in = name;
                return;
            }
        }
        let Some(value) = json("composer.json") else {
            return;
        };
        let required = value.get("require").and_then(serde_json::Value::as_object);
        self.packages = required
            .into_iter()
            .flatten()
            .filter_map(|(name, version)| Some((name.clone(), version.as_str()?.to_owned())))
            .collect();
        self.named_in = "composer.json";
    }

    fn read_code(&mut self, file: &Path) {
        let Ok(bytes) = std::fs::read(file) else {
            return;
        };
        let text = String::from_utf8_lossy(&bytes);
        let name = file.strip_prefix(&self.root).unwrap_or(file);
        let mut inside_comment = false;
        for (number, line) in text.lines().enumerate() {
            let line = line.trim().trim_start_matches("<?php").trim_start();
            inside_comment |= line.starts_with("/*");
            let is_comment = inside_comment || line.starts_with("//") || line.starts_with('#');
            inside_comment &= !line.contains("*/");
            if is_comment {
                continue;
            }
            if self.worker_script.is_none() && line.contains("frankenphp_handle_request(") {
                self.worker_script = Some(name.to_owned());
            }
            for kind in traits(line) {
                let found = self.code.entry(kind).or_insert_with(|| Found {
                    place: format!("{}:{}", name.display(), number + 1),
                    line: line.chars().take(80).collect(),
                    count: 0,
                });
                found.count += 1;
            }
        }
    }
}

/// Names at the top of a project.
const TOPS: [&str; 6] = [
    "composer.json",
    "composer.lock",
    "artisan",
    "bin/console",
    "wp-load.php",
    "vendor",
];

fn folder(app: &Path) -> &Path {
    match app.is_dir() {
        true => app,
        false => app.parent().unwrap_or(app),
    }
}

/// The nearest folder, at most two above, that looks like the top of a project.
fn project(app: &Path) -> Option<PathBuf> {
    let mut above = folder(app).ancestors().take(3);
    above.find(|above| is_top(above)).map(Path::to_owned)
}

fn is_top(folder: &Path) -> bool {
    TOPS.iter().any(|top| folder.join(top).exists())
}

/// A script of no project, and the files that it requires by a literal path. Other files beside it may belong to anything.
fn required(script: &Path) -> Vec<PathBuf> {
    let mut files = vec![script.to_owned()];
    let mut at = 0;
    while at < files.len() && files.len() < MOST_FILES {
        let text = std::fs::read(&files[at]).unwrap_or_default();
        let folder = folder(&files[at]).to_owned();
        for path in String::from_utf8_lossy(&text)
            .lines()
            .filter_map(required_path)
        {
            let file = folder.join(path.trim_start_matches('/'));
            if file.is_file() && !files.contains(&file) {
                files.push(file);
            }
        }
        at += 1;
    }
    files
}

/// Returns the path in `require __DIR__ . '/x.php';` and the like.
fn required_path(line: &str) -> Option<&str> {
    let at = ["require", "include"]
        .iter()
        .filter_map(|word| line.find(word))
        .min()?;
    let (_, rest) = line[at..].split_once(['\'', '"'])?;
    rest.split(['\'', '"'])
        .next()
        .filter(|path| !path.is_empty())
}

/// Lists the app's own PHP files, in a fixed order.
fn below(root: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    collect(root, &mut files);
    files
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    let mut entries: Vec<_> = entries.filter_map(Result::ok).collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        let is_own = !name.starts_with('.') && !NOT_THE_APP.contains(&&*name);
        if kind.is_dir() && is_own && !is_top(&entry.path()) {
            collect(&entry.path(), files);
        }
        let is_php = kind.is_file() && name.ends_with(".php") && !name.ends_with(".blade.php");
        if is_php
            && files.len() < MOST_FILES
            && entry.metadata().is_ok_and(|file| file.len() < MOST_BYTES)
        {
            files.push(entry.path());
        }
    }
}

fn of_static(words: &[&str]) -> Option<CodeSmell> {
    let at = words.iter().position(|word| *word == "static")?;
    let (before, after) = (&words[..at], &words[at + 1..]);
    let modifiers = ["public", "protected", "private", "var"];
    let is_property = before.iter().any(|word| modifiers.contains(word)) && before.len() <= 2;
    let is_variable = |word: &&str| word.starts_with('$');
    let is_named = after.iter().take(2).any(is_variable);
    if !is_named || !(is_property || before.is_empty()) {
        return None;
    }
    Some(
        match before.is_empty() && after.first().is_some_and(is_variable) {
            true => CodeSmell::StaticVariable,
            false => CodeSmell::StaticProperty,
        },
    )
}

/// Returns the kinds that a line of code shows.
fn traits(line: &str) -> Vec<CodeSmell> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut found = Vec::from_iter(of_static(&words));
    if words.first() == Some(&"global") && words.get(1).is_some_and(|word| word.starts_with('$')) {
        found.push(CodeSmell::Global);
    }
    if ["ATTR_PERSISTENT", "pconnect(", "pfsockopen("]
        .iter()
        .any(|call| line.contains(call))
    {
        found.push(CodeSmell::Persistent);
    }
    let leaves = |word: &str| {
        ["exit", "die"].iter().any(|leave| {
            word.strip_prefix(leave)
                .is_some_and(|rest| rest.starts_with(';') || rest.starts_with('('))
        })
    };
    if words.iter().any(|word| leaves(word)) {
        found.push(CodeSmell::Exit);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_keep_state() {
        use CodeSmell::*;
        for (line, expected) in [
            ("private static array $items = [];", vec![StaticProperty]),
            (
                "public static ?self $instance = null;",
                vec![StaticProperty],
            ),
            ("static $count = 0;", vec![StaticVariable]),
            ("global $wpdb;", vec![Global]),
            (
                "$pdo = new PDO($dsn, $u, $p, [PDO::ATTR_PERSISTENT => true]);",
                vec![Persistent],
            ),
            ("$redis->pconnect('localhost');", vec![Persistent]),
            ("exit;", vec![Exit]),
            ("if ($x) { die('no'); }", vec![Exit]),
            ("public static function of(string $x): self", vec![]),
            ("return static fn (int $x) => $x;", vec![]),
            ("$existing = 1;", vec![]),
            ("new static($x);", vec![]),
        ] {
            assert_eq!(traits(line), expected, "{line}");
        }
    }

    #[test]
    fn a_project_is_read_from_its_top() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write(
            "composer.lock",
            r#"{"packages":[{"name":"slim/slim","version":"4.12.0"}]}"#,
        );
        write(
            "public/index.php",
            "<?php // exit;\n/* exit;\n */\nfrankenphp_handle_request($f);\nexit;\n",
        );
        write("vendor/x/y.php", "<?php\nglobal $x;\n");
        write("tools/wiki/composer.json", "{}");
        write("tools/wiki/y.php", "<?php\nglobal $x;\n");
        write("src/A.php", "<?php\nexit;\n");
        let evidence = Scan::of(&dir.path().join("public"));
        assert_eq!(evidence.root, dir.path());
        assert_eq!(evidence.package("slim/slim"), Some("4.12.0"));
        assert_eq!(evidence.worker_script, Some("public/index.php".into()));
        let exit = &evidence.code[&CodeSmell::Exit];
        assert_eq!((exit.place.as_str(), exit.count), ("public/index.php:5", 2));
        assert!(!evidence.code.contains_key(&CodeSmell::Global));
    }

    #[test]
    fn a_script_of_no_project_is_read_with_what_it_requires() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
            path
        };
        write("wiki/Cache.php", "<?php\nglobal $x;\n$m->pconnect();\n");
        write("lib/Own.php", "<?php\nstatic $count = 0;\n");
        let app = write(
            "app.php",
            "<?php\nrequire_once __DIR__ . '/lib/Own.php';\nreturn fn () => 'x';\n",
        );
        let evidence = Scan::of(&app);
        let kinds: Vec<_> = evidence.code.keys().copied().collect();
        assert_eq!(kinds, [CodeSmell::StaticVariable]);
    }
}
