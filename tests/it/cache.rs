//! `Hearth\Cache`: one cache for all workers, as requests, classic sites and scripts see it.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use rustix::process::Signal;
use testkit::{Server, ServerBuilder, kill};

use crate::support::{
    UNTIL_GO, admin, at_once, eventually, example, hearth, let_go, ok, one_worker, same,
    until_handled,
};

/// Runs the code that is in the query, with `$cache`.
const RUN: &str = r"return function ($request) { $cache = new Hearth\Cache(); return json_encode(eval($request->query('code'))); };";

fn encoded(code: &str) -> String {
    let bytes = code.bytes().map(|byte| format!("%{byte:02X}"));
    format!("/?code={}", bytes.collect::<String>())
}

#[track_caller]
fn run(server: &Server, code: &str) -> String {
    ok(&server.get(&encoded(code)))
}

/// Several workers that take turns, each with one request at a time.
fn workers(count: u32) -> ServerBuilder {
    Server::script(RUN).args(["--workers", &count.to_string(), "--concurrency", "1"])
}

/// The code in each of the workers, by many requests at once; what they answered.
#[track_caller]
fn everywhere(server: &Server, code: &str) -> BTreeSet<String> {
    let code = encoded(&format!("usleep(20000); {code}"));
    let (answers, _) = at_once(server, &same(&code, 12));
    answers.iter().map(ok).collect()
}

#[track_caller]
fn assert_everywhere(server: &Server, code: &str, expected: &str) {
    assert_eq!(
        everywhere(server, code),
        BTreeSet::from([expected.to_owned()]),
        "{code}"
    );
}

#[test]
fn what_one_worker_writes_all_read() {
    let server = workers(3).start();
    let pids = everywhere(&server, "return getmypid();");
    assert!(pids.len() > 1, "{pids:?}");
    for value in ["1", "[1,\"two\",null,{\"k\":[true,2.5]}]", "\"text\""] {
        run(
            &server,
            &format!("$cache->set('k', json_decode('{value}', true));"),
        );
        for _ in 0..2 {
            assert_everywhere(&server, "return $cache->get('k');", value);
        }
    }
    run(&server, "$cache->set('tagged', 1, tags: ['a', 'b']);");
    assert_everywhere(&server, "return $cache->get('tagged');", "1");
    run(&server, "$cache->deleteTag('b');");
    assert_everywhere(&server, "return $cache->get('tagged');", "null");
    run(&server, "$cache->delete('k');");
    assert_everywhere(&server, "return $cache->get('k');", "null");
    run(
        &server,
        "$cache->set('k', 1); $cache->namespace('n')->set('k', 2);",
    );
    run(&server, "$cache->namespace('n')->clear();");
    assert_everywhere(
        &server,
        "return [$cache->get('k'), $cache->namespace('n')->get('k')];",
        "[1,null]",
    );
    run(&server, "$cache->clear();");
    assert_everywhere(&server, "return $cache->get('k');", "null");
    server.stop();
}

/// A namespace's values are not to be had by a key of the cache above it, also where this worker has decoded them already.
#[test]
fn no_key_reaches_into_a_namespace() {
    let server = one_worker(RUN).start();
    run(&server, "$cache->namespace('n')->set('k', ['secret']);");
    for _ in 0..2 {
        let value = run(&server, "return $cache->namespace('n')->get('k');");
        assert_eq!(value, "[\"secret\"]");
    }
    for read in [
        "get($key)",
        "has($key)",
        "getMultiple([$key])",
        "remember($key, 5, fn() => 1)",
    ] {
        let code = format!(
            "$key = \"n\\0k\"; try {{ return $cache->{read}; }} catch (ValueError $e) {{ return $e->getMessage(); }}"
        );
        let answer = run(&server, &code);
        assert!(answer.contains("NUL byte"), "{read}: {answer}");
    }
    server.stop();
}

#[test]
fn no_increment_is_lost() {
    let server = workers(3).start();
    everywhere(
        &server,
        "for ($i = 0; $i < 1000; $i++) { $cache->increment('n'); }",
    );
    assert_everywhere(&server, "return $cache->get('n');", "12000");
    server.stop();
}

/// What a request does with what it got is its own.
const MUTATIONS: &str = r"
    $value = $cache->get('k'); $value['list'][] = 4; $value['text'][0] = 'X'; $value['new'] = 1; sort($value['list']);
    foreach ($value as &$one) { $one = is_array($one) ? array_map(fn () => 0, $one) : 0; } unset($one);
    $again = $cache->get('k'); array_walk_recursive($again, function (&$one) { $one = 'walked'; }); next($again); settype($again, 'string');
    $text = $cache->get('text'); $text[0] = 'X'; $text .= 'more';
    $object = $cache->get('object'); $object->seen = 1;";
const FILL: &str = "$cache->set('k', ['list' => [3, 2, 1], 'text' => 'text']); $cache->set('text', 'text'); $cache->set('object', new ArrayObject());";
const READ: &str =
    "return [$cache->get('k'), $cache->get('text'), isset($cache->get('object')->seen)];";
const UNTOUCHED: &str = r#"[{"list":[3,2,1],"text":"text"},"text",false]"#;

