//! The commands that need the configuration, and those that start `hearth-php`.

use std::ffi::OsString;
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

/// What was said on the command line, in the environment and in the file; and where we are.
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
        // Beside the start, which waits for no look at the disk.
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

/// Of what was given and changes nothing.
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
        // Without an app there is still something to show; other mistakes are mistakes.
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

/// `hearth run …`: become `hearth-php run …`. `--php VERSION` before everything else chooses which.
pub(crate) fn run_script(words: &[OsString]) -> ExitCode {
    let (version, words) = match words {
        [flag, version, rest @ ..] if flag == "--php" => (version.to_str(), rest),
        words => (None, words),
    };
    let environment = std::env::var("HEARTH_PHP_VERSION")
        .ok()
        .filter(|version| version != "auto");
    match Program::find(version.or(environment.as_deref())) {
        Err(e) => fail(e.exit_code(), e),
        Ok(program) => {
            let e = Command::new(&program.path).arg("run").args(words).exec();
            fail(
                1,
                format_args!("cannot start {}: {e}", program.path.display()),
            )
        }
    }
}

pub(crate) fn version() -> ExitCode {
    let mut text = format!(
        "hearth {} (build {}, protocol {})\n",
        env!("CARGO_PKG_VERSION"),
        BUILD_ID,
        ipc::PROTOCOL
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
