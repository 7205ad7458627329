//! What the guides show: every PHP example in them runs, with what it leaves open filled in.

use std::collections::BTreeSet;

use testkit::http::Response;
use testkit::service::{MariaDb, Peer, Redis};
use testkit::{Server, ServerBuilder};

use crate::frameworks::{copy, symfony_project};
use crate::support::{ServiceManager, admin, example, ok, one_worker};

/// The example as the body of a handler, between what it needs and what it gives.
fn handler(before: &str, example: &str, after: &str) -> ServerBuilder {
    let (imports, lines): (Vec<&str>, Vec<&str>) = example
        .lines()
        .filter(|line| !line.starts_with("<?php"))
        .partition(|line| line.starts_with("use "));
    one_worker(&format!(
        "{}\n{before}\n{}\n{after} }};",
        imports.join("\n"),
        lines.join("\n")
    ))
}

#[test]
fn several_things_at_once() {
    let before = r#"
        function loadUser(int $id): string { usleep(1000); return "user $id"; }
        function loadPosts(int $id): array { usleep(1000); return ["post of $id"]; }
        function render(array $rows, string $page): string { return $rows[0]['name'] . ", $page"; }
        return function () {
            $id = 7;
            $url = getenv('BACKEND_URL');
            $pdo = new PDO('sqlite::memory:');
            $pdo->exec("CREATE TABLE items (name TEXT); INSERT INTO items VALUES ('an item')");"#;
    let code = example("docs/guide/concurrency.md", "several");
    let server = handler(before, &code, "return [$user, $posts[0], $html];")
        .env("BACKEND_URL", Peer::start().url(20))
        .start();
    assert_eq!(
        ok(&server.get("/")),
        r#"["user 7","post of 7","an item, late\n"]"#
    );
    server.stop();
}

#[test]
fn a_channel() {
    let before = r#"
        function lines(): array { return ['one', 'two', 'three']; }
        function handle(string $line): void { echo $line, "\n"; }
        return function () {"#;
    let code = example("docs/guide/concurrency.md", "channel");
    let server = handler(before, &code, "").start();
    assert_eq!(ok(&server.get("/")), "one\ntwo\nthree\n");
    server.stop();
}

#[test]
fn values_of_a_request() {
    let code = format!(
        r#"final class User {{ public function __construct(public string $name) {{}} }}
        {}
        $current = new CurrentUser();
        return function (Hearth\Request $request) use ($current) {{
            $before = $current->get()?->name;
            $current->set(new User($request->query('name')));
            usleep(20000);
            return [$before, $current->get()->name];
        }};"#,
        example("docs/guide/concurrency.md", "local")
    );
    let server = one_worker(&code).start();
    let (answers, _) = crate::support::at_once(&server, &["/?name=ada", "/?name=bob"]);
    let answers: Vec<String> = answers.iter().map(ok).collect();
    assert_eq!(answers, [r#"[null,"ada"]"#, r#"[null,"bob"]"#]);
    server.stop();
}

#[test]
fn a_pool_as_a_pdo() {
    let database = MariaDb::shared();
    database.run("CREATE TABLE hearth.items (id INT, name TEXT); INSERT INTO hearth.items VALUES (7, 'an item');");
    let code = example("docs/guide/pool.md", "pdo")
        .replace("mysql:host=127.0.0.1;dbname=shop", &database.dsn())
        .replace("'user'", "'hearth'");
    let server = Server::app("app.php")
        .file("app.php", code)
        .env("DB_PASSWORD", "hearth")
        .start();
    assert_eq!(ok(&server.get("/?id=7")), r#"{"id":7,"name":"an item"}"#);
    server.stop();
}

#[test]
fn a_pool_as_a_redis() {
    let redis = Redis::shared();
    let code = example("docs/guide/pool.md", "redis").replace("6379", &redis.port.to_string());
    let after = "return function () use ($redis) { $redis->set('guide', 'kept'); return $redis->get('guide');";
    let server = handler("", &code, after).start();
    assert_eq!(ok(&server.get("/")), "kept");
    server.stop();
}

#[test]
fn a_pool_of_anything() {
    let code = example("docs/guide/pool.md", "pool");
    let (make, use_) = code.split_once("\n\n").expect("two parts");
    let before = format!(
        "$dsn = 'sqlite:items.sqlite'; $user = $password = null;\n{make}\nreturn function () use ($pool) {{
            $pool->with(fn (PDO $db) => $db->exec(\"CREATE TABLE items (name TEXT); INSERT INTO items VALUES ('an item')\"));"
    );
    let after = "return [$rows[0]['name'], $db instanceof PDO];";
    let server = handler(&before, use_, after).start();
    assert_eq!(ok(&server.get("/")), r#"["an item",true]"#);
    server.stop();
}

#[test]
fn responses() {
    let code =
        example("docs/guide/requests.md", "responses").replace("/srv/reports/7.pdf", "7.pdf");
    let returns: Vec<&str> = code
        .lines()
        .filter(|line| line.starts_with("return "))
        .collect();
    assert_eq!(returns.len(), 6);
    let cases: String = returns
        .iter()
        .enumerate()
        .map(|(at, line)| format!("case '/{at}': {line}\n"))
        .collect();
    let server = one_worker(&format!(
        r#"use Hearth\Response;
        function rows(): array {{ return [[1, 2], [3, 4]]; }}
        function toCsv(array $row): string {{ return implode(',', $row) . "\n"; }}
        return function (Hearth\Request $request) {{
            [$data, $response, $link] = [['a/é'], new Response('all'), '</style.css>; rel=preload'];
            switch ($request->path) {{ {cases} }}
        }};"#
    ))
    .file("7.pdf", "%PDF")
    .start();
    let answers: Vec<Response> = (0..6).map(|at| server.get(&format!("/{at}"))).collect();
    let facts: Vec<(u16, String)> = answers.iter().map(|it| (it.status, it.text())).collect();
    assert_eq!(facts[0], (200, "<h1>Hello</h1>".to_owned()));
    assert_eq!(answers[0].header("cache-control"), Some("no-store"));
    assert_eq!(facts[1], (201, r#"["a/é"]"#.to_owned()));
    assert_eq!(
        (facts[2].0, answers[2].header("location")),
        (303, Some("/login"))
    );
    assert_eq!(facts[3], (200, "%PDF".to_owned()));
    assert_eq!(
        answers[3].header("content-disposition"),
        Some("attachment; filename=\"report.pdf\"")
    );
    assert_eq!(facts[4], (200, "1,2\n3,4\n".to_owned()));
    assert_eq!(answers[4].header("content-type"), Some("text/csv"));
    assert_eq!((facts[5].0, answers[5].header("x-a")), (202, Some("1")));
    assert!(
        answers[5]
            .header("set-cookie")
            .is_some_and(|cookie| cookie.starts_with("seen=1; "))
    );
    server.stop();
}

#[test]
fn events() {
    let code = example("docs/guide/requests.md", "events");
    let before = "use Hearth\\Response; return function () { $prices = [7 => ['eur' => 1.5]];";
    let server = handler(before, &code, "").start();
    let answer = server.get("/");
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    assert_eq!(ok(&answer), "event: price\nid: 7\ndata: {\"eur\":1.5}\n\n");
    server.stop();
}

#[test]
fn entry_scripts_of_frameworks() {
    for (page, name) in [
        ("README.md", "laravel"),
        ("docs/guide/frameworks.md", "laravel"),
    ] {
        let project = copy("laravel");
        std::fs::write(project.path().join("app.php"), example(page, name)).expect("a file");
        let server = Server::app(project.path().join("app.php"))
            .args(["--workers", "1"])
            .start();
        assert_eq!(ok(&server.get("/")), "home", "{page}");
        server.stop();
    }
    let project = symfony_project();
    let code = example("docs/guide/frameworks.md", "symfony");
    std::fs::write(project.path().join("app.php"), code).expect("a file");
    let server = Server::app(project.path().join("app.php"))
        .args(["--workers", "1"])
        .start();
    assert_eq!(ok(&server.get("/")), "home");
    server.stop();
}

#[test]
fn a_loop_for_frankenphp() {
    let code = example("docs/guide/frameworks.md", "frankenphp");
    let server = one_worker(&format!(
        "$handler = function () {{ echo 'looped'; }};\n{code}"
    ))
    .start();
    for _ in 0..3 {
        assert_eq!(ok(&server.get("/")), "looped");
    }
    server.stop();
}

#[test]
fn under_systemd() {
    let unit = example("docs/guide/running.md", "systemd");
    let manager = ServiceManager::new();
    let value = |key: &str| {
        let mut lines = unit.lines();
        let value = lines.find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        let moved = value.expect(key).replace("/run/shop", &manager.directory());
        moved.split(' ').map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(
        (value("Type"), value("KillMode")),
        (vec!["notify".to_owned()], vec!["mixed".to_owned()])
    );
    let start = value("ExecStart");
    let program = ["/usr/local/bin/hearth", "serve", "/srv/www/shop/app.php"];
    assert_eq!(start[..3], program);
    let server = start[3..]
        .iter()
        .fold(one_worker("return fn () => 'shop';"), ServerBuilder::arg);
    let server = manager.start(server);
    assert!(manager.received().starts_with("READY=1\n"));
    let reload = std::process::Command::new(testkit::hearth())
        .args(&value("ExecReload")[1..])
        .output();
    assert!(reload.expect("hearth starts").status.success());
    assert!(manager.received().starts_with("RELOADING=1"));
    assert!(manager.received().starts_with("READY=1\n"));
    // As KillMode=mixed has it: the first process and no other.
    server.signal(rustix::process::Signal::TERM);
    assert!(manager.received().starts_with("STOPPING=1\n"));
    server.stop();
}

/// The metrics of which a page of the guide has a row. Labels are in braces.
fn metrics_explained_in(page: &str) -> BTreeSet<String> {
    let path = testkit::checkout().join("docs/guide").join(page);
    let page = std::fs::read_to_string(path).expect("the page");
    let rows = page.lines().filter(|line| line.starts_with("| `hearth_"));
    rows.flat_map(|row| row.split('|').nth(1).expect("a cell").split('`'))
        .filter(|word| word.starts_with("hearth_"))
        .map(|word| word.split('{').next().expect("a name").to_owned())
        .collect()
}

/// The pools' are in the page about pools.
#[test]
fn every_metric_is_explained() {
    let mut explained = metrics_explained_in("running.md");
    explained.append(&mut metrics_explained_in("cache.md"));
    explained.append(&mut metrics_explained_in("sessions.md"));
    let server = Server::app(".")
        .file("index.php", "<?php")
        .args(["--admin", "127.0.0.1:0", "--workers-min", "1"])
        .args(["--cache-redis", "redis://127.0.0.1:1"])
        .start();
    let metrics = ok(&admin(&server, "/metrics"));
    let types = metrics
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE "));
    let names = types.map(|line| line.split(' ').next().expect("a name").to_owned());
    assert_eq!(explained, names.collect());
    server.stop();
}

/// What `vendor/autoload.php` stands for in the example: Slim 4 is no Debian package, so its factory makes a PSR-15 handler
/// of Debian's Slim 3.
const SLIM_4: &str = r"<?php
namespace Psr\Http\Server {
    require 'Slim/autoload.php';
    require 'Nyholm/Psr7/autoload.php';
    error_reporting(E_ALL & ~E_DEPRECATED);
    interface RequestHandlerInterface {
        public function handle(\Psr\Http\Message\ServerRequestInterface $request): \Psr\Http\Message\ResponseInterface;
    }
}
namespace Slim\Factory {
    final class AppFactory implements \Psr\Http\Server\RequestHandlerInterface {
        private function __construct(private \Slim\App $app) {}
        public static function create(): self { return new self(new \Slim\App()); }
        public function get(string $path, callable $route): object { return $this->app->get($path, $route); }
        public function handle(\Psr\Http\Message\ServerRequestInterface $request): \Psr\Http\Message\ResponseInterface {
            return $this->app->process($request, new \Slim\Http\Response());
        }
    }
}";

#[test]
fn the_entry_script_of_slim() {
    let server = Server::app("app.php")
        .file("app.php", example("docs/guide/frameworks.md", "slim"))
        .file("vendor/autoload.php", SLIM_4)
        .start();
    for _ in 0..2 {
        let answer = server.get("/");
        assert_eq!(
            (answer.status, answer.header("x-hello")),
            (200, Some("world"))
        );
    }
    assert_eq!(server.get("/nowhere").status, 404);
    server.stop();
}
