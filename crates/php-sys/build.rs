//! Compiles `csrc/` against the PHP that `php-config` describes and links its libphp.
//!
//! `PHP_CONFIG` names another php-config; the default is the newest of those Debian installs.

use std::process::Command;

const SOURCES: &[&str] = &[
    "call.c",
    "class.c",
    "classic.c",
    "cli.c",
    "cycle.c",
    "database.c",
    "entry.c",
    "errors.c",
    "frankenphp.c",
    "functions.c",
    "ground.c",
    "guard.c",
    "headers.c",
    "histogram.c",
    "ledger.c",
    "library.c",
    "persistent.c",
    "pool_entry.c",
    "request.c",
    "request_body.c",
    "request_end.c",
    "response.c",
    "sapi.c",
    "server_variables.c",
    "state_check.c",
    "state_code.c",
    "state_look.c",
    "state_map.c",
    "state_rows.c",
    "state_statics.c",
    "state_tables.c",
    "superglobals.c",
    "task.c",
    "task_object.c",
    "task_state.c",
    "timers.c",
    "user_ini.c",
    "waiters.c",
];
const NAMES: [&str; 3] = ["php-config8.4", "php-config8.2", "php-config"];

fn ask(program: &str, what: &str) -> Option<String> {
    let output = Command::new(program).arg(what).output().ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn php_config() -> String {
    if let Ok(named) = std::env::var("PHP_CONFIG") {
        assert!(
            ask(&named, "--version").is_some(),
            "PHP_CONFIG={named} cannot be run"
        );
        return named;
    }
    NAMES.iter().find(|name| ask(name, "--version").is_some()).map_or_else(
        || panic!("no php-config found: install php8.2-dev and libphp8.2-embed (`./dev build` does)"),
        |name| (*name).to_owned(),
    )
}

fn main() {
    let config = php_config();
    let version = ask(&config, "--version").expect("php-config --version");
    let short: String = version.split('.').take(2).collect::<Vec<_>>().join(".");
    let mut build = cc::Build::new();
    for name in SOURCES {
        build.file(format!("csrc/{name}"));
    }
    for flag in ask(&config, "--includes")
        .expect("php-config --includes")
        .split_whitespace()
    {
        build.flag(flag);
    }
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
    println!("cargo:rerun-if-env-changed=PHP_CONFIG");
}
