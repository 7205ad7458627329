//! `async`, `await`, `parallel`, `timeout`, `defer`, channels and the rest, in a handler.

use std::time::Duration;

use testkit::Server;

use crate::support::{UNTIL_GO, at_once, eventually, let_go, ok, one_worker, same};

/// The handler's body must return `ok`, after these milliseconds at least, and without the waits of ten seconds that it cuts
/// short.
#[track_caller]
fn handler(at_least: u64, code: &str) {
    let server = one_worker(&format!(
        "return function (Hearth\\Request $request) {{ {code} }};"
    ))
    .start();
    let start = std::time::Instant::now();
    let text = ok(&server.get("/"));
    let took = start.elapsed();
    assert_eq!(text, "ok");
    assert!(took >= Duration::from_millis(at_least), "{took:?}");
    assert!(took < Duration::from_secs(8), "{took:?}");
    server.stop();
}

#[test]
fn async_starts_at_once_and_await_gives_the_result() {
    handler(
        190,
        r"$now = 0;
        $tasks = array_map(function ($n) use (&$now) { return Hearth\async(function (int $n) use (&$now) { $now++; usleep(200000); return $n * 2; }, $n); }, range(1, 10));
        if ($now !== 10) { return 'only ' . $now . ' have started'; }
        return array_sum(array_map(fn ($t) => $t->await(), $tasks)) === 110 ? 'ok' : 'wrong';",
    );
}

/// `@` is not a setting of the request; background work has settings of its own.
#[test]
fn a_task_begins_with_the_error_reporting_of_its_request() {
    handler(
        0,
        r"$before = error_reporting();
        error_reporting(E_ERROR | E_PARSE);
        $levels = fn () => [@Hearth\async(fn () => error_reporting())->await(), Hearth\timeout(1, fn () => error_reporting())];
        if ($levels() !== [E_ERROR | E_PARSE, E_ERROR | E_PARSE]) { return 'set: ' . json_encode($levels()); }
        ini_set('error_reporting', (string) E_NOTICE);
        if ($levels() !== [E_NOTICE, E_NOTICE]) { return 'ini_set: ' . json_encode($levels()); }
        $background = Hearth\background(fn () => error_reporting())->await();
        ini_restore('error_reporting');
        return $background === $before && $levels() === [$before, $before] ? 'ok' : json_encode([$before, $background, $levels()]);",
    );
}

#[test]
fn await_gives_the_exception() {
    handler(
        0,
        r"$t = Hearth\async(function () { usleep(1000); throw new DomainException('mine'); });
        try { $t->await(); return 'no exception'; } catch (DomainException $e) { return $e->getMessage() === 'mine' ? 'ok' : 'other'; }",
    );
}

#[test]
fn parallel_keeps_keys_and_obeys_its_limit() {
    handler(
        190,
        r"$now = 0; $most = 0;
        $one = function () use (&$now, &$most) { $most = max($most, ++$now); usleep(50000); $now--; return $now; };
        $r = Hearth\parallel(array_fill_keys(range('a', 'h'), $one), 2);
        return array_keys($r) === range('a', 'h') && $most === 2 ? 'ok' : json_encode([$r, $most]);",
    );
}

#[test]
fn the_first_failure_cancels_the_rest() {
    handler(
        0,
        r"$ended = [];
        try {
            Hearth\parallel([
                function () use (&$ended) { try { sleep(10); } catch (Hearth\CancelledError $e) { $ended[] = 'cancelled'; throw $e; } },
                function () { usleep(20000); throw new LogicException('first'); },
            ]);
        } catch (LogicException $e) { $ended[] = $e->getMessage(); }
        return $ended === ['cancelled', 'first'] ? 'ok' : json_encode($ended);",
    );
}

#[test]
fn race_gives_the_first_and_cancels_the_others() {
    handler(
        0,
        r"return Hearth\race([fn () => sleep(10), function () { usleep(20000); return 'ok'; }]);",
    );
}

#[test]
fn timeout_ends_a_wait() {
    handler(
        190,
        r"try { Hearth\timeout(0.2, fn () => sleep(10)); return 'waited'; } catch (Hearth\TimeoutError) {}
        return Hearth\timeout(5, fn () => 'ok');",
    );
}

#[test]
fn a_cancelled_task_ends_at_its_wait() {
    handler(
        0,
        r"$t = Hearth\async(fn () => sleep(10)); usleep(10000); $t->cancel();
        try { $t->await(); return 'no'; } catch (Hearth\CancelledError) { return 'ok'; }",
    );
}

#[test]
fn await_may_have_a_time_limit_of_its_own() {
    handler(
        90,
        r"$c = new Hearth\Channel();
        $t = Hearth\async(fn () => $c->receive());
        try { $t->await(0.1); return 'too early'; } catch (Hearth\TimeoutError) {}
        $c->send('ok'); return $t->await();",
    );
}

