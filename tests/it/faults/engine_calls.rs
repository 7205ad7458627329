//! PHP code that the engine calls in the middle of its own work, such as an error handler, and that waits there while other requests run.

use testkit::{Server, ServerBuilder};

use crate::support::{at_once, ok, one_worker};

/// Sends the targets in this order, all at once, and returns the bodies of the answers, each with status 200.
fn answers(server: &Server, targets: &[&str]) -> Vec<String> {
    let targets: Vec<String> = targets.iter().map(|&target| target.to_owned()).collect();
    at_once(server, &targets).0.iter().map(ok).collect()
}

/// Fails before the end of the test if a worker has ended.
fn assert_answers(server: ServerBuilder, targets: &[&str], expected: &[&str]) {
    let server = server.start();
    for _ in 0..3 {
        assert_eq!(answers(&server, targets), expected);
    }
    server.stop();
}

const INPUT: &str = r#"
return function (Hearth\Request $request): string {
    set_error_handler(function () { usleep(20000); throw new LogicException('the error handler was called'); });
    return json_encode(match ($request->path) {
        '/cookie' => $request->cookie(), '/query' => $request->query(), '/form' => $request->form(),
        '/_COOKIE' => $_COOKIE, '/_GET' => $_GET, '/_POST' => $_POST,
    });
};"#;

