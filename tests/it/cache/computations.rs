//! `remember()`: a value is computed once, by one of the callers.

use std::collections::BTreeSet;

use testkit::Server;

use super::{RUN, assert_everywhere, everywhere};
use crate::support::{at_once, encoded, eventually, let_go, ok, one_worker, run, same};

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

/// Runs the code six times at once: one call computes the second value, the others get the first meanwhile.
fn one_of_six_computes(server: Server, code: &str) {
    let (answers, _) = at_once(&server, &same(&encoded(code), 6));
    let mut numbers: Vec<String> = answers.iter().map(ok).collect();
    numbers.sort();
    assert_eq!(numbers, ["1", "1", "1", "1", "1", "2"]);
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
    one_of_six_computes(server, code);
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
    one_of_six_computes(server, code);
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

/// What is written while it is computed is newer than what it is computed of.
#[test]
fn a_write_during_a_computation_is_not_undone() {
    let server = one_worker(RUN).start();
    for (write, kept) in [
        ("set('k', 'newer')", "\"newer\""),
        ("add('k', 'newer')", "\"newer\""),
        ("setMultiple(['k' => 'newer'])", "\"newer\""),
        ("increment('k', 7)", "7"),
        ("get('k')", "\"computed\""),
    ] {
        let code = format!(
            "$cache->delete('k'); $value = $cache->remember('k', 60, function () use ($cache) {{ $cache->{write}; return 'computed'; }});
                return [$value, $cache->get('k')];"
        );
        assert_eq!(
            run(&server, &code),
            format!("[\"computed\",{kept}]"),
            "{write}"
        );
    }
    // Of a value that is computed again before it is over, by another request.
    let early = "$n = $cache->increment('n'); $cache->set('k', 'before'); $value = $cache->remember('k', 0.05, fn () => 'first', staleFor: 60);
        usleep(1000); $cache->delete('k'); $cache->remember('k', 0.001, fn () => 'first', staleFor: 60); usleep(2000);
        [$computed] = Hearth\\parallel([fn () => $cache->remember('k', 60, function () { usleep(20000); return 'late'; }),
            function () use ($cache) { usleep(5000); $cache->set('k', 'newer'); }]);
        return [$computed, $cache->get('k')];";
    assert_eq!(run(&server, early), r#"["late","newer"]"#);
    server.stop();
}

/// A computation that asks for its own key computes it again, also from a task that it has started: it would wait for itself.
#[test]
fn a_computation_within_itself_computes_again() {
    let server = one_worker(RUN).start();
    let outer = |inner: &str| {
        format!(
            "$inner = fn () => $cache->remember('k', 60, fn () => 'inner');
            return [$cache->remember('k', 60, fn () => ['outer', {inner}]), $cache->get('k')];"
        )
    };
    for inner in [
        "$inner()",
        "(function () use ($inner) { $fiber = new Fiber($inner); $fiber->start(); return $fiber->getReturn(); })()",
        "Hearth\\async($inner)->await()",
        "Hearth\\parallel([fn () => Hearth\\async($inner)->await()])[0]",
        "Hearth\\timeout(5, $inner)",
    ] {
        let code = format!("$cache->delete('k'); {}", outer(inner));
        // The one that ends first is kept: the other is of older data.
        let seen = run(&server, &code);
        assert!(
            ["\"inner\"", "[\"outer\",\"inner\"]"]
                .iter()
                .any(|kept| seen == format!("[[\"outer\",\"inner\"],{kept}]")),
            "{inner}: {seen}"
        );
    }
    server.stop();
}

/// Each of these would wait for a value that another computes, which waits for its own.
#[test]
fn computations_that_need_each_other_do_not_wait_for_ever() {
    let server = one_worker(RUN).args(["--request-timeout", "8"]).start();
    let circles = [
        vec![("a", "$of('b')"), ("b", "$of('a')")],
        vec![("a", "$of('b')"), ("b", "$of('c')"), ("c", "$of('a')")],
        vec![
            ("a", "Hearth\\parallel([fn () => $of('b')])[0]"),
            (
                "b",
                "Hearth\\timeout(7, fn () => Hearth\\async(fn () => $of('a'))->await())",
            ),
        ],
    ];
    for circle in circles {
        run(&server, "$cache->clear();");
        let targets: Vec<String> = circle
            .iter()
            .map(|(key, inner)| {
                encoded(&format!(
                    "$of = fn ($key) => $cache->remember($key, 60, fn () => 'alone');
                    return $cache->remember('{key}', 60, function () use ($cache, $of) {{ usleep(100000); return {inner}; }});"
                ))
            })
            .collect();
        let (answers, took) = at_once(&server, &targets);
        for answer in &answers {
            assert_eq!(ok(answer), "\"alone\"", "{circle:?}");
        }
        assert!(took.as_secs() < 5, "{circle:?}: {took:?}");
    }
    server.stop();
}

/// The first request computes what the second waits for, and needs right afterwards what the second computes: that is no circle.
#[test]
fn a_value_is_waited_for_once_the_other_computation_can_go_on() {
    let server = one_worker(RUN).start();
    let page = "return $cache->remember('page', 60, function () use ($cache) {
        $cache->increment('pages'); $cache->set('began', true); while (!$cache->get('menu began')) usleep(1000);
        $menu = $cache->remember('menu', 60, fn () => 'second'); usleep(20000); return $menu; });";
    let menu = "while (!$cache->get('began')) usleep(1000);
        $cache->remember('menu', 60, function () use ($cache) { $cache->set('menu began', true); usleep(50000); return 'menu'; });
        return $cache->remember('page', 60, function () use ($cache) { $cache->increment('pages'); return 'page'; });";
    let (answers, _) = at_once(&server, &[encoded(page), encoded(menu)]);
    for answer in &answers {
        assert_eq!(ok(answer), "\"menu\"");
    }
    assert_eq!(run(&server, "return $cache->get('pages');"), "1");
    server.stop();
}

