//! Two requests on one thing that only one may use.

use testkit::service::MariaDb;

use crate::support::{UNTIL_GO, at_once, let_go, ok, one_worker, until_handled};

#[test]
fn persistent_connections_are_refused_with_the_reason() {
    let server = one_worker(
        r#"return function () {
            try { new PDO(getenv('DSN'), 'hearth', 'hearth', [PDO::ATTR_PERSISTENT => true]); return 'accepted'; }
            catch (Throwable $e) { return get_class($e) . ': ' . $e->getMessage(); }
        };"#,
    )
    .env("DSN", MariaDb::shared().dsn())
    .start();
    let text = ok(&server.get("/"));
    assert!(
        text.contains("ATTR_PERSISTENT") && text.contains("concurrency"),
        "{text}"
    );
    server.stop();
    let alone = one_worker("return fn () => (new PDO(getenv('DSN'), 'hearth', 'hearth', [PDO::ATTR_PERSISTENT => true]))->query('SELECT VERSION()')->fetchColumn();")
        .args(["--concurrency", "1"])
        .env("DSN", MariaDb::shared().dsn())
        .start();
    assert!(ok(&alone.get("/")).contains("MariaDB"));
    alone.stop();
}

#[test]
fn two_requests_on_one_connection_get_an_error_that_names_both() {
    let server = one_worker(
        r#"$near = $far = null;
        return function ($request) use (&$near, &$far) {
            if ($request->path === '/connect') { [$near, $far] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0); return 'connected'; }
            if ($request->path === '/write') { fwrite($far, "5\n"); return 'written'; }
            try { return 'got ' . fgets($near); } catch (Error $e) { return 'error ' . $e->getMessage(); }
        };"#,
    )
    .start();
    assert_eq!(ok(&server.get("/connect")), "connected");
    let mut first = server.connect();
    first.send("GET /first HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(&server, 1);
    let error = ok(&server.get("/second"));
    assert!(
        error.starts_with("error ") && error.to_lowercase().matches("task ").count() >= 2,
        "{error}"
    );
    assert!(
        error.to_lowercase().contains("pool"),
        "it does not say what to do: {error}"
    );
    assert_eq!(ok(&server.get("/write")), "written");
    assert_eq!(ok(&first.response()), "got 5\n", "the first was disturbed");
    server.stop();
}

#[test]
fn two_requests_on_one_database_connection_never_mix_their_answers() {
    let server = one_worker(
        r#"$db = null;
        return function ($request) use (&$db) {
            $db ??= new PDO(getenv('DSN'), 'hearth', 'hearth', [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]);
            $id = $request->query('id', 'none');
            try { $got = $db->query("SELECT SLEEP(0.05), '$id'")->fetchColumn(1); return $got === $id ? 'right' : "wrong $got"; }
            catch (PDOException|Error $e) { return 'refused'; }
        };"#,
    )
    .env("DSN", MariaDb::shared().dsn())
    .start();
    assert_eq!(ok(&server.get("/")), "right");
    let targets: Vec<String> = (0..10).map(|id| format!("/?id={id}")).collect();
    let (answers, _) = at_once(&server, &targets);
    let texts: Vec<String> = answers.iter().map(ok).collect();
    assert!(
        texts
            .iter()
            .all(|text| text == "right" || text == "refused"),
        "{texts:?}"
    );
    assert!(texts.contains(&"right".to_owned()), "{texts:?}");
    server.stop();
}

