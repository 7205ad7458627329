//! Laravel: an entry script that returns the application.

use testkit::Server;

use super::{app, everyday, fields, memory_is_flat, one_at_a_time, serve, sessions};
use crate::support::ok;
use crate::support::user_agent::UserAgent;

fn laravel_token(browser: &mut UserAgent) -> String {
    ok(&browser.get("/token"))
}

fn laravel() -> Server {
    let server = serve(app("laravel/app.php")).start();
    assert_eq!(ok(&server.get("/setup")), "2");
    server
}

#[test]
fn laravel_answers() {
    let server = laravel();
    one_at_a_time(&server, "a Laravel application");
    everyday(&server, laravel_token);
    sessions(&server, laravel_token);
    fields(&server);
    let mut browser = UserAgent::new(server.address());
    assert_eq!(
        browser.post("/form", "name=x").status,
        419,
        "without a token"
    );
    let page = ok(&browser.get("/view"));
    assert!(
        page.contains("<h1>A &lt;page&gt;</h1>") && page.contains("<li>2</li>"),
        "{page}"
    );
    assert_eq!(browser.get("/private").status, 401);
    browser.get("/redirect");
    assert_eq!(ok(&browser.get("/flash")), "seen once");
    assert_eq!(ok(&browser.get("/flash")), "none");
    let download = browser.get("/download");
    assert!(ok(&download).starts_with("<?php"));
    assert_eq!(
        download.header("content-disposition"),
        Some("attachment; filename=routes.txt")
    );
    let token = laravel_token(&mut browser);
    browser.post(
        "/login",
        &format!("_token={token}&name=ada&password=secret+of+ada"),
    );
    assert_eq!(ok(&browser.get("/private")), "ada");
    let token = laravel_token(&mut browser);
    assert_eq!(
        ok(&browser.post("/logout", &format!("_token={token}"))),
        "bye"
    );
    assert_eq!(ok(&browser.get("/me")), "guest");
    server.stop();
}

#[test]
fn laravel_forgets_what_a_request_changed() {
    let server = laravel();
    let clean = ok(&server.get("/state"));
    for expected in [
        r#""locale":"en""#,
        r#""carbon":"en""#,
        r#""name":"Laravel""#,
        r#""shared":null"#,
        r#""defaults":[]"#,
        r#""user":null"#,
        r#""level":0"#,
        r#""logging":false"#,
        r#""users":2"#,
        r#""bound":false"#,
        r#""cached":null"#,
        r#""same app":true"#,
    ] {
        assert!(clean.contains(expected), "{expected} in {clean}");
    }
    for _ in 0..3 {
        assert_eq!(
            ok(&server.get("/mutate")),
            r#"{"level":1,"locale":"de","user":"ada"}"#
        );
        assert_eq!(ok(&server.get("/state")), clean);
        assert_eq!(ok(&server.get("/exit")), "and out");
        assert_eq!(ok(&server.get("/state")), clean);
    }
    server
        .expect_log("a transaction was left open on the connection \"sqlite\" and is rolled back");
    server.stop();
}

/// F22: what Octane does not reset either.
#[test]
fn laravel_forgets_what_a_request_changed_in_services_and_classes() {
    let server = laravel();
    let clean = ok(&server.get("/state/services"));
    for expected in [
        r#""rule":"no such rule""#,
        r#""cookie":"\/""#,
        r#""prefix":"""#,
        r#""proxies":[]"#,
        r#""hosts":[]"#,
        r#""format":null"#,
        r#""wrap":"data""#,
        r#""now":true"#,
        r#""date":true"#,
        r#""users":2"#,
    ] {
        assert!(clean.contains(expected), "{expected} in {clean}");
    }
    for _ in 0..3 {
        assert_eq!(ok(&server.get("/mutate/services")), "changed");
        assert_eq!(ok(&server.get("/state/services")), clean);
    }
    assert_eq!(server.get("/leaked").status, 404);
    server.stop();
}

/// F9: begun beside the framework, which takes itself to be outside.
#[test]
fn a_transaction_on_the_pdo_of_laravel_is_rolled_back() {
    let server = laravel();
    let mut names = "ada bob".to_owned();
    for how in ["pdo", "sql"] {
        assert_eq!(ok(&server.get(&format!("/begin/{how}"))), "begun");
        names.push_str(" kept");
        assert_eq!(ok(&server.get("/insert")), names);
    }
    server
        .expect_log("a transaction was left open on the connection \"sqlite\" and is rolled back");
    server.stop();
}

/// F12: as under php-fpm and Octane.
#[test]
fn what_a_laravel_app_echoes_comes_before_its_response() {
    let server = laravel();
    let page = server.get("/echo");
    assert_eq!(ok(&page), "<p>echoed</p><p>returned</p>");
    assert_eq!(page.header("content-length"), Some("28"));
    server.stop();
}

#[test]
fn laravel_keeps_its_memory() {
    let server = laravel();
    memory_is_flat(
        &server,
        &[
            "/view",
            "/user/1",
            "/nowhere",
            "/mutate",
            "/state",
            "/mutate/services",
        ],
    );
    server.stop();
}
