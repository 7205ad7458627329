//! `hearth check --leaks`: what an app's requests leave in their worker.

use std::path::Path;
use std::process::Command;

/// Status and text of the command, for an app with this code.
fn check(code: &str, words: &[&str]) -> (i32, String) {
    let directory = testkit::temporary();
    let app = directory.path().join("app.php");
    std::fs::write(&app, format!("<?php\n{code}")).expect("a script can be written");
    check_at(&app, words)
}

fn check_at(app: &Path, words: &[&str]) -> (i32, String) {
    let directory = testkit::temporary();
    let output = Command::new(testkit::hearth())
        .args(["check", "--leaks", "--allow-root"])
        .arg(app)
        .args(words)
        .env("TMPDIR", directory.path())
        .current_dir(directory.path())
        .output()
        .expect("hearth starts");
    let left: Vec<_> = std::fs::read_dir(directory.path())
        .expect("a folder")
        .collect();
    assert!(left.is_empty(), "{left:?}");
    let text = [output.stdout, output.stderr].concat();
    (
        output.status.code().expect("it ends by itself"),
        String::from_utf8_lossy(&text).into_owned(),
    )
}

/// A warm app: it fills its caches, and each request changes much that is its own.
const CLEAN: &str = r#"class Warm { public static array $rows = []; public static $file; }
    return function ($request) {
        Warm::$rows[$request->query('id')] = microtime();
        Warm::$file ??= fopen('php://memory', 'r');
        ini_set('precision', '5');
        set_error_handler(fn () => true);
        register_shutdown_function(fn () => 1);
        header('X-Own: ' . mt_rand());
        $cycle = new stdClass;
        $cycle->own = $cycle;
        $cycle->text = str_repeat('x', 10000);
        fopen('/dev/null', 'r');
        setlocale(LC_ALL, 'C.UTF-8');
        putenv('VISITOR=me');
        umask(0);
        chdir('/');
        usleep(100);
        return "fine\n";
    };"#;

#[test]
fn an_app_that_leaves_nothing_is_told_so() {
    let requests = ["--request", "/?id=1", "--request", "/?id=2"];
    let (status, text) = check(CLEAN, &requests);
    assert_eq!(
        (status, text.as_str()),
        (0, "ok: 160 requests left nothing behind\n")
    );
}

/// Each line leaves something of another kind.
const LEAVES: &str = r#"namespace App;
    class Registry { public static array $seen = []; private array $log = []; public function log() { $this->log['x'][] = 1; } }
    $registry = new Registry;
    $objects = new \SplObjectStorage;
    $spool = new class { public $queue; };
    function remember() { static $all = []; $all[] = str_repeat('x', 1000); }
    return function ($request) use ($registry, $objects, $spool) {
        Registry::$seen[] = 1;
        $registry->log();
        $objects->attach(new \stdClass);
        $spool->queue[] = fopen('/dev/null', 'r');
        remember();
        $GLOBALS['found'][] = 1;
        define('C' . count($GLOBALS['found']), 1);
        spl_autoload_register(fn () => null);
        return 'left';
    };"#;

#[test]
fn what_an_app_leaves_is_named_with_its_line_of_the_table() {
    let (status, text) = check(LEAVES, &[]);
    assert_eq!(status, 1, "{text}");
    let statics = "global variables and statics";
    for (place, row) in [
        ("static property App\\Registry::$seen: 40 more", statics),
        ("static variable $all of app\\remember(): 40 more", statics),
        ("global variable $found: 40 more", statics),
        (
            "the handler: $objects (SplObjectStorage): 40 more",
            "what the entry script made",
        ),
        (
            "the handler: $registry->log['x']: 40 more",
            "what the entry script made",
        ),
        (
            "the handler: $spool->queue: 40 more",
            "what the entry script made",
        ),
        ("constants: 40 more", "definitions"),
        (
            "autoloaders (spl_autoload_register()): 40 more",
            "autoloaders",
        ),
        (
            "open descriptors: 40 more",
            "open files, sockets and connections",
        ),
        ("resources: 40 more", "open files, sockets and connections"),
    ] {
        let is_named = text
            .lines()
            .any(|line| line.trim().starts_with(place) && line.ends_with(&format!("[{row}]")));
        assert!(is_named, "{place} [{row}]: {text}");
    }
    let bytes = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("memory of PHP: "))
        .and_then(|rest| rest.split(' ').next()?.parse().ok());
    assert!(
        bytes.is_some_and(|bytes: u64| (1000..5000).contains(&bytes)),
        "{text}"
    );
    assert!(!text.contains("please report"), "{text}");
}

