//! What handlers are made of: pieces of PHP with blocks for other pieces.
//!
//! In a text `§0`, `§1`, … are blocks; `§v` is a variable of the piece's own, `§u` microseconds, `§s` seconds, `§n` a small
//! number and `§i` the number of something that all requests share. The functions that are called are those of `app.php`.

/// One kind of piece.
#[derive(Debug)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    /// How often it is chosen, beside the others.
    pub(crate) weight: u64,
    pub(crate) text: &'static str,
}

const fn kind(name: &'static str, weight: u64, text: &'static str) -> Kind {
    Kind { name, weight, text }
}

/// Pieces that end the worker on purpose: their names begin with this.
pub(crate) const FATAL: &str = "fatal-";
/// Inside an output callback these are errors of the app.
pub(crate) const BUFFER: &str = "buffer-";

/// All of them. Those without blocks end a branch.
pub(crate) const KINDS: &[Kind] = &[
    // Waits.
    kind("sleep", 60, "nap($c, §u);"),
    kind("ask", 25, "ask($c, §u);"),
    kind("pair", 10, "pair($c, §u);"),
    kind("select", 6, "select($c, §u);"),
    kind(
        "send",
        8,
        "quietly(fn () => channel(§i)->send($c->token, §s));",
    ),
    kind("receive", 8, "quietly(fn () => channel(§i)->receive(§s));"),
    kind(
        "hand",
        8,
        "§v = new Hearth\\Channel(); Hearth\\async(function () use ($c, §v) { §0 §v->send($c->token, 0.2); }); quietly(fn () => own($c, §v->receive(0.2)));",
    ),
    kind(
        "hand-unlimited",
        3,
        "§v = new Hearth\\Channel(); Hearth\\async(function () use ($c, §v) { §0 §v->close(); }); try { §v->receive(); } catch (Hearth\\ChannelClosed) {}",
    ),
    kind("mutex", 10, "mutex($c, §i, function () use ($c) { §0 });"),
    kind(
        "mutex-own",
        4,
        "§v = new Hearth\\Mutex(); Hearth\\async(function () use ($c, §v) { §v->with(function () use ($c) { §0 }); }); §v->with(function () use ($c) { §1 });",
    ),
    kind(
        "semaphore",
        8,
        "semaphore($c, §i, function () use ($c) { §0 });",
    ),
    kind(
        "file-lock",
        6,
        "locked($c, §i, function () use ($c) { §0 });",
    ),
    kind("program", 1, "program($c);"),
    kind("body", 6, "body($c);"),
    kind("local", 5, "local($c, function () use ($c) { §0 });"),
    kind(
        "held",
        8,
        "§v = array_fill(0, 40, $c->token . §u); §0 foreach (§v as $x) { own($c, $x); }",
    ),
    // Tasks.
    kind("async", 16, "Hearth\\async(function () use ($c) { §0 });"),
    kind(
        "await",
        16,
        "§v = Hearth\\async(function () use ($c) { §0 return $c->token; }); §1 quietly(fn () => own($c, §v->await()));",
    ),
    kind(
        "await-in-time",
        8,
        "§v = Hearth\\async(function () use ($c) { §0 return $c->token; }); quietly(fn () => own($c, §v->await(§s)));",
    ),
    kind(
        "cancel",
        12,
        "§v = Hearth\\async(function () use ($c) { §0 }); §1 §v->cancel();",
    ),
    kind(
        "cancel-and-await",
        6,
        "§v = Hearth\\async(function () use ($c) { try { §0 } finally { §1 } }); §v->cancel(); try { §v->await(); } catch (Hearth\\CancelledError) {}",
    ),
    kind(
        "cancel-by-sibling",
        6,
        "§v = Hearth\\async(function () use ($c) { §0 }); Hearth\\async(function () use ($c, §v) { §1 §v->cancel(); });",
    ),
    kind("swallow", 8, "try { §0 } catch (Throwable) { §1 }"),
    kind(
        "parallel",
        12,
        "Hearth\\parallel([function () use ($c) { §0 }, function () use ($c) { §1 }, fn () => nap($c, §u)]);",
    ),
    kind(
        "parallel-limit",
        4,
        "Hearth\\parallel([function () use ($c) { §0 }, function () use ($c) { §1 }, fn () => nap($c, §u)], 1);",
    ),
    kind(
        "race",
        8,
        "Hearth\\race([function () use ($c) { §0 }, function () use ($c) { §1 }, fn () => nap($c, §u)]);",
    ),
    kind(
        "timeout",
        14,
        "try { Hearth\\timeout(§s, function () use ($c) { §0 }); } catch (Hearth\\TimeoutError) { §1 }",
    ),
    kind("defer", 8, "Hearth\\defer(function () use ($c) { §0 });"),
    kind(
        "after",
        4,
        "Hearth\\after(§s, function () use ($c) { §0 });",
    ),
    kind(
        "after-and-stop",
        2,
        "§v = Hearth\\after(§s, function () use ($c) { §0 }); nap($c, §u); §v->stop();",
    ),
    kind("every", 4, "Every::few(§s, function () use ($c) { §0 });"),
    kind(
        "background",
        6,
        "Hearth\\background(function () use ($c) { §0 });",
    ),
    kind(
        "background-await",
        4,
        "§v = Hearth\\background(function () use ($c) { §0 }); try { §v->await(§s); } catch (Hearth\\TimeoutError) {}",
    ),
    // Ends.
    kind("throw", 8, "throw Own::of($c);"),
    kind(
        "catch",
        14,
        "try { §0 throw Own::of($c); } catch (Own $e) { own($c, $e->getMessage()); §1 } finally { §2 }",
    ),
    kind("finally", 10, "try { §0 } finally { §1 }"),
    kind("return", 3, "return;"),
    kind(
        "return-in-finally",
        3,
        "try { §0 } finally { nap($c, §u); return; }",
    ),
    kind("exit", 7, "exit;"),
    kind("exit-text", 3, "exit(home($c) ? $c->token : '');"),
    kind("exit-in-finally", 3, "try { §0 } finally { §1 exit; }"),
    kind("fatal-memory", 4, "str_repeat('x', 1 << 30);"),
    kind(
        "fatal-memory-bit-by-bit",
        2,
        "for (§v = [];;) { §v[] = str_repeat('x', 100000); }",
    ),
    kind("fatal-user", 4, "warn($c, E_USER_ERROR);"),
    kind("fatal-class", 4, "eval('class §w {} class §w {}');"),
    kind("fatal-include", 4, "include 'broken.php';"),
    kind("parse-error", 2, "eval('this is no PHP');"),
    kind("type-error", 3, "strlen(...[new stdClass]);"),
    // Destructors.
    kind(
        "destructor",
        12,
        "§v = new Dies($c, function () use ($c) { §0 }); §1 §v = null;",
    ),
    kind(
        "destructor-at-return",
        6,
        "(function () use ($c) { §v = new Dies($c, function () use ($c) { §0 }); §1 return 1; })();",
    ),
    kind(
        "destructor-in-unwinding",
        6,
        "try { (function () use ($c) { §v = new Dies($c, function () use ($c) { §0 }); throw Own::of($c); })(); } catch (Own $e) { own($c, $e->getMessage()); }",
    ),
    kind(
        "destructor-kept",
        4,
        "keep(new Dies($c, function () use ($c) { §0 }));",
    ),
    kind(
        "destructor-cycle",
        6,
        "§v = new Dies($c, function () use ($c) { §0 }); §v->self = §v; §v = null; §1 gc_collect_cycles();",
    ),
    kind(
        "destructor-of-task",
        4,
        "§v = Hearth\\async(function () use ($c) { §x = new Dies($c, function () use ($c) { §0 }); §1 }); §v->cancel();",
    ),
    kind(
        "destructor-in-array",
        4,
        "§v = [new Dies($c, function () use ($c) { §0 }), new Dies($c, function () use ($c) { §1 })]; §v = [];",
    ),
    // Generators.
    kind(
        "generator",
        8,
        "foreach ((function () use ($c) { try { §0 yield 1; §1 yield 2; } finally { §2 } })() as $x) { nap($c, §u); }",
    ),
    kind(
        "generator-left",
        8,
        "§v = (function () use ($c) { try { §0 yield 1; } finally { §1 } })(); §v->current(); §2 §v = null;",
    ),
    kind(
        "generator-kept",
        4,
        "§v = (function () use ($c) { try { §0 yield 1; } finally { §1 } })(); §v->current(); keep(§v);",
    ),
    kind(
        "generator-from",
        5,
        "§v = (function () use ($c) { try { §0 yield 1; §1 } finally { nap($c, §u); } })(); foreach ((function () use (§v, $c) { yield from §v; §2 })() as $x) { nap($c, §u); }",
    ),
    kind(
        "generator-throw",
        4,
        "§v = (function () use ($c) { try { yield 1; } finally { §0 } })(); §v->current(); try { §v->throw(Own::of($c)); } catch (Own $e) { own($c, $e->getMessage()); }",
    ),
    kind(
        "generator-shared",
        4,
        "§v = (function () use ($c) { for ($n = 0; $n < 3; $n++) { §0 yield $n; } })(); Hearth\\async(function () use (§v) { quietly(fn () => iterator_to_array(§v)); }); quietly(fn () => §v->current());",
    ),
    // Fibers.
    kind(
        "fiber",
        10,
        "§v = new Fiber(function () use ($c) { §0 Fiber::suspend(1); §1 }); §v->start(); §2 revive(§v);",
    ),
    kind(
        "fiber-left",
        10,
        "§v = new Fiber(function () use ($c) { try { §0 Fiber::suspend(1); } finally { §1 } }); §v->start(); §2 §v = null;",
    ),
    kind(
        "fiber-kept",
        5,
        "§v = new Fiber(function () use ($c) { try { §0 Fiber::suspend(1); } finally { §1 } }); §v->start(); keep(§v);",
    ),
    kind(
        "fiber-throw",
        4,
        "§v = new Fiber(function () use ($c) { try { §0 Fiber::suspend(1); } finally { §1 } }); §v->start(); try { §v->isSuspended() && §v->throw(Own::of($c)); } catch (Own $e) { own($c, $e->getMessage()); }",
    ),
    kind(
        "fiber-in-child",
        6,
        "§v = new Fiber(function () use ($c) { §0 Fiber::suspend(1); §1 }); §v->start(); Hearth\\async(function () use (§v, $c) { revive(§v); }); §2",
    ),
    kind(
        "fiber-of-child",
        5,
        "§v = Hearth\\async(function () use ($c) { §x = new Fiber(function () use ($c) { §0 Fiber::suspend(1); §1 }); §x->start(); return §x; }); quietly(function () use (§v) { revive(§v->await()); });",
    ),
    kind(
        "fiber-generator",
        4,
        "§v = new Fiber(function () use ($c) { foreach ((function () use ($c) { try { §0 yield Fiber::suspend(1); §1 } finally { nap($c, §u); } })() as $x) { nap($c, §u); } }); §v->start(); §2 §v = null;",
    ),
    kind(
        "fiber-cycle",
        4,
        "§v = new Fiber(function () use ($c, &§v) { try { §0 Fiber::suspend(1); } finally { §1 } }); §v->start(); §v = null; gc_collect_cycles();",
    ),
    kind(
        "fiber-abandoned-in-child",
        5,
        "§v = Hearth\\async(function () use ($c) { §x = new Fiber(function () use ($c) { try { §0 Fiber::suspend(1); } finally { §1 } }); §x->start(); §2 }); §v->cancel();",
    ),
    kind(
        "fiber-async",
        5,
        "§v = new Fiber(function () use ($c) { $t = Hearth\\async(function () use ($c) { §0 }); Fiber::suspend($t); §1 }); §x = §v->start(); quietly(function () use (§x) { §x instanceof Hearth\\Task && §x->await(); }); revive(§v);",
    ),
    kind("revive", 5, "revive(kept(§n), §n);"),
    // Output.
    kind("say", 14, "say($c);"),
    kind("say-much", 2, "say($c, 70000);"),
    kind("flush", 4, "say($c); flush();"),
    kind(
        "buffer-clean",
        10,
        "ob_start(); say($c); §0 own($c, (string) ob_get_clean());",
    ),
    kind("buffer-flush", 6, "ob_start(); say($c); §0 ob_end_flush();"),
    kind(
        "buffer-callback",
        8,
        "ob_start(function ($b) use ($c) { §0 return $b; }); say($c); §1 ob_end_flush();",
    ),
    kind(
        "buffer-chunks",
        4,
        "ob_start(function ($b) use ($c) { §0 return $b; }, 1); say($c); §1 say($c); ob_end_clean();",
    ),
    kind(
        "buffer-left",
        6,
        "ob_start(function ($b) use ($c) { §0 return $b; }); say($c); §1",
    ),
    kind("header", 6, "headed($c);"),
    kind(
        "header-callback",
        4,
        "header_register_callback(function () use ($c) { §0 });",
    ),
    // What the engine calls.
    kind(
        "shutdown",
        8,
        "register_shutdown_function(function () use ($c) { §0 });",
    ),
    kind("error", 4, "warn($c, E_USER_WARNING);"),
    kind(
        "error-handler",
        10,
        "set_error_handler(function ($n, $text) use ($c) { heard($c, $text); §0 return true; }); warn($c, E_USER_NOTICE); §1 restore_error_handler();",
    ),
    kind(
        "error-handler-left",
        4,
        "set_error_handler(function ($n, $text) use ($c) { heard($c, $text); §0 return true; }); §1",
    ),
    kind(
        "exception-handler",
        6,
        "set_exception_handler(function ($e) use ($c) { say($c); §0 });",
    ),
    kind("wrapper", 8, "wrapped($c, function () use ($c) { §0 });"),
    kind(
        "wrapper-include",
        3,
        "quietly(fn () => include Wrapper::at(function () use ($c) { §0 }));",
    ),
    kind(
        "wrapper-left",
        4,
        "§v = fopen(Wrapper::at(function () use ($c) { §0 }), 'r'); §1",
    ),
    kind(
        "autoload",
        6,
        "autoloaded($c, function () use ($c) { §0 });",
    ),
    kind(
        "sort",
        5,
        "§v = [2, 1]; usort(§v, function ($a, $b) use ($c) { §0 return $a <=> $b; });",
    ),
    kind(
        "map",
        5,
        "array_map(function ($x) use ($c) { §0 return $x; }, [1, 2]);",
    ),
    kind(
        "replace",
        4,
        "preg_replace_callback('/a/', function ($x) use ($c) { §0 return 'b'; }, 'a a');",
    ),
    kind("magic", 12, "magic($c, §n, function () use ($c) { §0 });"),
    kind("include", 4, "include 'part.php';"),
    kind(
        "setting",
        4,
        "settings($c, §n, function () use ($c) { §0 });",
    ),
    kind(
        "assert-parse",
        2,
        "quietly(fn () => eval('return new class { function __construct() { usleep(100); } };'));",
    ),
    // Sessions.
    kind(
        "session",
        8,
        "session($c, false, function () use ($c) { §0 });",
    ),
    kind(
        "session-shared",
        3,
        "session($c, true, function () use ($c) { §0 });",
    ),
    kind(
        "session-user",
        6,
        "sessionOfUser($c, function () use ($c) { §0 });",
    ),
    kind("session-left", 5, "begun($c); §0"),
    // Pools.
    kind(
        "pool",
        12,
        "pool(§i)->with(function ($x) use ($c) { $x->use($c); §0 $x->leave($c); }, 0.3);",
    ),
    kind(
        "pool-borrow",
        6,
        "§v = pool(§i)->borrow(0.3); §0 pool(§i)->giveBack(§v);",
    ),
    kind("pool-left", 4, "§v = pool(§i)->borrow(0.3); §0"),
    kind(
        "pool-quiet",
        6,
        "quietly(function () use ($c) { pool(§i)->with(function ($x) use ($c) { §0 }, 0.1); });",
    ),
    kind("database", 8, "database($c, function () use ($c) { §0 });"),
    kind(
        "transaction",
        5,
        "transaction($c, function () use ($c) { §0 });",
    ),
];
