//! Where a run's result goes: the page, the result, the table for a pull request.

use crate::cli::{Args, say};
use crate::problem::{Problem, Result};
use report::Run;
use std::path::{Path, PathBuf};

/// `NAME.html` and so on.
fn named(args: &Args, extension: &str) -> PathBuf {
    let mut name = args.output.clone().into_os_string();
    name.push(format!(".{extension}"));
    PathBuf::from(name)
}

/// Fails where the files cannot be written: that is said before anything is measured.
pub(crate) fn check(args: &Args) -> Result<()> {
    let files = std::iter::once((named(args, "html"), "--output"));
    let files = files.chain(args.json.iter().map(|path| (path.clone(), "--json")));
    for (path, option) in files {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        tempfile::tempfile_in(folder).map_err(|e| {
            Problem::Usage(format!(
                "{option}: nothing can be written in {}: {e}",
                folder.display()
            ))
        })?;
    }
    Ok(())
}

/// Writes all files. One that cannot be written does not keep the others from it.
pub(crate) fn write_all(args: &Args, run: &Run) -> Result<()> {
    let mut files = vec![
        (named(args, "json"), run.json()),
        (named(args, "html"), report::html(run)),
        (named(args, "md"), report::markdown(run)),
    ];
    files.extend(args.json.iter().map(|path| (path.clone(), run.json())));
    let (mut written, mut failed) = (Vec::new(), Vec::new());
    for (path, text) in files {
        match std::fs::write(&path, text) {
            Ok(()) => written.push(path.display().to_string()),
            Err(e) => {
                // Half a file is worse than none.
                let _ = std::fs::remove_file(&path);
                failed.push(format!("{}: {e}", path.display()));
            }
        }
    }
    if !written.is_empty() {
        say(&format!("\nwritten: {}\n", written.join(", ")));
    }
    match failed.is_empty() {
        true => Ok(()),
        false => Err(Problem::failed(format!(
            "not written: {}",
            failed.join("; ")
        ))),
    }
}
