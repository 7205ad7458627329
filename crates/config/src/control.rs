//! The default paths of an app's control socket.

use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use crate::options::option;
use crate::raw::{Given, Raw, Source};
use crate::resolve::control_paths;

/// Directories that may contain control sockets of this user, the preferred one first.
pub fn control_directories(runtime_dir: Option<PathBuf>, uid: u32) -> Vec<PathBuf> {
    let mut found = Vec::new();
    found.extend(
        runtime_dir
            .filter(|dir| dir.is_absolute())
            .map(|dir| dir.join("hearth")),
    );
    if uid == 0 {
        found.push("/run/hearth".into());
    }
    found.push(format!("/tmp/hearth-{uid}").into());
    found
}

/// Control sockets by which a server of this app can be reached, the preferred one first. A server uses the first that it
/// can create. A client tries all, because the two may run in different environments.
pub fn control_candidates(app: &Path, directories: &[PathBuf]) -> Vec<PathBuf> {
    let app = tidy(app);
    let stem = app.file_stem().unwrap_or(app.as_os_str()).to_string_lossy();
    let stem: String = stem
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || "-_.".contains(*c))
        .take(24)
        .collect();
    let name = format!("{stem}-{:016x}.sock", fnv1a(app.as_os_str().as_bytes()));
    directories.iter().map(|dir| dir.join(&name)).collect()
}

/// Control sockets at which the server of a script's app may listen. The app is `app`, or the one that the environment or
/// `hearth.toml` in `cwd` names. Empty if no app is named or the configuration has mistakes.
pub fn script_controls(
    app: Option<String>,
    environment: Vec<(String, String)>,
    cwd: &Path,
    directories: &[PathBuf],
) -> Vec<PathBuf> {
    let given = app.map(|text| {
        let source = Source::Argument;
        (option("app"), Given { text, source })
    });
    let raw = Raw::gather(given.into_iter().collect(), environment, cwd);
    match control_paths(&raw, cwd) {
        Ok((_, Some(control))) => vec![control],
        Ok((Some(app), None)) => control_candidates(&app, directories),
        _ => Vec::new(),
    }
}

/// Removes `.` and `..` by name only: a link such as `current` keeps its name when it points elsewhere.
fn tidy(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(tidy.pop()),
            Component::CurDir => {}
            other => tidy.push(other),
        }
    }
    tidy
}

/// A hash that is the same in every build.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_app_has_the_same_socket_however_it_is_written() {
        let directories = control_directories(Some("/run/user/7".into()), 7);
        let one = control_candidates(Path::new("/srv/shop/app.php"), &directories);
        assert_eq!(
            one[0],
            Path::new("/run/user/7/hearth/app-bb3de66fcd5c7072.sock")
        );
        assert!(one[1].starts_with("/tmp/hearth-7"));
        assert_eq!(
            one,
            control_candidates(Path::new("/srv/x/../shop/./app.php"), &directories)
        );
        assert_ne!(
            one,
            control_candidates(Path::new("/srv/shop2/app.php"), &directories)
        );
    }
}
