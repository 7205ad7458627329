//! Where the programs under test are: beside the target directory that the tests themselves were built into.

use std::path::{Path, PathBuf};

/// The checkout's top directory.
pub fn checkout() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// The release build of `hearth`, made by `./dev build`.
///
/// # Panics
/// When it is not there.
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
