//! The output files of a run: the page, the result, and the table for a pull request.

use crate::cli::{Args, print_text};
use crate::problem::{Problem, Result};
use report::Run;
use std::path::{Path, PathBuf};

/// Returns `NAME.html` and so on.
fn named(args: &Args, extension: &str) -> PathBuf {
    let mut name = args.output.clone().into_os_string();
    name.push(format!(".{extension}"));
    PathBuf::from(name)
}

/// Fails if the files cannot be written, before anything is measured.
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
                "{option}: cannot write in {}: {e}",
                folder.display()
            ))
        })?;
    }
    Ok(())
}

/// Writes a file completely or not at all: the old content stays if the disk is full.
pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    // For a symbolic link, the file that it points to.
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut beside = path.clone().into_os_string();
    beside.push(".new");
    let beside = PathBuf::from(beside);
    let written = std::fs::write(&beside, text).and_then(|()| std::fs::rename(&beside, &path));
    written.map_err(|e| {
        let _ = std::fs::remove_file(&beside);
        Problem::failed(format!("{}: {e}", path.display()))
    })
}

/// Writes all files; a failure of one does not prevent the others.
pub(crate) fn write_all(args: &Args, run: &Run) -> Result<()> {
    let mut files = vec![
        (named(args, "json"), run.json()),
        (named(args, "html"), report::html(run)),
        (named(args, "md"), report::markdown(run)),
    ];
    files.extend(args.json.iter().map(|path| (path.clone(), run.json())));
    let (mut written, mut failed) = (Vec::new(), Vec::new());
    for (path, text) in files {
        match write(&path, &text) {
            Ok(()) => written.push(path.display().to_string()),
            Err(problem) => failed.push(problem.to_string()),
        }
    }
    if !written.is_empty() {
        print_text(&format!("\nwritten: {}\n", written.join(", ")));
    }
    match failed.is_empty() {
        true => Ok(()),
        false => Err(Problem::failed(format!(
            "not written: {}",
            failed.join("; ")
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_written_whole_or_stays_as_it_was() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, link) = (folder.path().join("README.md"), folder.path().join("link"));
        std::fs::write(&file, "old").expect("a file");
        std::os::unix::fs::symlink(&file, &link).expect("a link");
        write(&link, "new").expect("written");
        assert_eq!(std::fs::read_to_string(&file).expect("a file"), "new");
        assert!(link.is_symlink());
        // If the temporary file cannot be created, the old file stays.
        std::fs::create_dir(folder.path().join("README.md.new")).expect("a folder");
        assert!(write(&file, "newer").is_err());
        assert_eq!(std::fs::read_to_string(&file).expect("a file"), "new");
    }
}
