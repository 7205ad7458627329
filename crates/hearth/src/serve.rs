//! The commands that need the configuration, and those that start `hearth-php`.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use build_id::BUILD_ID;
use clap::ArgMatches;
use config::{Effective, Mode, Problem, Raw, Settings, Source};
use supervisor::Program;

use crate::client::{directories, print};
use crate::exposure::Exposure;
use crate::fail;

/// Collects the command line, the environment and the file, and returns the working directory, too.
pub(crate) fn gather(matches: &ArgMatches) -> io::Result<(Raw, PathBuf)> {
    let cwd = std::env::current_dir()?;
    let environment = std::env::vars_os()
        .filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?)));
    let raw = Raw::gather(config::matches_to_given(matches), environment, &cwd);
    Ok((raw, cwd))
}

pub(crate) fn settings(matches: &ArgMatches) -> Result<(Settings, Vec<Problem>), String> {
    let (raw, cwd) = gather(matches).map_err(|e| e.to_string())?;
    let settings = config::resolve(&raw, &cwd).map_err(|problems| problems.to_string())?;
    supervisor::check_app(&settings).map_err(|e| e.to_string())?;
    let warnings = config::warnings(&raw, &settings);
    Ok((settings, warnings))
}

pub(crate) fn serve(matches: &ArgMatches) -> ExitCode {
    let (now, warnings) = match settings(matches) {
        Ok(settings) => settings,
        Err(problems) => return fail(2, problems),
    };
    logging::set_process("supervisor");
    logging::set_level(now.log_level);
    for warning in warnings {
        logging::warning!("{warning}");
    }
    if now.mode == Mode::Classic {
        let (app, site) = (now.app.clone(), now.site.clone());
        // On another thread, because the start does not wait for the disk.
        std::thread::spawn(move || {
            for warning in Exposure::of(&app, &site).warnings(&app) {
                logging::warning!("{warning}");
            }
        });
    }
    let matches = matches.clone();
    let again = move || settings(&matches).map(|(settings, _)| settings);
    match supervisor::run(now, Box::new(again), BUILD_ID) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => fail(e.exit_code(), e),
    }
}

/// Prints warnings about options that have no effect.
pub(crate) fn warn(warnings: &[Problem]) {
    for warning in warnings {
        let _ = writeln!(io::stderr(), "hearth: warning: {warning}");
    }
}

pub(crate) fn config(matches: &ArgMatches) -> ExitCode {
    if matches.get_flag("reference") {
        return print(&config::reference());
    }
    let (raw, cwd) = match gather(matches) {
        Ok(gathered) => gathered,
        Err(e) => return fail(1, e),
    };
    let settings = config::resolve(&raw, &cwd);
    let mut text = String::new();
    for line in config::effective(&raw, settings.as_ref().ok()) {
        let _ = writeln!(text, "{}", described(&line, settings.as_ref().ok()));
    }
    let shown = print(&text);
    match settings {
        // Without an app there is still something to show; other mistakes are errors.
        Err(problems) if problems.0.iter().any(|problem| problem.place != "APP") => {
            fail(2, problems)
        }
        Err(_) => shown,
        Ok(settings) => {
            warn(&config::warnings(&raw, &settings));
            match supervisor::check_app(&settings) {
                Ok(()) => shown,
                Err(e) => fail(2, e),
            }
        }
    }
}

fn described(line: &Effective, settings: Option<&Settings>) -> String {
    let control = || {
        let chosen = config::control_candidates(&settings?.app, &directories());
        Some((
            chosen.first()?.display().to_string(),
            "from the path of the app",
        ))
    };
    let (value, note) = match (line.key, line.value.as_str()) {
        ("control", "") => control().unwrap_or_default(),
        (_, value) => (value.to_owned(), line.note.as_deref().unwrap_or("")),
    };
    let value = if value.is_empty() { "-" } else { &value };
    let origin = origin(&line.source);
    let note = match note {
        "" => String::new(),
        note => format!(": {note}"),
    };
    format!("{:<24} {value:<24} {origin}{note}", line.key)
}

fn origin(source: &Source) -> String {
    match source {
        Source::Default => "default".into(),
        Source::Env(name) => format!("environment {name}"),
        Source::Argument => "argument APP".into(),
        source => source.to_string(),
    }
}

/// `hearth run …` becomes `hearth-php run …`. Before all other words, `--php VERSION` chooses the program, and `--app APP`
/// the server whose cache the script uses.
pub(crate) fn run_script(words: &[OsString]) -> ExitCode {
    let Script {
        version,
        app,
        words,
    } = script(words);
    let environment = std::env::var("HEARTH_PHP_VERSION")
        .ok()
        .filter(|version| version != "auto");
    match Program::find(version.or(environment.as_deref())) {
        Err(e) => fail(e.exit_code(), e),
        Ok(program) => {
            let app = app.into_iter().flat_map(|app| [OsStr::new("--app"), app]);
            let e = Command::new(&program.path)
                .arg("run")
                .args(app)
                .args(words)
                .exec();
            fail(
                1,
                format_args!("cannot start {}: {e}", program.path.display()),
            )
        }
    }
}

/// The words behind `hearth run`.
#[derive(Debug, Default, PartialEq)]
struct Script<'a> {
    version: Option<&'a str>,
    app: Option<&'a OsStr>,
    words: &'a [OsString],
}

fn script(mut words: &[OsString]) -> Script<'_> {
    let mut script = Script::default();
    while let [flag, value, rest @ ..] = words {
        match flag.to_str() {
            Some("--php") => script.version = value.to_str(),
            Some("--app") => script.app = Some(value),
            _ => break,
        }
        words = rest;
    }
    Script { words, ..script }
}

pub(crate) fn version() -> ExitCode {
    let mut text = format!(
        "hearth {} (build {})\n",
        env!("CARGO_PKG_VERSION"),
        BUILD_ID
    );
    let own = std::env::current_exe().unwrap_or_default();
    let directory = own.parent().unwrap_or(Path::new("/"));
    let programs = supervisor::programs(directory);
    for program in &programs {
        let name = program
            .path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy();
        let _ = writeln!(text, "{name}: {}", program.describe());
    }
    if programs.is_empty() {
        let _ = writeln!(text, "no hearth-php beside it in {}", directory.display());
    }
    print(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_ours_come_before_those_of_php() {
        let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        for (text, version, app, left) in [
            (
                "--php 8.4 --app a.php x.php",
                Some("8.4"),
                Some("a.php"),
                "x.php",
            ),
            (
                "--app a.php --php 8.2 -d a=b x.php",
                Some("8.2"),
                Some("a.php"),
                "-d a=b x.php",
            ),
            ("x.php --app a.php", None, None, "x.php --app a.php"),
        ] {
            let all = words(text);
            let expected = Script {
                version,
                app: app.map(OsStr::new),
                words: &words(left),
            };
            assert_eq!(script(&all), expected, "{text}");
        }
    }
}
