//! Hashes the sources. Of the files and not of the git commit: a tarball has no commit, and a changed file has none yet.

use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// What the programs are built from, below the root of the workspace.
const SOURCES: [&str; 4] = ["Cargo.toml", "Cargo.lock", "crates", "php/src"];
/// As many digits as make two builds differ.
const DIGITS: usize = 16;

/// The files at or below `path`, in the same order on every machine.
fn files(path: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    if !path.is_dir() {
        found.push(path.to_owned());
        return Ok(());
    }
    let entries = std::fs::read_dir(path)?.map(|entry| entry.map(|entry| entry.path()));
    let mut entries = entries.collect::<io::Result<Vec<_>>>()?;
    entries.sort();
    entries.iter().try_for_each(|entry| files(entry, found))
}

/// Of names and contents; each with its length, so that none of one can be taken for the other's.
fn hash(root: &Path) -> io::Result<String> {
    let mut found = Vec::new();
    for source in SOURCES {
        files(&root.join(source), &mut found)?;
    }
    let mut hash = Sha256::new();
    for file in &found {
        let name = file.strip_prefix(root).unwrap_or(file).to_string_lossy();
        let content = std::fs::read(file)?;
        for part in [name.as_bytes(), &content] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
    }
    let digits: String = hash
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    Ok(digits[..DIGITS].to_owned())
}

fn main() -> io::Result<()> {
    let root = Path::new("../..");
    for source in SOURCES {
        println!("cargo:rerun-if-changed={}", root.join(source).display());
    }
    println!("cargo:rustc-env=HEARTH_SOURCE_HASH={}", hash(root)?);
    Ok(())
}