#[test]
fn channels_pass_values_in_order_and_close() {
    handler(
        0,
        r"$c = new Hearth\Channel(2); $got = [];
        $t = Hearth\async(function () use ($c) { foreach (range(1, 20) as $n) { $c->send($n); if ($n % 5 === 0) { usleep(1000); } } $c->close(); });
        foreach ($c as $value) { $got[] = $value; } $t->await();
        return $got === range(1, 20) ? 'ok' : json_encode($got);",
    );
}

#[test]
fn a_mutex_lets_one_in_at_a_time() {
    handler(
        90,
        r"$m = new Hearth\Mutex(); $in = 0; $most = 0;
        Hearth\parallel(array_fill(0, 10, function () use ($m, &$in, &$most) { $m->with(function () use (&$in, &$most) { $most = max($most, ++$in); usleep(10000); $in--; }); }));
        return $most === 1 ? 'ok' : (string) $most;",
    );
}

#[test]
fn children_end_with_their_request() {
    let server = one_worker(
        r"return function ($request) {
            if ($request->path === '/look') { return (string) @file_get_contents('mark'); }
            Hearth\async(function () { usleep(300000); file_put_contents('mark', 'child'); });
            return 'parent';
        };",
    )
    .start();
    let start = std::time::Instant::now();
    assert_eq!(ok(&server.get("/")), "parent");
    assert!(
        start.elapsed() >= Duration::from_millis(290),
        "the request did not wait for its child"
    );
    assert_eq!(ok(&server.get("/look")), "child");
    server.stop();
}

#[test]
fn deferred_work_runs_after_the_response() {
    let server = one_worker(&format!(
        r"return function ($request) {{
            if ($request->path === '/look') {{ return (string) @file_get_contents('mark'); }}
            Hearth\defer(function () {{ {UNTIL_GO} file_put_contents('mark', 'deferred'); }});
            return 'at once';
        }};",
    ))
    .start();
    assert_eq!(ok(&server.get("/")), "at once");
    assert_eq!(ok(&server.get("/look")), "");
    let_go(&server);
    eventually("it runs", || ok(&server.get("/look")) == "deferred");
    server.stop();
}

#[test]
fn a_local_is_private_to_its_request_and_its_children() {
    let server = one_worker(
        r"$local = new Hearth\Local();
        return function ($request) use ($local) {
            $id = $request->query('id'); $seen = $local->has() ? 'seen ' : '';
            $local->set($id); usleep(mt_rand(0, 20000));
            $child = Hearth\async(function () use ($local) { usleep(mt_rand(0, 5000)); return $local->get(); })->await();
            return $seen . $local->get() . $child;
        };",
    )
    .start();
    let targets: Vec<String> = (0..50).map(|id| format!("/?id={id}")).collect();
    for _ in 0..2 {
        let (answers, _) = at_once(&server, &targets);
        for (id, answer) in answers.iter().enumerate() {
            assert_eq!(ok(answer), format!("{id}{id}"));
        }
    }
    server.stop();
}

#[test]
fn timers_of_the_worker_run_and_stop() {
    let server = one_worker(
        r"return function ($request) {
            static $ticks = 0, $timer = null;
            if ($request->path === '/start') { $timer = Hearth\every(0.02, function () use (&$ticks) { $ticks++; }); return 'started'; }
            if ($request->path === '/stop') { $timer->stop(); return 'stopped'; }
            return (string) $ticks;
        };",
    )
    .start();
    let start = std::time::Instant::now();
    assert_eq!(ok(&server.get("/start")), "started");
    let ticks = || -> u32 { ok(&server.get("/")).parse().expect("a number") };
    eventually("it ticks", || ticks() >= 5);
    assert_eq!(ok(&server.get("/stop")), "stopped");
    let most = start.elapsed().as_millis() / 20 + 1;
    let ticks = ticks();
    assert!(
        u128::from(ticks) <= most,
        "{ticks} ticks where {most} have a place"
    );
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(
        ok(&server.get("/")),
        ticks.to_string(),
        "it ticks on after stop()"
    );
    server.stop();
}

#[test]
fn request_ids_differ() {
    let server = one_worker(r"return fn () => Hearth\requestId();").start();
    let (answers, _) = at_once(&server, &same("/", 50));
    let ids: std::collections::BTreeSet<String> = answers.iter().map(ok).collect();
    assert_eq!(ids.len(), 50);
    server.stop();
}

#[test]
fn more_tasks_at_once_than_are_kept_ready() {
    handler(
        0,
        r"for ($round = 0; $round < 4; $round++) {
            $tasks = [];
            for ($n = 0; $n < 600; $n++) {
                $tasks[] = Hearth\async(function (int $n) { if ($n % 3) { usleep($n % 7 * 1000); } return $n; }, $n);
            }
            foreach ($tasks as $n => $task) {
                if ($task->await() !== $n) { return 'wrong'; }
            }
            $given_up = array_map(fn () => Hearth\async(fn () => usleep(10_000_000)), range(1, 300));
            array_map(fn ($task) => $task->cancel(), $given_up);
        }
        return 'ok';",
    );
}

