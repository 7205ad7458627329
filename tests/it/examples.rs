//! What a reader copies does work: the README's apps and the guestbook, on each database.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use testkit::Server;
use testkit::service::{MariaDb, Peer, Postgres};

use crate::support::user_agent::UserAgent;
use crate::support::{example, hearth, ok};

fn readme(name: &str) -> String {
    example("README.md", name)
}

#[test]
fn the_readmes_first_app() {
    let server = Server::app("app.php")
        .file("app.php", readme("hello"))
        .start();
    assert_eq!(ok(&server.get("/?name=Ada")), "Hello Ada\n");
    assert_eq!(ok(&server.get("/")), "Hello world\n");
    server.stop();
}

#[test]
fn the_readmes_app_with_a_database() {
    let server = Server::app("app.php")
        .file("app.php", readme("database"))
        .env("DB_DSN", MariaDb::shared().dsn())
        .env("DB_USER", "hearth")
        .env("DB_PASSWORD", "hearth")
        .start();
    assert_eq!(ok(&server.get("/?n=1")), r#"{"answer":2}"#);
    assert_eq!(ok(&server.get("/")), r#"{"answer":42}"#);
    server.stop();
}

#[test]
fn the_readmes_app_with_curl() {
    let peer = Peer::start();
    let server = Server::app("app.php")
        .file("app.php", readme("curl"))
        .env("BACKEND_URL", peer.url(1000))
        .start();
    assert_eq!(
        ok(&server.get("/")),
        r#"{"first":"late\n","second":"late\n"}"#
    );
    assert_eq!(peer.most_at_once(), 2, "one after the other");
    server.stop();
}

#[test]
fn the_readmes_commands_are_all_of_them() {
    let page = std::fs::read_to_string(testkit::checkout().join("README.md")).expect("the page");
    let rows = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `hearth "));
    let named: BTreeSet<&str> = rows
        .filter_map(|row| row.split([' ', '`']).next())
        .collect();
    let help = Command::new(testkit::hearth()).arg("--help").output();
    let help = String::from_utf8(help.expect("hearth starts").stdout).expect("text");
    let commands = help.split("Commands:\n").nth(1).expect("a list");
    let lines = commands.lines().take_while(|line| line.starts_with("  "));
    // What is explained in more than a line goes on further to the right.
    let commands =
        lines.filter_map(|line| line[2..].split(' ').next().filter(|word| !word.is_empty()));
    assert_eq!(named, commands.collect());
}

/// The app's name may be left out where the configuration has it.
#[test]
fn a_server_is_found_by_the_configuration() {
    let server = Server::app("app.php")
        .file("app.php", readme("hello"))
        .file("hearth.toml", "app = \"app.php\"\n")
        .start();
    let status = hearth(&server, &["status"]);
    assert!(status.status.success(), "{status:?}");
    server.stop();
}

fn guestbook(url: &str) {
    let app: PathBuf = testkit::checkout().join("examples/guestbook/app.php");
    let server = Server::app(app)
        .env("DATABASE_URL", url)
        .args(["--workers", "2"])
        .start();
    page(&server);
    api(&server);
    server.stop();
}

/// The pages as a browser uses them: one entry is written.
fn page(server: &Server) {
    let mut browser = UserAgent::new(server.address());
    let page = browser.get("/");
    assert!(
        page.text().contains("There are no entries yet."),
        "{}",
        page.text()
    );
    let token = page
        .text()
        .split("name=\"token\" value=\"")
        .nth(1)
        .expect("a token")[..32]
        .to_owned();

    let refused = browser.post("/", &format!("token={token}&name=Ada&message=+"));
    assert_eq!(refused.status, 422);
    assert!(
        refused.text().contains("The message is missing.")
            && refused.text().contains("value=\"Ada\"")
    );
    let strange = browser.post("/", "token=0&name=a&message=b");
    assert_eq!(strange.status, 403);
    assert_eq!(
        strange.header("content-type"),
        Some("text/html; charset=UTF-8")
    );
    let nul = browser.post("/", &format!("token={token}&name=a%00b&message=b"));
    assert_eq!(nul.status, 422, "{}", nul.text());
    let long = browser.post(
        "/",
        &format!("token={token}&name={}&message=", "%C3%A9".repeat(80)),
    );
    assert!(!long.text().contains("too long"), "{}", long.text());

    let written = browser.post(
        "/",
        &format!("token={token}&name=%3Cb%3EAda&message=%22h%C3%A9%22+%26+co"),
    );
    assert_eq!(
        (written.status, written.header("location")),
        (303, Some("/"))
    );
    let page = ok(&browser.get("/"));
    assert!(
        page.contains("Thank you, &lt;b&gt;Ada!") && page.contains("&quot;hé&quot; &amp; co"),
        "{page}"
    );
    assert!(ok(&browser.get("/?before=1")).contains("Newest entries"));
    assert!(
        !ok(&browser.get("/")).contains("Thank you"),
        "the note is said twice"
    );
}

/// The JSON API: a second entry is written.
fn api(server: &Server) {
    let mut client = server.connect();
    let made = client.post(
        "/api/entries",
        "application/json",
        r#"{"name":"Bob","message":"hello"}"#,
    );
    assert_eq!(
        (made.status, made.header("location")),
        (201, Some("/api/entries/2"))
    );
    assert!(ok(&client.get("/api/entries/2")).contains(r#""name":"Bob","message":"hello""#));
    assert!(ok(&client.get("/api/entries?limit=1")).starts_with(r#"{"entries":[{"id":2,"#));
    assert!(ok(&client.get("/api/entries?before=2")).starts_with(r#"{"entries":[{"id":1,"#));
    assert_eq!(client.get("/api/entries/99").status, 404);
    assert_eq!(
        client.post("/api/entries", "application/json", "{").status,
        400
    );
    let nowhere = client.get("/nowhere");
    assert_eq!(
        (nowhere.status, nowhere.header("content-type")),
        (404, Some("text/html; charset=UTF-8"))
    );
}

/// The page of the write-up on cached queries: one query for all workers.
#[test]
fn the_cached_query() {
    let app = testkit::checkout().join("examples/cached-query/app.php");
    let code = std::fs::read_to_string(&app).expect("the app");
    let statements = code.lines().skip(3).filter(|line| line.ends_with(';'));
    assert_eq!(statements.count(), 4, "four lines, as the README says");
    let served = |server: Server| {
        let pages: Vec<String> = (0..6).map(|_| ok(&server.get("/"))).collect();
        assert!(pages.iter().all(|page| *page == pages[0]), "{pages:?}");
        assert_eq!(pages[0].matches("=> Array").count(), 20, "{}", pages[0]);
        let output = hearth(&server, &["cache", "stats", app.to_str().expect("text")]);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains("computed     1\n"), "{text}");
        server.stop();
        pages[0].clone()
    };
    let start = || Server::app(&app).args(["--workers", "2"]);
    assert!(served(start().start()).contains("[square] => 400"));
    let page = served(
        start()
            .env("DB_DSN", MariaDb::shared().dsn())
            .env("DB_USER", "hearth")
            .env("DB_PASSWORD", "hearth")
            .env("SQL", "SELECT seq AS id, UUID() AS once FROM seq_1_to_20")
            .start(),
    );
    assert!(page.contains("[once] => "), "{page}");
}

#[test]
fn the_guestbook_on_sqlite() {
    let directory = testkit::temporary();
    guestbook(&format!(
        "sqlite:{}/guestbook.sqlite",
        directory.path().display()
    ));
}

#[test]
fn the_guestbook_on_mariadb() {
    guestbook(&MariaDb::shared().url());
}

#[test]
fn the_guestbook_on_postgresql() {
    guestbook(&Postgres::shared().url());
}
