//! Embeds the PHP part of the library: every file that `php/src/prelude.list` names, in that order.

use std::fmt::Write as _;
use std::path::Path;

fn main() {
    let source = Path::new(&std::env::var("CARGO_MANIFEST_DIR").expect("set by cargo"))
        .join("../../php/src");
    let list = std::fs::read_to_string(source.join("prelude.list")).expect("php/src/prelude.list");
    let mut code = String::from("pub(crate) const PRELUDE: &[(&str, &str)] = &[\n");
    for name in list
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        let path = source
            .join(name)
            .canonicalize()
            .unwrap_or_else(|error| panic!("php/src/{name}: {error}"));
        writeln!(code, "    ({name:?}, include_str!({path:?})),").expect("writing to a string");
    }
    code.push_str("];\n");
    let out = Path::new(&std::env::var("OUT_DIR").expect("set by cargo")).join("prelude.rs");
    std::fs::write(out, code).expect("writing the list of the PHP library");
    println!("cargo:rerun-if-changed={}", source.display());
}
