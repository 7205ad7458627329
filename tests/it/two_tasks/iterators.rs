//! Iterators of SPL that hold other iterators: a step of one task, while another task's step waits, would free what that one uses.

use super::{first_with, shared};
use crate::support::{let_go, ok, until_handled};

const SLOW: &str = "class Slow extends RecursiveArrayIterator { function valid(): bool { if ($this->key() === 'late') { UNTIL_GO } return parent::valid(); }
    function current(): mixed { return $this->key() === 'late' ? 'late' : parent::current(); } }
    class Inner extends ArrayIterator { public $waits = false; function valid(): bool { if ($this->waits) { UNTIL_GO } return parent::valid(); } }";

const GOES: &str = "foreach ($c as $value); return 'gone over';";

/// All of it in one, so that a child's iterators are not left by the end of another loop.
#[test]
fn a_recursive_iterator_iterator_whose_child_waits() {
    for (name, first) in [
        (
            "foreach",
            "foreach ($c as $value); return json_encode($value);",
        ),
        (
            "methods",
            "for ($c->rewind(); $c->valid(); $c->next()) { $value = $c->current(); } return json_encode($value);",
        ),
        (
            "to array",
            "return json_encode(iterator_to_array($c)['late']);",
        ),
    ] {
        let server = shared(
            &format!("{SLOW} $c = new RecursiveIteratorIterator(new Slow(['a' => 1, 'b' => new Slow(['c' => 2, 'd' => new Slow(['e' => 3, 'late' => 4])])]));"),
            first,
            &[
                ("/foreach", GOES),
                ("/array", "return (string) count(iterator_to_array($c));"),
                ("/next", "$c->next(); return 'moved';"),
                ("/rewind", "$c->rewind(); return 'rewound';"),
                ("/sub", "return get_class($c->getSubIterator());"),
            ],
        )
        .start();
        let refused = ["/foreach", "/array", "/next", "/rewind", "/sub"];
        assert_eq!(
            first_with(&server, &refused, || let_go(&server)),
            "\"late\"",
            "{name}"
        );
        assert_eq!(ok(&server.get("/foreach")), "gone over", "{name}");
        assert_eq!(ok(&server.get("/sub")), "Slow", "{name}");
        server.stop();
    }
}

/// The end of the loop of `/loop` leaves the children to the step of `/first` that waits.
#[test]
fn a_loop_that_ends_while_another_task_is_in_the_middle_of_a_step() {
    let wait = "while (!file_exists('looped')) { usleep(2000); clearstatcache(); }";
    let server = shared(
        &format!("{SLOW} $c = new RecursiveIteratorIterator(new Slow(['b' => new Slow(['d' => new Slow(['e' => 3, 'late' => 4])])]));"),
        "$c->next(); return json_encode($c->valid());",
        &[
            ("/loop", &format!("foreach ($c as $value) {{ {wait} }} return 'not refused';")),
            ("/memory", "for ($n = 0; $n < 3000; $n++) { $own[] = str_repeat('A', 24 + $n % 400); } return 'taken';"),
            ("/next", "$c->next(); return 'moved';"),
        ],
    )
    .start();
    assert_eq!(ok(&server.get("/open")), "open");
    let (mut around, mut first) = (server.connect(), server.connect());
    around.send("GET /loop HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(&server, 1);
    first.send("GET /first HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(&server, 2);
    std::fs::write(server.directory().join("looped"), "").expect("a file can be written");
    let text = ok(&around.response());
    assert!(
        text.starts_with("Error: Two tasks on one connection"),
        "{text}"
    );
    assert_eq!(ok(&server.get("/memory")), "taken");
    let_go(&server);
    assert_eq!(ok(&first.response()), "true");
    assert_eq!(ok(&server.get("/next")), "moved");
    server.stop();
}

#[test]
fn an_append_iterator_and_a_multiple_iterator_whose_inner_one_waits() {
    for (class, add, other) in [
        (
            "AppendIterator",
            "append",
            "$c->append(new ArrayIterator([]));",
        ),
        (
            "MultipleIterator",
            "attachIterator",
            "foreach ($far as $inner) { $c->detachIterator($inner); }",
        ),
    ] {
        let server = shared(
            &format!("{SLOW} $c = new {class}; foreach ([1, 2, 3] as $n) {{ $c->{add}($far[] = new Inner([1, 2, 3])); }}"),
            "$far[0]->waits = true; foreach ($c as $value); return 'late';",
            &[
                ("/foreach", GOES),
                ("/change", &format!("{other} return 'changed';")),
                ("/rewind", "$c->rewind(); return 'rewound';"),
            ],
        )
        .start();
        let answer = first_with(&server, &["/foreach", "/change", "/rewind"], || {
            let_go(&server)
        });
        assert_eq!(answer, "late", "{class}");
        assert_eq!(ok(&server.get("/rewind")), "rewound", "{class}");
        assert_eq!(ok(&server.get("/change")), "changed", "{class}");
        server.stop();
    }
}
