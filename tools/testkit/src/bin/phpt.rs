//! `phpt DIRECTORY [PART]`: runs every `.phpt` file below the directory whose path contains PART, in every way.
//!
//! The last line of output is that of cargo's test binaries, so that one counter reads them all.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use testkit::phpt::{Outcome, Phpt, Way};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(directory) = arguments.next() else {
        eprintln!("usage: phpt DIRECTORY [PART]");
        return ExitCode::from(2);
    };
    let part = arguments.next().unwrap_or_default();
    let mut files = Vec::new();
    gather(Path::new(&directory), &mut files);
    files.retain(|file| file.to_string_lossy().contains(&part));
    files.sort();
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    for file in &files {
        for way in Way::ALL {
            match run(file, way) {
                Outcome::Passed => passed += 1,
                Outcome::Skipped(reason) => {
                    skipped += 1;
                    println!("skip {} ({}): {reason}", file.display(), way.name());
                }
                Outcome::Failed(why) => {
                    failed += 1;
                    println!("FAIL {} ({})\n{why}", file.display(), way.name());
                }
            }
        }
    }
    let word = if failed == 0 { "ok" } else { "FAILED" };
    println!("test result: {word}. {passed} passed; {failed} failed; {skipped} ignored");
    if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn run(file: &Path, way: Way) -> Outcome {
    match Phpt::read(file) {
        Ok(phpt) => std::panic::catch_unwind(|| phpt.run(way))
            .unwrap_or_else(|_| Outcome::Failed("the runner gave up: see above".to_owned())),
        Err(problem) => Outcome::Failed(problem),
    }
}

fn gather(directory: &Path, files: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(directory)
        .unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            gather(&path, files);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "phpt")
        {
            files.push(path);
        }
    }
}
