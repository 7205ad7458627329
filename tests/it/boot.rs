//! A server that cannot start says why, with file and line and what to do, and leaves nothing running.

use testkit::{Server, ServerBuilder, Stopped};

use crate::support::{hearth, start_as_other_user};

#[track_caller]
fn refused(builder: ServerBuilder, code: i32, parts: &[&str]) -> Stopped {
    match builder.try_start() {
        Ok(server) => panic!("it started: {}", server.log().text()),
        Err(stopped) => {
            assert_eq!(stopped.status.code(), Some(code), "{}", stopped.log);
            for part in parts {
                assert!(
                    stopped.log.contains(part),
                    "no {part:?} in:\n{}",
                    stopped.log
                );
            }
            stopped
        }
    }
}

#[test]
fn a_script_without_a_handler() {
    refused(
        Server::script("echo 'hello';"),
        1,
        &["app.php", "handler: it returns nothing.", "--mode classic"],
    );
    refused(Server::script("return 5;"), 1, &["app.php", "int"]);
}

#[test]
fn a_script_that_throws() {
    refused(
        Server::script("\n\nthrow new RuntimeException('no database');"),
        1,
        &["app.php:3", "RuntimeException", "no database"],
    );
}

#[test]
fn a_script_with_a_syntax_error() {
    refused(
        Server::script("\nreturn fn( => 1;"),
        1,
        &["app.php:2", "syntax error"],
    );
}

#[test]
fn a_script_that_exits_or_fails() {
    refused(Server::script("exit(0);"), 1, &["app.php"]);
    // As the error handlers of frameworks do.
    refused(
        Server::script(
            "\nset_exception_handler(function () { echo 'a page'; exit(1); });\nthrow new RuntimeException('the cause');",
        ),
        1,
        &[
            "called exit() while it was booted",
            "The last exception before that: RuntimeException: the cause in ",
            "app.php:3",
        ],
    );
    refused(
        Server::script("\nundefined_function();"),
        1,
        &["app.php:2", "undefined_function"],
    );
    refused(
        Server::script("ini_set('memory_limit', '8M'); str_repeat('x', 1 << 28);"),
        1,
        &["Allowed memory size"],
    );
}

/// What it lacks is not in its code.
#[test]
fn what_an_app_lacks_is_told_with_what_brings_it() {
    refused(
        Server::script("require __DIR__ . '/vendor/autoload.php';"),
        1,
        &["hint: install the app's packages: composer install --working-dir "],
    );
    // Of an extension that is on no machine switched on.
    refused(
        Server::script("namespace App; xdebug_break();"),
        1,
        &["hint: install the extension: apt install php", "-xdebug"],
    );
    refused(
        Server::script(
            "trigger_error('Your Composer dependencies require a PHP version \">= 9.0\".', E_USER_ERROR);",
        ),
        1,
        &["hint: Hearth runs the PHP of this Debian, "],
    );
}

#[test]
fn what_may_not_be_read_is_told_as_such() {
    let Some(start) = start_as_other_user() else {
        return;
    };
    let unreadable = |path: &str| format!("chmod 0 \"$TMPDIR/{path}\"; {start}");
    refused(
        Server::script("return fn () => 'x';").inside(["sh", "-c", &unreadable("app.php"), "sh"]),
        2,
        &[
            "cannot read ",
            "app.php: Permission denied",
            "this user needs permission to read it",
        ],
    );
    refused(
        Server::app("site").file("site/index.php", "x").inside([
            "sh",
            "-c",
            &unreadable("site"),
            "sh",
        ]),
        2,
        &[
            "cannot read ",
            "/site: Permission denied",
            "this user needs permission to read it",
        ],
    );
}

#[test]
fn a_script_that_is_missing() {
    refused(Server::app("missing.php"), 2, &["missing.php"]);
}

#[test]
fn a_port_that_is_taken() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("an address").to_string();
    let builder = Server::script("return fn () => 'x';").args(["--listen", &address]);
    refused(builder, 1, &[&address, "in use by process"]);
}

#[test]
fn mistakes_in_the_configuration_are_reported_together() {
    let builder = Server::script("return fn () => 'x';")
        .file(
            "hearth.toml",
            "[workers]\ncuont = 2\nconcurrency = \"many\"\n",
        )
        .args(["--request-timeout", "soon"]);
    refused(
        builder,
        2,
        &[
            "workers.cuont",
            "workers.count",
            "workers.concurrency",
            "soon",
        ],
    );
}

