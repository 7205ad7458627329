//! Finds what files declare and do: compiled in a child process, and run in one of its own where that is needed.

use std::collections::BTreeMap;
use std::path::Path;

use ::preload::{Candidate, Facts, Treatment};
use serde::Deserialize;

use super::php::Php;
use super::{Failed, files};

const INSPECT: &str = include_str!("php/inspect.php");
const ATTEMPT: &str = include_str!("php/attempt.php");

/// The facts of each file, or why it does not compile.
pub(super) type InspectedFiles = BTreeMap<String, Result<Facts, String>>;

#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Begin { begin: String },
    Facts(Facts),
}

/// Compiles files, named relative to the root. A file that ends the child is left out, and another child continues after it.
pub(super) fn inspect(php: &Php, root: &str, names: &[String]) -> Result<InspectedFiles, Failed> {
    let script = php.script("inspect.php", INSPECT)?.display().to_string();
    let settings = [
        ("opcache.enable_cli", "0"),
        ("hearth.preload_facts", "1"),
        ("display_errors", "stderr"),
        ("log_errors", "0"),
        ("html_errors", "0"),
    ];
    let mut found = InspectedFiles::new();
    let mut rest = names;
    while !rest.is_empty() {
        let paths: Vec<String> = rest
            .iter()
            .map(|name| files::absolute(root, name).display().to_string())
            .collect();
        let ended = php.run_with(&[&script], &settings, &(paths.join("\n") + "\n"))?;
        let Some(broken) = take_facts(root, &ended.output, &mut found) else {
            if !ended.ok {
                return Err(format!("PHP cannot inspect files: {}", ended.errors.trim()).into());
            }
            break;
        };
        let place = rest.iter().position(|name| *name == broken);
        let place = place.unwrap_or(rest.len() - 1);
        found.insert(
            broken,
            Err(format!("does not compile: {}", last_message(&ended.errors))),
        );
        rest = &rest[place + 1..];
    }
    Ok(found)
}

/// Stores the facts in `output`. Returns the file at which the child ended.
fn take_facts(root: &str, output: &str, found: &mut InspectedFiles) -> Option<String> {
    let mut current = None;
    for line in output.lines() {
        match serde_json::from_str(line) {
            Ok(Line::Begin { begin }) => current = Some(files::relative(root, Path::new(&begin))),
            Ok(Line::Facts(mut facts)) => {
                facts.file = files::relative(root, Path::new(&facts.file));
                found.insert(facts.file.clone(), Ok(facts));
                current = None;
            }
            Err(_) => {}
        }
    }
    current
}

/// Returns the last error message of PHP in a child's output or a server's log, in one line.
pub(super) fn last_message(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut messages = lines.filter(|line| line.contains("rror:") || line.contains("preload_user"));
    let line = messages.next_back().or_else(|| text.lines().last());
    let line = line.unwrap_or("it ended");
    let line = line.rsplit_once(" request=").map_or(line, |(line, _)| line);
    match line.find("PHP ") {
        Some(start) => line[start + 4..].replace("error:  ", "error: "),
        None => line.to_owned(),
    }
}

#[derive(Deserialize)]
struct Attempt {
    changes: Vec<String>,
}

/// Runs files whose code decides what they declare, each in a child process, and leaves them out if they do anything else.
pub(super) fn attempt(php: &Php, root: &str, candidates: &mut [Candidate]) -> Result<(), Failed> {
    let script = php.script("attempt.php", ATTEMPT)?.display().to_string();
    let settings = [
        ("opcache.enable_cli", "0"),
        ("display_errors", "stderr"),
        ("log_errors", "0"),
    ];
    for candidate in candidates
        .iter_mut()
        .filter(|one| one.treatment == Treatment::Require)
    {
        let path = files::absolute(root, candidate.file())
            .display()
            .to_string();
        let ended = php.run(&[&script, &path], &settings)?;
        let seen = ended
            .output
            .lines()
            .last()
            .and_then(|line| serde_json::from_str::<Attempt>(line).ok());
        candidate.treatment = match seen {
            Some(attempt) if ended.ok && attempt.changes.is_empty() => continue,
            Some(attempt) if ended.ok => Treatment::Leave(format!(
                "what it declares depends on its code, which changes {}",
                attempt.changes.join(", ")
            )),
            _ => Treatment::Leave(format!(
                "its code does not run by itself: {}",
                last_message(&ended.errors)
            )),
        };
    }
    Ok(())
}
