//! Configuration from a file, an environment and a command line with any text.

use std::path::Path;

use clap::Command;
use config::{Given, Opt, Problems, Raw, Settings, Source};

use crate::input::Input;

/// Reads a TOML file, lines `NAME=value` of the environment, and a line per argument of the command line; a NUL separates
/// the three.
///
/// The result is settings, or mistakes with their places; settings that are repeated on the command line give the same
/// result.
///
/// # Panics
/// If that does not hold.
pub fn settings(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let [file, environment, words] = [input.until(0), input.until(0), input.until(0)]
        .map(|part| String::from_utf8_lossy(part).into_owned());
    let directory = tempfile::Builder::new()
        .prefix("hearth-fuzz-")
        .tempdir()
        .expect("a directory can be made");
    let place = directory.path();
    std::fs::write(place.join("hearth.toml"), file).expect("a file can be written");
    let raw = Raw::gather(
        arguments(&words).unwrap_or_default(),
        variables(&environment),
        place,
    );
    match config::resolve(&raw, place) {
        Ok(settings) => round_trip(&raw, &settings, place),
        Err(problems) => explained(&problems),
    }
}

/// Returns the options; `None` if clap refuses them, with a message of its own.
fn arguments(words: &str) -> Option<Vec<(&'static Opt, Given)>> {
    let command = Command::new("hearth")
        .no_binary_name(true)
        .arg(config::app_argument())
        .args(config::flags(None));
    let matches = command.try_get_matches_from(words.lines()).ok()?;
    let mut given = config::matches_to_given(&matches);
    given.retain(|(option, _)| option.key != "config");
    Some(given)
}

/// Returns the variables without `HEARTH_CONFIG`: it names another file to read, which might be a device.
fn variables(lines: &str) -> Vec<(String, String)> {
    lines
        .lines()
        .filter_map(|line| line.split_once('='))
        .filter(|(name, _)| *name != "HEARTH_CONFIG")
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

fn explained(problems: &Problems) {
    assert!(!problems.0.is_empty(), "refused without a mistake");
    for problem in &problems.0 {
        assert!(
            !problem.place.is_empty() && !problem.what.is_empty(),
            "{problem:?}"
        );
    }
    assert!(!problems.to_string().is_empty());
}

fn round_trip(raw: &Raw, settings: &Settings, place: &Path) {
    let lines = config::effective(raw, None).into_iter();
    let again = lines
        .filter(|line| line.source != Source::Default && line.key != "config")
        .map(|line| {
            let given = Given {
                text: line.value,
                source: Source::Flag("again"),
            };
            (config::option(line.key), given)
        })
        .collect();
    let again = Raw::gather(again, Vec::new(), place);
    let again = config::resolve(&again, place).expect("what holds can be said");
    assert_eq!(&again, settings);
}
