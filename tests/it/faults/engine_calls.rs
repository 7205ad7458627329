//! PHP code that the engine calls in the middle of its own work, such as an error handler, and that waits there while other requests run.

use testkit::{Server, ServerBuilder};

use crate::support::{at_once, eventually, ok, one_worker};

/// Sends the targets in this order, all at once, and returns the bodies of the answers, each with status 200.
pub(super) fn answers(server: &Server, targets: &[&str]) -> Vec<String> {
    let targets: Vec<String> = targets.iter().map(|&target| target.to_owned()).collect();
    at_once(server, &targets).0.iter().map(ok).collect()
}

/// Fails before the end of the test if a worker has ended.
pub(super) fn assert_answers(server: ServerBuilder, targets: &[&str], expected: &[&str]) {
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
    eventually("the warning is logged", || {
        server
            .log()
            .text()
            .contains("Input variable nesting level exceeded 64")
    });
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
