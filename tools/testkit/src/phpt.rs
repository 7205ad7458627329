//! Runs `.phpt` files in three ways and expects the same output each time: PHP itself is the oracle.
//!
//! Each file runs under plain `php`, under `hearth run`, and as concurrent requests of one worker. Sections: TEST,
//! SKIPIF, INI, FILE, EXPECT or EXPECTF, CLEAN. A file with functions or classes keeps them in a `require_once`d file,
//! because in the third way it is included more than once in one process. `getenv('PHPT_WAY')` in SKIPIF tells the way.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use regex::Regex;

use crate::server::Server;

/// Concurrent requests that run one file.
const AT_ONCE: usize = 8;

/// A way to run a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// `php FILE`
    Php,
    /// `hearth run FILE`
    Run,
    /// Concurrent requests of one worker.
    Requests,
}

impl Way {
    /// All ways, the oracle first.
    pub const ALL: [Self; 3] = [Self::Php, Self::Run, Self::Requests];

    /// Returns the way's name in reports and in `PHPT_WAY`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Php => "php",
            Self::Run => "run",
            Self::Requests => "requests",
        }
    }
}

/// The outcome of one run.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The output was as expected.
    Passed,
    /// SKIPIF skipped the test, for this reason.
    Skipped(String),
    /// The output differed: the expected and the actual one.
    Failed(String),
}

/// A parsed file.
#[derive(Debug)]
pub struct Phpt {
    path: PathBuf,
    sections: HashMap<String, String>,
}

impl Phpt {
    /// Reads a file.
    ///
    /// # Errors
    /// If the file cannot be read or lacks a section.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text =
            fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let sections = sections(&text);
        for needed in ["TEST", "FILE"] {
            if !sections.contains_key(needed) {
                return Err(format!("{}: no --{needed}-- section", path.display()));
            }
        }
        if !sections.contains_key("EXPECT") && !sections.contains_key("EXPECTF") {
            return Err(format!(
                "{}: neither --EXPECT-- nor --EXPECTF--",
                path.display()
            ));
        }
        Ok(Self {
            // Absolute, because the server that includes the script runs in another directory.
            path: fs::canonicalize(path).map_err(|error| format!("{}: {error}", path.display()))?,
            sections,
        })
    }

    /// Returns the title.
    pub fn title(&self) -> &str {
        self.sections["TEST"].trim()
    }

    /// Runs the file in one way.
    pub fn run(&self, way: Way) -> Outcome {
        if let Some(reason) = self.skip(way) {
            return Outcome::Skipped(reason);
        }
        let script = self.path.with_extension(format!("{}.php", way.name()));
        fs::write(&script, &self.sections["FILE"])
            .expect("the script can be written beside its phpt");
        let outputs = match way {
            Way::Php => vec![self.output(Command::new("php"), &script, way)],
            Way::Run => {
                let mut hearth = Command::new(crate::hearth());
                hearth.arg("run");
                vec![self.output(hearth, &script, way)]
            }
            Way::Requests => self.requests(&script),
        };
        if let Some(clean) = self.sections.get("CLEAN") {
            run_code(clean, &self.path, way);
        }
        let _ = fs::remove_file(&script);
        outputs
            .iter()
            .find_map(|output| self.difference(output))
            .map_or(Outcome::Passed, Outcome::Failed)
    }

    fn skip(&self, way: Way) -> Option<String> {
        let output = run_code(self.sections.get("SKIPIF")?, &self.path, way);
        output
            .trim_start()
            .strip_prefix("skip")
            .map(|reason| reason.trim().to_owned())
    }

    fn ini(&self) -> impl Iterator<Item = &str> {
        let text = self.sections.get("INI").map_or("", String::as_str);
        text.lines().map(str::trim).filter(|line| !line.is_empty())
    }

    fn output(&self, mut command: Command, script: &Path, way: Way) -> String {
        for setting in self.ini() {
            command.args(["-d", setting]);
        }
        command
            .args(["-d", "display_errors=1", "-d", "html_errors=0"])
            .arg(script);
        command.env("PHPT_WAY", way.name()).stdin(Stdio::null());
        let output = command
            .output()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
        if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&output.status) {
            text.push_str(&format!(
                "\nkilled by signal {signal}\n{}",
                String::from_utf8_lossy(&output.stderr)
            ));
        }
        text
    }

    /// Runs the script as concurrent requests of one worker; returns the output of each.
    fn requests(&self, script: &Path) -> Vec<String> {
        let code = format!(
            "return function ($request) {{ include '{}'; return null; }};",
            script.display()
        );
        let mut builder =
            Server::script(&code).args(["--workers", "1", "--ini", "display_errors=1"]);
        for setting in self.ini().chain(["html_errors=0"]) {
            builder = builder.args(["--ini", setting]);
        }
        let server = builder.env("PHPT_WAY", "requests").start();
        let clients: Vec<_> = (0..AT_ONCE)
            .map(|_| {
                let mut client = server.connect();
                client.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
                client
            })
            .collect();
        let outputs = clients
            .into_iter()
            .map(|mut client| client.response().text())
            .collect();
        server.stop();
        outputs
    }

    fn difference(&self, output: &str) -> Option<String> {
        let output = normal(output);
        let (expected, holds) = match self.sections.get("EXPECTF") {
            Some(pattern) => (normal(pattern), expectf(&normal(pattern)).is_match(&output)),
            None => (
                normal(&self.sections["EXPECT"]),
                normal(&self.sections["EXPECT"]) == output,
            ),
        };
        (!holds).then(|| format!("expected:\n{expected}\n--- but was:\n{output}"))
    }
}

