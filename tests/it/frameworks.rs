//! Apps of other frameworks, resident and one request at a time: what they do works, and no request sees another's state.

use std::path::PathBuf;

use testkit::http::{Client, Response};
use testkit::{Server, ServerBuilder};

use crate::support::ok;

fn app(path: &str) -> PathBuf {
    testkit::checkout().join("tests/apps").join(path)
}

/// One worker, so that the next request runs where the last one did. Nothing is said about concurrency.
fn serve(path: &str) -> ServerBuilder {
    Server::app(app(path))
        .args(["--workers", "1"])
        // Sessions go to the test's own folder.
        .args(["--ini", "session.save_path="])
        .env("APP_ENV", "prod")
        .env("APP_DEBUG", "0")
}

/// Keeps cookies as a browser does.
struct Browser {
    client: Client,
    cookies: Vec<(String, String)>,
}

impl Browser {
    fn new(server: &Server) -> Browser {
        Browser {
            client: server.connect(),
            cookies: Vec::new(),
        }
    }

    fn get(&mut self, target: &str) -> Response {
        self.ask(&format!("GET {target} HTTP/1.1\r\n"), "")
    }

    fn post(&mut self, target: &str, form: &str) -> Response {
        self.send(target, "application/x-www-form-urlencoded", form)
    }

    fn upload(&mut self, target: &str, fields: &[(&str, &str)], content: &str) -> Response {
        let mut body: String = fields
            .iter()
            .map(|(name, value)| {
                format!(
                    "--XX\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n"
                )
            })
            .collect();
        body += &format!(
            "--XX\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\n{content}\r\n--XX--\r\n"
        );
        self.send(target, "multipart/form-data; boundary=XX", &body)
    }

    fn send(&mut self, target: &str, media_type: &str, body: &str) -> Response {
        let length = body.len();
        self.ask(
            &format!("POST {target} HTTP/1.1\r\nContent-Type: {media_type}\r\nContent-Length: {length}\r\n"),
            body,
        )
    }

    fn ask(&mut self, head: &str, body: &str) -> Response {
        let cookies: Vec<String> = self
            .cookies
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        self.client.send(format!(
            "{head}Host: localhost\r\nCookie: {}\r\n\r\n{body}",
            cookies.join("; ")
        ));
        let response = self.client.response();
        for cookie in response.header_all("set-cookie") {
            let (name, value) = cookie
                .split(';')
                .next()
                .and_then(|pair| pair.split_once('='))
                .expect("a cookie");
            self.cookies.retain(|(known, _)| known != name);
            self.cookies.push((name.to_owned(), value.to_owned()));
        }
        response
    }
}

