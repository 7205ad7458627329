//! `hearth run` beside `php`: with the same words both print the same and end alike.

use std::path::Path;
use std::process::{Command, Stdio};

/// What one command printed on both streams, and its exit code.
fn output_of(program: &str, words: &[&str], directory: &Path) -> (Option<i32>, String, String) {
    let output = Command::new(program)
        .args(words)
        .current_dir(directory)
        .env("AN_ENVIRONMENT_VARIABLE", "of ours")
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

/// Asserts that `hearth run` does with these words what `php` does.
fn same_as_php(words: &[&str], directory: &Path) {
    let hearth = testkit::hearth();
    let ours = [&["run"], words].concat();
    assert_eq!(
        output_of(hearth.to_str().expect("a path"), &ours, directory),
        output_of("php", words, directory),
        "{words:?}"
    );
}

#[test]
fn settings_are_ini_expressions_as_for_php() {
    let directory = testkit::temporary();
    for word in [
        "x=E_ALL & ~E_NOTICE",
        "x=E_ALL ^ E_NOTICE ^ E_WARNING",
        "x=5|2",
        "x=(1|2)",
        "x=!1",
        "x=~1",
        "x=UTC;",
        "x=0 ; a comment",
        "x=a b  ; a comment",
        "x",
        "x=",
        "x=on",
        "x=None",
        "x=\"a;b\"",
        "x='a;${AN_ENVIRONMENT_VARIABLE}'",
        "x=\"a ${AN_ENVIRONMENT_VARIABLE}\"",
        "x=a ${AN_ENVIRONMENT_VARIABLE}",
        "x=${AN_ENVIRONMENT_VARIABLE}",
        "x=/a b;c",
        "x=<a>\"b\"",
        "x=a\"b\"c",
        "x=\\Foo",
        "x=-1",
        "x=PHP_VERSION",
        "x=MYSQLI_ASSOC",
        "x[]=1",
        "x=\"two\nlines\"",
        "x=/two\nlines",
        "error_reporting=E_ALL & ~E_NOTICE",
        "date.timezone=UTC;",
    ] {
        let code = "var_dump(get_cfg_var('x'), ini_get('error_reporting'), ini_get('date.timezone'), get_cfg_var('y'));";
        same_as_php(&["-d", word, "-d", "y=next", "-r", code], directory.path());
    }
}

/// How scripts end that do not come to their end: in fatal errors, exceptions and `exit()`, wherever.
const ENDS: &[(&str, &str)] = &[
    (
        "a handler of output fails at the end",
        "ob_start(function ($text) { static $n = 0; if ($n++) return $text; throw new Exception('in it'); }); echo 'body';",
    ),
    (
        "a handler of output calls what it must not",
        "ob_start(function ($text) { ob_start(); return $text; }); echo 'x'; trigger_error('fatal', E_USER_ERROR);",
    ),
    (
        "a handler of output exits",
        "ob_start(function ($text) { exit(4); }); echo 'x'; register_shutdown_function(function () { echo 'shutdown'; });",
    ),
    (
        "a handler of output has no memory",
        "ini_set('memory_limit', '8M'); ob_start(function ($text) { return str_repeat($text, 9 << 20); }); echo 'x';",
    ),
    (
        "a destructor fails",
        "class D { function __destruct() { echo 'destructor'; undefined(); } } $d = new D; ob_start(fn ($t) => strtoupper($t)); echo 'body';",
    ),
    (
        "a destructor throws, others follow",
        "class D { function __construct(public $n) {} function __destruct() { echo $this->n; if ($this->n == 2) throw new Exception('x'); } } \
        $a = new D(1); $b = new D(2); $c = new D(3); exit(5);",
    ),
    (
        "a destructor adds a shutdown function",
        "class D { function __destruct() { echo 'd'; register_shutdown_function(function () { echo 'never'; }); } } $d = new D;",
    ),
    (
        "a shutdown function holds an object",
        "class D { function __construct(public $n) {} function __destruct() { echo $this->n; } } $x = new D('held'); $y = new D('global'); \
        register_shutdown_function(function () use ($x) { echo 'shutdown'; }); unset($x);",
    ),
    (
        "a shutdown function throws, another is added",
        "register_shutdown_function(function () { register_shutdown_function(function () { echo 'two'; exit(3); }); throw new Exception('x'); }); nope();",
    ),
    (
        "a shutdown function after the memory is gone",
        "ini_set('memory_limit', '8M'); register_shutdown_function(function () { echo 's', strlen(error_get_last()['message']) > 9; }); $x = str_repeat('x', 20 << 20);",
    ),
    (
        "a shutdown function ends the handler of output",
        "ob_start(); ob_start(fn ($t) => \"<$t>\"); echo 'z'; register_shutdown_function('ob_end_clean'); trigger_error('E', E_USER_ERROR);",
    ),
    (
        "an exception handler exits",
        "set_exception_handler(function ($e) { echo 'handled ', $e->getMessage(); exit(9); }); ob_start(fn ($t) => \"[$t]\"); echo 'x'; throw new Exception('boo');",
    ),
    (
        "an exception handler throws",
        "set_exception_handler(function ($e) { throw new LogicException('again', 1, $e); }); throw new Exception('boo');",
    ),
    (
        "time is up, twice",
        "register_shutdown_function(function () { echo error_get_last()['message']; set_time_limit(1); while (1); }); set_time_limit(1); while (1);",
    ),
    (
        "generators and fibers are left behind",
        "function g() { try { yield 1; yield 2; } finally { echo 'finally'; } } $g = g(); $g->current(); \
        $f = new Fiber(function () { try { Fiber::suspend(); } finally { echo 'fiber'; } }); $f->start(); ob_start(fn ($t, $m) => \"$m:$t\", 2); echo 'abc'; eval('foo(');",
    ),
    (
        "a session handler fails",
        "session_set_save_handler(new class implements SessionHandlerInterface { function open($a, $b): bool { return true; } function close(): bool { echo 'close'; return true; } \
        function read($i): string|false { return ''; } function write($i, $d): bool { echo 'write'; nope(); } function destroy($i): bool { return true; } function gc($m): int|false { return 0; } }); \
        session_start(); $_SESSION['a'] = 1; echo 'x';",
    ),
    (
        "a class cannot be made",
        "echo 'x'; abstract class A { abstract function f(); } if (1) { class B extends A {} }",
    ),
    ("it cannot be read", "echo 'x'; function ( {"),
    (
        "it recurses through an error handler",
        "set_error_handler(function ($n, $m) { echo $m; trigger_error('inner'); }); echo $u; undefined_fn();",
    ),
    (
        "exit in a function of a callback",
        "array_map(function ($n) { if ($n > 1) exit('text'); echo $n; }, [1, 2, 3]);",
    ),
];

#[test]
fn scripts_end_as_under_php() {
    let directory = testkit::temporary();
    for (name, code) in ENDS {
        println!("{name}");
        std::fs::write(directory.path().join("end.php"), format!("<?php {code}"))
            .expect("a file can be written");
        same_as_php(&["end.php"], directory.path());
    }
}