fn normal(text: &str) -> String {
    text.replace("\r\n", "\n").trim().to_owned()
}

/// Runs a SKIPIF or CLEAN section by plain `php`; returns its output.
fn run_code(code: &str, beside: &Path, way: Way) -> String {
    let script = beside.with_extension(format!("{}.aux.php", way.name()));
    fs::write(&script, code).expect("a script can be written beside its phpt");
    let output = Command::new("php")
        .arg(&script)
        .env("PHPT_WAY", way.name())
        .stdin(Stdio::null())
        .output();
    let _ = fs::remove_file(&script);
    String::from_utf8_lossy(&output.expect("php (php-cli) starts").stdout).into_owned()
}

pub(crate) fn sections(text: &str) -> HashMap<String, String> {
    let mut sections = HashMap::new();
    let mut current = String::new();
    for line in text.lines() {
        let name = line
            .strip_prefix("--")
            .and_then(|rest| rest.strip_suffix("--"));
        if let Some(name) = name.filter(|name| {
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_')
        }) {
            current = name.to_owned();
            sections.insert(current.clone(), String::new());
        } else if let Some(section) = sections.get_mut(&current) {
            section.push_str(line);
            section.push('\n');
        }
    }
    sections
}

/// Translates EXPECTF's placeholders to a regular expression, as PHP's own runner does.
fn expectf(pattern: &str) -> Regex {
    let mut out = String::from(r"(?s)\A");
    let mut rest = pattern;
    while let Some(at) = rest.find('%') {
        out.push_str(&regex::escape(&rest[..at]));
        rest = &rest[at..];
        if let Some(raw) = rest.strip_prefix("%r").and_then(|raw| raw.split_once("%r")) {
            out.push_str(&format!("(?:{})", raw.0));
            rest = raw.1;
            continue;
        }
        let (piece, length) = placeholder(rest);
        out.push_str(piece);
        rest = &rest[length..];
    }
    out.push_str(&regex::escape(rest));
    out.push_str(r"\z");
    Regex::new(&out).expect("an EXPECTF pattern is a regular expression")
}

fn placeholder(rest: &str) -> (&'static str, usize) {
    let piece = match rest.as_bytes().get(1) {
        Some(b'e') => "/",
        Some(b's') => "[^\n]+",
        Some(b'S') => "[^\n]*",
        Some(b'a') => ".+?",
        Some(b'A') => ".*?",
        Some(b'w') => r"\s*",
        Some(b'i') => r"[+-]?\d+",
        Some(b'd') => r"\d+",
        Some(b'x') => "[0-9a-fA-F]+",
        Some(b'f') => r"[+-]?(?:\d+|\d*\.\d+)(?:[Ee][+-]?\d+)?",
        Some(b'c') => ".",
        _ => return ("%", 1),
    };
    (piece, 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_cut_at_their_marks_only() {
        let found = sections("--TEST--\nname\n--FILE--\n<?php $i--;\n--$i--\n--EXPECT--\n");
        assert_eq!(found["TEST"], "name\n");
        assert_eq!(found["FILE"], "<?php $i--;\n--$i--\n");
        assert_eq!(found["EXPECT"], "");
    }

    #[test]
    fn patterns_match_as_in_run_tests() {
        for (pattern, text, holds) in [
            ("int(%d)", "int(12)", true),
            ("int(%d)", "int(-1)", false),
            ("%i %f", "-1 1.5e3", true),
            ("%s in %s.php", "Warning in /a/b.php", true),
            ("a%wb", "ab", true),
            ("[%r(x|y)+%r]", "[xyx]", true),
            ("%a", "", false),
            ("100%", "100%", true),
            ("a.c", "abc", false),
        ] {
            assert_eq!(
                expectf(pattern).is_match(text),
                holds,
                "{pattern} against {text}"
            );
        }
    }
}
