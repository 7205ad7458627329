//! `reload`, `stop`, `status`, `cache`: find the running server and ask it.

use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ArgMatches;
use supervisor::{Found, Question, Reply, Trust, Verb};

use crate::serve::gather;
use crate::{fail, servers, watch};

pub(crate) fn ask(matches: &ArgMatches, verb: Verb) -> ExitCode {
    send(matches, &format!("{verb:?}").to_lowercase(), &verb.into())
}

/// `word` is what the command is called.
pub(crate) fn send(matches: &ArgMatches, word: &str, question: &Question) -> ExitCode {
    let is_status = question.verb() == Verb::Status;
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
        (None, None) if is_status => return all(matches),
        (None, None) => return fail(2, nobody_named(word)),
    };
    let ask = || supervisor::ask(&paths, trust, question);
    if flag(matches, "live") {
        return watch::watch(ask);
    }
    match ask() {
        Ok(Some(reply)) => answer(reply, matches),
        Ok(None) => match app
            .as_deref()
            .and_then(|app| of_another_user(app, is_status))
        {
            Some(found) => answer(Reply::Status(Box::new(found.status)), matches),
            None => fail(1, nobody_there(&paths, app)),
        },
        Err(e) => fail(1, format_args!("cannot talk to the server: {e}")),
    }
}

/// For root: the one server of this app, whichever user runs it. It is only looked at.
fn of_another_user(app: &Path, is_status: bool) -> Option<Found> {
    if !is_status || !rustix::process::geteuid().is_root() {
        return None;
    }
    let path = app.canonicalize().unwrap_or_else(|_| app.into());
    let is_its =
        |found: &Found| Path::new(&found.status.app).canonicalize().ok().as_ref() == Some(&path);
    let mut found: Vec<Found> = servers::all().into_iter().filter(is_its).collect();
    (found.len() == 1).then(|| found.remove(0))
}

/// No server was named: the only one, or a table of all.
fn all(matches: &ArgMatches) -> ExitCode {
    let mut found = servers::all();
    if flag(matches, "json") {
        let rows = found.iter().map(|found| {
            serde_json::json!({"control": found.control, "user": found.user, "status": found.status})
        });
        let rows = serde_json::Value::from(rows.collect::<Vec<_>>());
        return print(&format!("{rows:#}\n"));
    }
    match found.len() {
        0 => fail(
            1,
            "no server is running; one of another directory or user may need --control",
        ),
        1 if flag(matches, "live") => {
            let control = vec![found.remove(0).control];
            watch::watch(|| supervisor::ask(&control, Trust::Named, &Verb::Status.into()))
        }
        1 => answer(Reply::Status(Box::new(found.remove(0).status)), matches),
        _ if flag(matches, "live") => fail(
            2,
            format_args!(
                "which server? name its app, as in `hearth status --watch app.php`:\n{}",
                printable(&servers::table(&found)).trim_end()
            ),
        ),
        _ => print(&printable(&servers::table(&found))),
    }
}

fn answer(reply: Reply, matches: &ArgMatches) -> ExitCode {
    let text = match reply {
        Reply::Failed(why) => return fail(1, why),
        Reply::Done(text) => printable(&format!("{text}\n")),
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
pub(crate) fn printable(text: &str) -> String {
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
fn nobody_named(word: &str) -> String {
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
    let hint = if found.is_empty() {
        ""
    } else {
        "; control sockets of this user:"
    };
    format!(
        "which server? name its app, as in `hearth {word} app.php`, or its control socket{hint}{}",
        found.concat()
    )
}
