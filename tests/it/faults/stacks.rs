//! Recursion through C code: as deep as `php` on the command line goes, and beyond.

use testkit::Server;

use crate::support::{
    UNTIL_GO, at_once, eventually, let_go, ok, one_worker, resident, same, until_handled,
};

const APP: &str = r#"
class Node { public $next; }
class Destroyed extends Node { function __destruct() {} }
class Magic { function __get($name) { return --$GLOBALS['depth'] > 0 ? (new Magic)->$name : 1; } }
class Json implements JsonSerializable {
    function __construct(private int $depth) {}
    function jsonSerialize(): mixed { return $this->depth > 0 ? [new Json($this->depth - 1)] : 1; }
}
function nested($depth) { for ($array = 1; $depth > 0; $depth--) { $array = [$array]; } return $array; }
function mapped($depth) { return $depth ? array_map('mapped', [$depth - 1]) : 1; }
function sorted($depth) { $two = [1, 2]; return $depth && usort($two, fn () => sorted($depth - 1) ? 0 : 1); }
function replaced($depth) { return $depth ? preg_replace_callback('/./', fn () => replaced($depth - 1), 'x') : '1'; }
function less($depth) { return realpath("/none/$depth") ? 0 : $depth - 1; }
function looked($depth) { $less = less($depth); $depth = less($less); return $depth ? array_map('looked', [$less]) : 1; }
function below($frames, $then) { return $frames ? preg_replace_callback('/./', fn () => below($frames - 1, $then), 'x') : $then(); }
function linked($class, $depth) {
    for ($list = null; $depth > 0; $depth--) { $node = new $class; $node->next = $list; $list = $node; }
    unset($node);
    $list = null;
}
return function (Hearth\Request $request) {
    [, $what, $depth, $frames] = explode('/', $request->path . '//');
    $depth = (int) $depth;
    switch ($what) {
        case 'pid': return (string) getmypid();
        case 'heap': return (string) memory_get_usage(true);
        case 'slow': UNTIL_GO return 'slow done';
        case 'map': mapped($depth); break;
        case 'looks': below((int) $frames, fn () => looked($depth)); break;
        case 'usort': sorted($depth); break;
        case 'preg': replaced($depth); break;
        case 'get': $GLOBALS['depth'] = $depth; (new Magic)->it; break;
        case 'json': json_encode(nested($depth), JSON_THROW_ON_ERROR, PHP_INT_MAX >> 32); break;
        case 'jsonSerialize': json_encode(new Json($depth), 0, PHP_INT_MAX >> 32); break;
        case 'serialize': serialize(nested($depth)); break;
        case 'unserialize':
            unserialize(str_repeat('a:1:{i:0;', $depth) . 'i:1;' . str_repeat('}', $depth), ['max_depth' => 0]);
            break;
        case 'free': linked(Node::class, $depth); break;
        case 'destroy': linked(Destroyed::class, $depth); break;
        case 'array': $array = nested($depth); unset($array); break;
        case 'compare': if (nested($depth) != nested($depth)) { return 'not the same'; } break;
        case 'count': count(nested($depth), COUNT_RECURSIVE); break;
        case 'fiber': (new Fiber(fn () => mapped($depth)))->start(); break;
        case 'deep-and-wait':
            $deep = function ($depth) use (&$deep) { $depth ? array_map($deep, [$depth - 1]) : usleep(50000); };
            $deep($depth);
            break;
        case 'caught':
            for ($n = 0; $n < 5; $n++) {
                try { mapped(1 << 40); return 'too deep for any stack'; } catch (Error $error) {}
            }
            return $error->getMessage();
        case 'caught-where-it-is':
            // From PHP 8.3 on each overflow is an exception, here as under `php`: without a bound that would be one for each of
            // all the ways back up.
            $left = 3;
            $again = function () use (&$again, &$left) {
                try { array_map($again, [1]); } catch (Error $error) {
                    if (--$left < 0) { throw $error; }
                    array_map($again, [1]);
                }
            };
            $again();
            break;
    }
    return 'done';
};"#;

fn app() -> Server {
    one_worker(&APP.replace("UNTIL_GO", UNTIL_GO))
        .args(["--ini", "memory_limit=-1"])
        .start()
}

/// How deep each goes with a process stack of 8 MiB, about: PHP 8.2 on the command line dies at twice that, 8.4 ends a
/// `jsonSerialize()` at 15,000.
const AS_PHP: [(&str, u32); 16] = [
    ("map", 8000),
    ("usort", 8000),
    ("preg", 4000),
    ("get", 8000),
    ("json", 16_000),
    ("jsonSerialize", 12_000),
    ("serialize", 4000),
    ("unserialize", 32_000),
    ("free", 64_000),
    ("destroy", 64_000),
    ("array", 256_000),
    ("compare", 32_000),
    ("count", 128_000),
    ("fiber", 2000),
    ("deep-and-wait", 6000),
    ("caught", 0),
];

