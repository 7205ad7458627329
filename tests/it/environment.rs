//! What PHP sees of the environment: as under php-fpm with `clear_env = no`, and what `[env]` says over it.

use testkit::Server;

use crate::support::modes::modes;
use crate::support::{hearth, ok, one_worker, resident};

const PROBE: &str = r#"json_encode(array_map(
    fn ($name) => [$_SERVER[$name] ?? null, $_ENV[$name] ?? null, getenv($name), getenv()[$name] ?? null],
    ['OF_HEARTH', 'OF_FILE', 'OF_BOTH', 'HTTPS'],
))"#;

#[test]
fn it_is_in_server_env_and_getenv_in_every_mode() {
    for (name, server) in modes(PROBE) {
        let server = server
            .file(
                "hearth.toml",
                "[env]\nOF_FILE = 'file'\nOF_BOTH = 'file'\nHTTPS = 'on'\n",
            )
            .env("OF_HEARTH", "hearth")
            .env("OF_BOTH", "hearth")
            .args(["--ini", "variables_order=EGPCS"])
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
    for (name, server) in modes(PROBE) {
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

/// As `env[NAME]` of php-fpm is not there for `php`.
#[test]
fn a_script_of_the_command_line_has_that_of_the_shell() {
    let server = Server::script("return fn () => getenv('OF_FILE');")
        .file("hearth.toml", "env.OF_FILE = 'file'\n")
        .file("probe.php", "<?php echo json_encode([getenv('OF_FILE'), $_SERVER['XDG_RUNTIME_DIR'] === getenv('XDG_RUNTIME_DIR')]);")
        .start();
    assert_eq!(ok(&server.get("/")), "file");
    let run = hearth(&server, &["run", "probe.php"]);
    assert_eq!(
        String::from_utf8_lossy(&run.stdout),
        "[false,true]",
        "{run:?}"
    );
    server.stop();
}

/// setenv() of glibc keeps each text that a variable ever had, and requests exchange their variables at each wait.
#[test]
fn texts_of_variables_do_not_stay_in_memory() {
    let server = one_worker(
        "return function ($request) {
            putenv('ID=' . $request->path . str_repeat('x', 10000));
            usleep(1);
            return substr(getenv('ID'), 0, strlen($request->path));
        };",
    )
    .start();
    let mut client = server.connect();
    let mut answers = |from: usize, to: usize| {
        for number in from..to {
            let path = format!("/{number}");
            client.send(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n"));
            assert_eq!(ok(&client.response()), path);
        }
    };
    answers(0, 200);
    let before = resident(server.workers()[0]);
    answers(200, 1200);
    let after = resident(server.workers()[0]);
    assert!(after < before + (4 << 20), "{before} bytes, then {after}");
    server.stop();
}
