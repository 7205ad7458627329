//! What was said, and where: the file, the environment and the command line, unweighed.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};

use crate::options::{Kind, OPTIONS, Opt};
use crate::problem::Problem;
use crate::replaced::successors;

/// Who said it. In rising order of precedence.
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

/// One value as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    pub text: String,
    pub source: Source,
}

/// Everything that was said.
#[derive(Debug, Default)]
pub struct Raw {
    given: BTreeMap<&'static str, Vec<Given>>,
    pub(crate) problems: Vec<Problem>,
    /// Variables with our prefix that are no options.
    pub(crate) ignored: Vec<Problem>,
    pub(crate) config_file: Option<PathBuf>,
    /// There is a file, and nothing of it is known: it cannot be read, or is no TOML.
    pub(crate) is_unread: bool,
}

impl Raw {
    /// Command line, environment, and the configuration file that these two lead to.
    ///
    /// A file that is named must exist; `hearth.toml` beside the app (or in `cwd`, if no app is named) may.
    pub fn gather(
        arguments: Vec<(&'static Opt, Given)>,
        environment: impl IntoIterator<Item = (String, String)>,
        cwd: &Path,
    ) -> Raw {
        let mut raw = Raw::default();
        for (option, given) in arguments {
            raw.say(option, given);
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
                    // Not even whether there is one can be said.
                    None if path.symlink_metadata().is_err() => {
                        let folder = path.parent().unwrap_or(cwd);
                        ("APP".into(), folder.display())
                    }
                    None => ("hearth.toml".into(), path.display()),
                };
                let advice = match e.kind() {
                    std::io::ErrorKind::PermissionDenied => "; this user must be allowed to",
                    _ => "",
                };
                raw.problem(place, format!("cannot read {what}: {e}{advice}"));
            }
        }
        raw
    }

    /// All that was said about this key from the source that wins.
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

    /// All that was said about this key, weakest source first.
    pub(crate) fn all(&self, key: &str) -> Vec<&Given> {
        let mut all: Vec<_> = self.given.get(key).into_iter().flatten().collect();
        all.sort_by_key(|given| given.source.rank());
        all
    }

    pub(crate) fn problem(&mut self, place: String, what: String) {
        self.problems.push(Problem { place, what });
    }

    fn say(&mut self, option: &'static Opt, given: Given) {
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

    fn take_environment(&mut self, environment: impl IntoIterator<Item = (String, String)>) {
        for (name, value) in environment {
            let Some(rest) = name.strip_prefix("HEARTH_") else {
                continue;
            };
            let Some(option) = OPTIONS.iter().find(|option| option.env() == name) else {
                if !from_kubernetes(rest, &value) {
                    self.take_unknown_variable(name);
                }
                continue;
            };
            let separator = match option.kind {
                Kind::Listen | Kind::Proxies | Kind::Routes => ',',
                Kind::Directories | Kind::UrlPaths => ':',
                Kind::Ini | Kind::Env | Kind::Headers | Kind::Folders | Kind::Rewrites => ';',
                _ => '\0',
            };
            for text in value.split(separator).map(str::trim) {
                self.say(
                    option,
                    Given {
                        text: text.into(),
                        source: Source::Env(name.clone()),
                    },
                );
            }
        }
    }

    /// A slip of the pen is a mistake, so that no option is lost in silence. Anything else may be another program's: an image
    /// has `HEARTH_VERSION`, say.
    fn take_unknown_variable(&mut self, name: String) {
        let known = || OPTIONS.iter().map(Opt::env);
        let is_slip = known().any(|other| strsim::damerau_levenshtein(&name, &other) <= SLIP);
        if is_slip || successors(&name).is_some() {
            let what = unknown("environment variable", &name, known());
            return self.problem(name, what);
        }
        let rest = |name: &str| name.trim_start_matches("HEARTH_").to_owned();
        let longer = known().find(|other| other.starts_with(&name));
        let near = longer.or_else(|| {
            nearest(&rest(&name), known().map(|other| rest(&other)))
                .map(|near| format!("HEARTH_{near}"))
        });
        let hint = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
        let what = format!("is set, but Hearth has no such option{hint}");
        self.ignored.push(Problem { place: name, what });
    }

    fn take_file(&mut self, path: &Path, text: &str) {
        self.config_file = Some(path.into());
        let line_at = |offset: usize| 1 + text[..offset].matches('\n').count();
        match DeTable::parse(text) {
            Ok(table) => self.take_table("", table.get_ref(), &|offset| {
                (path.into(), line_at(offset))
            }),
            Err(e) => {
                let line = e.span().map_or(1, |span| line_at(span.start));
                let written = text.lines().nth(line - 1).unwrap_or_default().trim();
                let what = match written {
                    "" => e.message().to_owned(),
                    written => format!("{}, in: {written}", e.message()),
                };
                self.problem(format!("{}:{line}", path.display()), what);
                self.is_unread = true;
            }
        }
    }

    fn take_table(
        &mut self,
        prefix: &str,
        table: &DeTable<'_>,
        at: &dyn Fn(usize) -> (PathBuf, usize),
    ) {
        for (key, offset, value) in in_order(prefix, table) {
            let (path, line) = at(offset);
            let place = format!("{}:{line}", path.display());
            let source = Source::File { path, line };
            let option = OPTIONS
                .iter()
                .find(|option| option.key == key && key != "config");
            match (option, value) {
                (Some(option), DeValue::Table(entries)) if option.is_table() => {
                    self.take_entries(option, "", entries, at)
                }
                (Some(option), DeValue::Array(list))
                    if option.repeatable() && !option.is_table() =>
                {
                    for item in list {
                        self.take_scalar(option, item.get_ref(), &source);
                    }
                }
                (Some(option), _) if option.is_table() => {
                    let entry = match option.kind {
                        Kind::Env => "APP_ENV = \"prod\"",
                        Kind::Folders => "\"/files\" = \"storage\"",
                        Kind::Headers => "\"/build/*\" = \"max-age=3600\"",
                        Kind::Rewrites => "\"/app\" = \"$uri /app/index.php?$args\"",
                        _ => "memory_limit = \"256M\"",
                    };
                    let what = format!("{key} is a table: write [{key}] and below it {entry}");
                    self.problem(place, what);
                }
                (Some(option), value) => self.take_scalar(option, value, &source),
                (None, DeValue::Table(inner))
                    if OPTIONS
                        .iter()
                        .any(|o| o.key.starts_with(&format!("{key}."))) =>
                {
                    self.take_table(&key, inner, at);
                }
                (None, _) => {
                    let known = OPTIONS
                        .iter()
                        .map(|option| option.key.to_owned())
                        .filter(|key| key != "config");
                    self.problem(place, unknown("option", &key, known));
                }
            }
        }
    }

    fn take_scalar(&mut self, option: &'static Opt, value: &DeValue<'_>, source: &Source) {
        match text_of(value) {
            Some(text) => self.say(
                option,
                Given {
                    text,
                    source: source.clone(),
                },
            ),
            None => {
                let what = format!(
                    "{} is a {} where {} is expected",
                    option.key,
                    value.type_str(),
                    option.value
                );
                self.problem(source.to_string(), what);
            }
        }
    }

    /// `[php.ini]`: any keys, dots in them included; and `[env]`.
    fn take_entries(
        &mut self,
        option: &'static Opt,
        prefix: &str,
        table: &DeTable<'_>,
        at: &dyn Fn(usize) -> (PathBuf, usize),
    ) {
        let is_ini = option.kind == Kind::Ini;
        for (key, offset, value) in in_order(prefix, table) {
            let (path, line) = at(offset);
            let source = Source::File { path, line };
            let text = match value {
                DeValue::Table(inner) if is_ini => {
                    self.take_entries(option, &key, inner, at);
                    continue;
                }
                DeValue::Boolean(on) if is_ini => Some(u8::from(*on).to_string()),
                // Programs differ in what they take for true.
                DeValue::Boolean(_) => None,
                value => text_of(value),
            };
            let Some(text) = text else {
                let what = wrong_entry(option, &key, value.type_str());
                self.problem(source.to_string(), what);
                continue;
            };
            let text = format!("{key}={text}");
            self.say(option, Given { text, source });
        }
    }
}