#[test]
fn a_request_recurses_as_deep_as_php_does() {
    let server = app();
    let pid = ok(&server.get("/pid"));
    for (what, depth) in AS_PHP {
        let expected = if what == "caught" {
            "Maximum call stack size of"
        } else {
            "done"
        };
        let text = ok(&server.get(&format!("/{what}/{depth}")));
        assert!(text.starts_with(expected), "{what}: {text}");
    }
    assert_eq!(ok(&server.get("/pid")), pid, "the worker was replaced");
    server.stop();
}

/// The request fails; another one of the same worker finishes. It goes eight times as deep as it may: `php` dies at twice that, and to
/// nest two million arrays takes seconds.
#[track_caller]
fn ends_its_request_only(what: &str) {
    let may = AS_PHP.iter().find(|(name, _)| *name == what);
    let depth = may.map_or(2_000_000, |(_, depth)| depth * 8);
    let server = app();
    let mut slow = server.connect();
    slow.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(&server, 1);
    assert_eq!(
        server.get(&format!("/{what}/{depth}")).status,
        500,
        "{what}"
    );
    // "Maximum call stack size of", or "Maximum stack depth exceeded" of PHP 8.4's own check in json_encode().
    server.expect_log("Maximum ");
    let_go(&server);
    assert_eq!(ok(&slow.response()), "slow done", "{what}");
    drop(slow);
    eventually("a worker answers", || {
        ok(&server.get("/pid")).parse::<u32>().is_ok()
    });
    let stopped = server.stop();
    assert!(!stopped.log.contains("SIG"), "{what}: {}", stopped.log);
}

#[test]
fn endless_recursion_through_php_code_ends_its_request_only() {
    for what in ["map", "usort", "preg", "get", "fiber", "caught-where-it-is"] {
        ends_its_request_only(what);
    }
}

#[test]
fn endless_recursion_in_c_code_ends_its_request_only() {
    for what in [
        "json",
        "serialize",
        "unserialize",
        "free",
        "destroy",
        "array",
        "compare",
    ] {
        ends_its_request_only(what);
    }
}

/// An exception, as from PHP 8.3 on: what recursed too deep is unwound, and the worker is sound.
#[test]
fn recursion_through_php_code_that_is_too_deep_costs_no_worker() {
    let server = app();
    let pid = ok(&server.get("/pid"));
    for what in ["map", "usort", "preg", "get", "fiber"] {
        assert_eq!(server.get(&format!("/{what}/2000000")).status, 500);
    }
    assert_eq!(ok(&server.get("/pid")), pid, "the worker was replaced");
    server.stop();
}

/// Functions on its way use more of the stack than its next step, and the interrupt that follows has hardly any left. How much that is
/// depends on what lies below.
#[test]
fn recursion_ends_wherever_it_meets_the_end_of_the_stack() {
    let server = app();
    let pid = ok(&server.get("/pid"));
    for frames in 0..16 {
        assert_eq!(server.get(&format!("/looks/2000000/{frames}")).status, 500);
    }
    assert_eq!(ok(&server.get("/pid")), pid, "the worker was replaced");
    server.stop();
}

/// The stack is not a task's: it is the process's only request, on a larger one.
#[test]
fn endless_recursion_in_classic_mode_is_a_500() {
    let server = Server::script(
        "function deep($n) { return array_map('deep', [$n + 1]); }
        if (isset($_GET['c'])) { for ($a = 1, $n = 0; $n < 2000000; $n++) { $a = [$a]; } serialize($a); }
        isset($_GET['php']) ? deep(0) : print('fine');",
    )
    .args(["--mode", "classic", "--workers", "1", "--ini", "memory_limit=-1"])
    .start();
    for target in ["/app.php?php", "/app.php?c", "/app.php?php"] {
        assert_eq!(server.get(target).status, 500, "{target}");
        assert_eq!(ok(&server.get("/app.php")), "fine");
    }
    let stopped = server.stop();
    assert!(!stopped.log.contains("SIG"), "{}", stopped.log);
}

/// Twelve at the same time, each with megabytes of its stack in use.
#[test]
fn what_a_deep_recursion_touched_is_given_back() {
    let server = app();
    let pid = server.workers()[0];
    let run = |depth: u32| {
        let (answers, _) = at_once(&server, &same(&format!("/deep-and-wait/{depth}"), 12));
        assert!(answers.iter().all(|answer| ok(answer) == "done"));
    };
    run(10);
    // The engine keeps what its heap had, for the next.
    let used = || resident(pid) - ok(&server.get("/heap")).parse::<u64>().expect("a number");
    let before = used();
    run(6000);
    let growth = used().saturating_sub(before);
    assert!(growth < 12 << 20, "{growth} bytes of 12 stacks of 6 MiB");
    // A stack that has shrunk grows again.
    run(6000);
    server.stop();
}
