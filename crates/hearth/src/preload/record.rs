//! `hearth preload record`: prepares a folder with the recorder, and shows what it has recorded.

use std::fmt::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use ::preload::Profile;
use clap::ArgMatches;

use super::{Failed, files, given_path, is_missing, on, usage};
use crate::client::{print, printable};

const RECORDER: &str = include_str!("php/recorder.php");

pub(super) fn record(given: &ArgMatches) -> Result<ExitCode, Failed> {
    let Some(folder) = given_path(given, "folder") else {
        return Err(usage("which folder?"));
    };
    let every = given.get_one::<f64>("every").copied();
    if every.is_some_and(|every| !(0.0..=86400.0).contains(&every)) {
        return Err(usage("--every must be from 0 to 86400 seconds"));
    }
    let recorder = folder.join("recorder.php");
    let is_new = !recorder.exists();
    let queries = given.get_flag("queries");
    if is_new || every.is_some() || queries {
        let user = given.get_one::<String>("user").map(String::as_str);
        prepare(folder, user, every.unwrap_or(1.0), queries)?;
    }
    let folder = folder.canonicalize().map_err(on("find", folder))?;
    let (profile, broken) = read(&[&folder])?;
    if let Some(file) = given_path(given, "write") {
        let json = serde_json::to_vec(&profile).map_err(|error| error.to_string())?;
        files::replace(file, &json)?;
    }
    Ok(print(&printable(&summary(&folder, &profile, &broken))))
}

/// Creates the folder. Only the user whose requests are recorded may write in it, because recordings decide what PHP loads
/// at its start.
fn prepare(folder: &Path, user: Option<&str>, every: f64, queries: bool) -> Result<(), Failed> {
    let routes = folder.join("routes");
    for path in [folder, &routes] {
        let mode = if path == folder { 0o755 } else { 0o700 };
        match std::fs::DirBuilder::new().mode(mode).create(path) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                return Err(on("make", path)(error));
            }
            _ => {}
        }
    }
    files::replace(
        &folder.join("recorder.php"),
        RECORDER
            .replace("(INTERVAL, QUERIES);", &format!("({every:?}, {queries});"))
            .as_bytes(),
    )?;
    let root = rustix::process::geteuid().is_root();
    let Some(user) = user.or(root.then_some("www-data")) else {
        return Ok(());
    };
    let done = Command::new("chown")
        .arg(user)
        .arg("--")
        .arg(&routes)
        .output()
        .map_err(|error| error.to_string())?;
    match done.status.success() {
        true => Ok(()),
        false => Err(format!(
            "cannot give {} to the user {user}: {}; name the user that PHP runs as with --user",
            routes.display(),
            String::from_utf8_lossy(&done.stderr).trim()
        )
        .into()),
    }
}

/// Reads recordings of folders and files. Also returns a message for each file of a folder that cannot be read.
pub(super) fn read(paths: &[&Path]) -> Result<(Profile, Vec<String>), Failed> {
    let (mut profile, mut broken) = (Profile::default(), Vec::new());
    let mut add = |one: Profile| {
        for recording in one.recordings {
            profile.add(recording);
        }
    };
    for path in paths {
        if let Some(failed) = is_missing(
            path,
            "name a folder of `hearth preload record FOLDER`, or a file of its --write FILE",
        ) {
            return Err(failed);
        }
        let routes = path.join("routes");
        let folder = if routes.is_dir() { &routes } else { *path };
        if !folder.is_dir() {
            add(parse(path)??);
            continue;
        }
        for file in json_files(folder)? {
            match parse(&file)? {
                Ok(one) => add(one),
                Err(why) => broken.push(why),
            }
        }
    }
    Ok((profile, broken))
}

/// Parses a file. The inner error means that it is no recording.
fn parse(file: &Path) -> Result<Result<Profile, String>, Failed> {
    let bytes = std::fs::read(file).map_err(on("read", file))?;
    Ok(Profile::parse(&bytes).map_err(|error| format!("{}: {error}", file.display())))
}

fn json_files(folder: &Path) -> Result<Vec<PathBuf>, Failed> {
    let entries = std::fs::read_dir(folder).map_err(on("read", folder))?;
    let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
    let mut files: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .collect();
    files.sort();
    Ok(files)
}

/// The name, or else the number, of the user that owns a folder.
fn owner(folder: &Path) -> String {
    let uid = std::fs::metadata(folder).map_or(0, |routes| routes.uid());
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let name = users.lines().find_map(|line| {
        let mut parts = line.split(':');
        let name = parts.next()?;
        (parts.nth(1)? == uid.to_string()).then(|| name.to_owned())
    });
    name.unwrap_or_else(|| uid.to_string())
}

fn summary(folder: &Path, profile: &Profile, broken: &[String]) -> String {
    let shown = folder.display();
    let mut text = String::new();
    for one in broken {
        let _ = writeln!(text, "left out: {one}");
    }
    if profile.requests() == 0 {
        text.push_str(&how_to_record(folder));
        return text;
    }
    let recordings = || profile.recordings.iter();
    let last = recordings().map(|one| one.last).max().unwrap_or(0);
    let first = recordings().map(|one| one.first).min().unwrap_or(0);
    let _ = writeln!(
        text,
        "recorded {} requests in {:.1} h, {} files",
        profile.requests(),
        (last - first) as f64 / 3600.0,
        profile.files().len()
    );
    for (release, lock) in profile.releases() {
        let lock = match lock.is_empty() {
            true => String::new(),
            false => format!(" (composer.lock {lock:.8})"),
        };
        let _ = writeln!(text, "  release {release}{lock}");
    }
    for (route, count) in profile.routes().into_iter().take(20) {
        let _ = writeln!(text, "  {count:>8}  {route}");
    }
    let _ = writeln!(text, "make a list of it:  hearth preload build {shown}");
    text
}

fn how_to_record(folder: &Path) -> String {
    let (shown, owner) = (folder.display(), owner(&folder.join("routes")));
    format!(
        "nothing is recorded yet. Have the PHP of the user {owner} start each request with the recorder, by one of\n\
         \x20 php-fpm, in the pool:  php_admin_value[auto_prepend_file] = {shown}/recorder.php\n\
         \x20 Apache with mod_php:   php_admin_value auto_prepend_file {shown}/recorder.php\n\
         \x20 Hearth, classic mode:  hearth serve SITE --ini auto_prepend_file={shown}/recorder.php\n\
         (where open_basedir is set, with :{shown} added to it), and when enough was recorded:  hearth preload build {shown}\n"
    )
}