#[test]
fn no_request_changes_what_the_next_reads() {
    let server = one_worker(RUN).start();
    run(&server, FILL);
    for _ in 0..3 {
        run(&server, MUTATIONS);
        assert_eq!(run(&server, READ), UNTOUCHED);
    }
    // Of two at the same time too, one of which waits with its own.
    let waiting = encoded(&format!(
        "{MUTATIONS} usleep(30000); return [$value['list'], $text, $object->seen];"
    ));
    let reading = encoded(READ);
    let (answers, _) = at_once(&server, &[&waiting, &reading, &waiting, &reading]);
    let texts: Vec<String> = answers.iter().map(ok).collect();
    assert_eq!([&texts[1], &texts[3]], [UNTOUCHED, UNTOUCHED]);
    assert_eq!([&texts[0], &texts[2]], [r#"[[0,0,0,0],"Xextmore",1]"#; 2]);
    server.stop();
}

const CLASSIC: &str = r"<?php $cache = new Hearth\Cache(); echo json_encode(eval($_GET['code']));";

fn classic() -> ServerBuilder {
    Server::app(".").file("index.php", CLASSIC)
}

#[test]
fn classic_sites_have_it_too() {
    let server = classic().args(["--workers", "2"]).start();
    run(&server, FILL);
    for _ in 0..4 {
        run(&server, MUTATIONS);
        assert_everywhere(&server, READ, UNTOUCHED);
    }
    assert_eq!(
        run(&server, "return $cache->remember('r', 10, fn () => [1]);"),
        "[1]"
    );
    server.stop();
}

/// Bytes of the one worker.
fn resident(server: &Server) -> u64 {
    let path = format!("/proc/{}/status", server.workers()[0]);
    let text = std::fs::read_to_string(path).expect("the worker runs");
    let line = text.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    number.expect("a number of kB") * 1024
}

/// A copy is no memory of a request: many large values, replaced again and again, and the requests have their memory limit.
#[test]
fn copies_are_bounded_and_outlive_classic_requests() {
    let server = classic()
        .args([
            "--workers",
            "1",
            "--cache-copies",
            "2M",
            "--cache-size",
            "16M",
            "--ini",
            "memory_limit=8M",
        ])
        .start();
    run(
        &server,
        "for ($i = 0; $i < 40; $i++) { $cache->set(\"k$i\", array_fill(0, 4000, \"value $i\")); }",
    );
    let read = "for ($i = 0; $i < 40; $i++) { if ($cache->get(\"k$i\")[3999] !== \"value $i\") { return $i; } } return 'all';";
    for _ in 0..20 {
        assert_eq!(run(&server, read), "\"all\"");
    }
    let first = resident(&server);
    for _ in 0..50 {
        assert_eq!(run(&server, read), "\"all\"");
    }
    assert!(resident(&server) < first + 4_000_000, "{first} and more");
    server.stop();
}

#[test]
fn it_outlives_workers_and_reloads_and_their_deaths() {
    let server = workers(2).start();
    run(
        &server,
        "$cache->set('k', ['kept']); $cache->lock('l', 100);",
    );
    for _ in 0..3 {
        let _ = server.get(&encoded("posix_kill(getmypid(), 9);"));
    }
    eventually("workers that serve again", || {
        server.get("/?code=return+1;").status == 200
    });
    assert_eq!(run(&server, "return $cache->get('k');"), r#"["kept"]"#);
    assert!(hearth(&server, &["reload", "app.php"]).status.success());
    assert_everywhere(&server, "return $cache->get('k');", r#"["kept"]"#);
    server.stop();
}

#[test]
fn a_value_is_computed_once_over_tasks_and_workers() {
    let server = Server::script(RUN)
        .args(["--workers", "2", "--concurrency", "8"])
        .start();
    let code = "return $cache->remember('k', 60, function () use ($cache) { $cache->increment('computed'); usleep(50000); return 'made'; });";
    assert_everywhere(&server, code, "\"made\"");
    assert_eq!(run(&server, "return $cache->get('computed');"), "1");
    // The one that computes fails, or dies: another does.
    let fails = "try { return $cache->remember('f', 60, function () use ($cache) { usleep(20000);
        if ($cache->increment('tries') < 3) { throw new Exception('failed'); } return 'made'; }); } catch (Exception $e) { return $e->getMessage(); }";
    assert_eq!(
        everywhere(&server, fails),
        BTreeSet::from(["\"failed\"".to_owned(), "\"made\"".to_owned()])
    );
    assert_eq!(run(&server, "return $cache->get('tries');"), "3");
    let dies = "return $cache->remember('d', 60, function () use ($cache) { usleep(20000);
        if ($cache->increment('deaths') < 2) { posix_kill(getmypid(), 9); } return 'made'; });";
    let (answers, _) = at_once(&server, &same(&encoded(dies), 6));
    assert!(answers.iter().any(|answer| answer.text() == "\"made\""));
    assert_eq!(run(&server, "return $cache->get('deaths');"), "2");
    server.stop();
}

#[test]
fn an_old_value_is_given_while_a_new_one_is_computed() {
    let server = Server::script(RUN)
        .args(["--workers", "2", "--concurrency", "8"])
        .start();
    let code = "return $cache->remember('k', 0.05, function () use ($cache) { $n = $cache->increment('n'); if ($n > 1) { usleep(100000); } return $n; }, staleFor: 60);";
    assert_eq!(run(&server, code), "1");
    std::thread::sleep(std::time::Duration::from_millis(60));
    let (answers, _) = at_once(&server, &same(&encoded(code), 6));
    let mut numbers: Vec<String> = answers.iter().map(ok).collect();
    numbers.sort();
    assert_eq!(numbers, ["1", "1", "1", "1", "1", "2"]);
    server.stop();
}

