//! The table of options, with a file for each group.

mod limits;
mod operation;
mod php;
mod server;
mod workers;

/// The kind of value that an option takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// A file or directory, relative to the working directory or to the configuration file that contains it.
    Path,
    /// Any number of directories; relative as `Path`.
    Directories,
    /// Any number of paths as a browser requests them.
    UrlPaths,
    /// A path as a browser requests it.
    UrlPath,
    /// On or off; the flag takes no value.
    Switch,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A whole number in this range.
    Count { min: u32, max: u32 },
    /// A whole number, or `auto`.
    Workers,
    /// Seconds, fractions allowed; `zero` is the meaning of 0, if that is allowed.
    Seconds { zero: Option<&'static str> },
    /// Any number of `ADDR:PORT` or `unix:PATH`.
    Listen,
    /// Any number of addresses, networks, `private` or `unix`.
    Proxies,
    /// The mode of a file, in octal digits.
    Mode,
    /// The name or number of a user or a group.
    Name,
    /// `ADDR:PORT`.
    Address,
    /// The URL of a Redis, which may contain a password.
    Redis,
    /// Printable characters.
    Prefix,
    /// Any number of `KEY=VALUE`; all sources add up.
    Ini,
    /// Any number of `NAME=VALUE`; all sources add up.
    Env,
    /// Up to 31 patterns of paths.
    Routes,
    /// The target of a log: `off`, `stderr`, `syslog`, `syslog:PATH` or a file.
    LogTarget,
    /// Any number of `PATTERN=VALUE`; all sources add up.
    Headers,
    /// Any number of `PREFIX=DIR`; all sources add up.
    Folders,
    /// Any number of `LOCATION=WORDS`; all sources add up.
    Rewrites,
    /// A PHP version such as `8.4`, or `auto`.
    Version,
    /// Bytes, with an optional K, M or G behind the number; 0 means none.
    Bytes,
}

/// A group of options: a heading of `--help` and of the reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    Server,
    Workers,
    Php,
    Limits,
    Operation,
}

impl Group {
    pub const ALL: [Group; 5] = [
        Group::Server,
        Group::Workers,
        Group::Php,
        Group::Limits,
        Group::Operation,
    ];

    pub fn title(self) -> &'static str {
        match self {
            Group::Server => "Server",
            Group::Workers => "Workers",
            Group::Php => "PHP",
            Group::Limits => "Limits (times in seconds)",
            Group::Operation => "Operation",
        }
    }
}

/// An option.
#[derive(Debug, Clone, Copy)]
pub struct Opt {
    /// The dotted name: the TOML key, and `HEARTH_` + this in capitals with `_` for `.` in the environment.
    pub key: &'static str,
    /// `--flag`; `None` is the positional APP.
    pub flag: Option<&'static str>,
    /// The name of the value in `--help`.
    pub value: &'static str,
    pub kind: Kind,
    /// The default as it would be written; empty for none, or if it depends on something else (see the long text).
    pub default: &'static str,
    pub group: Group,
    pub short: &'static str,
    pub long: &'static str,
}

impl Opt {
    pub fn env(&self) -> String {
        format!("HEARTH_{}", self.key.replace('.', "_").to_uppercase())
    }

    pub(crate) fn repeatable(&self) -> bool {
        matches!(
            self.kind,
            Kind::Directories | Kind::UrlPaths | Kind::Listen | Kind::Proxies | Kind::Routes
        ) || self.is_table()
    }

    /// Whether the option is a table in TOML, whose entries are the values: all sources add up.
    pub(crate) fn is_table(&self) -> bool {
        matches!(
            self.kind,
            Kind::Ini | Kind::Env | Kind::Headers | Kind::Folders | Kind::Rewrites
        )
    }
}

/// Finds an option by its key. Keys are constants of this program.
pub fn option(key: &str) -> &'static Opt {
    OPTIONS
        .iter()
        .find(|option| option.key == key)
        .expect("keys are from the table")
}

const TABLES: [&[Opt]; 5] = [
    server::TABLE,
    workers::TABLE,
    php::TABLE,
    limits::TABLE,
    operation::TABLE,
];

pub const OPTIONS: &[Opt] = &all();

const fn count() -> usize {
    let (mut count, mut table) = (0, 0);
    while table < TABLES.len() {
        count += TABLES[table].len();
        table += 1;
    }
    count
}

const fn all() -> [Opt; count()] {
    let mut all = [TABLES[0][0]; count()];
    let (mut at, mut table) = (0, 0);
    while table < TABLES.len() {
        let mut row = 0;
        while row < TABLES[table].len() {
            all[at] = TABLES[table][row];
            (at, row) = (at + 1, row + 1);
        }
        table += 1;
    }
    all
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_texts_are_there() {
        let keys: BTreeSet<_> = OPTIONS.iter().map(|o| o.key).collect();
        let flags: BTreeSet<_> = OPTIONS.iter().map(|o| o.flag).collect();
        let env: BTreeSet<_> = OPTIONS.iter().map(Opt::env).collect();
        assert_eq!(
            (keys.len(), flags.len(), env.len()),
            (OPTIONS.len(), OPTIONS.len(), OPTIONS.len())
        );
        for option in OPTIONS {
            assert!(
                (10..=79).contains(&option.short.len()),
                "{}: {}",
                option.key,
                option.short
            );
            assert!(
                option.long.ends_with('.'),
                "{}: {}",
                option.key,
                option.long
            );
        }
        assert!(
            OPTIONS.len() <= 68,
            "a new option must say what it replaces"
        );
    }

    #[test]
    fn environment_names_follow_the_key() {
        assert_eq!(
            option("workers.concurrency").env(),
            "HEARTH_WORKERS_CONCURRENCY"
        );
        assert_eq!(
            option("http.keepalive_timeout").env(),
            "HEARTH_HTTP_KEEPALIVE_TIMEOUT"
        );
    }
}
