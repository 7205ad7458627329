//! Symfony: an entry script that returns the kernel, and Symfony Runtime's own `public/index.php`.

use std::process::Command;

use super::{copy, everyday, fields, memory_is_flat, no_token, one_at_a_time, serve, sessions};
use crate::support::ok;
use crate::support::user_agent::UserAgent;

/// The entry script that returns the kernel, and the unchanged `public/index.php` of Symfony Runtime.
pub(super) const ENTRIES: [&str; 2] = ["app.php", "public/index.php"];

/// The app as Composer leaves it: Symfony asks Composer's own class for what is installed.
pub(crate) fn project() -> tempfile::TempDir {
    let root = copy("symfony");
    let composer = Command::new("composer")
        .args(["install", "--no-interaction", "--working-dir"])
        .arg(root.path())
        .env("COMPOSER_HOME", root.path().join("composer"))
        .env("COMPOSER_ALLOW_SUPERUSER", "1")
        .output()
        .expect("composer starts");
    assert!(
        composer.status.success(),
        "{}",
        String::from_utf8_lossy(&composer.stderr)
    );
    root
}

#[test]
fn symfony_answers() {
    let project = project();
    for entry in ENTRIES {
        let server = serve(project.path().join(entry)).start();
        one_at_a_time(&server, "a Symfony kernel");
        everyday(&server, no_token);
        sessions(&server, no_token);
        fields(&server);
        let mut browser = UserAgent::new(server.address());
        browser.get("/redirect");
        assert_eq!(ok(&browser.get("/flash")), "seen once");
        assert_eq!(ok(&browser.get("/flash")), "none");
        let part = browser.ask("GET /download HTTP/1.1\r\nRange: bytes=0-4\r\n", b"");
        assert_eq!((part.status, part.text().as_str()), (206, "<?php"));
        server.stop();
    }
}

#[test]
fn symfony_forgets_what_a_request_changed() {
    let project = project();
    let server = serve(project.path().join(ENTRIES[0])).start();
    let clean = ok(&server.get("/state"));
    for expected in [
        r#""locale":"en""#,
        r#""attribute":null"#,
        r#""tray":[]"#,
        r#""env":false"#,
        r#""cwd":false"#,
        r#""encoding":"UTF-8""#,
        r#""predictable":false"#,
        r#""stack":true"#,
    ] {
        assert!(clean.contains(expected), "{expected} in {clean}");
    }
    for _ in 0..3 {
        assert_eq!(ok(&server.get("/mutate")), r#"["kept"]"#);
        assert_eq!(ok(&server.get("/state")), clean);
        assert_eq!(ok(&server.get("/exit")), "and out");
        assert_eq!(ok(&server.get("/state")), clean);
    }
    server.stop();
}

/// The container that a server before has compiled asks for them in each request; the environment has precedence.
#[test]
fn symfony_finds_what_dotenv_read() {
    let project = project();
    for entry in ENTRIES {
        for jit in ["1", "0"] {
            let server = serve(project.path().join(entry))
                .arg(format!("--ini=auto_globals_jit={jit}"))
                .start();
            for _ in 0..8 {
                assert_eq!(
                    ok(&server.get("/greeting")),
                    r#"["good morning","prod","good morning","good morning"]"#,
                    "{entry}, auto_globals_jit {jit}"
                );
            }
            server.stop();
        }
    }
}

#[test]
fn symfony_keeps_its_memory() {
    let project = project();
    let server = serve(project.path().join(ENTRIES[0])).start();
    memory_is_flat(
        &server,
        &["/", "/user/1", "/me", "/nowhere", "/stream", "/state"],
    );
    server.stop();
}

/// U5: `.env` says dev, the environment of the server says prod, and the environment wins.
#[test]
fn symfony_served_classically_has_the_environment() {
    let project = project();
    let public = project.path().join("public");
    std::fs::write(
        project.path().join("public/hearth.toml"),
        "[env]\nAPP_GREETING = 'from the file'\n",
    )
    .expect("a file can be written");
    let server = serve(public).start();
    let greeting = r#"["from the file","prod","from the file","from the file"]"#;
    assert_eq!(ok(&server.get("/greeting")), greeting);
    server.stop();
}
