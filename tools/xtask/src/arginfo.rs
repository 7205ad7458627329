//! The signatures of native functions and classes, written once with their documentation: `csrc/**/NAME.stub.php`.
//!
//! From a stub PHP's own generator (`gen_stub.php` of php-dev) makes `NAME_arginfo.h`, and this program makes its part of
//! `php/stubs/native.stub.php`, for editors and static analysers.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::fences::files;

/// The PHP version of the generator. Each release generates different text; that of the oldest one compiles with all.
const GENERATOR: &str = "8.2";
const PARSER: &str = "/usr/share/php/PhpParser";
/// The stubs that are visible to user code, in this order.
const PUBLISHED: [&str; 10] = [
    "mode/frankenphp",
    "cache/methods",
    "cache/lock",
    "session/class",
    "request/request",
    "task/task_object",
    "engine/functions",
    "pool/wait_queue",
    "pool/histogram",
    "pool/lease_table",
];
/// Docblock lines that the generator reads; it refuses types such as `list<string>`.
const TAGS: [&str; 4] = [
    "@param bool $success",
    "@implementation-alias",
    "@param array|string $key",
    "@return resource",
];
/// The annotation that requests tables of functions and methods, beside the argument information.
const OPENING: &str = "<?php\n\n/** @generate-function-entries */";
const NATIVE: &str = "<?php

// The classes and functions that the server itself provides; for editors and static analysers. Not loaded at run time.
// Made from the stubs in crates/php-sys/csrc by `cargo run -p xtask -- gen`.
";

/// Returns (path, content) of all files that are made from stubs. The headers need the generator of PHP 8.2; without it
/// they are left out.
pub(crate) fn pages(checkout: &Path) -> Result<Vec<(String, String)>, String> {
    let csrc = checkout.join("crates/php-sys/csrc");
    let native = ("php/stubs/native.stub.php".to_owned(), native(&csrc)?);
    let mut pages = vec![native];
    if let Some(generator) = generator() {
        let workshop = checkout.join("target/arginfo");
        pages.extend(headers(&csrc, &generator, &workshop)?);
    }
    Ok(pages)
}

fn native(csrc: &Path) -> Result<String, String> {
    let mut text = NATIVE.to_owned();
    for name in PUBLISHED {
        let stub = read(&csrc.join(format!("{name}.stub.php")))?;
        let stub = without_hidden(stub.trim_start_matches("<?php\n"));
        text.push_str(&stub);
    }
    Ok(text)
}

/// Removes the functions that `library.stub.php` documents.
fn without_hidden(stub: &str) -> String {
    let mut blocks: Vec<&str> = stub.split("\n\n").collect();
    blocks.retain(|block| !block.contains("@internal documented in library.stub.php"));
    let text = blocks.join("\n\n");
    // The last block of a namespace contained its closing brace.
    match text.trim_end().ends_with("\n}") {
        true => text,
        false => format!("{text}\n}}\n"),
    }
}

fn generator() -> Option<PathBuf> {
    let php_config = format!("php-config{GENERATOR}");
    let output = Command::new(php_config).arg("--extension-dir").output();
    let folder = String::from_utf8(output.ok()?.stdout).ok()?;
    let script = Path::new(folder.trim()).join("build/gen_stub.php");
    (script.exists() && Path::new(PARSER).exists()).then_some(script)
}

fn headers(csrc: &Path, script: &Path, workshop: &Path) -> Result<Vec<(String, String)>, String> {
    let stubs = files(csrc, &["php"]);
    prepare(&stubs, script, workshop)?;
    let output = Command::new(format!("php{GENERATOR}"))
        .arg(workshop.join("gen_stub.php"))
        .arg("-f")
        .arg(workshop)
        .output()
        .map_err(|error| format!("php{GENERATOR}: {error}"))?;
    let header = |(number, stub): (usize, &PathBuf)| {
        let made = fs::read_to_string(workshop.join(format!("{number}_arginfo.h")));
        let content = made.map_err(|_| {
            let printed = String::from_utf8_lossy(&output.stdout).into_owned();
            format!("{}: {printed}", stub.display())
        })?;
        let name = stub.strip_prefix(csrc).unwrap_or(stub).to_string_lossy();
        let name = name.trim_end_matches(".stub.php");
        Ok((format!("crates/php-sys/csrc/{name}_arginfo.h"), content))
    };
    stubs.iter().enumerate().map(header).collect()
}

/// Copies the stubs and the generator into `workshop`: the generator looks for its parser beside itself, and writes
/// beside the stubs.
fn prepare(stubs: &[PathBuf], script: &Path, workshop: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", workshop.display());
    let source = read(script)?;
    let parser = workshop.join(format!("PHP-Parser-{}/lib", parser_version(&source)?));
    let _ = fs::remove_dir_all(workshop);
    fs::create_dir_all(&parser).map_err(failed)?;
    std::os::unix::fs::symlink(PARSER, parser.join("PhpParser")).map_err(failed)?;
    fs::write(workshop.join("gen_stub.php"), source).map_err(failed)?;
    for (number, stub) in stubs.iter().enumerate() {
        let copy = workshop.join(format!("{number}.stub.php"));
        fs::write(copy, signatures(&read(stub)?)).map_err(failed)?;
    }
    Ok(())
}

fn parser_version(script: &str) -> Result<&str, String> {
    let from = script.split("$version = \"").nth(1);
    from.and_then(|rest| rest.split('"').next())
        .ok_or_else(|| "gen_stub.php does not say which PHP-Parser it needs".to_owned())
}

/// Returns a stub without documentation: of docblocks, only the tags are kept.
fn signatures(stub: &str) -> String {
    let is_kept = |line: &&str| {
        let trimmed = line.trim();
        let is_comment = trimmed.starts_with("/**") || trimmed.starts_with('*');
        let has_tag = TAGS.iter().any(|tag| line.contains(tag));
        !is_comment || has_tag || ["/**", "*/"].contains(&trimmed)
    };
    let lines = stub.lines().skip(1).filter(is_kept);
    let lines = [OPENING].into_iter().chain(lines);
    lines.flat_map(|line| [line, "\n"]).collect()
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_generator_reads_is_left_of_a_docblock() {
        let stub = "<?php\n/**\n * Text.\n *\n * @param list<int> $a\n * @implementation-alias f\n */\nfunction g(array $a): int {}\n\n\
            /** Text. */\nfunction h(): int {}\n\n/** @return resource */\nfunction i() {}\n";
        assert_eq!(
            signatures(stub),
            "<?php\n\n/** @generate-function-entries */\n/**\n * @implementation-alias f\n */\nfunction g(array $a): int {}\n\n\
             function h(): int {}\n\n/** @return resource */\nfunction i() {}\n"
        );
    }

    #[test]
    fn what_the_librarys_stubs_document_is_left_out() {
        let hidden = "    /** @internal documented in library.stub.php */\n    function b(): int\n    {\n    }";
        let shown = "namespace A {\n\n    function a(): int\n    {\n    }";
        let end = "\n}\n";
        assert_eq!(
            without_hidden(&format!("{shown}\n\n{hidden}{end}")),
            format!("{shown}{end}")
        );
    }
}