/// Before a value expires one caller computes the next: it begins as long before as the computation took.
#[test]
fn a_value_is_refreshed_before_it_expires() {
    let server = Server::script(RUN)
        .args(["--workers", "2", "--concurrency", "8"])
        .start();
    let code = "return $cache->remember('k', 2, function () use ($cache) { $n = $cache->increment('n'); usleep($n > 1 ? 100000 : 1000000); return $n; });";
    assert_eq!(run(&server, code), "1");
    assert_eq!(run(&server, code), "1");
    std::thread::sleep(std::time::Duration::from_millis(1050));
    let (answers, _) = at_once(&server, &same(&encoded(code), 6));
    let mut numbers: Vec<String> = answers.iter().map(ok).collect();
    numbers.sort();
    assert_eq!(numbers, ["1", "1", "1", "1", "1", "2"]);
    server.stop();
}

/// What is deleted while it is computed is not written after: it may have been made of what was before.
#[test]
fn a_deletion_during_a_computation_is_not_undone() {
    let server = one_worker(RUN).start();
    for (delete, tags) in [
        ("delete('k')", "[]"),
        ("clear()", "[]"),
        ("deleteTag('t')", "['t']"),
    ] {
        let code = format!(
            "$cache->remember('k', 60, function () use ($cache) {{ $cache->{delete}; return 'old'; }}, tags: {tags}); return $cache->get('k');"
        );
        assert_eq!(run(&server, &code), "null", "{delete}");
    }
    server.stop();
}

#[test]
fn locks_hold_over_workers() {
    let server = workers(2).start();
    let code = "$lock = $cache->lock('l', 10, wait: 5); $n = $cache->get('n', 0); usleep(2000); $cache->set('n', $n + 1); $lock->release(); return 1;";
    assert_everywhere(&server, code, "1");
    assert_eq!(run(&server, "return $cache->get('n');"), "12");
    let late = "$a = $cache->lock('t', 0.01); usleep(15000); $b = $cache->lock('t', 5);
        return [$b->token() > $a->token(), $a->isHeld(), $a->release(), $a->extend(5), $b->isHeld(), $b->extend(5), $cache->lock('t', 1)];";
    assert_eq!(
        run(&server, late),
        "[true,false,false,false,true,true,null]"
    );
    // One whose owner has a name outlives its object, and any worker finds it.
    let named = "$lock = $cache->lock('named', 60, owner: 'job 7'); return $lock !== null;";
    assert_eq!(run(&server, named), "true");
    let found = "return [$cache->lock('named', 60, owner: 'job 7'), $cache->heldLock('named', 'job 8'), $cache->heldLock('free'),
        $cache->heldLock('named', 'job 7')->isHeld(), $cache->heldLock('named')->isHeld()];";
    assert_everywhere(&server, found, "[null,null,null,true,true]");
    let release =
        "return [$cache->heldLock('named', 'job 7')->release(), $cache->heldLock('named')];";
    assert_eq!(run(&server, release), "[true,null]");
    server.stop();
}

/// Takes what its path names, and ends in the way that it names.
const ENDS: &str = r#"final class Breaks {
        public array $own = [1];
        public function __unserialize(array $own): void { static $times = 0; if (++$times === 2 && @mkdir('broken')) { trigger_error('own', E_USER_ERROR); } }
    }
    function ends(string $how): void {
        match ($how) {
            'fatal' => trigger_error('own', E_USER_ERROR),
            'memory' => str_repeat('x', 1 << 30),
            'exit' => exit,
            'exception' => throw new RuntimeException('own'),
            'time' => usleep(10_000_000),
            'computes' => (function () { for (;;) { strlen('x'); } })(),
            'child' => Hearth\async(fn () => trigger_error('own', E_USER_ERROR))->await(),
            'cancelled' => (function () { $task = Hearth\async(fn () => usleep(10_000_000)); $task->cancel(); $task->await(); })(),
            'leaves' => Hearth\parallel([fn () => usleep(10_000_000), fn () => throw new RuntimeException('own')]),
        };
    }
    return function ($request) {
        $cache = new Hearth\Cache();
        [, $what, $how] = explode('/', $request->path);
        // Another request keeps the worker from leaving.
        if ($what === 'waits') { UNTIL_GO return 'waited'; }
        if ($what === 'free') {
            return json_encode([$cache->lock('l', 60, 0.5) !== null, $cache->lock('child', 60, 0.5) !== null, $cache->remember('k', 60, fn () => 'new')]);
        }
        if ($what === 'lock') { $lock = $cache->lock('l', 60) ?? throw new LogicException('held'); ends($how); }
        if ($what === 'childlock') { Hearth\async(function () use ($cache, $how) { $lock = $cache->lock('child', 60); ends($how); })->await(); }
        if ($what === 'computation') { $cache->remember('k', 60, fn () => ends($how)); }
        if ($what === 'decoded') {
            // One that is old is decoded before the claim and after it.
            $cache->remember('k', 0.001, fn () => new Breaks(), 60);
            usleep(5000);
            $cache->remember('k', 60, fn () => 'computed', 60);
        }
        return 'not ended';
    };"#;

