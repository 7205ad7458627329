//! What docs/guide/files.md says: every command and setting in it, below a directory that stands for /srv.

use std::process::Command;

use testkit::http::Response;
use testkit::{Server, ServerBuilder};

use crate::support::ok;

fn example(name: &str) -> String {
    crate::support::example("docs/guide/files.md", name)
}

/// The app of a shop, in the folder `shop`, with these words instead of `hearth serve /srv/shop/app.php`.
fn shop(command: &str) -> ServerBuilder {
    let words = command.trim().replace("/srv/", "");
    let words = words.strip_prefix("hearth serve ").expect("a command");
    let (app, rest) = words.split_once(' ').unwrap_or((words, ""));
    let server = Server::app(app)
        .file("shop/app.php", "<?php return fn () => 'the app';")
        .args(["--workers", "2"]);
    rest.split_whitespace().fold(server, ServerBuilder::arg)
}

fn send(server: &Server, request: &str) -> Response {
    let mut client = server.connect();
    client.send(format!("{request} HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    match request.starts_with("HEAD") {
        true => client.response_to_head(),
        false => client.response(),
    }
}

#[test]
fn what_answers() {
    let server = shop(&example("root"))
        .file("shop/web/index.php", "<?php echo 'secret';")
        .file("shop/web/index.html", "secret")
        .file("shop/web/style.css", "the file")
        .file("shop/web/docs/index.html", "the file")
        .file("shop/web/.env", "secret")
        .start();
    let table = example("routes");
    let rows: Vec<&str> = table.lines().skip(2).collect();
    assert!(rows.len() > 8, "{rows:?}");
    for row in rows {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let (request, status, what) = (cells[1].trim_matches('`'), cells[2], cells[3]);
        let answer = send(&server, request);
        assert_eq!(answer.status.to_string(), status, "{row}");
        if let Some(location) = what.strip_prefix("`Location: ") {
            assert_eq!(answer.header("location"), location.strip_suffix('`'));
        } else if request.starts_with("HEAD") {
            assert_eq!(answer.header("content-type"), Some("text/css"), "{row}");
        } else {
            assert!(what.starts_with(&ok(&answer)), "{row}: {}", answer.text());
        }
    }
    server.stop();
}

#[test]
fn how_long_files_are_kept() {
    let server = shop("hearth serve /srv/shop/app.php")
        .file("shop/hearth.toml", example("cache-control"))
        .file("shop/public/docs/index.html", "docs")
        .file("shop/public/build/app.js", "run()")
        .file("shop/public/build/service-worker.js", "work()")
        .start();
    let cache_control = |target| {
        let answer = server.get(target);
        answer.header("cache-control").map(str::to_owned)
    };
    assert_eq!(cache_control("/docs/").as_deref(), Some("no-cache"));
    assert_eq!(
        cache_control("/build/app.js").as_deref(),
        Some("public, max-age=31536000, immutable")
    );
    assert_eq!(cache_control("/build/service-worker.js"), None);
    server.stop();
}

#[test]
fn compressed_files() {
    let server = shop("hearth serve /srv/shop/app.php")
        .file("shop/public/style.css", "body {}".repeat(100))
        .start();
    let status = Command::new("sh")
        .args(["-c", &example("compress")])
        .current_dir(server.directory().join("shop/public"))
        .status();
    assert!(status.is_ok_and(|status| status.success()));
    let mut client = server.connect();
    client.send("GET /style.css HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip, br\r\n\r\n");
    let answer = client.response();
    assert_eq!(answer.header("content-encoding"), Some("gzip"));
    assert!(answer.body.starts_with(b"\x1f\x8b"));
    server.stop();
}

#[test]
fn files_that_php_names() {
    let lines = example("accel");
    let headers: Vec<&str> = lines.lines().skip(1).collect();
    assert_eq!(headers.len(), 2, "{lines}");
    for header in headers {
        let server = Server::app("shop")
            .args(["--mode", "classic"])
            .file("shop/hearth.toml", example("sendfile"))
            .file("shop/index.php", format!("<?php {header}"))
            .file("shop/storage/reports/7.pdf", "report")
            .start();
        let answer = server.get("/");
        assert_eq!(ok(&answer), "report", "{header}");
        assert_eq!(answer.header("content-type"), Some("application/pdf"));
        server.stop();
    }
}

#[test]
fn a_single_page_app() {
    let server = shop("hearth serve /srv/shop/app.php")
        .file("shop/hearth.toml", example("fallback"))
        .file("shop/public/index.html", "the page")
        .start();
    for (target, text) in [
        ("/", "the page"),
        ("/users/7", "the page"),
        ("/app-old.js", "the app"),
        ("/api/users", "the app"),
        ("/login", "the app"),
    ] {
        assert_eq!(ok(&server.get(target)), text, "{target}");
    }
    assert_eq!(ok(&send(&server, "POST /users/7")), "the app");
    server.stop();
}
