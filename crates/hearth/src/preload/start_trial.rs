//! Starts PHP with a list until it starts without a message: what breaks the start is found and left out.

use std::collections::{BTreeMap, BTreeSet};

use ::preload::{Entry, List, culprits};
use serde::Deserialize;

use super::classify::last_message;
use super::php::{ChildExit, Php, preload_user};
use super::serve_trial::part;
use super::{Failed, files};

const TRIAL: &str = include_str!("php/trial.php");
/// The most broken files; with more, the list is given up.
const MOST_BROKEN: usize = 50;

/// The result of a start with a preloaded list: the figures of `opcache_get_status()`.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct StartedPhp {
    missing: Vec<String>,
    missing_functions: Vec<String>,
    pub(super) memory: u64,
    pub(super) classes: usize,
    pub(super) functions: usize,
    pub(super) scripts: usize,
    pub(super) used_memory: u64,
    pub(super) free_memory: u64,
    pub(super) strings_used: u64,
    pub(super) strings_size: u64,
    /// Lines that PHP printed during the start.
    #[serde(skip)]
    pub(super) warnings: Vec<String>,
}

impl StartedPhp {
    /// Classes and functions that the list claims but PHP does not have.
    pub(super) fn missing(&self) -> Vec<&String> {
        self.missing.iter().chain(&self.missing_functions).collect()
    }
}

const SETTINGS: [(&str, &str); 7] = [
    ("opcache.enable", "1"),
    ("opcache.enable_cli", "1"),
    ("display_errors", "stderr"),
    ("display_startup_errors", "1"),
    ("log_errors", "1"),
    ("error_log", ""),
    ("error_reporting", "-1"),
];

/// Starts PHP with this script as `opcache.preload`. The inner error is the output of a failed start.
pub(super) fn boot(
    php: &Php,
    script: &str,
    entries: &[Entry],
) -> Result<Result<StartedPhp, ChildExit>, Failed> {
    let trial = php.script("trial.php", TRIAL)?.display().to_string();
    let classes: Vec<&String> = entries.iter().flat_map(|entry| &entry.classes).collect();
    let functions: Vec<&String> = entries
        .iter()
        .flat_map(|entry| entry.functions.iter().chain(&entry.conditional))
        .collect();
    let claimed = php.script(
        "claimed.json",
        &serde_json::json!({"classes": classes, "functions": functions}).to_string(),
    )?;
    let mut settings = vec![("opcache.preload", script)];
    settings.extend(SETTINGS);
    settings.extend(preload_user());
    let ended = php.run(&[&trial, &claimed.display().to_string()], &settings)?;
    let booted = ended
        .output
        .lines()
        .last()
        .and_then(|line| serde_json::from_str::<StartedPhp>(line).ok());
    Ok(match booted {
        Some(mut booted) if ended.ok => {
            let lines = ended
                .errors
                .lines()
                .map(str::trim)
                .filter(|line| !line.is_empty());
            booted.warnings = lines.map(str::to_owned).collect();
            Ok(booted)
        }
        _ => Err(ended),
    })
}

/// Writes the script of the list and starts PHP with it.
fn boot_list(php: &Php, list: &List) -> Result<Result<StartedPhp, ChildExit>, Failed> {
    let script = php.script("preload.php", &::preload::render(list, php.folder.path()))?;
    boot(php, &script.display().to_string(), &list.entries)
}

/// Leaves out of the list what keeps PHP from starting without a warning.
pub(super) fn mend(php: &Php, list: &mut List) -> Result<StartedPhp, Failed> {
    for _ in 0..=MOST_BROKEN {
        let broken = match boot_list(php, list)? {
            Ok(booted) => {
                let broken = unfit(list, &booted);
                if broken.is_empty() {
                    list.memory = booted.memory;
                    list.strings = booted.strings_used;
                    return Ok(booted);
                }
                broken
            }
            Err(ended) => fatal(php, list, &ended)?,
        };
        list.leave(&broken);
    }
    Err(format!("more than {MOST_BROKEN} times a file broke the start of PHP; leave their folders out with --exclude, or record on this machine").into())
}

