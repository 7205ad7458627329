//! `hearth preload`: lists from what real requests load, under php-fpm, Apache and Hearth.

mod fpm;
mod recorder;
mod replay;
mod serve;
mod sites;
mod traps;

use std::path::Path;
use std::process::{Command, Output};

/// `hearth preload …` in this folder.
fn preload(folder: &Path, words: &[&str]) -> Output {
    Command::new(testkit::hearth())
        .arg("preload")
        .args(words)
        .current_dir(folder)
        .output()
        .expect("hearth starts")
}

/// What it printed, of a command that succeeds.
fn done(folder: &Path, words: &[&str]) -> String {
    let output = preload(folder, words);
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(output.status.success(), "hearth preload {words:?}: {text}");
    text
}

/// What it printed, of a command that ends with this exit code.
fn refused(folder: &Path, words: &[&str], code: i32) -> String {
    let output = preload(folder, words);
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert_eq!(
        output.status.code(),
        Some(code),
        "hearth preload {words:?}: {text}"
    );
    text
}

/// A folder that web servers can read and write, with these files in it.
fn project(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = testkit::document_root();
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }
    folder
}
