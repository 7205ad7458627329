//! `hearth config`: every option, its effective value, and where that comes from.

use crate::options::{Kind, OPTIONS, Opt, option};
use crate::raw::{Given, Raw, Source};
use crate::settings::{CONCURRENT, Mode, Settings, Workers, cpus};
use crate::value;

/// A line of `hearth config`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effective {
    pub key: &'static str,
    /// The value; empty for none.
    pub value: String,
    pub source: Source,
    /// How the value was decided, if it is not written in `source`.
    pub note: Option<String>,
}

/// Lists every option with its value and source. Without `settings`, because the configuration has mistakes, as it was
/// written.
pub fn effective(raw: &Raw, settings: Option<&Settings>) -> Vec<Effective> {
    let mut lines: Vec<Effective> = OPTIONS
        .iter()
        .flat_map(|option| written(raw, option))
        .collect();
    let Some(settings) = settings else {
        return lines;
    };
    for line in &mut lines {
        let is_open = line.value == option(line.key).default;
        if let Some((value, note)) = is_open.then(|| decided(line.key, settings)).flatten() {
            line.value = value;
            line.note = Some(note);
        }
    }
    lines
}

fn written(raw: &Raw, option: &'static Opt) -> Vec<Effective> {
    let line = |value: &str, source: &Source| Effective {
        key: option.key,
        value: match option.kind {
            Kind::Redis => value::without_password(value),
            _ => value.into(),
        },
        source: source.clone(),
        note: None,
    };
    let given = match option.is_table() {
        true => raw.all(option.key),
        false => raw.winners(option.key),
    };
    let lines = |given: Vec<&Given>| given.iter().map(|g| line(&g.text, &g.source)).collect();
    match given.last() {
        None => vec![line(option.default, &Source::Default)],
        Some(_) if option.repeatable() => lines(given),
        Some(last) => vec![line(&last.text, &last.source)],
    }
}

/// Returns the value of an option that was not set, and how it was decided.
fn decided(key: &str, settings: &Settings) -> Option<(String, String)> {
    let decision = |value: &dyn ToString, why: &str| Some((value.to_string(), why.to_owned()));
    match key {
        "mode" => match (settings.mode, settings.app.is_dir()) {
            (Mode::Classic, _) => decision(&"classic", "the app is a folder"),
            (Mode::Resident, _) => decision(&"resident", "the app is a script"),
        },
        "site.root" => match (&settings.site.root, settings.mode) {
            (Some(root), _) => decision(&root.display(), "the folder exists"),
            (None, Mode::Classic) => decision(&"", "the document root is the app's folder"),
            (None, Mode::Resident) => decision(&"", "no folder public beside the app"),
        },
        "workers.count" => workers(settings),
        "workers.min" => match settings.workers {
            Workers::Between { least, .. } => {
                decision(&least, "one per CPU, no more than workers.max")
            }
            _ => None,
        },
        "workers.max" => match settings.workers {
            Workers::Between { .. } => None,
            _ => decision(&"", "the number of workers is fixed"),
        },
        "workers.concurrency" => match settings.concurrency {
            Some(number) => decision(&number, "classic mode"),
            None => decision(
                &CONCURRENT,
                "for a handler; 1 for the kernel of a framework, as `hearth check` reports",
            ),
        },
        "workers.dispatch" => {
            let concurrency = settings.concurrency.unwrap_or(CONCURRENT);
            let is_single = !settings.is_elastic() && settings.workers.number(concurrency) == 1;
            let why = match is_single {
                true => "by workers.concurrency: one worker",
                false => "several workers",
            };
            decision(&settings.dispatch(concurrency), why)
        }
        "php.display_errors" => match settings.watch {
            true => decision(&true, "watch is on"),
            false => decision(&false, "watch is off"),
        },
        "config" => match &settings.config_file {
            Some(path) => decision(&path.display(), "the file exists"),
            None => decision(&"", "no hearth.toml beside the app"),
        },
        _ => None,
    }
}

fn workers(settings: &Settings) -> Option<(String, String)> {
    let (value, note) = match (settings.workers, settings.concurrency) {
        (Workers::Count(number), _) => (number.to_string(), "workers.min and workers.max".into()),
        (Workers::Between { .. }, _) => (String::new(), "from workers.min to workers.max".into()),
        (workers @ Workers::Auto, Some(1)) => (
            workers.number(1).to_string(),
            format!(
                "four per CPU of {}, because each serves one request at a time",
                cpus()
            ),
        ),
        (workers @ Workers::Auto, concurrency) => {
            let others = match concurrency {
                None => format!("; {} for the kernel of a framework", workers.number(1)),
                Some(_) => String::new(),
            };
            (
                workers.number(CONCURRENT).to_string(),
                format!("one per CPU{others}"),
            )
        }
    };
    Some((value, note))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_left_open_is_shown_as_it_will_hold() {
        let dir = tempfile::tempdir().expect("a directory");
        let shown = |app: &str, words: &[(&str, &str)]| {
            let given = [("app", app)].into_iter().chain(words.iter().copied());
            let raw = Raw::of(given, dir.path());
            let settings = crate::resolve(&raw, dir.path()).unwrap_or_else(|e| panic!("{e}"));
            let lines = effective(&raw, Some(&settings)).into_iter();
            lines
                .map(|line| (line.key, line.value))
                .collect::<std::collections::BTreeMap<_, _>>()
        };
        let (few, many) = (cpus().to_string(), (4 * cpus()).to_string());
        let site = shown(".", &[]);
        for (key, value) in [
            ("mode", "classic"),
            ("workers.count", many.as_str()),
            ("workers.max", ""),
            ("workers.concurrency", "1"),
            ("workers.dispatch", "balanced"),
            ("php.display_errors", "false"),
        ] {
            assert_eq!(site[key], value, "{key}");
        }
        let handler = shown("app.php", &[("watch", "true")]);
        for (key, value) in [
            ("mode", "resident"),
            ("workers.count", few.as_str()),
            ("workers.concurrency", "256"),
            ("php.display_errors", "true"),
        ] {
            assert_eq!(handler[key], value, "{key}");
        }
        let one = shown("app.php", &[("workers.count", "1")]);
        assert_eq!(
            (
                one["workers.count"].as_str(),
                one["workers.dispatch"].as_str()
            ),
            ("1", "direct")
        );
        let elastic = shown(".", &[("workers.max", "9")]);
        assert_eq!(
            (
                elastic["workers.count"].as_str(),
                elastic["workers.max"].as_str()
            ),
            ("", "9")
        );
        assert_eq!(elastic["workers.min"], few);
    }
}