/// PHP parses the input before any code of the request runs; so no handler is called for what is wrong with it.
#[test]
fn a_warning_about_the_input_goes_to_the_log_and_not_to_the_error_handler() {
    let server = one_worker(INPUT).start();
    let deep = format!("d{}=1", "[a]".repeat(70));
    let paths = ["cookie", "query", "form", "_COOKIE", "_GET", "_POST"];
    let mut clients: Vec<_> = (0..30).map(|_| server.connect()).collect();
    for (id, client) in clients.iter_mut().enumerate() {
        let path = paths[id % paths.len()];
        let body = format!("id={id}&{deep}&last={id}");
        client.send(format!(
            "POST /{path}?id={id}&{deep}&last={id} HTTP/1.1\r\nHost: x\r\nCookie: id={id}; {deep}; last={id}\r\n\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ));
    }
    for (id, client) in clients.iter_mut().enumerate() {
        let expected = format!(r#"{{"id":"{id}","last":"{id}"}}"#);
        assert_eq!(client.response().text(), expected);
    }
    assert!(
        server
            .log()
            .text()
            .contains("Input variable nesting level exceeded 64")
    );
    server.stop();
}

/// Deprecations about the classes call the handler while the engine links them.
const LINKING: &str = r#"
return function (Hearth\Request $request): string {
    $name = trim($request->path, '/');
    set_error_handler(function () { usleep(30000); return true; });
    require_once __DIR__ . "/$name.php";
    $object = is_callable("make$name") ? "make$name"() : new $name;
    return get_debug_type($object['x']) . ' of ' . implode(' ', class_implements($object));
};"#;

#[test]
fn a_class_is_linked_before_another_request_looks_for_it() {
    let methods = "function offsetExists($o) { return true; } function offsetGet($o) { return 1; } \
        function offsetSet($o, $v) {} function offsetUnset($o) {}";
    let server = one_worker(LINKING)
        .file("A.php", format!("<?php class A implements ArrayAccess {{ {methods} }}"))
        .file("B.php", "<?php class B extends A { function offsetGet($o) { return 'b'; } function offsetSet($o, $v) {} }")
        .file(
            "C.php",
            format!("<?php function makeC() {{ return new class implements ArrayAccess {{ {methods} }}; }}"),
        );
    assert_answers(
        server,
        &["/A", "/A", "/B", "/A", "/B", "/C", "/C"],
        &[
            "int of ArrayAccess",
            "int of ArrayAccess",
            "string of ArrayAccess",
            "int of ArrayAccess",
            "string of ArrayAccess",
            "int of ArrayAccess",
            "int of ArrayAccess",
        ],
    );
}

/// A pattern with many groups does not use the match data that ext/pcre prepares, but it puts back the mark that it is in use.
const PATTERNS: &str = r#"
return function (Hearth\Request $request): string {
    $wait = function (array $found) { usleep(10000); return "[$found[1]]"; };
    return match ($request->path) {
        '/large' => preg_replace_callback('/' . str_repeat('(x)?', 40) . '(z)/', fn () => usleep(20000) ?? 'Z', 'z'),
        '/callback' => preg_replace_callback('/<(\w+)>/', $wait, '<one> <two> <three> <four> <five>'),
        '/match' => (function () {
            for ($n = 0; $n < 50; $n++) { preg_match('/(a+)(b+)/', str_repeat('-', 99) . 'aaabbb', $found, PREG_OFFSET_CAPTURE); usleep(1000); }
            return $found[2][1];
        })(),
    };
};"#;

#[test]
fn a_callback_of_preg_replace_callback_waits_with_its_match() {
    let marked = "[one] [two] [three] [four] [five]";
    assert_answers(
        one_worker(PATTERNS),
        &["/large", "/callback", "/match"],
        &["Z", marked, "102"],
    );
}

/// The Fiber is suspended in a callback, and another request resumes it.
const SUSPENDED: &str = r#"
return function (Hearth\Request $request): string {
    static $fiber;
    $marked = fn (Closure $wait) => preg_replace_callback('/<(\w+)>/', fn ($found) => $wait() ?? "[$found[1]]", '<one> <two> <three>');
    if ($request->path === '/begin') {
        $fiber = new Fiber(fn () => $marked(fn () => Fiber::suspend()));
        $fiber->start();
        return preg_replace('/(b+)(c+)/', '$2$1', 'abbcc');
    }
    if ($request->path === '/wait') { return $marked(fn () => usleep(10000)); }
    while (!$fiber->isTerminated()) { preg_match('/(a+)(b+)/', str_repeat('-', 99) . 'ab', $found); $fiber->resume(); usleep(1000); }
    return $fiber->getReturn();
};"#;

#[test]
fn a_fiber_takes_its_match_along() {
    let marked = "[one] [two] [three]";
    assert_answers(
        one_worker(SUSPENDED),
        &["/begin", "/wait", "/wait", "/resume", "/wait"],
        &["accbb", marked, marked, marked, marked],
    );
}

/// An opcode that writes to a variable of the class after it has called a method, a handler or the end of a process.
const PLACES: &str = r#"
class Slow { function __toString() { usleep(20000); return 'slow'; } }
class Shared { static $text; static $list; static $object; static string $typed = ''; }
class Slowly implements IteratorAggregate, Countable {
    private string $kept = 'kept';
    function getIterator(): Iterator { usleep(20000); return new ArrayIterator([$this->kept]); }
    function count(): int { usleep(20000); return strlen($this->kept); }
    function __clone() { usleep(20000); $this->kept .= '!'; }
    function __toString(): string { usleep(20000); return $this->kept; }
}
function takes(string &$text) { return $text; }
function takesAll(string &...$texts) { return $texts[0]; }
function &gives(): string { return Shared::$object; }
function yields() { global $object; yield from $object; }
return function (Hearth\Request $request): string {
    set_error_handler(function () { usleep(20000); return true; });
    Shared::$object ??= new stdClass;
    switch ($request->path) {
        case '/text': Shared::$text = str_repeat('a', 100); return strlen(Shared::$text .= new Slow);
        case '/element': Shared::$list = ['k' => 1]; return Shared::$list['k'] += '5 apples';
        case '/property': Shared::$object->p = str_repeat('a', 100); return strlen(Shared::$object->p .= new Slow);
        case '/typed': return Shared::$typed = new Slow;
        case '/global': global $text; $text = str_repeat('a', 100); $text .= new Slow; return strlen($text);
        case '/count': static $count; $count = [1]; $count[0] += '5 apples'; return $count[0];
        case '/operand': global $text; $text = str_repeat('a', 100); return strlen($text . new Slow);
        case '/compared': global $text; $text = [[1], 'slow']; return var_export($text == [[1], new Slow], true);
        case '/held': $held = Shared::$object; $held->p = str_repeat('a', 100); return strlen($held->p .= new Slow);
        case '/array-object': $held = Shared::$object = new ArrayObject(['k' => 'a']); $held['k'] .= new Slow; return $held['k'];
        case '/process': Shared::$object->process = popen('sleep 0.02', 'r'); return $got = (Shared::$object->process = 'new');
        case '/elements':
            Shared::$list = [popen('sleep 0.02', 'r'), 1, 2];
            array_splice(Shared::$list, 0, 1);
            return implode(Shared::$list);
        case '/iterated': global $object; $object = new Slowly; foreach ($object as $value) { return $value; }
        case '/counted': global $object; $object = new Slowly; return count($object);
        case '/unpacked': global $object; $object = new Slowly; return [...$object][0];
        case '/passed': global $object; $object = new Slowly; return max('a', ...$object);
        case '/yielded': $GLOBALS['object'] = new Slowly; foreach (yields() as $value) { return $value; }
        case '/cloned': global $object; $object = new Slowly; return (string) clone $object;
        case '/cast': global $object; $object = new Slowly; return (string) $object;
        case '/echoed': global $object; $object = new Slowly; ob_start(); echo $object; return ob_get_clean();
        case '/by-reference': Shared::$object = new Slowly; return takes(Shared::$object);
        case '/variadic': Shared::$object = new Slowly; return takesAll(Shared::$object);
        case '/returned': Shared::$object = new Slowly; return gives();
        case '/unset': Shared::$list = [1 => 'a', 2 => 'b']; unset(Shared::$list[1.5]); return 'unset';
        case '/false': Shared::$list = ['a' => false]; Shared::$list['a']['b'] = 'set'; return 'set';
        case '/dynamic': $held = Shared::$object = new Slowly; $held->added = 'a'; $held->added .= 'b'; return $held->added;
        case '/appended': $held = Shared::$object; $held->new['k'] .= 'b'; return $held->new['k'];
        case '/named': Shared::$object->slow = ['k' => 'v']; unset(Shared::$object->{new Slow}); return 'unset';
    }
    if (Shared::$object instanceof ArrayObject) { Shared::$object->exchangeArray(['k' => null]); } elseif (is_object(Shared::$object)) { Shared::$object->p = null; }
    Shared::$text = Shared::$object = Shared::$list = null;
    $GLOBALS['text'] = $GLOBALS['object'] = null;
    for ($n = 0; $n < 50; $n++) { Shared::$list["k$n"] = $own[] = "other $n"; }
    usleep(1000);
    return implode(',', $own) === implode(',', Shared::$list ?? $own) ? 'fine' : 'mixed up';
};"#;

#[test]
fn an_opcode_that_holds_a_place_in_a_shared_variable_is_not_left() {
    for (target, expected) in [
        ("/text", "104"),
        ("/element", "6"),
        ("/property", "104"),
        ("/typed", "slow"),
        ("/global", "104"),
        ("/count", "6"),
        ("/operand", "104"),
        ("/compared", "true"),
        ("/held", "104"),
        ("/array-object", "aslow"),
        ("/process", "new"),
        ("/elements", "12"),
        ("/iterated", "kept"),
        ("/counted", "4"),
        ("/unpacked", "kept"),
        ("/passed", "kept"),
        ("/yielded", "kept"),
        ("/cloned", "kept!"),
        ("/cast", "kept"),
        ("/echoed", "kept"),
        ("/by-reference", "kept"),
        ("/variadic", "kept"),
        ("/returned", "kept"),
        ("/unset", "unset"),
        ("/false", "set"),
        ("/dynamic", "ab"),
        ("/appended", "b"),
        ("/named", "unset"),
    ] {
        let server = one_worker(PLACES);
        assert_answers(
            server,
            &[target, "/clear", "/clear"],
            &[expected, "fine", "fine"],
        );
    }
}

/// Classes whose values are computed at their first use, with a warning for which the handler waits.
const FIRST_USE: &str = r#"
class Settings { const LIST = []; static $first = self::LIST['gone']; static $all = []; }
enum Suit: string { case A = 'a' . Settings::LIST['gone']; case B = 'b'; }
class Kept { static $suit; }
return function (Hearth\Request $request): string {
    set_error_handler(function () { usleep(20000); return true; });
    switch ($request->path) {
        case '/properties': Settings::$all[] = 'written'; return count(Settings::$all);
        case '/cases': $suit = Suit::A; Kept::$suit ??= $suit; return Kept::$suit === Suit::A ? 'same' : 'other';
    }
};"#;

#[test]
fn the_values_of_a_class_are_computed_once() {
    assert_eq!(
        answers(
            &one_worker(FIRST_USE).start(),
            &["/properties", "/properties"]
        ),
        ["1", "2"]
    );
    assert_eq!(
        answers(
            &one_worker(FIRST_USE).start(),
            &["/cases", "/cases", "/cases"]
        ),
        ["same", "same", "same"]
    );
}

const LEFT: &str = r#"
class Slow implements IteratorAggregate, Countable, ArrayAccess {
    static bool $waits = false;
    private function wait($value) { self::$waits = true; usleep(30000); self::$waits = false; return $value; }
    function __toString(): string { return $this->wait('text'); }
    function getIterator(): Generator { yield $this->wait('first'); yield $this->wait('second'); }
    function count(): int { return $this->wait(4); }
    function __get($name) { return $this->wait([$name]); }
    function offsetExists($key): bool { return $this->wait(true); }
    function offsetGet($key): mixed { return $this->wait($key); }
    function offsetSet($key, $value): void { $this->wait(null); }
    function offsetUnset($key): void { $this->wait(null); }
}
class WithDefault { public $slow; function __construct() { $this->slow = (string) new Slow; } }
function typed(string $text, WithDefault $default = new WithDefault) { return $text . ' ' . $default->slow; }
return function (Hearth\Request $request): string {
    $slow = new Slow;
    $text = '';
    switch ($request->path) {
        case '/waits': return Slow::$waits ? 'waits' : 'blocks';
        case '/echo': ob_start(); echo $slow; return ob_get_clean();
        case '/cast': return (string) $slow;
        case '/rope': return "a {$slow} b";
        case '/concat': return 'a ' . $slow;
        case '/append': $text .= $slow; return $text;
        case '/append-element': $list = ['k' => 'a ']; $list['k'] .= $slow; return $list['k'];
        case '/compare': return $slow == 'text' ? 'same' : 'other';
        case '/count': return count($slow);
        case '/foreach': foreach ($slow as $value) { $text = $text . $value; } return $text;
        case '/unpack': return implode(' ', [...$slow]);
        case '/get': return $slow->name[0];
        case '/offset': return $slow['key'];
        case '/isset': return isset($slow['key']) ? 'is set' : 'is not set';
        case '/parameter': return typed('a', new WithDefault);
        case '/default': return typed('a');
        case '/implode': return implode(' ', ['a', $slow]);
    }
};"#;

#[test]
fn other_requests_run_while_a_method_that_an_opcode_calls_waits() {
    for (target, expected) in [
        ("/echo", "text"),
        ("/cast", "text"),
        ("/rope", "a text b"),
        ("/concat", "a text"),
        ("/append", "text"),
        ("/append-element", "a text"),
        ("/compare", "same"),
        ("/count", "4"),
        ("/foreach", "firstsecond"),
        ("/unpack", "first second"),
        ("/get", "name"),
        ("/offset", "key"),
        ("/isset", "is set"),
        ("/parameter", "a text"),
        ("/default", "a text"),
        ("/implode", "a text"),
    ] {
        assert_answers(one_worker(LEFT), &[target, "/waits"], &[expected, "waits"]);
    }
}

const TREE: &str = r#"
class Shared { static $document; }
function slow($text) { usleep(200); return $text !== ''; }
return function (Hearth\Request $request): string {
    if ($request->path === '/remove') {
        while ($node = Shared::$document?->documentElement->firstChild) { $node->remove(); }
        $own = []; for ($n = 0; $n < 500; $n++) { $own[] = new DOMElement('own', "$n"); }
        return 'removed';
    }
    Shared::$document = new DOMDocument;
    Shared::$document->loadXML('<a>' . str_repeat('<b>text</b>', 100) . '</a>');
    $path = new DOMXPath(Shared::$document);
    $path->registerNamespace('php', 'http://php.net/xpath');
    $path->registerPhpFunctions();
    return count($path->query('//b[php:function("slow", string(.))]'));
};"#;

#[test]
fn nodes_are_not_removed_while_an_expression_is_evaluated() {
    assert_answers(
        one_worker(TREE),
        &["/query", "/remove", "/query"],
        &["100", "removed", "100"],
    );
}

/// Each importStylesheet() sets variables of libxml2 and puts them back: the second one before the first.
const PARSERS: &str = r#"
class Slow {
    public $context; private $text = '<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"/>';
    function stream_open($path) { usleep($path === 'slow://long' ? 40000 : 15000); return true; }
    function stream_read($length) { [$text, $this->text] = [$this->text, '']; return $text; }
    function stream_eof() { return $this->text === ''; }
    function stream_stat() { return []; }
    function url_stat() { return []; }
    function stream_close() {}
}
stream_wrapper_register('slow', 'Slow', STREAM_IS_URL);
return function (Hearth\Request $request): string {
    if ($request->path === '/defaults') {
        static $library;
        $library ??= FFI::cdef('int *__xmlSubstituteEntitiesDefaultValue(void); int *__xmlLoadExtDtdDefaultValue(void);', 'libxml2.so.2');
        return $library->__xmlSubstituteEntitiesDefaultValue()[0] . $library->__xmlLoadExtDtdDefaultValue()[0];
    }
    $sheet = new DOMDocument;
    $sheet->loadXML('<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:import href="slow:/' . $request->path
        . '"/></xsl:stylesheet>');
    return var_export((new XSLTProcessor)->importStylesheet($sheet), true);
};"#;

#[test]
fn the_settings_of_a_parser_are_put_back_when_another_one_ends_first() {
    let server = one_worker(PARSERS)
        .args(["--ini", "ffi.enable=true"])
        .start();
    assert_eq!(ok(&server.get("/defaults")), "00");
    for _ in 0..3 {
        assert_eq!(answers(&server, &["/short", "/long"]), ["true", "true"]);
        assert_eq!(ok(&server.get("/defaults")), "00");
    }
    server.stop();
}

const DIRECTORIES: &str = r#"
return function (Hearth\Request $request): string {
    $directory = trim($request->path, '/');
    $directory === '' || chdir(__DIR__ . "/$directory");
    $first = include './value.php';
    usleep(5000);
    return $first . (include './value.php') . (include 'value.php');
};"#;

/// opcache notes the working directory for the keys of relative paths, and keeps those keys for all workers.
#[test]
fn a_relative_include_starts_from_the_directory_of_its_request() {
    let server = one_worker(DIRECTORIES)
        .args(["--ini", "opcache.file_update_protection=0"])
        .file("value.php", "<?php return 'root';")
        .file("a/value.php", "<?php return 'a';")
        .file("b/value.php", "<?php return 'b';");
    assert_answers(
        server,
        &["/a", "/b", "/", "/a", "/", "/b"],
        &["aaa", "bbb", "rootrootroot", "aaa", "rootrootroot", "bbb"],
    );
}

#[test]
fn the_resources_of_all_requests_are_not_listed() {
    let code = "return function () { try { return get_resources(); } catch (Error $e) { return $e->getMessage(); } };";
    let server = one_worker(code).start();
    let refused = "get_resources() is refused with more than one request in flight per worker (workers.concurrency): \
        it would return the streams and connections of all of them";
    assert_eq!(ok(&server.get("/")), refused);
    server.stop();
}

/// `/load/NAME` requires a file once and tells what it defines; `/both` has two files that require each other.
const LOADING: &str = r#"
final class Loading { public static array $order = []; }
return function (Hearth\Request $request): string {
    $name = basename($request->path);
    if (dirname($request->path) === '/timeout') {
        try {
            return Hearth\timeout(0.02, fn () => require_once __DIR__ . "/$name.php");
        } catch (Throwable $e) {
            return get_class($e);
        }
    }
    try {
        $file = "$name.php";
        $value = dirname($request->path) === '/include' ? include __DIR__ . "/$name.php" : require_once __DIR__ . '/' . $file;
    } catch (LogicException $e) {
        return $e->getMessage();
    }
    return json_encode([$value, defined('WHOLE') && WHOLE, $name === 'left' ? defined('LEFT') : defined('RIGHT')]);
};"#;

fn loading() -> ServerBuilder {
    one_worker(LOADING)
        .file("whole.php", "<?php usleep(50000); define('WHOLE', true); return 'loaded';")
        .file("thrown.php", "<?php usleep(50000); throw new LogicException('not loaded');")
        .file("left.php", "<?php usleep(20000); require_once __DIR__ . '/right.php'; define('LEFT', true);")
        .file("right.php", "<?php usleep(20000); require_once __DIR__ . '/left.php'; define('RIGHT', true);")
        .file(
            "child.php",
            r"<?php return Hearth\async(function () { usleep(10000); require_once __DIR__ . '/child.php'; return 'of a child'; })->await();",
        )
}

#[test]
fn a_file_is_whole_when_another_request_requires_it_once() {
    let server = loading().start();
    let first = r#"["loaded",true,false]"#;
    let later = "[true,true,false]";
    assert_eq!(
        answers(&server, &["/load/whole", "/load/whole", "/load/whole"]),
        [first, later, later]
    );
    server.stop();
    let server = loading().start();
    assert_eq!(
        answers(&server, &["/include/whole", "/load/whole"]),
        [first, later]
    );
    server.stop();
}

/// As in `php`, the file counts as included.
#[test]
fn a_file_that_throws_is_waited_for_too() {
    let server = loading().start();
    assert_eq!(
        answers(&server, &["/load/thrown", "/load/thrown"]),
        ["not loaded", "[true,false,false]"]
    );
    server.stop();
}

#[test]
fn two_files_that_require_each_other_are_loaded_by_two_requests() {
    let server = loading().start();
    let answers = answers(&server, &["/load/left", "/load/right"]);
    assert!(
        answers.contains(&"[1,false,true]".to_owned()),
        "{answers:?}"
    );
    server.stop();
}

/// The file waits for a task that requires the file.
#[test]
fn a_task_does_not_wait_for_the_file_that_has_started_it() {
    let server = loading().start();
    assert_eq!(
        answers(&server, &["/load/child"]),
        [r#"["of a child",false,false]"#]
    );
    server.stop();
}

/// The request that loads it goes on.
#[test]
fn the_wait_for_a_file_ends_with_a_timeout() {
    let server = loading().start();
    assert_eq!(
        answers(&server, &["/load/whole", "/timeout/whole", "/load/whole"]),
        [
            r#"["loaded",true,false]"#,
            r"Hearth\TimeoutError",
            "[true,true,false]"
        ]
    );
    server.stop();
}
