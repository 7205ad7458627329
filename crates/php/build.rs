//! Embeds the PHP part of the library: every file that `php/src/prelude.list` names, with the classes that it declares.

use std::fmt::Write as _;
use std::path::Path;

/// The name of the class that a line of PHP begins to declare.
fn declared(line: &str) -> Option<&str> {
    let mut words = line.split([' ', ':', '{']).filter(|word| !word.is_empty());
    let kind = words.find(|word| !["final", "abstract", "readonly"].contains(word))?;
    ["class", "interface", "trait", "enum"]
        .contains(&kind)
        .then(|| words.next())
        .flatten()
}

/// The full names of the classes in a file, in lower case, as the engine's table of classes has them.
fn classes(source: &str) -> Vec<String> {
    let namespace = source
        .lines()
        .find_map(|line| line.strip_prefix("namespace ")?.strip_suffix(';'))
        .map_or(String::new(), |namespace| format!("{namespace}\\"));
    let mut found: Vec<String> = source
        .lines()
        .filter_map(|line| declared(line.trim_start()))
        .map(|class| format!("{namespace}{class}").to_lowercase())
        .collect();
    found.dedup();
    found
}

fn main() {
    let folder = Path::new(&std::env::var("CARGO_MANIFEST_DIR").expect("set by cargo"))
        .join("../../php/src");
    let list = std::fs::read_to_string(folder.join("prelude.list")).expect("php/src/prelude.list");
    let mut code = String::from("pub(crate) const PRELUDE: &[(&str, &str, &[&str])] = &[\n");
    for name in list
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        let path = folder
            .join(name)
            .canonicalize()
            .unwrap_or_else(|error| panic!("php/src/{name}: {error}"));
        let classes = classes(&std::fs::read_to_string(&path).expect("a file that was just found"));
        assert!(!classes.is_empty(), "php/src/{name} declares no class");
        writeln!(
            code,
            "    ({name:?}, include_str!({path:?}), &{classes:?}),"
        )
        .expect("writing to a string");
    }
    code.push_str("];\n");
    let out = Path::new(&std::env::var("OUT_DIR").expect("set by cargo")).join("prelude.rs");
    std::fs::write(out, code).expect("writing the list of the PHP library");
    println!("cargo:rerun-if-changed={}", folder.display());
}