#[test]
fn the_end_of_a_task_tells_which_it_was_newest_callback_first() {
    handler(
        0,
        r"$said = [];
        $task = Hearth\async(function () use (&$said) {
            $id = Hearth\Internal\taskId();
            foreach (['first', 'second', 'third'] as $name) {
                Hearth\Internal\onTaskEnd($id, function (int|bool ...$given) use (&$said, $id, $name) { $said[] = [$name, $given === [$id, false]]; });
            }
            Hearth\Internal\onTaskEnd($id, function () use (&$said, $id) {
                Hearth\Internal\onTaskEnd($id, function (int $ended) use (&$said, $id) { $said[] = ['late', $ended === $id]; });
            });
            usleep(1000);
            return $id;
        });
        $id = $task->await();
        try { Hearth\Internal\onTaskEnd($id, fn () => 1); return 'it has ended'; } catch (ValueError) {}
        // The next is in its place, and is not it.
        Hearth\async(fn () => usleep(1000))->await();
        return $said === [['third', true], ['second', true], ['first', true], ['late', true]] ? 'ok' : json_encode($said);",
    );
}

#[test]
fn a_task_leads_to_its_request_until_it_ends() {
    let server = one_worker(
        r"use function Hearth\Internal\{requestOf, taskId};
        return function () {
            $mine = Hearth\requestId();
            $id = 0;
            $wait = function () use (&$id) { $id = taskId(); usleep(20000); };
            $child = Hearth\async($wait);
            $of_child = requestOf($id);
            $ended = $id;
            $child->await();
            Hearth\background($wait);
            return json_encode([strlen($mine), requestOf(taskId()) === $mine, $of_child === $mine, requestOf($ended), requestOf($id), requestOf(0), requestOf(-1)]);
        };",
    )
    .start();
    let (answers, _) = at_once(&server, &same("/", 5));
    for answer in &answers {
        assert_eq!(ok(answer), r#"[16,true,true,"","","",""]"#);
    }
    server.stop();
}

#[test]
fn concurrency_limits_requests_in_flight() {
    let server: Server = one_worker(
        "$now = 0; return function () use (&$now) { $now++; usleep(50000); return (string) $now-- ; };",
    )
    .args(["--concurrency", "3"])
    .start();
    let (answers, took) = at_once(&server, &same("/", 9));
    assert!(
        answers
            .iter()
            .all(|answer| (1..=3).contains(&ok(answer).parse::<i32>().expect("a number")))
    );
    assert!(took >= Duration::from_millis(145), "{took:?}");
    server.stop();
}

/// `timeout()` calls its function in a task of its own, but for its author that is part of the calling task.
#[test]
fn a_mutex_belongs_to_the_caller_of_timeout() {
    handler(
        0,
        r"$m = new Hearth\Mutex(); $said = [];
        $m->acquire();
        try { Hearth\timeout(5, fn () => $m->with(fn () => 1)); } catch (LogicException) { $said[] = 'holds it'; }
        Hearth\timeout(5, fn () => $m->release());
        Hearth\timeout(5, fn () => $m->acquire());
        $said[] = $m->isLocked();
        $other = Hearth\async(fn () => Hearth\timeout(5, function () use ($m) { $m->acquire(); return 'in'; }));
        $m->release();
        $said[] = $other->await();
        $said[] = $m->isLocked();
        return $said === ['holds it', true, 'in', false] ? 'ok' : json_encode($said);",
    );
}

#[test]
fn what_tasks_wait_at_cannot_be_cloned() {
    handler(
        0,
        r"$said = [];
        foreach ([new Hearth\Mutex(), new Hearth\Semaphore(1), new Hearth\Channel(), Hearth\after(60, fn () => 1)] as $one) {
            try { clone $one; $said[] = get_class($one); } catch (Error) {}
        }
        $one->stop();
        return $said === [] ? 'ok' : json_encode($said);",
    );
}

#[test]
fn a_wait_has_no_time_limit_that_is_no_number() {
    handler(
        0,
        r"$m = new Hearth\Mutex(); $m->acquire(); $s = new Hearth\Semaphore(1); $s->acquire(); $c = new Hearth\Channel(); $said = [];
        $t = Hearth\async(fn () => usleep(100000));
        $waits = fn (float $limit) => ['receive' => fn () => $c->receive($limit), 'send' => fn () => $c->send(1, $limit),
            'semaphore' => fn () => $s->acquire($limit), 'await' => fn () => $t->await($limit),
            'mutex' => fn () => Hearth\async(fn () => $m->acquire($limit))->await()];
        foreach ($waits(NAN) as $name => $wait) { try { $wait(); $said[] = $name; } catch (ValueError) {} }
        foreach ($waits(-0.5) as $name => $wait) { try { $wait(); $said[] = $name; } catch (Hearth\TimeoutError) {} }
        return $said === [] ? 'ok' : json_encode($said);",
    );
}