#[test]
fn a_flag_that_was_replaced_names_its_successors() {
    let builder = Server::script("return fn () => 'x';").args(["--stall-timeout", "5"]);
    let tip = "tip: \"--stall-timeout\" is now --body-timeout and --send-timeout";
    let stopped = refused(builder, 2, &["'--stall-timeout'", tip]);
    assert!(!stopped.log.contains("--stop-timeout"), "{}", stopped.log);
}

#[test]
fn php_as_root_is_told_once_and_refused_under_systemd() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: this is not root");
        return;
    }
    let app = || Server::script("return fn () => 'x';").args(["--workers", "2"]);
    let server = app().start();
    assert!(hearth(&server, &["reload", "app.php"]).status.success());
    let logged = server.stop().log.matches("php runs as root").count();
    assert_eq!(logged, 1);
    for name in ["NOTIFY_SOCKET", "INVOCATION_ID"] {
        refused(
            app().env(name, "x"),
            1,
            &["run as root", "User=", "--allow-root"],
        );
    }
    let server = app()
        .args(["--allow-root"])
        .env("INVOCATION_ID", "x")
        .start();
    let log = server.stop().log;
    assert!(!log.contains("as root"), "{log}");
}

#[test]
fn php_as_another_user_is_not_warned_of() {
    let Some(start) = start_as_other_user() else {
        return;
    };
    let server = Server::script("return fn () => (string) posix_geteuid();")
        .inside(["sh", "-c", &start, "sh"])
        .env("INVOCATION_ID", "x")
        .start();
    assert_eq!(server.get("/").text(), "54321");
    let log = server.stop().log;
    assert!(!log.contains("as root"), "{log}");
}

#[test]
fn a_connection_left_open_at_boot_is_named_and_the_app_booted_in_each_worker() {
    let server = Server::script(
        "$peer = stream_socket_client(getenv('PEER')); return fn () => (string) getmypid() . (is_resource($GLOBALS['peer'] ?? null) ? ' open' : ' open?');",
    )
    .args(["--workers", "2"])
    .env("PEER", format!("tcp://127.0.0.1:{}", testkit::service::Peer::start().port))
    .start();
    assert!(server.get("/").text().contains("open"));
    let line = server.expect_log("each worker");
    assert!(
        line.contains("the app left a connection to 127.0.0.1:") && line.contains("Hearth\\Pool"),
        "{line}"
    );
    server.stop();
}

#[test]
fn a_second_descriptor_of_standard_error_is_shared_by_the_workers() {
    let server = Server::script(
        "$log = fopen('php://stderr', 'w'); return fn () => (string) fwrite($log, \"of the app\\n\");",
    )
    .start();
    assert_eq!(server.get("/").text(), "11");
    server.expect_log("of the app");
    let log = server.stop().log;
    assert!(!log.contains("each worker boots it"), "{log}");
}

/// `hearth-php` with other digits in its build id: what a build of sources that differ in one byte is.
fn of_another_build(program: &std::path::Path) -> Vec<u8> {
    let version = std::process::Command::new(program)
        .arg("--version")
        .output()
        .expect("the program runs");
    let version = String::from_utf8(version.stdout).expect("text");
    let id = version.split([' ', '+']).nth(2).expect("a build id");
    assert_eq!(id.len(), 16, "{version}");
    let other: String = id.chars().rev().collect();
    let mut bytes = std::fs::read(program).expect("a program can be read");
    let finder = regex::bytes::Regex::new(id).expect("digits");
    let places: Vec<_> = finder
        .find_iter(&bytes)
        .map(|found| found.range())
        .collect();
    assert!(!places.is_empty(), "no {id} in {}", program.display());
    for place in places {
        bytes[place].copy_from_slice(other.as_bytes());
    }
    bytes
}

#[test]
fn programs_of_two_builds_refuse_each_other() {
    use std::os::unix::fs::PermissionsExt;
    let directory = testkit::temporary();
    let place = |name: &str| directory.path().join(name);
    let hearth = testkit::hearth();
    std::fs::copy(&hearth, place("hearth")).expect("a program can be copied");
    let other = of_another_build(&hearth.with_file_name("hearth-php"));
    std::fs::write(place("hearth-php"), other).expect("a program can be written");
    std::fs::set_permissions(place("hearth-php"), PermissionsExt::from_mode(0o755))
        .expect("a mode can be set");
    std::fs::write(place("app.php"), "<?php return fn () => 'ok';").expect("a file can be written");
    for command in ["check", "serve"] {
        let output = std::process::Command::new(place("hearth"))
            .args([command, "app.php"])
            .current_dir(directory.path())
            .env("XDG_RUNTIME_DIR", directory.path())
            .output()
            .expect("hearth starts");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{command}: {text}");
        assert!(
            text.contains("were built from different sources: install both from the same release"),
            "{command}: {text}"
        );
    }
}