/// Returns the files of classes that cannot be linked, with the reasons.
fn unlinked(list: &List, booted: &StartedPhp) -> Vec<(String, String)> {
    let warnings = booted.warnings.iter();
    let of = |warning: &String| {
        let (_, rest) = warning.split_once("Can't preload unlinked class ")?;
        let (rest, place) = rest.rsplit_once(" in ")?;
        let (file, _) = place.rsplit_once(" on line ")?;
        let why = rest.split_once(": ").map_or(rest, |(_, why)| why);
        let file = files::relative(&list.root, std::path::Path::new(file));
        Some((file, why.to_owned()))
    };
    warnings.filter_map(of).collect()
}

/// Returns files that need a class only because a type of a method is compared with one of its parent's, with that class.
pub(super) fn compared(php: &Php, list: &List) -> Result<Vec<(String, String)>, Failed> {
    let Ok(booted) = boot_list(php, list)? else {
        return Ok(Vec::new());
    };
    let of = |(file, why): (String, String)| {
        let (_, rest) = why.rsplit_once("because class ")?;
        let class = rest.strip_suffix(" is not available")?;
        Some((file, class.to_owned()))
    };
    let unlinked = unlinked(list, &booted).into_iter();
    Ok(unlinked.filter_map(of).collect())
}

/// Returns the files whose classes or functions are missing, with the reasons.
fn unfit(list: &List, booted: &StartedPhp) -> BTreeMap<String, String> {
    let unlinked = unlinked(list, booted).into_iter();
    let mut broken: BTreeMap<String, String> = unlinked
        .map(|(file, why)| (file, format!("cannot be linked: {why}")))
        .collect();
    let missing: BTreeSet<&String> = booted
        .missing
        .iter()
        .chain(&booted.missing_functions)
        .collect();
    for entry in &list.entries {
        let mut claimed = entry
            .classes
            .iter()
            .chain(&entry.functions)
            .chain(&entry.conditional);
        if let Some(name) = claimed.find(|name| missing.contains(name)) {
            let why = || format!("PHP starts with it, but {name} is not defined");
            broken.entry(entry.file.clone()).or_insert_with(why);
        }
    }
    broken.retain(|file, _| list.entries.iter().any(|entry| entry.file == *file));
    broken
}

/// Finds the file that keeps PHP from starting: PHP names it, or parts of the list are tried.
fn fatal(php: &Php, list: &List, ended: &ChildExit) -> Result<BTreeMap<String, String>, Failed> {
    let message = last_message(&ended.errors);
    let named = message
        .rsplit_once(" in ")
        .map(|(_, place)| place.split(" on line ").next().unwrap_or(place).to_owned());
    let named = named.map(|path| files::relative(&list.root, std::path::Path::new(&path)));
    if let Some(file) = named.filter(|file| list.entries.iter().any(|entry| entry.file == *file)) {
        return Ok([(file, format!("PHP does not start with it: {message}"))].into());
    }
    let mut failed = None;
    let found = culprits(list.entries.len(), MOST_BROKEN, |kept| {
        let part = part(list, kept);
        match boot_list(php, &part) {
            Ok(booted) => booted.is_ok(),
            Err(why) => {
                failed.get_or_insert(why);
                false
            }
        }
    });
    match (failed, found) {
        (Some(failed), _) => Err(failed),
        (None, None) => {
            Err(format!("PHP does not start, with or without the list: {message}").into())
        }
        (None, Some(found)) => {
            let file = |number: usize| {
                (
                    list.entries[number].file.clone(),
                    format!("PHP does not start with it: {message}"),
                )
            };
            Ok(found.into_iter().map(file).collect())
        }
    }
}
