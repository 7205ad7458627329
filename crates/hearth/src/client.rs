//! `reload`, `stop`, `status`, `cache`: find the running server and send the question.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ArgMatches;
use supervisor::{Found, Question, Reply, Trust, Verb};

use crate::serve::gather;
use crate::{fail, servers, watch};

pub(crate) fn run(matches: &ArgMatches, verb: Verb) -> ExitCode {
    send(matches, &format!("{verb:?}").to_lowercase(), &verb.into())
}

/// `word` is the name of the command.
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
        (None, None) => return fail(2, no_server_named(word)),
    };
    let query = || supervisor::query(&paths, trust, question);
    let other = || of_another_user(app.as_deref()?);
    match (query(), is_status) {
        (Ok(Some(_)), _) if flag(matches, "live") => watch::watch(query),
        (Ok(Some(reply)), _) => answer(reply, matches),
        (Ok(None), true) => match other() {
            Some(found) => show(found, matches),
            None => fail(1, no_server_there(&paths, app.as_deref())),
        },
        (Ok(None), false) => fail(1, not_reached(other(), &paths, app.as_deref())),
        (Err(e), _) => fail(1, format_args!("cannot talk to the server: {e}")),
    }
}

/// Shows the status of a server that was found, once or repeatedly.
fn show(found: Found, matches: &ArgMatches) -> ExitCode {
    if !flag(matches, "live") {
        return answer(Reply::Status(Box::new(found.status)), matches);
    }
    let control = vec![found.control];
    watch::watch(|| supervisor::query(&control, Trust::Named, &Verb::Status.into()))
}

/// For root: finds the only server of this app, whichever user runs it. Only its status is read.
fn of_another_user(app: &Path) -> Option<Found> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let path = app.canonicalize().unwrap_or_else(|_| app.into());
    let is_its =
        |found: &Found| Path::new(&found.status.app).canonicalize().ok().as_ref() == Some(&path);
    let mut found: Vec<Found> = servers::all().into_iter().filter(is_its).collect();
    (found.len() == 1).then(|| found.remove(0))
}

/// Shows the only server, or a table of all, if no server was named.
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
        1 => show(found.remove(0), matches),
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

/// Escapes control characters in names that clients or PHP code have chosen, before they reach the terminal.
pub(crate) fn printable(text: &str) -> String {
    let lines = text.split('\n').map(logging::escaped);
    lines.collect::<Vec<_>>().join("\n")
}

fn flag(matches: &ArgMatches, name: &str) -> bool {
    matches.try_get_one::<bool>(name).ok().flatten() == Some(&true)
}

/// Writes to standard output, whose reader may have left.
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

/// A server is changed, and its content is shown, only to its own user. Root names the socket to confirm that.
fn not_reached(other: Option<Found>, paths: &[PathBuf], app: Option<&Path>) -> String {
    match other {
        Some(found) => format!(
            "the server of {} is another user's (uid {}): name its control socket, with --control {}",
            found.status.app,
            found.user,
            found.control.display()
        ),
        None => no_server_there(paths, app),
    }
}

fn no_server_there(paths: &[PathBuf], app: Option<&Path>) -> String {
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

/// The error if no server was named, with a list of this user's servers.
fn no_server_named(word: &str) -> String {
    let own = rustix::process::geteuid().as_raw();
    let own = servers::all().into_iter().filter(|found| found.user == own);
    let rows = own.map(|found| {
        let line = format!(
            "{}  --control {}",
            found.status.app,
            found.control.display()
        );
        format!("\n  {}", printable(&line))
    });
    match rows.collect::<String>() {
        none if none.is_empty() => format!(
            "which server? no server of this user is running; `hearth {word} --help` says where to name its app"
        ),
        running => format!(
            "which server? name its app at the end of the command, or its control socket; running are:{running}"
        ),
    }
}
