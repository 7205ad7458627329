//! The servers of this machine: this user's, and for root those of all users.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use supervisor::{Found, duration, status_at};

use crate::client::directories;

/// All servers that answer, sorted by app and user.
pub(crate) fn all() -> Vec<Found> {
    let mut seen = BTreeSet::new();
    let sockets: BTreeSet<PathBuf> = in_directories().chain(of_processes()).collect();
    let found = sockets.into_iter().filter_map(status_at);
    // A server may be reached by two paths.
    let mut found: Vec<Found> = found
        .filter(|found| seen.insert(found.status.pid))
        .collect();
    found.sort_by(|a, b| (&a.status.app, a.user).cmp(&(&b.status.app, b.user)));
    found
}

fn in_directories() -> impl Iterator<Item = PathBuf> {
    let is_root = rustix::process::geteuid().is_root();
    let others = is_root.then(others_directories).into_iter().flatten();
    let directories = directories().into_iter().chain(others);
    let files = directories.flat_map(|directory| entries(&directory).collect::<Vec<_>>());
    files.filter(|path| path.extension() == Some(OsStr::new("sock")))
}

/// The directories in which servers of all users create their sockets by default.
fn others_directories() -> Vec<PathBuf> {
    let in_temporary = entries(Path::new("/tmp")).filter(|path| {
        let name = path.file_name().unwrap_or_default().as_bytes();
        name.starts_with(b"hearth-")
    });
    let of_sessions = entries(Path::new("/run/user")).map(|user| user.join("hearth"));
    in_temporary.chain(of_sessions).collect()
}

fn entries(directory: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = fs::read_dir(directory).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.path()))
}

/// The control sockets that the command lines and environments of running servers name.
fn of_processes() -> impl Iterator<Item = PathBuf> {
    entries(Path::new("/proc")).flat_map(|process| of_process(&process).unwrap_or_default())
}

fn of_process(process: &Path) -> Option<Vec<PathBuf>> {
    if fs::read(process.join("comm")).ok()? != b"hearth\n" {
        return None;
    }
    let words = fs::read(process.join("cmdline")).ok()?;
    if words.split(|byte| *byte == 0).nth(1) != Some(b"serve") {
        return None;
    }
    let directory = fs::read_link(process.join("cwd")).ok()?;
    let environment = fs::read(process.join("environ")).unwrap_or_default();
    let control = control_of(&words).or_else(|| variable(&environment, "HEARTH_CONTROL"));
    let control = control.map(|control| directory.join(control));
    let by_default = variable(&environment, "XDG_RUNTIME_DIR").map(|path| path.join("hearth"));
    let by_default = by_default
        .into_iter()
        .flat_map(|path| entries(&path).collect::<Vec<_>>());
    Some(control.into_iter().chain(by_default).collect())
}

fn variable(environment: &[u8], name: &str) -> Option<PathBuf> {
    let mut variables = environment.split(|byte| *byte == 0);
    let value = variables.find_map(|variable| {
        let value = variable.strip_prefix(name.as_bytes())?;
        value.strip_prefix(b"=")
    });
    value.map(|value| OsStr::from_bytes(value).into())
}

/// Returns the value of `--control PATH` or `--control=PATH` of a `hearth serve`.
fn control_of(command_line: &[u8]) -> Option<PathBuf> {
    let mut words = command_line.split(|byte| *byte == 0).skip(1);
    if words.next() != Some(b"serve") {
        return None;
    }
    while let Some(word) = words.next() {
        let path = match word.strip_prefix(b"--control") {
            Some([]) => words.next(),
            Some([b'=', path @ ..]) => Some(path),
            _ => None,
        };
        if let Some(path) = path {
            return Some(OsStr::from_bytes(path).into());
        }
    }
    None
}

/// Formats a table with a row for each server.
pub(crate) fn table(found: &[Found]) -> String {
    let names = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let head = [
        "app",
        "user",
        "pid",
        "state",
        "workers",
        "requests",
        "5xx",
        "in flight",
        "waiting",
        "up",
        "listening",
    ];
    let mut rows = vec![head.map(str::to_owned)];
    rows.extend(found.iter().map(|found| {
        let status = &found.status;
        [
            status.app.clone(),
            user_name(&names, found.user),
            status.pid.to_string(),
            status.state.clone(),
            status.slots.to_string(),
            status.count("finished").to_string(),
            status.count("responses_5xx").to_string(),
            status.in_flight().to_string(),
            status.waiting().to_string(),
            duration(status.uptime_seconds),
            status.listen.join(" "),
        ]
    }));
    aligned(&rows)
}

/// Formats columns as wide as their widest text.
pub(crate) fn aligned<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..N).map(|column| width(column).unwrap_or(0)).collect();
    let lines = rows.iter().map(|row| {
        let cells = row
            .iter()
            .zip(&widths)
            .map(|(text, width)| format!("{text:<width$}"));
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    });
    lines.collect()
}

fn user_name(passwd: &str, user: u32) -> String {
    let number = user.to_string();
    let mut users = passwd
        .lines()
        .map(|line| line.split(':').collect::<Vec<_>>());
    let found = users.find(|fields| fields.get(2) == Some(&number.as_str()));
    found
        .and_then(|fields| fields.first().map(|name| (*name).to_owned()))
        .unwrap_or(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_control_socket_of_a_command_line() {
        for (words, control) in [
            (
                "hearth\0serve\0app.php\0--control\0c.sock\0",
                Some("c.sock"),
            ),
            (
                "/usr/bin/hearth\0serve\0--control=/run/c\0app.php\0",
                Some("/run/c"),
            ),
            ("hearth\0serve\0app.php\0", None),
            ("hearth\0status\0--control\0c.sock\0", None),
            ("hearth\0serve\0--control", None),
            ("", None),
        ] {
            assert_eq!(
                control_of(words.as_bytes()),
                control.map(PathBuf::from),
                "{words}"
            );
        }
    }

    #[test]
    fn variables_of_an_environment() {
        let environment = b"A=1\0HEARTH_CONTROLS=x\0HEARTH_CONTROL=/run/c\0";
        assert_eq!(
            variable(environment, "HEARTH_CONTROL"),
            Some("/run/c".into())
        );
        assert_eq!(variable(environment, "B"), None);
    }

    #[test]
    fn users_have_names() {
        let passwd = "root:x:0:0::/root:/bin/sh\nwww-data:x:33:33::/:/x\n";
        assert_eq!(user_name(passwd, 33), "www-data");
        assert_eq!(user_name(passwd, 54321), "54321");
    }

    #[test]
    fn columns_are_aligned() {
        let rows = [["app", "pid"], ["ä-long-one", "1"]].map(|row| row.map(str::to_owned));
        assert_eq!(aligned(&rows), "app         pid\nä-long-one  1\n");
    }
}