/// What the app and the cache share with all requests, and what goes through it. With `?wait` it waits in the middle.
const GOES_THROUGH: &str = r#"
final class Node implements JsonSerializable {
    public array $items = [];
    private array $own = ['a' => [1]];
    public function __construct(public string $name) {}
    public function jsonSerialize(): mixed { middle($this->name); return $this->items === [] ? ['name' => $this->name] : $this->items; }
    public function __debugInfo(): array { middle($this->name); return [...$this->items, ...$this->own]; }
}
final class Lazy {
    public function __get(string $name): mixed { middle('inner'); return "made $name"; }
    public function __isset(string $name): bool { middle('inner'); return true; }
    public function __set(string $name, mixed $value): void { middle('inner'); }
    public function __unset(string $name): void { middle('inner'); }
}
final class Text { public function __toString(): string { middle('inner'); return 'text'; } }
final class Pair { public mixed $other = null; public function __construct(public array $items) {} }
final class State { public static array $list = ['a' => [1, [2, 'x']], 'b' => [3]]; const LIST = ['a' => [[1]]]; }
function middle(string $name): void {
    if ($name !== 'inner') { return; }
    if (isset($_GET['fatal'])) { trigger_error('own', E_USER_ERROR); }
    if (isset($_GET['wait'])) { UNTIL_GO }
}
function shown(callable $show): string {
    ob_start();
    ob_start(function (string $text) { middle(str_contains($text, '2') ? 'inner' : ''); return $text; }, 1);
    $show();
    ob_end_flush();
    return ob_get_clean();
}
$outer = new Node('outer');
$inner = new Node('inner');
$outer->items = ['n' => [$inner, 'text'], 'm' => ['x']];
$lazy = new Lazy();
$cache = new Hearth\Cache();
$text = new Text();
$rows = ['a' => [[$text, 1]], 'b' => [['text', 1]]];
$pair = new Pair(['deep' => [[$text]]]);
$pair->other = new Pair(['deep' => [$text]]);
$plain = new Pair(['deep' => [['text']]]);
$plain->other = new Pair(['deep' => ['text']]);
$walked = new Pair(['a' => ['b' => ['inner', 'c']], 'd' => ['e']]);
return function (Hearth\Request $request) use ($outer, $inner, $lazy, $cache, $rows, $pair, $plain, $walked) {
    $value = $cache->get('k');
    if (isset($_GET['late'])) { UNTIL_GO }
    return match ($request->path) {
        '/put' => (string) $cache->set('k', ['list' => [['n' => 1], ['n' => 2, 'deep' => [[2]]]], 'more' => [3]]),
        '/dump-cache' => shown(fn () => var_dump($value)),
        '/dump-in-own' => shown(fn () => var_dump(['own' => [$value['list'], 2]])),
        '/debug-cache' => preg_replace('/refcount\(\d+\)/', '', shown(fn () => debug_zval_dump($value))),
        '/dump-static' => shown(fn () => var_dump(State::$list)),
        '/dump-constant' => shown(fn () => var_dump(State::LIST, 2)),
        '/dump' => shown(fn () => var_dump($outer)),
        '/json' => json_encode([$outer, State::$list]),
        '/json-in-items' => json_encode($outer->items),
        '/json-deep' => json_encode(new ArrayObject([$outer, 'k' => [$inner]])),
        '/equal' => json_encode([$rows == ['a' => [['text', 1]], 'b' => [['text', 1]]], $rows <=> ['a' => [['texts', 1]], 'b' => []], $rows['a'] != $rows['b']]),
        '/equal-objects' => json_encode([$pair == $plain, $pair > $plain, ['x' => $pair] == ['x' => $plain]]),
        '/switch' => (function () use ($rows) { switch ($rows['a']) { case [['other', 1]]: return 'other'; case [['text', 1]]: return 'text'; } })(),
        '/in-array' => json_encode([in_array($rows['a'], [[['text', 1]]]), array_search($rows['a'], [0, [['text', 1]]]), array_keys([[['text', 1]]], $rows['a'])]),
        '/sort' => (function () use ($rows) { asort($rows); sort($rows['a']); return json_encode([array_keys($rows), max($rows), min($rows['a'], $rows['b']), array_unique($rows, SORT_REGULAR)]); })(),
        '/walk' => (function () use ($walked) {
            $seen = ''; array_walk_recursive($walked->items, function ($value) use (&$seen) { middle($value); $seen .= $value; }); return $seen . json_encode($walked->items); })(),
        '/walk-compare' => (function () use ($walked) {
            if (isset($_GET['wait'])) { array_walk_recursive($walked->items, fn ($value) => middle($value)); }
            return json_encode([$walked->items == ['a' => ['b' => ['inner', 'c']], 'd' => ['e']], $walked]); })(),
        '/get' => $lazy->connection . $lazy->other,
        '/isset' => json_encode([isset($lazy->connection), isset($lazy->other)]),
        '/set' => (function () use ($lazy) { $lazy->connection = 1; unset($lazy->connection); return json_encode(get_object_vars($lazy)); })(),
        '/fiber' => (function () use ($outer) {
            $fiber = new Fiber(function () use ($outer) { return json_encode([$outer, new class implements JsonSerializable {
                public function jsonSerialize(): mixed { return Fiber::suspend('suspended'); }
            }]); });
            $fiber->start();
            middle('inner');
            $fiber->resume('resumed');
            return $fiber->getReturn();
        })(),
    };
};"#;

const THROUGH: [&str; 18] = [
    "/dump-cache",
    "/dump-in-own",
    "/debug-cache",
    "/dump-static",
    "/dump-constant",
    "/json",
    "/json-in-items",
    "/json-deep",
    "/equal",
    "/switch",
    "/in-array",
    "/sort",
    "/walk",
    "/walk-compare",
    "/get",
    "/isset",
    "/set",
    "/fiber",
];

fn goes_through() -> testkit::Server {
    let app = GOES_THROUGH.replace("UNTIL_GO", UNTIL_GO);
    let server = one_worker(&app).start();
    assert_eq!(ok(&server.get("/put")), "1");
    server
}

/// The engine marks what it goes through, in the array or object itself, to recognise recursion.
#[test]
fn requests_go_through_what_they_share_at_the_same_time() {
    for path in THROUGH {
        let server = goes_through();
        let expected = ok(&server.get(path));
        assert!(!expected.contains("RECURSION"), "{path}: {expected}");
        let mut first = server.connect();
        first.send(format!("GET {path}?wait HTTP/1.1\r\nHost: x\r\n\r\n"));
        until_handled(&server, 1);
        for _ in 0..2 {
            assert_eq!(
                ok(&server.get(path)),
                expected,
                "{path}, beside one that waits"
            );
        }
        let_go(&server);
        assert_eq!(
            ok(&first.response()),
            expected,
            "{path}, the one that waited"
        );
        assert_eq!(ok(&server.get(path)), expected, "{path}, afterwards");
        server.stop();
    }
}

#[test]
fn a_fatal_error_leaves_nothing_marked_for_the_others_of_its_worker() {
    for path in [
        "/dump-cache",
        "/dump",
        "/json",
        "/equal",
        "/equal-objects",
        "/sort",
        "/walk",
        "/get",
        "/isset",
    ] {
        let server = goes_through();
        let expected = ok(&server.get(path));
        let mut later = server.connect();
        later.send(format!("GET {path}?late HTTP/1.1\r\nHost: x\r\n\r\n"));
        until_handled(&server, 1);
        assert_eq!(server.get(&format!("{path}?fatal")).status, 500, "{path}");
        let_go(&server);
        assert_eq!(ok(&later.response()), expected, "{path}");
        drop(later);
        server.stop();
    }
}
