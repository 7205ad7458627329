//! What PHP sees of the environment: as under php-fpm with `clear_env = no`, and what `[env]` says over it.

use testkit::{Server, ServerBuilder};

use crate::support::{hearth, ok};

const PROBE: &str = r#"json_encode(array_map(
    fn ($name) => [$_SERVER[$name] ?? null, $_ENV[$name] ?? null, getenv($name), getenv()[$name] ?? null],
    ['OF_HEARTH', 'OF_FILE', 'OF_BOTH', 'HTTPS'],
))"#;

/// Every way in which PHP runs, by name.
fn modes() -> Vec<(&'static str, ServerBuilder)> {
    let handler = format!("return fn () => {PROBE};");
    let adapter =
        format!("while (frankenphp_handle_request(function () {{ echo {PROBE}; }})) {{}}");
    let site = || Server::app(".").file("index.php", format!("<?php echo {PROBE};"));
    vec![
        ("handler", Server::script(&handler)),
        (
            "direct",
            Server::script(&handler).args(["--dispatch", "direct"]),
        ),
        (
            "one at a time",
            Server::script(&handler).args(["--concurrency", "1"]),
        ),
        ("FrankenPHP", Server::script(&adapter)),
        ("classic", site()),
        ("classic, direct", site().args(["--dispatch", "direct"])),
    ]
}

#[test]
fn it_is_in_server_env_and_getenv_in_every_mode() {
    for (name, server) in modes() {
        let server = server
            .file(
                "hearth.toml",
                "[env]\nOF_FILE = 'file'\nOF_BOTH = 'file'\nHTTPS = 'on'\n",
            )
            .env("OF_HEARTH", "hearth")
            .env("OF_BOTH", "hearth")
            .args(["--workers", "2", "--ini", "variables_order=EGPCS"])
            .start();
        let four = |value: &str| format!("[{}]", vec![format!("\"{value}\""); 4].join(","));
        let (hearth, file) = (four("hearth"), four("file"));
        // What the server says of the request is not for the environment to say.
        let expected = format!(r#"[{hearth},{file},{file},[null,"on","on","on"]]"#);
        for _ in 0..4 {
            assert_eq!(ok(&server.get("/")), expected, "{name}");
        }
        server.stop();
    }
}

#[test]
fn without_an_e_in_variables_order_env_is_empty() {
    for (name, server) in modes() {
        let server = server.env("OF_HEARTH", "hearth");
        let server = server.arg("--ini=variables_order=GPCS").start();
        let expected = r#"[["hearth",null,"hearth","hearth"],"#;
        let answer = ok(&server.get("/"));
        assert!(answer.starts_with(expected), "{name}: {answer}");
        server.stop();
    }
}

#[test]
fn a_reload_reads_it_anew() {
    let server = Server::script("return fn () => getenv('VERSION');")
        .file("hearth.toml", "env.VERSION = '1'\n")
        .start();
    assert_eq!(ok(&server.get("/")), "1");
    let file = server.directory().join("hearth.toml");
    std::fs::write(file, "env.VERSION = '2'\n").expect("the file can be written");
    let reload = hearth(&server, &["reload", "app.php"]);
    assert!(reload.status.success(), "{reload:?}");
    assert_eq!(ok(&server.get("/")), "2");
    server.stop();
}

/// The app boots with it, in a trial too.
#[test]
fn check_boots_with_it() {
    let code =
        "getenv('NEEDED') ?: throw new Exception('NEEDED is missing'); return fn () => 'up';";
    let server = Server::script(code).args(["--env", "NEEDED=yes"]).start();
    let missing = hearth(&server, &["check", "app.php"]);
    assert_eq!(missing.status.code(), Some(1), "{missing:?}");
    let given = hearth(&server, &["check", "app.php", "--env", "NEEDED=yes"]);
    assert!(given.status.success(), "{given:?}");
    server.stop();
}