/// A task that the request started before it computes waits for it, and so may the other request: neither closes a circle.
#[test]
fn a_task_that_began_before_a_computation_waits_for_it() {
    let server = one_worker(RUN).start();
    let own = "$count = fn ($key) => $cache->remember($key, 60, function () use ($cache, $key) { $cache->increment(\"$key computed\"); usleep(50000); return $key; });
        $child = Hearth\\async(function () use ($count) { usleep(10000); return $count('own'); });
        return [$count('own'), $child->await(), $cache->get('own computed')];";
    assert_eq!(run(&server, own), r#"["own","own",1]"#);
    let first = "return $cache->remember('page', 60, function () use ($cache) { $cache->set('page began', true); while (!$cache->get('menu began')) usleep(1000);
        return $cache->remember('menu', 60, fn () => 'again'); });";
    let second = "while (!$cache->get('page began')) usleep(1000);
        $child = Hearth\\async(fn () => $cache->remember('page', 60, fn () => 'again'));
        return $cache->remember('menu', 60, function () use ($cache) { $cache->set('menu began', true); usleep(50000); return 'menu'; });";
    let (answers, _) = at_once(&server, &[encoded(first), encoded(second)]);
    for answer in &answers {
        assert_eq!(ok(answer), "\"menu\"");
    }
    server.stop();
}

/// The claim of a computation whose key was deleted meanwhile ends without the one that follows it.
#[test]
fn a_task_waits_for_the_computation_that_follows_a_deletion() {
    let server = one_worker(RUN).start();
    for delete in ["delete('k')", "clear()"] {
        let code = format!(
            "$count = fn ($value, $while) => $cache->remember('k', 60, function () use ($value, $while) {{ $while(); return $value; }});
            [$end, $ask] = [new Hearth\\Channel(1), new Hearth\\Channel(1)];
            $old = Hearth\\async(fn () => $count('old', fn () => $end->receive()));
            usleep(5000);
            $cache->{delete};
            $new = Hearth\\async(function () use ($count, $ask) {{
                $child = Hearth\\async(function () use ($count, $ask) {{ $ask->receive(); return $count('again', fn () => null); }});
                return [$count('new', fn () => usleep(50000)), $child->await()];
            }});
            usleep(5000);
            $end->send(true);
            $old->await();
            $ask->send(true);
            $new = $new->await();
            $cache->delete('k');
            return $new;"
        );
        assert_eq!(run(&server, &code), r#"["new","new"]"#, "{delete}");
    }
    server.stop();
}

/// Here the computation waits for the task, which needs its value.
#[test]
fn a_computation_that_awaits_an_earlier_task_is_part_of_a_circle() {
    let server = one_worker(RUN).args(["--request-timeout", "8"]).start();
    for asks in ["$of()", "Hearth\\async($of)->await()"] {
        let code = format!(
            "$cache->delete('k'); $of = fn () => $cache->remember('k', 60, fn () => 'inner');
            $child = Hearth\\async(function () use ($of) {{ usleep(10000); return {asks}; }});
            return $cache->remember('k', 60, fn () => ['outer', $child->await()]);"
        );
        assert_eq!(run(&server, &code), r#"["outer","inner"]"#, "{asks}");
    }
    server.stop();
}

/// `staleFor` has no end where it is INF, or more than a hundred years.
#[test]
fn a_value_may_be_stale_for_ever() {
    let server = one_worker(RUN).start();
    for stale in ["INF", "PHP_INT_MAX", "1e12"] {
        let code = format!(
            "$cache->delete('k'); $cache->remember('k', 0.001, fn () => 'first', {stale}); usleep(3000);
            return [$cache->get('k'), Hearth\\parallel([
                fn () => $cache->remember('k', 60, function () {{ usleep(20000); return 'second'; }}, {stale}),
                function () use ($cache) {{ usleep(5000); return $cache->remember('k', 60, fn () => 'third', {stale}); }}])];"
        );
        assert_eq!(
            run(&server, &code),
            r#"["first",["second","first"]]"#,
            "{stale}"
        );
    }
    server.stop();
}

/// The destructor runs in the collector, and the work of `background()` has no time limit: the worker serves nothing else meanwhile.
#[test]
fn a_worker_that_cannot_go_on_waits_only_for_a_moment_for_another_worker() {
    let code = r#"$cache = new Hearth\Cache('both');
        return function ($request) use ($cache) {
            if ($request->path === '/holds') {
                return $cache->remember('k', 60, function () { touch('holds'); while (!file_exists('go')) { clearstatcache(); } return 'one'; });
            }
            $end = new class { public $self; public $cache;
                function __destruct() { $cache = $this->cache; Hearth\background(fn () => file_put_contents('value', $cache->remember('k', 60, fn () => 'another'))); } };
            $end->cache = $cache; $end->self = $end; unset($end); gc_collect_cycles();
            return file_get_contents('value');
        };"#;
    let server = Server::script(code)
        .args(["--workers", "2", "--dispatch", "balanced"])
        .start();
    let mut holds = server.connect();
    holds.send("GET /holds HTTP/1.1\r\nHost: x\r\n\r\n");
    eventually("the other worker computes", || {
        server.directory().join("holds").exists()
    });
    assert_eq!(ok(&server.get("/")), "another");
    let_go(&server);
    assert_eq!(ok(&holds.response()), "one");
    server.stop();
}