#[test]
fn memory_that_no_variable_shows_is_counted() {
    let code =
        "return function () { FFI::cdef('void *malloc(size_t);')->malloc(5000); return ''; };";
    let (status, text) = check(code, &["--ini", "ffi.enable=1"]);
    assert_eq!(status, 1, "{text}");
    assert!(text.contains("  memory of native code: 5"), "{text}");
}

#[test]
fn memory_of_an_extension_that_is_not_put_back_is_named() {
    let code =
        "return function () { FFI::cdef('extern int php_optidx;')->php_optidx = 42; return ''; };";
    let (status, text) = check(code, &["--ini", "ffi.enable=1"]);
    assert_eq!(status, 1, "{text}");
    assert!(text.contains("please report"), "{text}");
    assert!(text.contains("  libphp.so symbol php_optidx"), "{text}");
}

#[test]
fn what_a_library_changes_for_the_process_is_named() {
    let code = "return function () {
        $c = FFI::cdef('int setenv(const char *, const char *, int); int chdir(const char *);');
        $c->setenv('VISITOR', 'me', 1);
        $c->chdir('/');
        return '';
    };";
    let (status, text) = check(code, &["--ini", "ffi.enable=1"]);
    assert_eq!(status, 1, "{text}");
    assert!(
        text.contains("  environment VISITOR: none → \"me\" [environment]"),
        "{text}"
    );
    assert!(text.contains("→ \"/\" [working directory]"), "{text}");
}

/// It keeps what it finds changed by another request behind its wait.
const BESIDE: &str = "final class Now { public static $request; public static array $lost = []; }
    return function ($request) {
        $before = Now::$request;
        Now::$request = $mine = new stdClass;
        usleep(2000);
        if (Now::$request !== $mine) { Now::$lost[] = $mine; }
        Now::$request = $before;
        return '';
    };";

#[test]
fn what_only_requests_leave_that_run_beside_others_is_found() {
    let (status, text) = check(BESIDE, &[]);
    assert_eq!(status, 1, "{text}");
    assert!(text.contains("static property Now::$lost: "), "{text}");
    let (status, text) = check(BESIDE, &["--concurrency", "1"]);
    assert_eq!(status, 0, "{text}");
}

#[test]
fn a_request_may_be_a_form() {
    let code = "final class Orders { public static array $all = []; }
        return function ($request) { if ($_SERVER['REQUEST_METHOD'] === 'POST') { Orders::$all[] = $_POST['item']; } return ''; };";
    let (status, text) = check(code, &["--request", "/orders"]);
    assert_eq!(status, 0, "{text}");
    let (status, text) = check(code, &["--request", "POST /orders item=7"]);
    assert_eq!(status, 1, "{text}");
    assert!(
        text.contains("static property Orders::$all: 40 more"),
        "{text}"
    );
}

#[test]
fn what_cannot_be_checked_is_refused_with_the_reason() {
    for (code, words, status, reason) in [
        (
            "return fn () => throw new Exception('not today');",
            &[][..],
            1,
            "GET / was answered 500",
        ),
        (
            "return fn () => throw new Exception('not today');",
            &[],
            1,
            "not today",
        ),
        (
            "throw new Exception('no boot');",
            &[],
            1,
            "failed while it was booted",
        ),
        (
            "return fn () => posix_kill(getmypid(), SIGKILL);",
            &[],
            1,
            "GET / was not answered",
        ),
        (
            "return fn () => '';",
            &["--request", "x"],
            2,
            "begins with /",
        ),
        (
            "echo 'a page';",
            &["--mode", "classic"],
            2,
            "nothing is left",
        ),
        (
            "while (frankenphp_handle_request(fn () => print('x'))) {}",
            &[],
            1,
            "a loop of its own",
        ),
    ] {
        let (code, text) = check(code, words);
        assert_eq!(code, status, "{reason}: {text}");
        assert!(text.contains(reason), "{reason}: {text}");
    }
}
