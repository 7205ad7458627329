//! `csrc/hearth.h` in Rust, made by bindgen: structs, constants, functions of C, and the types of the functions that C calls.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

const HEADER: &str = "crates/php-sys/csrc/hearth.h";
const OUTPUT: &str = "crates/php-sys/src/bindings.rs";
/// Each release writes other text: this is Debian 12's.
const BINDGEN: &str = "bindgen 0.60.1";
const OPTIONS: [&str; 14] = [
    "--no-layout-tests",
    "--no-prepend-enum-name",
    "--no-doc-comments",
    "--no-derive-debug",
    "--disable-header-comment",
    "--size_t-is-usize",
    "--ctypes-prefix",
    "std::ffi",
    "--allowlist-type",
    "hearth_.*",
    "--allowlist-function",
    "hearth_.*",
    "--allowlist-var",
    "HEARTH_.*",
];
const ABOUT: &str =
    "//! Made from `csrc/hearth.h` by `cargo run -p xtask -- gen`, with bindgen.\n\n";
/// What C calls is defined in the crate `php`, whose compiler compares it with these types.
const CALLED_BY_C: &str = "hearth_on_";

/// (path, content); nothing where that bindgen is not installed.
pub(crate) fn page(checkout: &Path) -> Result<Option<(String, String)>, String> {
    let version = Command::new("bindgen").arg("--version").output();
    if !version.is_ok_and(|version| version.stdout.starts_with(BINDGEN.as_bytes())) {
        return Ok(None);
    }
    let includes = printed(Command::new("gcc").arg("-print-file-name=include"))?;
    let mut bindgen = Command::new("bindgen");
    bindgen.arg(checkout.join(HEADER)).args(OPTIONS);
    let text = printed(bindgen.args(["--", "-I", includes.trim()]))?;
    Ok(Some((
        OUTPUT.to_owned(),
        formatted(&arranged(&text), checkout)?,
    )))
}

/// Enums as C's `int`, and each function in its place: a declaration, or the type of a function of ours.
fn arranged(text: &str) -> String {
    let text = text.replace("= std::ffi::c_uint;", "= std::ffi::c_int;");
    let mut blocks = text.split("extern \"C\" {");
    let mut types = blocks.next().unwrap_or_default().to_owned();
    let (mut functions, mut called_by_c) = (String::new(), String::new());
    for block in blocks {
        let (function, rest) = block.split_once("\n}").unwrap_or((block, ""));
        match function.trim().strip_prefix("pub fn ").and_then(named) {
            Some((name, signature)) => {
                called_by_c += &format!("pub type {name} = unsafe extern \"C\" fn{signature}\n");
            }
            None => functions += function,
        }
        types += rest;
    }
    let types = types
        .lines()
        .filter(|line| !line.starts_with("pub type __"));
    let types: String = types.flat_map(|line| [line, "\n"]).collect();
    format!(
        "{ABOUT}{types}\nunsafe extern \"C\" {{{functions}\n}}\n\n/// The functions that C calls.\npub mod called_by_c {{\nuse super::*;\n\n{called_by_c}}}\n"
    )
}

/// Name and the rest of a function that C calls.
fn named(function: &str) -> Option<(&str, &str)> {
    let end = function.find('(')?;
    function
        .starts_with(CALLED_BY_C)
        .then(|| function.split_at(end))
}

fn formatted(text: &str, checkout: &Path) -> Result<String, String> {
    let draft = checkout.join("target/bindings.rs");
    fs::create_dir_all(checkout.join("target"))
        .and_then(|()| fs::write(&draft, text))
        .map_err(|error| format!("{}: {error}", draft.display()))?;
    printed(
        Command::new("rustfmt")
            .args(["--edition", "2024", "--emit", "stdout", "--quiet"])
            .stdin(Stdio::from(
                fs::File::open(&draft).map_err(|error| error.to_string())?,
            )),
    )
}

fn printed(command: &mut Command) -> Result<String, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .map_err(|error| format!("{program}: {error}"))?;
    if !output.status.success() {
        return Err(format!(
            "{program}: {}",
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_c_calls_becomes_a_type_and_the_rest_one_block() {
        let text = "pub type hearth_mode = std::ffi::c_uint;\nextern \"C\" {\n    pub fn hearth_seal();\n}\nextern \"C\" {\n    pub fn hearth_on_yield(n: i64) -> bool;\n}\n";
        let arranged = arranged(text);
        for part in [
            "pub type hearth_mode = std::ffi::c_int;\n",
            "unsafe extern \"C\" {\n    pub fn hearth_seal();\n}\n",
            "pub type hearth_on_yield = unsafe extern \"C\" fn(n: i64) -> bool;\n",
        ] {
            assert!(arranged.contains(part), "{part} in {arranged}");
        }
    }
}