/// By its object, or, where a fatal error ended what had that, without.
#[test]
fn a_lock_and_a_computation_end_with_their_request_however_that_ends() {
    let app = ENDS.replace("UNTIL_GO", UNTIL_GO);
    let ways = [
        "fatal",
        "memory",
        "exit",
        "exception",
        "time",
        "computes",
        "child",
        "cancelled",
        "leaves",
    ];
    for what in ["lock", "childlock", "computation", "decoded"] {
        for how in if what == "decoded" {
            &ways[..1]
        } else {
            &ways[..]
        } {
            let server = one_worker(&app)
                .args(["--request-timeout", "0.3", "--ini", "memory_limit=64M"])
                .start();
            let mut waits = server.connect();
            waits.send("GET /waits/ HTTP/1.1\r\nHost: x\r\n\r\n");
            until_handled(&server, 1);
            let answer = server.get(&format!("/{what}/{how}"));
            // exit() ends a child, and no more.
            let goes_on = (what, how) == ("childlock", &"exit");
            assert_eq!(answer.text() == "not ended", goes_on, "{what} {how}");
            assert_eq!(
                ok(&server.get("/free/")),
                r#"[true,true,"new"]"#,
                "{what} {how}"
            );
            let_go(&server);
            waits.response();
            server.stop();
        }
    }
}

#[test]
fn mistakes_are_told() {
    let server = one_worker(RUN).args(["--cache-size", "1M"]).start();
    for (code, told) in [
        ("$cache->setMultiple(['' => 1])", "must not be empty"),
        ("$cache->getMultiple(['k', 1.5])", "float given"),
        (
            "$cache->setMultiple(['k' => fopen('php://memory', 'r')])",
            "has a resource",
        ),
        (
            "$cache->setMultiple(['a' => 1, 'k' => str_repeat('x', 1 << 20)])",
            "half of cache.size",
        ),
        ("$cache->set('', 1)", "must not be empty"),
        ("$cache->get(str_repeat('k', 1025))", "1025 bytes"),
        ("$cache->set(\"a\\0b\", 1)", "NUL byte"),
        (
            "$cache->set('k', fopen('php://memory', 'r'))",
            "has a resource",
        ),
        (
            "$cache->set('k', [fn () => 1])",
            "Serialization of 'Closure' is not allowed",
        ),
        (
            "$cache->set('k', str_repeat('x', 1 << 20))",
            "half of cache.size",
        ),
        ("$cache->set('k', 1, NAN)", "number of seconds"),
        (
            "$cache->set('k', 1, 1, [7])",
            "must be a list of strings, int given",
        ),
        (
            "$cache->set('k', 'x') && $cache->increment('k')",
            "is no int",
        ),
        (
            "$cache->set('i', PHP_INT_MAX) && $cache->increment('i')",
            "is no int: the number is left",
        ),
        ("$cache->lock('l', 0)", "greater than 0"),
        ("$cache->lock('l', 1, owner: '')", "must not be empty"),
    ] {
        let text = run(
            &server,
            &format!("try {{ {code}; }} catch (Throwable $e) {{ return $e->getMessage(); }}"),
        );
        assert!(text.contains(told), "{code}: {text}");
    }
    server.stop();
    let none = one_worker(RUN).args(["--cache-size", "0"]).start();
    let text = run(
        &none,
        "try { $cache->get('k'); } catch (Error $e) { return $e->getMessage(); }",
    );
    assert_eq!(text, "\"There is no cache: cache.size is 0\"");
    none.stop();
}

