//! Apps of other frameworks, resident and one request at a time: what they do works, and no request sees another's state.

mod check;
mod frankenphp;
mod laravel;
pub(crate) mod skeletons;
mod slim;
mod stock;
mod symfony;

use std::path::PathBuf;
use std::process::Command;

use testkit::{Server, ServerBuilder};

pub(crate) use self::symfony::project as symfony_project;
use crate::support::ok;
use crate::support::user_agent::UserAgent;

pub(crate) fn app(path: &str) -> PathBuf {
    testkit::checkout().join("tests/apps").join(path)
}

/// A copy of an app, to be changed.
pub(crate) fn copy(name: &str) -> tempfile::TempDir {
    let root = testkit::temporary();
    let status = Command::new("cp")
        .arg("-r")
        .arg(app(name).join("."))
        .arg(root.path())
        .status()
        .expect("cp starts");
    assert!(status.success(), "{status}");
    root
}

/// One worker, so that the next request runs where the last one did. Nothing is said about concurrency.
fn serve(app: impl Into<PathBuf>) -> ServerBuilder {
    Server::app(app)
        .args(["--workers", "1"])
        // Sessions go to the test's own folder.
        .args(["--ini", "session.save_path="])
        .env("APP_ENV", "prod")
        .env("APP_DEBUG", "0")
}

/// What every web framework does. `token` is a form's CSRF token where there is one.
fn everyday(server: &Server, token: fn(&mut UserAgent) -> String) {
    let mut browser = UserAgent::new(server.address());
    assert_eq!(ok(&browser.get("/")), "home");
    let json = browser.get("/user/7?q=a%20b");
    assert_eq!(ok(&json), r#"{"id":7,"query":"a b"}"#);
    assert_eq!(json.header("content-type"), Some("application/json"));
    let token = token(&mut browser);
    let form = browser.post("/form", &format!("_token={token}&name=Ad%C3%A8le"));
    assert_eq!(ok(&form), "hello Adèle");
    let upload = browser.upload("/upload", &[("_token", &token)], "content");
    assert_eq!(ok(&upload), r#"[true,"a.txt",7,"content"]"#);
    let redirect = browser.get("/redirect");
    assert_eq!(redirect.status, 302);
    let location = redirect.header("location").expect("a location");
    assert!(
        location.ends_with('/') || location == server.url(),
        "{location}"
    );
    assert_eq!(ok(&browser.get("/cookie")), "set");
    assert_eq!(ok(&browser.get("/cookie/read")), "vanilla");
    assert_eq!(browser.get("/nowhere").status, 404);
    let thrown = browser.get("/throw");
    assert_eq!(thrown.status, 500);
    assert!(
        !thrown.text().contains("thrown on purpose"),
        "{}",
        thrown.text()
    );
    assert_eq!(ok(&browser.get("/")), "home");
    let stream = browser.get("/stream");
    assert!(ok(&stream).contains('\n'));
    assert_eq!(stream.header("x-streamed"), Some("yes"));
}

/// What the framework hands to the app of these fields; `/fields` echoes it.
fn fields(server: &Server) {
    let mut client = server.connect();
    client.send(
        "GET /fields HTTP/1.1\r\nHost: x\r\nProxy: http://evil\r\nX_Forwarded_For: evil\r\nX-Twice: a\r\nX-Twice: b\r\n\
         Cookie: one=1\r\nCookie: two=2\r\n\r\n",
    );
    assert_eq!(
        ok(&client.response()),
        r#"{"proxy":null,"forwarded":null,"cookie":"one=1; two=2","cookies":["1","2"],"twice":"a, b"}"#
    );
}

/// A session is visible to its owner only.
fn sessions(server: &Server, token: fn(&mut UserAgent) -> String) {
    let (mut ada, mut bob) = (
        UserAgent::new(server.address()),
        UserAgent::new(server.address()),
    );
    for (browser, name) in [(&mut ada, "ada"), (&mut bob, "bob")] {
        assert_eq!(ok(&browser.get("/me")), "guest");
        let token = token(browser);
        let refused = browser.post(
            "/login",
            &format!("_token={token}&name={name}&password=wrong"),
        );
        assert_eq!(refused.status, 403);
        let login = browser.post(
            "/login",
            &format!("_token={token}&name={name}&password=secret+of+{name}"),
        );
        assert!(matches!(login.status, 302 | 303), "{}", login.text());
    }
    for _ in 0..3 {
        assert_eq!(ok(&ada.get("/me")), "ada");
        assert_eq!(ok(&server.get("/me")), "guest");
        assert_eq!(ok(&bob.get("/me")), "bob");
    }
}

/// The engine's memory in use, after the garbage collector ran.
fn memory(browser: &mut UserAgent) -> i64 {
    let text = ok(&browser.get("/memory"));
    let bytes = text.split(' ').nth(1).expect("two numbers");
    bytes.parse().expect("a number of bytes")
}

fn memory_is_flat(server: &Server, targets: &[&str]) {
    let mut browser = UserAgent::new(server.address());
    let mut round = |count: usize| {
        for target in targets.iter().cycle().take(count) {
            assert!(browser.get(target).status < 500);
        }
        memory(&mut browser)
    };
    let before = round(200);
    let after = round(1000);
    assert!(
        after - before < 128 * 1024,
        "1,000 requests left {} bytes behind",
        after - before
    );
}

fn no_token(_: &mut UserAgent) -> String {
    String::new()
}

fn one_at_a_time(server: &Server, what: &str) {
    let line = server.expect_log("one request at a time");
    assert!(line.contains(what), "{line}");
}