/// What every web framework does. `token` is a form's CSRF token where there is one.
fn everyday(server: &Server, token: fn(&mut Browser) -> String) {
    let mut browser = Browser::new(server);
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
    assert!(
        redirect
            .header("location")
            .expect("a location")
            .ends_with('/')
            || redirect.header("location") == Some("http://localhost")
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

/// A session is its owner's and nobody else's.
fn sessions(server: &Server, token: fn(&mut Browser) -> String) {
    let (mut ada, mut bob) = (Browser::new(server), Browser::new(server));
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
fn memory(browser: &mut Browser) -> i64 {
    let text = ok(&browser.get("/memory"));
    let bytes = text.split(' ').nth(1).expect("two numbers");
    bytes.parse().expect("a number of bytes")
}

fn memory_is_flat(server: &Server, targets: &[&str]) {
    let mut browser = Browser::new(server);
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

fn no_token(_: &mut Browser) -> String {
    String::new()
}

fn one_at_a_time(server: &Server, what: &str) {
    let line = server.expect_log("one request at a time");
    assert!(line.contains(what), "{line}");
}

// ---- Laravel ----

fn laravel_token(browser: &mut Browser) -> String {
    ok(&browser.get("/token"))
}

fn laravel() -> Server {
    let server = serve("laravel/app.php").start();
    assert_eq!(ok(&server.get("/setup")), "2");
    server
}

#[test]
fn laravel_answers() {
    let server = laravel();
    one_at_a_time(&server, "a Laravel application");
    everyday(&server, laravel_token);
    sessions(&server, laravel_token);
    let mut browser = Browser::new(&server);
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

#[test]
fn laravel_keeps_its_memory() {
    let server = laravel();
    memory_is_flat(
        &server,
        &["/view", "/user/1", "/nowhere", "/mutate", "/state"],
    );
    server.stop();
}

// ---- Symfony ----

/// The entry script that returns the kernel, and the unchanged `public/index.php` of Symfony Runtime.
const SYMFONY: [&str; 2] = ["symfony/app.php", "symfony/public/index.php"];

#[test]
fn symfony_answers() {
    for entry in SYMFONY {
        let server = serve(entry).start();
        one_at_a_time(&server, "a Symfony kernel");
        everyday(&server, no_token);
        sessions(&server, no_token);
        let mut browser = Browser::new(&server);
        browser.get("/redirect");
        assert_eq!(ok(&browser.get("/flash")), "seen once");
        assert_eq!(ok(&browser.get("/flash")), "none");
        let part = browser.ask("GET /download HTTP/1.1\r\nRange: bytes=0-4\r\n", "");
        assert_eq!((part.status, part.text().as_str()), (206, "<?php"));
        server.stop();
    }
}

#[test]
fn symfony_forgets_what_a_request_changed() {
    let server = serve(SYMFONY[0]).start();
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

#[test]
fn symfony_keeps_its_memory() {
    let server = serve(SYMFONY[0]).start();
    memory_is_flat(
        &server,
        &["/", "/user/1", "/me", "/nowhere", "/stream", "/state"],
    );
    server.stop();
}

// ---- Slim ----

#[test]
fn slim_answers() {
    let server = serve("slim/app.php").start();
    one_at_a_time(&server, "a Slim application");
    everyday(&server, no_token);
    sessions(&server, no_token);
    memory_is_flat(&server, &["/", "/user/1", "/me", "/nowhere"]);
    server.stop();
}

// ---- FrankenPHP ----

const WORKER: &str = "frankenphp/worker.php";

#[test]
fn a_frankenphp_worker_script_answers() {
    let server = serve(WORKER).start();
    one_at_a_time(&server, "frankenphp_handle_request()");
    let mut browser = Browser::new(&server);
    assert_eq!(ok(&browser.get("/?name=Ada")), "hello Ada");
    assert_eq!(
        ok(&browser.post("/json?a[]=1", "b=2")),
        r#"{"get":{"a":["1"]},"post":{"b":"2"},"cookie":[],"body":"b=2"}"#
    );
    assert_eq!(
        ok(&browser.get("/server")),
        r#"["\/worker.php","worker.php","1","GET","\/worker.php","1","none"]"#
    );
    assert_eq!(
        ok(&browser.ask("GET /headers HTTP/1.1\r\nX-Question: why\r\n", "")),
        r#"["why","why","why","42"]"#
    );
    assert_eq!(
        ok(&browser.upload("/upload", &[], "content")),
        r#"["a.txt",7,"content"]"#
    );
    assert_eq!(browser.post("/login", "name=ada").status, 303);
    assert_eq!(ok(&browser.get("/me")), "ada");
    assert_eq!(ok(&server.get("/me")), "guest");
    let missing = browser.get("/404");
    assert_eq!(
        (missing.status, missing.text().as_str()),
        (404, "nothing here")
    );
    assert_eq!(browser.get("/stream").chunks.concat(), b"one\ntwo\nthree\n");
    assert_eq!(ok(&browser.get("/fiber")), "first second");
    assert_eq!(
        ok(&browser.get("/nested")),
        "frankenphp_handle_request() called inside its own callback"
    );
    server.stop();
}

#[test]
fn a_frankenphp_callback_that_fails_leaves_the_loop_running() {
    let server = serve(WORKER).start();
    let mut browser = Browser::new(&server);
    let pid = ok(&browser.get("/pid"));
    let thrown = browser.get("/throw");
    assert_eq!(
        (thrown.status, thrown.text().as_str()),
        (500, "Internal Server Error\n")
    );
    server.expect_log("Uncaught RuntimeException: thrown on purpose");
    assert_eq!(ok(&browser.get("/exit")), "and out");
    assert_eq!(ok(&browser.get("/count")), "4");
    assert_eq!(ok(&browser.get("/pid")), pid);
    let stopped = server.stop();
    assert!(
        !stopped.log.contains("the script's handler"),
        "{}",
        stopped.log
    );
}

#[test]
fn a_frankenphp_worker_script_that_breaks_is_replaced() {
    let server = serve(WORKER).start();
    let pid = ok(&server.get("/pid"));
    assert_eq!(server.get("/fatal").status, 500);
    server.expect_log("worker leaves: a fatal error in PHP");
    let next = loop {
        let answer = server.get("/pid");
        if answer.status == 200 && answer.text() != pid {
            break answer;
        }
    };
    assert_ne!(ok(&next), pid);
    server.stop();
}

#[test]
fn what_a_frankenphp_script_does_after_a_request_comes_after_the_answer() {
    let server = serve(WORKER).env("LOG_AFTER", "1").start();
    assert_eq!(ok(&server.get("/finish")), "answered");
    assert!(
        !server
            .log()
            .text()
            .contains("the work after the answer is done")
    );
    server.expect_log("the work after the answer is done");
    server.expect_log("after /finish");
    let stopped = server.stop();
    assert!(
        stopped.log.contains("last lines after 1 requests"),
        "{}",
        stopped.log
    );
}

#[test]
fn a_frankenphp_worker_script_forgets_what_a_request_changed() {
    let server = serve(WORKER).start();
    let clean = ok(&server.get("/state"));
    for _ in 0..3 {
        assert_eq!(ok(&server.get("/mutate")), "changed");
        assert_eq!(ok(&server.get("/state")), clean);
    }
    memory_is_flat(&server, &["/", "/json", "/me", "/mutate", "/404", "/fiber"]);
    server.stop();
}

#[test]
fn a_frankenphp_loop_that_ends_is_replaced() {
    let server = serve(WORKER).env("MAX_REQUESTS", "3").start();
    let mut pids = Vec::new();
    while pids.len() < 12 {
        let answer = server.get("/pid");
        // In direct dispatch a request can reach a worker whose loop has just ended.
        if answer.status == 503 {
            assert_eq!(answer.header("retry-after"), Some("1"));
            continue;
        }
        pids.push(ok(&answer));
    }
    let mut workers = pids.clone();
    workers.dedup();
    assert!(workers.len() >= 4, "{pids:?}");
    server.expect_log("worker is replaced: its script has ended");
    let stopped = server.stop();
    assert!(
        stopped.log.contains("last lines after 3 requests"),
        "{}",
        stopped.log
    );
}

#[test]
fn a_frankenphp_loop_takes_one_request_at_a_time() {
    let stopped = serve(WORKER)
        .args(["--concurrency", "2"])
        .try_start()
        .expect_err("refused");
    assert!(
        stopped
            .log
            .contains("frankenphp_handle_request(), one after the other")
            && stopped.log.contains("hint: leave workers.concurrency out"),
        "{}",
        stopped.log
    );
}

#[test]
fn frankenphp_functions_outside_of_a_loop() {
    let server = Server::script(
        r#"return function () {
            try {
                frankenphp_handle_request(fn () => 1);
            } catch (RuntimeException $e) {
                return $e->getMessage() . isset($_SERVER['FRANKENPHP_WORKER']);
            }
        };"#,
    )
    .start();
    assert_eq!(
        ok(&server.get("/")),
        "frankenphp_handle_request() called while not in worker mode"
    );
    server.stop();
}

// ---- hearth check ----

/// What `hearth check` says of an app in `tests/apps`, and whether it was content.
fn check(path: &str) -> (bool, String) {
    let directory = testkit::temporary();
    let output = std::process::Command::new(testkit::hearth())
        .arg("check")
        .arg(app(path))
        .env("TMPDIR", directory.path())
        .current_dir(directory.path())
        .output()
        .expect("hearth runs");
    let text = [output.stdout, output.stderr].concat();
    (
        output.status.success(),
        String::from_utf8_lossy(&text).into_owned(),
    )
}

#[test]
fn check_recommends_a_mode_and_says_why() {
    for (path, reason) in [
        (
            "laravel/app.php",
            "a script that returns a Laravel application",
        ),
        ("symfony/app.php", "a script that returns a Symfony kernel"),
        (
            "symfony/public/index.php",
            "a script that returns a Symfony kernel",
        ),
        ("slim/app.php", "a script that returns a Slim application"),
        (
            "frankenphp/worker.php",
            "the loop takes its requests one after the other",
        ),
        ("laravel", "artisan and bootstrap/app.php are there"),
        (
            "frankenphp",
            "worker.php has a loop on frankenphp_handle_request()",
        ),
    ] {
        let (content, text) = check(path);
        assert!(
            content
                && text.starts_with("ok: ")
                && text.contains("recommended: resident, one request at a time\n    hearth serve ")
                && text.contains(reason),
            "{path}: {text}"
        );
    }
    let (content, text) = check("classic/index.php");
    assert!(
        !content
            && text.contains("does not return a handler")
            && text.contains("recommended: classic")
            && text.contains("index.php --mode classic"),
        "{text}"
    );
}