/// One value that takes more than its share of the copies pushes out no others, and is read all the same; in both modes.
#[test]
fn a_huge_value_pushes_out_no_copies() {
    let code = "for ($i = 0; $i < 50; $i++) { $cache->set(\"k$i\", [\"value $i\"]); } $cache->set('huge', array_fill(0, 60000, true));
        for ($n = 0; $n < 3; $n++) { for ($i = 0; $i < 50; $i++) { $cache->get(\"k$i\"); } $sum = array_sum($cache->get('huge')); } return $sum;";
    for server in [one_worker(RUN), classic().args(["--workers", "1"])] {
        let server = server.args(["--cache-copies", "1M"]).start();
        for _ in 0..3 {
            assert_eq!(run(&server, code), "60000");
        }
        server.stop();
    }
}

/// With igbinary, where it is installed, and without, as with it before.
#[test]
fn objects_go_by_igbinary_where_it_is() {
    let code = "class P { public $x = [1]; public ?P $p = null; function __construct(public string $s) {} }
        $cache = new Hearth\\Cache(); $p = new P('text'); $p->p = $p;
        $cache->set('o', [$p, $p, new ArrayObject(['a'])]); $o = $cache->get('o');
        echo json_encode([extension_loaded('igbinary'), $o[0] === $o[1], $o[0]->p === $o[0], $o[0] !== $p, $o[0]->s, $o[0]->x, $o[2]['a' === 'a' ? 0 : 1],
            $cache->compareAndSwap('o', $o, 1), $cache->get('o')]);
        try { $cache->set('f', [new ArrayObject([fn () => 1])]); } catch (Exception $e) { echo get_class($e); }";
    for (options, loaded) in [
        (&["-n"][..], "false"),
        (&["-n", "-d", "extension=igbinary.so"], "true"),
    ] {
        let output = Command::new(testkit::hearth())
            .arg("run")
            .args(options)
            .args(["-r", code])
            .output()
            .expect("hearth starts");
        let expected = format!("[{loaded},true,true,true,\"text\",[1],\"a\",true,1]Exception");
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            expected,
            "{output:?}"
        );
    }
}

/// A release may have removed the class of a value or of a part of it, or changed it so that PHP refuses the value.
#[test]
fn a_value_whose_class_is_gone_or_has_changed_is_none() {
    let server = one_worker(RUN).start();
    run(
        &server,
        "eval('class Gone { public $x = 1; } class Changed { public int $x = 1; }');
        $cache->setMultiple(['gone' => new Gone, 'part' => ['a' => [new Gone]], 'changed' => new Changed, 'whole' => new ArrayObject([7])]);",
    );
    assert!(hearth(&server, &["reload", "app.php"]).status.success());
    let read = "eval('class Changed { public array $x = []; }');
        $values = $cache->getMultiple(['gone', 'part', 'changed'], 'none');
        return [...array_values($values), $cache->get('whole')[0]];";
    assert_eq!(run(&server, read), r#"["none","none","none",7]"#);
    for key in ["gone", "part", "changed"] {
        server.expect_log(&format!(
            "a value of the cache cannot be read any more and was deleted: its class is gone or has changed key={key}"
        ));
    }
    let again = "return [$cache->get('part', 'none'), $cache->remember('gone', 60, fn () => 'made again')];";
    assert_eq!(run(&server, again), r#"["none","made again"]"#);
    server.stop();
}

/// Objects without a class that are no part of the value: of its own code, and of another task while it waits.
#[test]
fn what_others_unserialize_meanwhile_makes_no_value_less() {
    let server = one_worker(RUN).start();
    let code = "eval('class Legacy {
            public $old;
            public function __serialize(): array { return [serialize(new ArrayObject)]; }
            public function __unserialize(array $data): void {
                usleep(20000);
                $this->old = unserialize($data[0], [\"allowed_classes\" => false]);
            } }');
        $cache->set('legacy', [new Legacy]);
        [$read] = Hearth\\parallel([
            fn () => $cache->get('legacy'),
            function () { usleep(5000); unserialize('O:7:\"Nowhere\":0:{}'); },
        ]);
        return $read[0]->old::class;";
    assert_eq!(run(&server, code), "\"__PHP_Incomplete_Class\"");
    server.stop();
}

/// What the code of a value throws is its caller's, and what was under the key stays.
#[test]
fn a_value_whose_own_code_throws_is_not_kept() {
    let begin = "if (!class_exists('Throws')) {
            eval('class Throws { public $then = false;
                public function __serialize(): array { return $this->then ? [] : throw new DomainException(\"no\"); }
                public function __unserialize(array $data): void { throw new DomainException(\"not again\"); } }');
            foreach (['SimpleCache', 'Cache'] as $psr) require_once \"/usr/share/php/Psr/$psr/autoload.php\";
        }
        $told = fn ($call) => (function () use ($call) { try { return $call(); } catch (DomainException $e) { return $e->getMessage(); } })();
        $value = new Throws;";
    let server = one_worker(RUN).args(["--cache-size", "1M"]).start();
    for (code, expected) in [
        (
            "$cache->set('k', 'before'); return [$told(fn () => $cache->set('k', $value)), $told(fn () => $cache->add('new', [$value])),
                $told(fn () => $cache->setMultiple(['first' => 1, 'k' => $value])), $told(fn () => $cache->compareAndSwap('k', 'before', $value)),
                $cache->get('k'), $cache->get('new'), $cache->get('first')];",
            r#"["no","no","no","no","before",null,null]"#,
        ),
        (
            "$simple = new Hearth\\Cache\\SimpleCache; return [$simple->set('k', $value), $simple->set('k', fn () => 1),
                $simple->setMultiple(['a' => 1, 'k' => $value]), $simple->get('a'), $simple->set('k', str_repeat('x', 1 << 20))];",
            "[false,false,false,null,false]",
        ),
        (
            "$pool = new Hearth\\Cache\\Pool; foreach (['a' => 1, 'k' => $value, 'b' => 2] as $key => $one) { $pool->saveDeferred($pool->getItem($key)->set($one)); }
                return [$pool->commit(), $pool->save($pool->getItem('k')->set($value)), $pool->getItem('a')->get(), $pool->getItem('k')->isHit(), $pool->getItem('b')->get()];",
            "[false,false,1,false,2]",
        ),
        (
            "$value->then = true; $cache->set('later', $value); $cache->set('whole', 1);
                return [$told(fn () => $cache->get('later')), $told(fn () => $cache->getMultiple(['whole', 'later'])), $cache->get('whole')];",
            r#"["not again",{"whole":1,"later":null},1]"#,
        ),
        (
            "return [$told(fn () => $cache->remember('r', 60, fn () => $value)), strlen($cache->remember('large', 60, fn () => str_repeat('x', 1 << 20))),
                $cache->get('large')];",
            r#"["no",1048576,null]"#,
        ),
    ] {
        assert_eq!(run(&server, &format!("{begin} {code}")), expected, "{code}");
    }
    server.expect_log("Hearth\\Cache did not keep a value: no");
    server.stop();
}

/// A cache belongs to a server, whatever its name is.
#[test]
fn two_servers_of_one_app_have_caches_of_their_own() {
    let folder = testkit::temporary();
    std::fs::write(folder.path().join("app.php"), format!("<?php {RUN}")).expect("written");
    let [a, b] = ["a.sock", "b.sock"].map(|control| {
        let control = folder.path().join(control);
        let control = control.to_str().expect("text").to_owned();
        Server::app(folder.path().join("app.php"))
            .args(["--control", &control])
            .start()
    });
    run(&a, "$cache->set('k', 'a');");
    assert_eq!(run(&b, "return $cache->get('k');"), "null");
    run(&b, "$cache->set('k', 'b'); $cache->clear();");
    assert_eq!(run(&a, "return $cache->get('k');"), "\"a\"");
    a.stop();
    run(&b, "$cache->set('k', 'b');");
    assert_eq!(run(&b, "return $cache->get('k');"), "\"b\"");
    b.stop();
}

/// A script that runs where the server's app is.
fn script(server: &Server, words: &[&str]) -> Command {
    let mut command = Command::new(testkit::hearth());
    command
        .arg("run")
        .args(words)
        .env("XDG_RUNTIME_DIR", server.directory())
        .current_dir(server.directory());
    command
}

#[track_caller]
fn printed(command: &mut Command) -> String {
    let output = command.output().expect("hearth starts");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn scripts_share_that_of_their_apps_server() {
    let server = workers(2).start();
    run(
        &server,
        "$cache->set('k', ['of the server']); $cache->set('o', new ArrayObject([7]));",
    );
    let code = r"$cache = new Hearth\Cache(); $cache->increment('n'); chdir('/');
        echo json_encode([$cache->get('k'), $cache->get('o')[0] ?? null]);
        $cache->set('k', ['of the script']); $cache->lock('l', 60)?->extend(60);";
    let shared = r#"[["of the server"],7]"#;
    let of_the_app = ["--app", "app.php", "-r", code];
    assert_eq!(printed(&mut script(&server, &of_the_app)), shared);
    assert_everywhere(
        &server,
        "return [$cache->get('k'), $cache->get('n')];",
        r#"[["of the script"],1]"#,
    );
    // By the environment, and by hearth.toml.
    run(&server, "$cache->set('k', ['of the server']);");
    let mut command = script(&server, &["-r", code]);
    assert_eq!(printed(command.env("HEARTH_APP", "app.php")), shared);
    run(&server, "$cache->set('k', ['of the server']);");
    std::fs::write(server.directory().join("hearth.toml"), "app = 'app.php'").expect("written");
    assert_eq!(printed(&mut script(&server, &["-r", code])), shared);
    assert_eq!(run(&server, "return $cache->get('n');"), "3");
    // A script that names no app has one of its own.
    std::fs::remove_file(server.directory().join("hearth.toml")).expect("it is there");
    assert_eq!(printed(&mut script(&server, &["-r", code])), "[null,null]");
    server.stop();
}

#[test]
fn scripts_without_a_server_have_one_of_their_own() {
    let code = r"$cache = new Hearth\Cache(); $cache->set('k', [1]); echo json_encode($cache->get('k')), count($cache->stats());
        echo implode(Hearth\parallel(array_fill(0, 3, fn () => $cache->remember('r', 1, function () { usleep(1000); return 'x'; }))));";
    for words in [
        &["-r", code][..],
        &["--app", "/nowhere/app.php", "-r", code],
    ] {
        let output = Command::new(testkit::hearth())
            .arg("run")
            .args(words)
            .output()
            .expect("hearth starts");
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            "[1]20xxx",
            "{output:?}"
        );
    }
}

fn without_settings(code: &str) -> String {
    printed(Command::new(testkit::hearth()).args(["run", "-n", "-d", "hearth.apcu=1", "-r", code]))
}

/// A value's code runs while it is written or read, and may take away what it was called for.
#[test]
fn code_of_values_may_write_to_the_callers_variables() {
    let value = r"class Takes {
            public function __construct(private ?Closure $then) {}
            public function __serialize(): array { ($this->then)(); return []; }
            public function __unserialize(array $data): void { ($GLOBALS['then'])(); }
        }
        $cache = new Hearth\Cache(); $text = str_repeat('y', 60);";
    let written = "$value = ['x' => new Takes(function () use (&$value) { $value = null; $GLOBALS['z'] = str_repeat('z', 290); }), 'y' => [$text, $text], 'z' => $text];
        $then = fn () => 0;
        echo json_encode([$cache->setMultiple(['a' => &$value]), array_slice($cache->get('a'), 1)]);";
    assert_eq!(
        without_settings(&format!("{value}{written}")),
        format!(
            "[true,{{\"y\":[\"{0}\",\"{0}\"],\"z\":\"{0}\"}}]",
            "y".repeat(60)
        )
    );
    let read =
        "apcu_store('key of it', new Takes(fn () => 0)); $key = implode(' ', ['key', 'of', 'it']);
        $then = function () use (&$key) { $key = [1, 2]; };
        echo json_encode(array_map(get_debug_type(...), apcu_fetch([&$key])));";
    assert_eq!(
        without_settings(&format!("{value}{read}")),
        r#"{"key of it":"Takes"}"#
    );
}

/// A copy of a process that ends is not the end of what the process has.
#[test]
fn what_a_script_holds_is_not_its_forks() {
    let code = r"$cache = new Hearth\Cache(); $lock = $cache->lock('l', 60);
        $fork = function () { if (pcntl_fork() === 0) { exit; } pcntl_wait($status); };
        $fork();
        $kept = $cache->remember('r', 60, function () use ($fork) { $fork(); return 1; });
        echo json_encode([$lock->isHeld(), $cache->lock('l', 1), $kept, $cache->get('r'), $lock->release()]);";
    assert_eq!(without_settings(code), "[true,null,1,1,true]");
}

/// A script may run for longer than the server: what the next server's workers write it sees, and no more what was before.
#[test]
fn a_script_goes_on_with_the_next_server() {
    let folder = testkit::temporary();
    std::fs::write(folder.path().join("app.php"), format!("<?php {RUN}")).expect("written");
    let control = folder.path().join("control.sock");
    let start = || {
        let control = control.to_str().expect("text");
        Server::app(folder.path().join("app.php"))
            .args(["--control", control])
            .start()
    };
    let code = r"$cache = new Hearth\Cache();
        while (fgets(STDIN)) { echo json_encode([$cache->get('k'), $cache->lock('l', 9)?->token() > $before = $before ?? 0]), PHP_EOL; }";
    let first = start();
    let mut script = Command::new(testkit::hearth())
        .args(["run", "-r", code])
        .env("HEARTH_CONTROL", &control)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("hearth starts");
    let mut lines = BufReader::new(script.stdout.take().expect("a pipe")).lines();
    let input = script.stdin.take().expect("a pipe");
    let mut ask = || {
        writeln!(&input).expect("it reads");
        lines.next().expect("it answers").expect("a line")
    };
    run(&first, "$cache->set('k', ['first']);");
    assert_eq!([ask(), ask()], [r#"[["first"],true]"#; 2]);
    first.stop();
    assert_eq!(ask(), "[null,true]");
    let second = start();
    run(&second, "$cache->set('k', ['second']);");
    eventually("the script has found the second server", || {
        ask() == r#"[["second"],true]"#
    });
    kill(second.pid(), Signal::KILL);
    second.killed();
    assert_eq!(ask(), "[null,true]");
    drop(input);
    assert!(script.wait().expect("it ran").success());
}

#[test]
fn status_and_metrics_show_it() {
    let server = workers(1).args(["--admin", "127.0.0.1:0"]).start();
    run(
        &server,
        "$cache->set('k', 1); $cache->get('k'); $cache->get('none'); $cache->stats();",
    );
    let page = admin(&server, "/metrics").text();
    for line in [
        "hearth_cache_entries 1",
        "hearth_cache_misses_total 1",
        "hearth_cache_writes_total 1",
        "hearth_cache_removed_total{reason=\"evicted\"} 0",
    ] {
        assert!(page.contains(line), "{line}: {page}");
    }
    let status = hearth(&server, &["status", "app.php"]);
    let text = String::from_utf8_lossy(&status.stdout).into_owned();
    assert!(text.contains("cache       1 entries"), "{text}");
    server.stop();
}

#[test]
fn operators_see_and_change_it() {
    let server = workers(1).start();
    let ask = |words: &[&str]| {
        let output = hearth(&server, &[&["cache"], words].concat());
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(text).expect("text"))
    };
    let done = |text: &str| (Some(0), format!("{text}\n"));
    run(
        &server,
        "$cache->set('k', ['a' => [1, null]]); $cache->namespace('shop')->set('k', 'in'); $cache->set('o', new ArrayObject([1]));",
    );
    assert_eq!(ask(&["get", "k", "app.php"]), done("[\"a\" => [1, null]]"));
    assert_eq!(
        ask(&["get", "k", "app.php", "--namespace", "shop"]),
        done("\"in\"")
    );
    assert!(ask(&["get", "o", "app.php"]).1.contains("ArrayObject"));
    assert_eq!(
        ask(&["get", "none", "app.php"]),
        (
            Some(1),
            "hearth: there is no value with the key none\n".into()
        )
    );
    assert_eq!(
        ask(&["set", "n", "41", "app.php", "--as-json", "--ttl", "100"]),
        done("n is written")
    );
    assert_eq!(run(&server, "return $cache->increment('n');"), "42");
    assert_eq!(ask(&["set", "t", "41", "app.php"]), done("t is written"));
    assert_eq!(run(&server, "return $cache->get('t');"), "\"41\"");
    assert_eq!(ask(&["set", "n", "{", "app.php", "--as-json"]).0, Some(2));
    let top = ask(&["top", "app.php"]).1;
    assert!(
        top.contains("shop: k") && top.contains("expires in"),
        "{top}"
    );
    assert!(ask(&["stats", "app.php"]).1.contains("evicted      0"));
    assert_eq!(ask(&["delete", "n", "app.php"]), done("n is deleted"));
    assert_eq!(ask(&["delete", "n", "app.php"]).0, Some(1));
    assert_eq!(
        ask(&["clear", "app.php", "--namespace", "shop"]),
        done("the namespace shop is empty")
    );
    assert_eq!(
        run(
            &server,
            "return [$cache->namespace('shop')->get('k'), $cache->get('t')];"
        ),
        "[null,\"41\"]"
    );
    assert_eq!(ask(&["clear", "app.php"]), done("the cache is empty"));
    assert_eq!(run(&server, "return $cache->get('t');"), "null");
    server.stop();
    let none = workers(1).args(["--cache-size", "0"]).start();
    let output = hearth(&none, &["cache", "stats", "app.php"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("cache.size is 0"));
    none.stop();
}

/// The tests that caches of PSR-6 and PSR-16 have in common, in full, and those of the contracts of Symfony and Laravel.
#[test]
fn the_suites_of_the_psrs() {
    let tests = testkit::checkout().join("php/tests/Cache");
    let output = Command::new(testkit::hearth())
        .args([
            "run",
            "/usr/bin/phpunit",
            "--no-configuration",
            "--do-not-cache-result",
            "--test-suffix",
            "Test.php",
        ])
        .arg(tests)
        .output()
        .expect("hearth starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("OK (464 tests"),
        "{text}"
    );
}

/// Classic sites have the adapters too; they are compiled where a request names them.
#[test]
fn psr_adapters_in_a_classic_site() {
    let code = r"<?php
        require '/usr/share/php/Psr/SimpleCache/autoload.php'; require '/usr/share/php/Psr/Cache/autoload.php';
        spl_autoload_register(function ($class) { if ($class === 'Mine') { eval('class Mine {}'); } });
        $simple = new Hearth\Cache\SimpleCache(); $pool = new Hearth\Cache\Pool();
        $simple->set('n', $simple->get('n', 0) + 1);
        $pool->save($pool->getItem('k')->set(['v']));
        try { $simple->get('a:b'); } catch (Psr\SimpleCache\InvalidArgumentException $e) { echo get_class($e), ' '; }
        echo $simple->get('n'), $pool->getItem('k')->get()[0], get_class(new Mine), (int) class_exists('Hearth\Response');";
    let server = Server::app(".")
        .file("index.php", code.replace("\\\\", "\\"))
        .args(["--workers", "1"])
        .start();
    for n in 1..4 {
        assert_eq!(
            ok(&server.get("/")),
            format!("Hearth\\Cache\\SimpleCacheMistake {n}vMine0")
        );
    }
    server.stop();
}

/// The guide's examples, in a handler with what they need.
#[test]
fn the_guide() {
    let page = "docs/guide/cache.md";
    let code = |name| example(page, name).replace("<?php", "");
    let server = one_worker(&format!(
        r"function makeReport(): string {{ return 'report'; }}
        function import(int $token): void {{ echo $token > 0 ? 'imported ' : ''; }}
        return function () {{
            $db = new PDO('sqlite::memory:');
            $db->exec('CREATE TABLE news (title TEXT); INSERT INTO news VALUES (\'first\')');
            {}
            {}
            [$id, $author, $page] = [7, 'ada', 'text'];
            {}
            {}
            require_once '/usr/share/php/Psr/SimpleCache/autoload.php';
            require_once '/usr/share/php/Psr/Cache/autoload.php';
            {}
            $simple->set('psr', 'simple');
            echo $rows[0]['title'], ' ', $report, ' ', $cache->get('page:7', 'none'), ' ', $simple->get('psr'), (int) $pool->hasItem('psr');
        }};",
        code("remember"),
        code("stale"),
        code("tags"),
        code("lock"),
        code("psr")
    ))
    .start();
    for _ in 0..2 {
        assert_eq!(ok(&server.get("/")), "imported first report none simple0");
    }
    server.stop();
}

/// Those for Symfony and Laravel, with what the frameworks have in Debian; boot runs them, so requests see what they left.
#[test]
fn the_guide_for_frameworks() {
    let code = |name| example("docs/guide/cache.md", name).replace("<?php", "");
    let server = one_worker(&format!(
        r"require_once '/usr/share/php/Symfony/Contracts/Cache/autoload.php';
        require_once '/usr/share/php/Illuminate/Cache/autoload.php';
        require_once '/usr/share/php/Illuminate/Config/autoload.php';
        $app = new Illuminate\Container\Container();
        $stores = ['hearth' => ['driver' => 'hearth', 'prefix' => 'shop:']];
        $app['config'] = new Illuminate\Config\Repository(['cache' => ['default' => 'hearth', 'stores' => $stores]]);
        $app->singleton('cache', fn ($app) => new Illuminate\Cache\CacheManager($app));
        Illuminate\Support\Facades\Facade::setFacadeApplication($app);
        {}
        {}
        return function () use ($news, $cache) {{
            $stored = (new Hearth\Cache('laravel'))->get('shop:n');
            return json_encode([$news, $cache->hasItem('news'), Cache::increment('n'), $stored, Cache::lock('l', 9)->get(fn () => 'locked')]);
        }};",
        code("symfony"),
        code("laravel").lines().skip(1).collect::<Vec<_>>().join("\n"),
    ))
    .start();
    assert_eq!(ok(&server.get("/")), r#"[["first"],false,1,null,"locked"]"#);
    assert_eq!(ok(&server.get("/")), r#"[["first"],false,2,1,"locked"]"#);
    server.stop();
}
