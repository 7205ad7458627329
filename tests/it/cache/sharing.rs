//! What one worker writes is what all others read, and what a request does with what it read is its own.

use testkit::Server;

use super::{RUN, assert_everywhere, classic, everywhere, workers};
use crate::support::{at_once, encoded, eventually, hearth, ok, one_worker, run};

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

/// The collector of cycles starts where a copy is replaced, and destructors of other requests' objects read from the cache too.
#[test]
fn a_destructor_that_reads_does_not_change_what_is_being_read() {
    let server = one_worker(RUN).start();
    let code = r"
        class Leaf { public $self; function __construct() { $this->self = $this; } }
        class Reader extends Leaf { function __destruct() {
            $cache = new Hearth\Cache(); $GLOBALS['read'] = count($cache->getMultiple(array_map(fn ($i) => 's' . $i, range(0, 99))));
            for ($i = 0; $i < 100; $i++) { $cache->get('k' . $i); } } }
        $keys = array_map(fn ($i) => 'k' . $i, range(0, 99));
        $value = fn ($key, $n) => ['key' => $key, 'n' => $n];
        foreach (range(0, 99) as $i) { $cache->set('s' . $i, $value('s' . $i, 0)); $cache->set('k' . $i, $value('k' . $i, 1)); }
        $held = $cache->getMultiple($keys);
        foreach ($keys as $key) { $cache->set($key, $value($key, 2)); }
        gc_collect_cycles();
        new Reader;
        for ($i = gc_status()['roots']; $i < 9950; $i++) { new Leaf; }
        $read = $cache->getMultiple($keys);
        $wrong = fn ($read) => array_values(array_filter($keys, fn ($key) => $read[$key] !== $value($key, 2)));
        return [$GLOBALS['read'] ?? 0, $wrong($read), $wrong($cache->getMultiple($keys))];";
    assert_eq!(run(&server, code), "[100,[],[]]");
    server.stop();
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
