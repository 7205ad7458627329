//! Variables that a function of an extension writes to by reference, while another request assigns to them.

use testkit::Server;
use testkit::service::MariaDb;

use crate::support::{UNTIL_GO, at_once, let_go, ok, one_worker, until_handled};

const APP: &str = r#"
final class Shared {
    public static mixed $value = ['before'];
    public static array $typed = ['before'];
    public static int $number = 1;
}
final class Slow {
    public $context;
    private string $data = "\xFF\xD8\xFF\xED\x00\x08ABCDEF\xFF\xD9";
    public function stream_open(): bool { return true; }
    public function stream_stat(): array { return []; }
    public function stream_set_option(): bool { return false; }
    public function stream_eof(): bool { return $this->data === ''; }
    public function stream_read(): string { UNTIL_GO [$data, $this->data] = [$this->data, '']; return $data; }
}
final class Text { public function __toString(): string { UNTIL_GO return 'text'; } }
stream_wrapper_register('slow', 'Slow');
return function (Hearth\Request $request): string {
    $lines = 'while [ ! -e ' . __DIR__ . '/go ]; do sleep 0.01; done; echo one; echo two; exit 3';
    switch ($request->path) {
        case '/exec': exec($lines, Shared::$value); return json_encode(Shared::$value);
        case '/global': global $list; $list = ['before']; exec($lines, $list); return json_encode($list);
        case '/typed': exec($lines, Shared::$typed, Shared::$number); return json_encode([Shared::$typed, Shared::$number]);
        case '/image': getimagesize('slow://x', Shared::$value); return json_encode(Shared::$value);
        case '/sort': Shared::$value = ['z', new Text, 'a']; sort(Shared::$value); return implode(' ', Shared::$value);
        case '/xml':
            $parser = xml_parser_create();
            xml_set_element_handler($parser, function () { UNTIL_GO }, fn () => null);
            xml_parse_into_struct($parser, '<a><b>text</b></a>', Shared::$value);
            return implode(' ', array_column(Shared::$value, 'tag'));
        case '/local': exec($lines, $own); return json_encode($own);
        case '/to-array': Shared::$value = Shared::$typed = []; return 'assigned';
        case '/to-null': Shared::$value = null; Shared::$typed = []; return 'assigned';
        case '/to-text': Shared::$value = str_repeat('x', 100); Shared::$number = 7; return 'assigned';
        case '/copy':
            $copy = Shared::$value;
            UNTIL_GO
            usleep(200000);
            return json_encode($copy);
        default: $list = []; foreach ([] as $found) { $list[] = $found; } return json_encode([[], $list]);
    }
};"#;

fn app() -> Server {
    one_worker(&APP.replace("UNTIL_GO", UNTIL_GO)).start()
}