fn wrong_entry(option: &Opt, key: &str, kind: &str) -> String {
    let expected = match option.kind {
        Kind::Env => "an environment variable is a text, such as \"1\", or a number",
        Kind::Headers => "the value of a header is a text",
        Kind::Folders => "a folder is a text",
        Kind::Rewrites => "a rule is a text, such as \"$uri /index.php?$args\"",
        _ => "a PHP ini setting is a text, a number or a boolean",
    };
    format!("{}.{key} is a {kind}; {expected}", option.key)
}

/// Entries in the order of the file, with their full keys and where they stand.
fn in_order<'t, 'i>(prefix: &str, table: &'t DeTable<'i>) -> Vec<(String, usize, &'t DeValue<'i>)> {
    let full = |name: &str| {
        if prefix.is_empty() {
            name.to_owned()
        } else {
            format!("{prefix}.{name}")
        }
    };
    let mut entries: Vec<_> = table
        .iter()
        .map(|(name, value)| (full(name.get_ref()), name.span().start, value.get_ref()))
        .collect();
    entries.sort_by_key(|(_, offset, _)| *offset);
    entries
}

fn text_of(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(n) => match i64::from_str_radix(n.as_str(), n.radix()) {
            Ok(n) => Some(n.to_string()),
            Err(_) => Some(n.as_str().to_owned()),
        },
        DeValue::Float(n) => Some(n.as_str().to_owned()),
        DeValue::Boolean(on) => Some(on.to_string()),
        DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => None,
    }
}

/// Letters that differ where a name was mistyped.
const SLIP: usize = 2;

/// Kubernetes gives every pod variables for each service; those of one called "hearth" or "hearth-web" are no options. `rest` is
/// what follows `HEARTH_`.
fn from_kubernetes(rest: &str, value: &str) -> bool {
    let is_address = |value: &str| value.starts_with("tcp://") || value.starts_with("udp://");
    let rest = format!("_{rest}");
    let port = rest.split("_PORT_").nth(1);
    rest.contains("_SERVICE_HOST")
        || rest.contains("_SERVICE_PORT")
        || port.is_some_and(|port| port.starts_with(|c: char| c.is_ascii_digit()))
        || (rest.ends_with("_PORT") && (rest == "_PORT" || is_address(value)))
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
    /// As these words of a command line say.
    pub(crate) fn of<'a>(words: impl IntoIterator<Item = (&'a str, &'a str)>, cwd: &Path) -> Raw {
        let given = words.into_iter().map(|(key, text)| {
            let (text, source) = (text.into(), Source::Argument);
            (crate::options::option(key), Given { text, source })
        });
        Raw::gather(given.collect(), [], cwd)
    }
}
