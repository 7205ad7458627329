//! Compiles `csrc/` against the PHP that `php-config` describes and links its libphp.
//!
//! `PHP_CONFIG` names another php-config; the default is the newest of those Debian installs.

#[path = "build/generate.rs"]
mod generate;
#[path = "build/state_table.rs"]
mod state_table;

use std::path::{Path, PathBuf};
use std::process::Command;

/// The rooms of `csrc/`; all C files in them are compiled.
const ROOMS: [&str; 9] = [
    "cache", "engine", "mode", "pool", "preload", "request", "session", "state", "task",
];
const NAMES: [&str; 3] = ["php-config8.4", "php-config8.2", "php-config"];

fn sources() -> Vec<PathBuf> {
    let files = |room: &&str| {
        let folder = Path::new("csrc").join(room);
        std::fs::read_dir(folder).expect("a room of csrc can be read")
    };
    let mut sources: Vec<PathBuf> = ROOMS
        .iter()
        .flat_map(files)
        .map(|entry| entry.expect("a room of csrc can be read").path())
        .filter(|path| path.extension().is_some_and(|end| end == "c"))
        .collect();
    sources.sort();
    sources
}

fn output_of(program: &str, what: &str) -> Option<String> {
    let output = Command::new(program).arg(what).output().ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn php_config() -> String {
    if let Ok(named) = std::env::var("PHP_CONFIG") {
        assert!(
            output_of(&named, "--version").is_some(),
            "PHP_CONFIG={named} cannot be run"
        );
        return named;
    }
    NAMES.iter().find(|name| output_of(name, "--version").is_some()).map_or_else(
        || panic!("no php-config found: install php8.2-dev and libphp8.2-embed (`./dev build` does)"),
        |name| (*name).to_owned(),
    )
}

/// `PHP_SYS_CHECK=asan` and `PHP_SYS_CHECK=memcheck`: what `./dev test` of these names builds. Without redzones on stacks, which
/// AddressSanitizer cannot follow from one task to the next: libphp does not tell it of switches.
fn check_with(build: &mut cc::Build) {
    println!("cargo:rerun-if-env-changed=PHP_SYS_CHECK");
    match std::env::var("PHP_SYS_CHECK").as_deref() {
        Ok("asan") => {
            build
                .flag("-fsanitize=address")
                .flag("-fno-omit-frame-pointer")
                .flag("--param=asan-stack=0");
            println!("cargo:rustc-link-lib=dylib=asan");
        }
        Ok("memcheck") => {
            build.define("HEARTH_VALGRIND", None);
        }
        Ok(other) if !other.is_empty() => panic!("PHP_SYS_CHECK={other}: asan or memcheck"),
        _ => {}
    }
}

/// Lets the C reach its own symbols directly, where the compiler can still reach those of libphp through tables: direct access
/// would move libphp's variables into the executable.
fn compile_for_an_executable(build: &mut cc::Build) {
    const THROUGH_TABLES: &str = "-mno-direct-extern-access";
    if build.is_flag_supported(THROUGH_TABLES).unwrap_or(false) {
        build.pic(false).flag("-fPIE").flag(THROUGH_TABLES);
    }
}

/// `state_table.h` in the output folder, from `state/`.
fn generate_state_table() -> String {
    let out = std::env::var("OUT_DIR").expect("OUT_DIR");
    let table =
        state_table::read_table(Path::new("state")).unwrap_or_else(|problem| panic!("{problem}"));
    std::fs::write(
        Path::new(&out).join("state_table.h"),
        generate::header(&table),
    )
    .expect("OUT_DIR can be written");
    out
}

fn main() {
    let config = php_config();
    let version = output_of(&config, "--version").expect("php-config --version");
    let short: String = version.split('.').take(2).collect::<Vec<_>>().join(".");
    let mut build = cc::Build::new();
    let out = generate_state_table();
    build.include(out);
    build.include("csrc");
    for source in sources() {
        build.file(source);
    }
    for flag in output_of(&config, "--includes")
        .expect("php-config --includes")
        .split_whitespace()
    {
        build.flag(flag);
    }
    check_with(&mut build);
    compile_for_an_executable(&mut build);
    build
        .define("_GNU_SOURCE", None)
        .flag("-Wall")
        .flag("-Wextra")
        // PHP's handler macros give every function two parameters, needed or not.
        .flag("-Wno-unused-parameter")
        .flag("-Werror")
        .opt_level(2)
        .compile("hearth-sapi");
    println!("cargo:rustc-link-lib=dylib=php{short}");
    println!("cargo:rustc-env=HEARTH_PHP_VERSION={short}");
    println!("cargo:rerun-if-changed=csrc");
    println!("cargo:rerun-if-changed=state");
    println!("cargo:rerun-if-changed=build");
    println!("cargo:rerun-if-env-changed=PHP_CONFIG");
}
