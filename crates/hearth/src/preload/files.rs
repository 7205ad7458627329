//! Files of a project: their names relative to its root, a search for scripts, and atomic replacement.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::{Failed, on};

/// Folders without code of the app.
const SKIPPED: [&str; 3] = ["node_modules", ".git", ".svn"];

/// Returns the path for a name that is relative to the root, or absolute.
pub(super) fn absolute(root: &str, name: &str) -> PathBuf {
    Path::new(root).join(name)
}

/// Returns the name of a file, relative to the root if it is below that.
pub(super) fn relative(root: &str, path: &Path) -> String {
    path.strip_prefix(root)
        .unwrap_or(path)
        .display()
        .to_string()
}

/// Lists all scripts below a folder, also through symbolic links to folders, which may form cycles.
pub(super) fn scripts(folder: &Path) -> Vec<PathBuf> {
    let (mut found, mut seen) = (Vec::new(), std::collections::BTreeSet::new());
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        let Ok(real) = folder.canonicalize() else {
            continue;
        };
        if !seen.insert(real.clone()) {
            continue;
        }
        for entry in std::fs::read_dir(&real)
            .into_iter()
            .flatten()
            .filter_map(Result::ok)
        {
            let path = entry.path();
            if path.is_dir() && !SKIPPED.iter().any(|name| path.ends_with(name)) {
                open.push(path);
            } else if path.extension().is_some_and(|end| end == "php") && path.is_file() {
                found.extend(path.canonicalize());
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Returns the folder of a file, without symbolic links.
pub(super) fn folder_of(file: &Path) -> Result<PathBuf, Failed> {
    let folder = match file.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    folder.canonicalize().map_err(on("find the folder", folder))
}

/// Replaces a file atomically; all users may read it.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> Result<(), Failed> {
    let written = || {
        let mut file = tempfile::NamedTempFile::new_in(
            folder_of(path).map_err(|failed| std::io::Error::other(failed.why))?,
        )?;
        file.write_all(bytes)?;
        file.as_file()
            .set_permissions(std::fs::Permissions::from_mode(0o644))?;
        file.persist(path)?;
        Ok(())
    };
    written().map_err(on("write", path))
}
