//! Paths of the programs under test, which lie beside the target directory of the tests, and of the packages that `./dev
//! deps test` unpacked without installing them.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the top directory of the checkout.
pub fn checkout() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Returns the release build of `hearth`, made by `./dev build`.
///
/// # Panics
/// If the program does not exist.
pub fn hearth() -> PathBuf {
    let test = std::env::current_exe().expect("the test binary has a path");
    let target = test
        .ancestors()
        .find(|directory| directory.ends_with("debug") || directory.ends_with("release"))
        .and_then(Path::parent)
        .expect("the test binary lies in a cargo target directory");
    let hearth = target.join("release/hearth");
    assert!(
        hearth.exists(),
        "no {}: run ./dev build first",
        hearth.display()
    );
    hearth
}

/// Returns a PHP extension that `./dev deps test` unpacked: installing it would enable it for every PHP.
///
/// # Panics
/// If the extension does not exist.
pub fn unpacked_extension(name: &str) -> PathBuf {
    let facts = Command::new("php")
        .args([
            "-r",
            "echo 'php', PHP_MAJOR_VERSION, '.', PHP_MINOR_VERSION, ' ', ini_get('extension_dir');",
        ])
        .output()
        .expect("php starts");
    let facts = String::from_utf8(facts.stdout).expect("plain words");
    let (php, directory) = facts.split_once(' ').expect("two words");
    unpacked(&format!("{php}-{name}")).join(format!("{}/{name}.so", &directory[1..]))
}

/// Returns the folder of a Debian package that `./dev deps test` unpacked.
///
/// # Panics
/// If the folder does not exist.
pub fn unpacked(package: &str) -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME").map_or_else(
        || PathBuf::from(std::env::var_os("HOME").expect("HOME is set")).join(".cache"),
        PathBuf::from,
    );
    let files = cache.join("hearth/packages").join(package);
    assert!(
        files.exists(),
        "no {}: run ./dev deps test first",
        files.display()
    );
    files
}
