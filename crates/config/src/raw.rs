//! What the file, the environment and the command line specify, before precedence is applied.

mod environment;
mod file;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::options::Opt;
use crate::problem::Problem;
use crate::replaced::successors;

/// The source of a value, in rising order of precedence.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    Default,
    File { path: PathBuf, line: usize },
    Env(String),
    Flag(&'static str),
    Argument,
}

impl Source {
    fn rank(&self) -> u8 {
        match self {
            Source::Default => 0,
            Source::File { .. } => 1,
            Source::Env(_) => 2,
            Source::Flag(_) | Source::Argument => 3,
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Default => f.write_str("default"),
            Source::File { path, line } => write!(f, "{}:{line}", path.display()),
            Source::Env(name) => f.write_str(name),
            Source::Flag(flag) => write!(f, "--{flag}"),
            Source::Argument => f.write_str("APP"),
        }
    }
}

/// A value as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    pub text: String,
    pub source: Source,
}

/// All values of all sources.
#[derive(Debug, Default)]
pub struct Raw {
    given: BTreeMap<&'static str, Vec<Given>>,
    pub(crate) problems: Vec<Problem>,
    /// Variables with the prefix `HEARTH_` that are no options.
    pub(crate) ignored: Vec<Problem>,
    pub(crate) config_file: Option<PathBuf>,
    /// A file exists, but its content is unknown: it cannot be read, or is not TOML.
    pub(crate) is_unread: bool,
}

impl Raw {
    /// Collects the command line, the environment, and the configuration file to which these two lead.
    ///
    /// A file that they name must exist; `hearth.toml` beside the app (or in `cwd`, if no app is named) is optional.
    pub fn gather(
        arguments: Vec<(&'static Opt, Given)>,
        environment: impl IntoIterator<Item = (String, String)>,
        cwd: &Path,
    ) -> Raw {
        let mut raw = Raw::default();
        for (option, given) in arguments {
            raw.add(option, given);
        }
        raw.take_environment(environment);
        let named = raw
            .winner("config")
            .map(|given| (cwd.join(&given.text), given.source.clone()));
        let path = match &named {
            Some((path, _)) => path.clone(),
            None => raw.beside_the_app(cwd).join("hearth.toml"),
        };
        match std::fs::read_to_string(&path) {
            Ok(text) => raw.take_file(&path, &text),
            Err(e) if named.is_none() && e.kind() == std::io::ErrorKind::NotFound => {}
            Err(e) => {
                raw.is_unread = true;
                let (place, what) = match named {
                    Some((_, source)) => (source.to_string(), path.display()),
                    // It is not even known whether the file exists.
                    None if path.symlink_metadata().is_err() => {
                        let folder = path.parent().unwrap_or(cwd);
                        ("APP".into(), folder.display())
                    }
                    None => ("hearth.toml".into(), path.display()),
                };
                let advice = match e.kind() {
                    std::io::ErrorKind::PermissionDenied => {
                        "; this user needs permission to read it"
                    }
                    _ => "",
                };
                raw.problem(place, format!("cannot read {what}: {e}{advice}"));
            }
        }
        raw
    }

    /// Returns all values of this key from the source with the highest precedence.
    pub(crate) fn winners(&self, key: &str) -> Vec<&Given> {
        let all = self.given.get(key).map_or(&[][..], Vec::as_slice);
        let rank = all.iter().map(|given| given.source.rank()).max();
        all.iter()
            .filter(|given| Some(given.source.rank()) == rank)
            .collect()
    }

    pub(crate) fn winner(&self, key: &str) -> Option<&Given> {
        self.winners(key).pop()
    }

    /// Returns all values of this key, those of the lowest precedence first.
    pub(crate) fn all(&self, key: &str) -> Vec<&Given> {
        let mut all: Vec<_> = self.given.get(key).into_iter().flatten().collect();
        all.sort_by_key(|given| given.source.rank());
        all
    }

    pub(crate) fn problem(&mut self, place: String, what: String) {
        self.problems.push(Problem { place, what });
    }

    fn add(&mut self, option: &'static Opt, given: Given) {
        self.given.entry(option.key).or_default().push(given);
    }

    fn beside_the_app(&self, cwd: &Path) -> PathBuf {
        let Some(app) = self.winner("app") else {
            return cwd.into();
        };
        let app = cwd.join(&app.text);
        match app.parent() {
            Some(parent) if !app.is_dir() => parent.into(),
            _ => app,
        }
    }
}

fn nearest(name: &str, known: impl Iterator<Item = String>) -> Option<String> {
    let near = known.map(|candidate| {
        let likeness = strsim::normalized_damerau_levenshtein(name, &candidate);
        (likeness, candidate)
    });
    let near = near.filter(|(likeness, _)| *likeness > 0.6);
    near.max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

fn unknown(what: &str, name: &str, known: impl Iterator<Item = String>) -> String {
    if let Some(replaced) = successors(name) {
        return replaced;
    }
    match nearest(name, known) {
        Some(candidate) => {
            format!("there is no {what} \"{name}\"; did you mean \"{candidate}\"?")
        }
        None => format!("there is no {what} \"{name}\"; `hearth config` lists all"),
    }
}

#[cfg(test)]
impl Raw {
    /// Makes the values that these words of a command line specify.
    pub(crate) fn of<'a>(words: impl IntoIterator<Item = (&'a str, &'a str)>, cwd: &Path) -> Raw {
        let given = words.into_iter().map(|(key, text)| {
            let (text, source) = (text.into(), Source::Argument);
            (crate::options::option(key), Given { text, source })
        });
        Raw::gather(given.collect(), [], cwd)
    }
}
