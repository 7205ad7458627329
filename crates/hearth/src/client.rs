//! `reload`, `stop`, `status`: find the running server and ask it.

use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::ArgMatches;
use supervisor::{Reply, Trust, Verb};

use crate::fail;
use crate::serve::gather;

pub(crate) fn ask(matches: &ArgMatches, verb: Verb) -> ExitCode {
    let (raw, cwd) = match gather(matches) {
        Ok(gathered) => gathered,
        Err(e) => return fail(1, e),
    };
    let (app, control) = match config::control_paths(&raw, &cwd) {
        Ok(paths) => paths,
        Err(problems) => return fail(2, problems),
    };
    let (paths, trust) = match (control, &app) {
        (Some(control), _) => (vec![control], Trust::Named),
        (None, Some(app)) => {
            let paths = config::control_candidates(app, &directories());
            (paths, Trust::Own)
        }
        (None, None) => return fail(2, nobody_named(verb)),
    };
    match supervisor::ask(&paths, trust, verb) {
        Ok(Some(reply)) => answer(reply, matches),
        Ok(None) => fail(1, nobody_there(&paths, app)),
        Err(e) => fail(1, format_args!("cannot talk to the server: {e}")),
    }
}

fn answer(reply: Reply, matches: &ArgMatches) -> ExitCode {
    let text = match reply {
        Reply::Failed(why) => return fail(1, why),
        Reply::Done(text) => format!("{text}\n"),
        Reply::Status(status) if flag(matches, "json") => {
            match serde_json::to_string_pretty(&status) {
                Ok(json) => format!("{json}\n"),
                Err(e) => return fail(1, e),
            }
        }
        Reply::Status(status) if flag(matches, "pools") => {
            printable(&format!("{status}{}", status.pools.leases()))
        }
        Reply::Status(status) => printable(&status.to_string()),
    };
    print(&text)
}

/// What clients and PHP code named may have control characters: they are not the terminal's.
fn printable(text: &str) -> String {
    let lines = text.split('\n').map(logging::escaped);
    lines.collect::<Vec<_>>().join("\n")
}

fn flag(matches: &ArgMatches, name: &str) -> bool {
    matches.try_get_one::<bool>(name).ok().flatten() == Some(&true)
}

/// To standard output, whose reader may have left.
pub(crate) fn print(text: &str) -> ExitCode {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            fail(1, format_args!("cannot write the answer: {e}"))
        }
        _ => ExitCode::SUCCESS,
    }
}

pub(crate) fn directories() -> Vec<PathBuf> {
    let runtime_dir = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    config::control_directories(runtime_dir, rustix::process::geteuid().as_raw())
}

fn nobody_there(paths: &[PathBuf], app: Option<PathBuf>) -> String {
    let tried: Vec<String> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    let whose = app.map_or(String::new(), |app| format!(" for {}", app.display()));
    format!(
        "no server is running{whose}: no answer at {}",
        tried.join(", ")
    )
}

/// What there is to choose from, when nothing was named.
fn nobody_named(verb: Verb) -> String {
    let own = rustix::process::geteuid().as_raw();
    let sockets = directories()
        .into_iter()
        .filter(|dir| {
            dir.symlink_metadata()
                .is_ok_and(|found| found.is_dir() && found.uid() == own)
        })
        .filter_map(|dir| std::fs::read_dir(dir).ok())
        .flatten();
    let found: Vec<String> = sockets
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "sock")
        })
        .map(|path| format!("\n  --control {}", path.display()))
        .collect();
    let verb = format!("{verb:?}").to_lowercase();
    let hint = if found.is_empty() {
        ""
    } else {
        "; control sockets of this user:"
    };
    format!(
        "which server? name its app, as in `hearth {verb} app.php`, or its control socket{hint}{}",
        found.concat()
    )
}
