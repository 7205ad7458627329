//! What an extension is asked for without a call: the elements of an object that PHP code, or a function of PHP, goes over.

use testkit::service::MariaDb;

use super::{SLOW_FILES, first_with, shared};
use crate::support::{let_go, ok};

/// The code gives the last of the rows of `$far`.
const WAYS: [(&str, &str); 8] = [
    ("foreach", "foreach ($far as $row) { $last = $row; }"),
    ("iterator_to_array", "$last = iterator_to_array($far)[1];"),
    ("spread", "$last = [...$far][1];"),
    ("unpacking", "$last = (fn (...$rows) => $rows[1])(...$far);"),
    (
        "yield from",
        "foreach ((function () use ($far) { yield from $far; })() as $row) { $last = $row; }",
    ),
    (
        "getIterator",
        "$rows = $far->getIterator(); $rows->next(); $last = $rows->current();",
    ),
    (
        "SPL",
        "foreach (new LimitIterator(new IteratorIterator($far), 0, 2) as $row) { $last = $row; }",
    ),
    (
        "iterator_apply",
        "$rows = new IteratorIterator($far); iterator_apply($rows, function () use ($rows, &$last) { $last = $rows->current(); return true; });",
    ),
];

#[test]
fn a_statement_whose_rows_are_got_in_every_way() {
    for (name, way) in WAYS {
        let server = shared(
            "$c = new PDO('sqlite::memory:'); $c->sqliteCreateFunction('waits', function () { UNTIL_GO return 'late'; });
            $statement = $c->query(\"SELECT 'other'\"); $far = $c->query(\"SELECT 'early' UNION ALL SELECT waits()\");",
            &format!("{way} return $last[0];"),
            &[
                ("/query", "$c->query('SELECT 2'); return 'asked';"),
                ("/close", "$far->closeCursor(); return 'closed';"),
                ("/foreach", "foreach ($statement as $row); return 'gone over';"),
                ("/array", "iterator_to_array($far); return 'got';"),
                ("/spread", "[...$statement]; return 'spread';"),
            ],
        )
        .start();
        let refused = ["/query", "/close", "/foreach", "/array", "/spread"];
        let answer = first_with(&server, &refused, || let_go(&server));
        assert_eq!(answer, "late", "{name}");
        assert_eq!(ok(&server.get("/foreach")), "gone over", "{name}");
        assert_eq!(ok(&server.get("/close")), "closed", "{name}");
        server.stop();
    }
}

/// The second row is longer than what MariaDB sends at once, so it comes half a second after the first.
#[test]
fn a_result_of_mysqli_that_is_fetched_on_the_way() {
    let server = shared(
        "$c = mysqli_connect('127.0.0.1', 'hearth', 'hearth', 'hearth', (int) getenv('PORT'));
        $far = $c->query(\"SELECT REPEAT('x', 70000), SLEEP(0.5) FROM seq_1_to_2\", MYSQLI_USE_RESULT);",
        "return 'got ' . count(iterator_to_array($far));",
        &[
            ("/query", "$c->query('SELECT 2'); return 'asked';"),
            ("/foreach", "foreach ($far as $row); return 'gone over';"),
            ("/free", "$far->free(); return 'freed';"),
        ],
    )
    .env("PORT", MariaDb::shared().port.to_string())
    .start();
    let answer = first_with(&server, &["/query", "/foreach", "/free"], || {});
    assert_eq!(answer, "got 2");
    assert_eq!(ok(&server.get("/free")), "freed");
    assert_eq!(ok(&server.get("/query")), "asked");
    server.stop();
}

/// The queries run on the connection that the rows come from.
#[test]
fn a_connection_that_a_task_asks_while_another_has_its_rows() {
    let server = shared(
        "$c = new PDO('sqlite::memory:'); $c->sqliteCreateFunction('waits', function () { UNTIL_GO return 'late'; });
        $statement = $c->query(\"SELECT 'a' UNION ALL SELECT 'b'\");",
        "return $c->query('SELECT waits()')->fetchColumn();",
        &[
            ("/foreach", "foreach ($statement as $row); return 'gone over';"),
            ("/array", "iterator_to_array($statement); return 'got';"),
        ],
    )
    .start();
    let answer = first_with(&server, &["/foreach", "/array"], || let_go(&server));
    assert_eq!(answer, "late");
    assert_eq!(ok(&server.get("/foreach")), "gone over");
    server.stop();
}

#[test]
fn a_directory_iterator_of_a_wrapper_written_in_php() {
    for (name, first) in [
        ("method", "$c->next(); return $c->getFilename();"),
        (
            "foreach",
            "foreach ($c as $file) { return $file->getFilename(); }",
        ),
    ] {
        let server = shared(
            &format!(
                "{SLOW_FILES} class Ready extends Slow {{ private $read = 0;
                    function dir_rewinddir() {{ return true; }}
                    function dir_readdir() {{ if ($this->read++) {{ UNTIL_GO }} return 'file' . $this->read; }} }}
                stream_wrapper_register('ready', 'Ready'); $c = new DirectoryIterator('ready://x');"
            ),
            first,
            &[
                ("/next", "$c->next(); return 'moved';"),
                ("/rewind", "$c->rewind(); return 'rewound';"),
                ("/foreach", "foreach ($c as $file); return 'gone over';"),
            ],
        )
        .start();
        let refused = ["/next", "/rewind", "/foreach"];
        let answer = first_with(&server, &refused, || let_go(&server));
        assert_eq!(answer, "file2", "{name}");
        assert_eq!(ok(&server.get("/next")), "moved");
        server.stop();
    }
}

/// As under `php`: the iterator of PDO goes forward only, that of mysqli and of a directory can begin again.
#[test]
fn an_iterator_without_rewind_says_so() {
    let server = shared(
        "$c = new PDO('sqlite::memory:');",
        "$rows = $c->query('SELECT 1 UNION SELECT 2')->getIterator(); $rows->next();
        try { $rows->rewind(); return 'rewound'; } catch (Error $error) { return $error->getMessage(); }",
        &[(
            "/directory",
            "touch('one'); $names = new DirectoryIterator('.'); $counts = [];
            for ($i = 0; $i < 2; $i++) { $counts[] = iterator_count($names); }
            return $counts[0] === $counts[1] ? 'the same' : implode(' ', $counts);",
        )],
    )
    .start();
    assert_eq!(ok(&server.get("/open")), "open");
    let answer = ok(&server.get("/first"));
    assert_eq!(answer, "Iterator does not support rewinding");
    assert_eq!(ok(&server.get("/directory")), "the same");
    server.stop();
}