const CALLS: [(&str, &str); 7] = [
    ("/exec", r#"["before","one","two"]"#),
    ("/global", r#"["before","one","two"]"#),
    ("/typed", r#"[["before","one","two"],3]"#),
    ("/image", r#"{"APP13":"ABCDEF"}"#),
    ("/sort", "a text z"),
    ("/xml", "A B A"),
    ("/local", r#"["one","two"]"#),
];

/// The result went into the array of another request, where that was `[]` into each `[]` of the worker, or into freed memory.
#[test]
fn a_function_writes_its_result_where_another_request_has_assigned_meanwhile() {
    for (path, expected) in CALLS {
        for assigns in ["/to-array", "/to-null", "/to-text"] {
            let server = app();
            let mut first = server.connect();
            first.send(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n"));
            until_handled(&server, 1);
            assert_eq!(ok(&server.get(assigns)), "assigned", "{path}");
            let_go(&server);
            assert_eq!(ok(&first.response()), expected, "{path} {assigns}");
            assert_eq!(ok(&server.get("/empty")), "[[],[]]", "{path} {assigns}");
            server.stop();
        }
    }
}

#[test]
fn a_copy_of_what_a_function_writes_to_stays_as_it_is() {
    for path in ["/exec", "/image"] {
        let server = app();
        let mut first = server.connect();
        first.send(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n"));
        until_handled(&server, 1);
        let mut copies = server.connect();
        copies.send("GET /copy HTTP/1.1\r\nHost: x\r\n\r\n");
        until_handled(&server, 2);
        let_go(&server);
        first.response();
        assert_eq!(ok(&copies.response()), r#"["before"]"#, "{path}");
        server.stop();
    }
}

const BOUND: &str = r#"
final class Shared { public static mixed $value = null; public static ?PDO $locker = null; }
function open(): PDO { return new PDO('sqlite:' . __DIR__ . '/data.sqlite', options: [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]); }
open()->exec('CREATE TABLE t (text)');
return function (Hearth\Request $request): string {
    switch ($request->path) {
        case '/insert':
            Shared::$locker = open();
            Shared::$locker->exec('BEGIN IMMEDIATE');
            Shared::$value = str_repeat('a', 1000);
            $statement = open()->prepare('INSERT INTO t VALUES (?)');
            $statement->bindParam(1, Shared::$value);
            $statement->execute();
            return 'inserted';
        case '/assign':
            Shared::$value = str_repeat('b', 1000);
            $more = array_map(fn ($n) => str_repeat('c', 1000), range(1, 50));
            Shared::$locker->exec('COMMIT');
            return count($more) . Shared::$value[0];
        case '/rows':
            Shared::$value = str_repeat('a', 1000);
            $statement = open()->prepare('WITH r(n) AS (VALUES (1), (2), (3)) SELECT ? || n FROM r');
            $statement->bindParam(1, Shared::$value);
            $statement->execute();
            for ($rows = []; ($row = $statement->fetchColumn()) !== false; $rows[] = rtrim($row, '0123456789') === str_repeat('a', 1000)) {
                Shared::$value = str_repeat(chr(random_int(98, 122)), 1000);
            }
            return json_encode($rows);
        case '/converted': $number = 5; $statement = open()->prepare('SELECT ?'); $statement->bindParam(1, $number);
            $statement->execute(); return json_encode([$number, $statement->fetchColumn()]);
        default: return open()->query('SELECT count(*) || min(text) || max(text) FROM t')->fetchColumn();
    }
};"#;

/// SQLite reads the text at its address. Another request's text went into the row.
#[test]
fn a_row_has_what_was_bound_where_another_request_has_assigned_meanwhile() {
    let server = one_worker(BOUND).start();
    let mut first = server.connect();
    first.send("GET /insert HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(&server, 1);
    assert_eq!(ok(&server.get("/assign")), "50b");
    assert_eq!(ok(&first.response()), "inserted");
    let text = "a".repeat(1000);
    assert_eq!(ok(&server.get("/")), format!("1{text}{text}"));
    assert_eq!(ok(&server.get("/rows")), "[true,true,true]");
    assert_eq!(ok(&server.get("/converted")), r#"["5","5"]"#);
    server.stop();
}

const BOUND_TO_MYSQLI: &str = r#"
final class Shared { public static mixed $text; }
final class Slow { public function __toString(): string { usleep(20000); return 'slow'; } }
return function (Hearth\Request $request): string {
    if ($request->path === '/assign') {
        Shared::$text = str_repeat('b', 300000);
        return 'assigned';
    }
    static $c, $statement;
    if ($request->path === '/prepare') {
        $c = mysqli_connect('127.0.0.1', 'hearth', 'hearth', 'hearth', (int) getenv('PORT'));
        $statement = $c->prepare('SELECT LENGTH(?), ?');
        return 'prepared';
    }
    Shared::$text = 'a';
    $slow = new Slow;
    $statement->bind_param('ss', Shared::$text, $slow);
    $statement->execute();
    return implode(' ', $statement->get_result()->fetch_row());
};"#;

/// mysqlnd adds up the lengths of the texts first; a text that became longer was written behind the end of its buffer.
#[test]
fn a_text_that_is_bound_to_mysqli_is_not_assigned_while_its_length_counts() {
    let server = one_worker(BOUND_TO_MYSQLI)
        .env("PORT", MariaDb::shared().port.to_string())
        .start();
    assert_eq!(ok(&server.get("/prepare")), "prepared");
    let targets = ["/", "/assign", "/assign"].map(str::to_owned);
    for _ in 0..5 {
        let answers = at_once(&server, &targets).0;
        assert_eq!(ok(&answers[0]), "1 slow");
    }
    server.stop();
}
