//! `lock()`, and how locks and computations end with the request that has them.

use super::{RUN, assert_everywhere, workers};
use crate::support::{UNTIL_GO, let_go, ok, one_worker, run, until_handled};

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

/// `lock()` is null only where another holder has the lock.
#[test]
fn a_cache_full_of_locks_says_so() {
    let server = one_worker(RUN).args(["--cache-size", "1M"]).start();
    let code = "for ($locks = []; count($locks) < 100000;) {
            try { $locks[] = $cache->lock('l' . count($locks), 60) ?? 'held'; } catch (Error $e) { break; }
        }
        $all = count($locks); $other = in_array('held', $locks, true); $set = $cache->set('k', 1); $computed = $cache->remember('k', 60, fn () => 7);
        $locks = [];
        return [$all > 1000, $other, $e->getMessage(), $set, $computed, $cache->lock('l0', 1)?->isHeld(), $cache->set('k', 1)];";
    assert_eq!(
        run(&server, code),
        r#"[true,false,"The lock could not be taken: the cache is full of locks",false,7,true,true]"#
    );
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
