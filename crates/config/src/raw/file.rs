//! The configuration file: TOML.

use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};

use super::{Given, Raw, Source, unknown};
use crate::options::{Kind, OPTIONS, Opt};

impl Raw {
    pub(super) fn take_file(&mut self, path: &Path, text: &str) {
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
            let mut known = OPTIONS.iter().filter(|option| option.key != "config");
            let group = format!("{key}.");
            match (known.clone().find(|option| option.key == key), value) {
                (Some(option), value) => self.take_option(option, value, offset, at),
                (None, DeValue::Table(inner))
                    if known.any(|option| option.key.starts_with(&group)) =>
                {
                    self.take_table(&key, inner, at);
                }
                (None, _) => {
                    let known = known.map(|option| option.key.to_owned());
                    let (path, line) = at(offset);
                    let place = format!("{}:{line}", path.display());
                    self.problem(place, unknown("option", &key, known));
                }
            }
        }
    }

    fn take_option(
        &mut self,
        option: &'static Opt,
        value: &DeValue<'_>,
        offset: usize,
        at: &dyn Fn(usize) -> (PathBuf, usize),
    ) {
        let (path, line) = at(offset);
        let source = Source::File { path, line };
        match value {
            DeValue::Table(entries) if option.is_table() => {
                self.take_entries(option, "", entries, at);
            }
            _ if option.is_table() => {
                let (key, entry) = (option.key, example_of_entry(option));
                let what = format!("{key} is a table: write [{key}] and below it {entry}");
                self.problem(source.to_string(), what);
            }
            DeValue::Array(list) if option.repeatable() => {
                for item in list {
                    self.take_scalar(option, item.get_ref(), &source);
                }
            }
            value => self.take_scalar(option, value, &source),
        }
    }

    fn take_scalar(&mut self, option: &'static Opt, value: &DeValue<'_>, source: &Source) {
        match text_of(value) {
            Some(text) => self.add(
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

    /// Takes the entries of `[php.ini]`, whose keys may contain dots, or of another table such as `[env]`.
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
                // Programs differ in which text they take as true.
                DeValue::Boolean(_) => None,
                value => text_of(value),
            };
            let Some(text) = text else {
                let what = wrong_entry(option, &key, value.type_str());
                self.problem(source.to_string(), what);
                continue;
            };
            let text = format!("{key}={text}");
            self.add(option, Given { text, source });
        }
    }
}

fn example_of_entry(option: &Opt) -> &'static str {
    match option.kind {
        Kind::Env => "APP_ENV = \"prod\"",
        Kind::Folders => "\"/files\" = \"storage\"",
        Kind::Headers => "\"/build/*\" = \"max-age=3600\"",
        Kind::Rewrites => "\"/app\" = \"$uri /app/index.php?$args\"",
        _ => "memory_limit = \"256M\"",
    }
}

fn wrong_entry(option: &Opt, key: &str, kind: &str) -> String {
    let expected = match option.kind {
        Kind::Env => "an environment variable must be a string, such as \"1\", or a number",
        Kind::Headers => "the value of a header must be a string",
        Kind::Folders => "a folder must be a string",
        Kind::Rewrites => "a rule must be a string, such as \"$uri /index.php?$args\"",
        _ => "a PHP ini setting must be a string, a number or a boolean",
    };
    format!("{}.{key} is a {kind}; {expected}", option.key)
}

/// Returns the entries in the order of the file, with their full keys and offsets.
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
