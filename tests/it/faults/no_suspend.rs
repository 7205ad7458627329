//! Places at which a task must not be left: an autoloader, the garbage collector, a destructor. A call that must wait there gets
//! an error, and all others go on.

use testkit::Server;

use crate::support::{UNTIL_GO, at_once, large_form, let_go, ok, one_worker, same, until_handled};

const APP: &str = r#"
spl_autoload_register(function (string $class) {
    $GLOBALS['loaded'][$class] = match ($class) {
        'ReadsServer' => $_SERVER['REQUEST_METHOD'] . ' ' . $_GET['q'],
        'ReadsPost' => $_POST['a'],
        'ReadsFiles' => (string) count($_FILES),
        'ReadsRequest' => $_REQUEST['a'],
        'ReadsInput' => file_get_contents('php://input'),
        'Suspends1', 'Suspends2', 'Suspends3' => Fiber::suspend(),
        'Nests' => (function () { $fiber = new Fiber(fn () => $GLOBALS['task']->await()); $fiber->start(); return $fiber->getReturn(); })(),
        'Breaks' => eval('class A {} class A {}'),
        'Starts' => Hearth\async(fn () => eval('class A {} class A {}'))->isDone(),
        'Awaits' => $GLOBALS['task']->await(),
        'Streams' => (function () { for ($i = 0; $i < 128; $i++) { echo str_repeat('x', 1 << 17); flush(); } })(),
    };
    eval("class $class {}");
});
class Awaiting {
    public $self;
    public static $result;
    public function __destruct() {
        try { self::$result = $GLOBALS['task']->await(); }
        catch (Error $error) { self::$result = $error->getMessage(); }
    }
}
return function (Hearth\Request $request) {
    $GLOBALS['task'] = Hearth\async(function () { usleep(50000); return 'awaited'; });
    [, $what, $class] = explode('/', $request->path . '/');
    switch ($what) {
        case 'meet':
            // Until all four are here: a callback that holds the thread up waits in vain.
            static $here = 0; ++$here;
            for ($n = 0; $here % 4 && $n < 1000; $n++) { usleep(5000); }
            return $here % 4 ? 'alone' : 'met';
        case 'collect':
            $object = new Awaiting(); $object->self = $object; unset($object); gc_collect_cycles();
            return Awaiting::$result;
        case 'form': new $class; return $GLOBALS['loaded'][$class] . ', ' . $_POST["a"];
        case 'suspend':
            // Suspended in the middle of loading a class, and kept.
            $fiber = new Fiber(fn () => new ('Suspends' . $request->query('n')));
            $fiber->start();
            if ($class === 'keep') { static $kept; $kept = $fiber; } elseif ($class === 'finish') { $fiber->resume(); }
            elseif ($class === 'throw') { try { $fiber->throw(new LogicException('no')); } catch (LogicException) {} }
            usleep(1000);
            unset($fiber);
            gc_collect_cycles();
            return 'waited';
        case 'nested':
            // A Fiber that is begun in an autoloader is in it as well.
            try { new Nests; } catch (Error $error) { return $error->getMessage(); }
            return $GLOBALS['loaded']['Nests'];
        case 'break': new Breaks; return 'not reached';
        case 'breaks-in-fiber': (new Fiber(fn () => new Breaks))->start(); return 'not reached';
        case 'gather':
            // The two wait beside each other, or neither sees the other.
            UNTIL_GO
            static $gathered = 0; ++$gathered;
            for ($n = 0; $gathered < 2 && $n < 1000; $n++) { usleep(5000); }
            return $gathered < 2 ? 'alone' : 'met';
        case 'child-breaks-in-destructor':
            $object = new class { function __destruct() { Hearth\async(fn () => eval('class A {} class A {}')); } };
            $object = null;
            return 'gone';
        case 'child-breaks': try { new Starts; } catch (Error $error) { return $error->getMessage(); } return 'loaded';
        case 'destroy': $object = new Awaiting(); $object = null; return Awaiting::$result;
    }
    try { new $class; return $GLOBALS['loaded'][$class]; }
    catch (Error $error) { return $error->getMessage() . ', then ' . $_POST["a"] . count($_FILES) . $_REQUEST['q']; }
};"#;

const REFUSED: &str = "A task cannot wait here: inside an autoloader, the compiler, the garbage collector, \
    or another place where the engine forbids a switch";

fn app() -> Server {
    one_worker(&APP.replace("UNTIL_GO", UNTIL_GO)).start()
}

/// Four tasks that wait at the same time do so beside each other.
#[track_caller]
fn tasks_take_turns(server: &Server) {
    let (answers, _) = at_once(server, &same("/meet", 4));
    assert!(answers.iter().all(|answer| answer.text() == "met"));
}

/// A POST whose body comes only after others have been served.
#[track_caller]
fn with_a_late_body(path: &str, expected: &str) {
    let server = app();
    let mut client = server.connect();
    let (first, rest) = large_form(&format!("{path}?q=1"), "a=late");
    client.send(first);
    until_handled(&server, 1);
    tasks_take_turns(&server);
    client.send(rest);
    assert_eq!(ok(&client.response()), expected, "{path}");
    tasks_take_turns(&server);
    server.stop();
}

#[test]
fn an_autoloader_may_name_the_server_array_before_the_body_has_come() {
    with_a_late_body("/form/ReadsServer", "POST 1, late");
    let server = app();
    let mut client = server.connect();
    client.send(large_form("/load/ReadsServer?q=1", "a=late").0);
    assert_eq!(ok(&client.response()), "POST 1");
    tasks_take_turns(&server);
    drop(client);
    server.stop();
}

#[test]
fn an_autoloader_that_names_the_form_does_not_wait_for_it() {
    for class in ["ReadsPost", "ReadsFiles", "ReadsRequest"] {
        with_a_late_body(
            &format!("/load/{class}"),
            &format!("{REFUSED}, then late01"),
        );
    }
}

#[test]
fn an_autoloader_may_name_the_form_once_it_is_here() {
    let server = app();
    for (class, value) in [
        ("ReadsPost", "here"),
        ("ReadsFiles", "0"),
        ("ReadsRequest", "here"),
        ("ReadsServer", "POST 1"),
    ] {
        let mut client = server.connect();
        client.send(format!(
            "POST /load/{class}?q=1 HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\n\
             Content-Length: 6\r\n\r\na=here"
        ));
        assert_eq!(ok(&client.response()), value, "{class}");
    }
    server.stop();
}

#[test]
fn an_autoloader_that_awaits_a_task_gets_an_error() {
    let server = app();
    assert_eq!(
        ok(&server.get("/load/Awaits?q=1")),
        format!("{REFUSED}, then 01")
    );
    tasks_take_turns(&server);
    server.stop();
}

#[test]
fn a_destructor_that_awaits_a_task_gets_an_error() {
    let server = app();
    assert_eq!(ok(&server.get("/collect")), REFUSED);
    tasks_take_turns(&server);
    // From PHP 8.4 on destructors may wait where the collector does not run them.
    let result = ok(&server.get("/destroy"));
    assert!(result == REFUSED || result == "awaited", "{result}");
    tasks_take_turns(&server);
    server.stop();
}

#[test]
fn an_autoloader_may_write_more_than_the_client_reads() {
    let server = app();
    let mut client = server.connect();
    client.send("GET /load/Streams HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!(client.head().expect("a header").status, 200);
    tasks_take_turns(&server);
    let mut length = 0;
    loop {
        match client.chunk().expect("a chunk").len() {
            0 => break,
            more => length += more,
        }
    }
    assert_eq!(length, 128 << 17);
    server.stop();
}

/// The Fiber is in the autoloader; the tasks that run while it is suspended are not.
#[test]
fn a_fiber_that_is_suspended_in_an_autoloader_holds_up_no_other() {
    for how in ["keep", "drop", "finish", "throw"] {
        let server = app();
        for n in 1..=3 {
            assert_eq!(
                ok(&server.get(&format!("/suspend/{how}?n={n}"))),
                "waited",
                "{how}"
            );
            tasks_take_turns(&server);
        }
        server.stop();
    }
}

#[test]
fn a_fiber_that_begins_in_an_autoloader_cannot_wait_there() {
    let server = app();
    assert_eq!(ok(&server.get("/nested")), REFUSED);
    tasks_take_turns(&server);
    server.stop();
}

/// What still runs in a worker that is to be replaced waits as before.
#[track_caller]
fn the_others_go_on(target: &str, expected: (u16, &str)) {
    let server = app();
    let mut gathering: Vec<_> = (0..2).map(|_| server.connect()).collect();
    for client in &mut gathering {
        client.send("GET /gather HTTP/1.1\r\nHost: x\r\n\r\n");
    }
    until_handled(&server, 2);
    let answer = server.get(target);
    assert_eq!(
        (answer.status, answer.text().as_str()),
        expected,
        "{target}"
    );
    let_go(&server);
    for client in &mut gathering {
        assert_eq!(ok(&client.response()), "met", "{target}");
    }
    drop(gathering);
    server.stop();
}

#[test]
fn a_fatal_error_in_an_autoloader_holds_up_no_other() {
    for target in ["/break", "/breaks-in-fiber"] {
        the_others_go_on(target, (500, "Internal Server Error\n"));
    }
}

#[test]
fn a_child_that_breaks_in_an_autoloader_or_a_destructor_of_its_parent_holds_up_no_other() {
    // The engine sets the status, for all tasks of the request.
    the_others_go_on("/child-breaks", (500, "loaded"));
    the_others_go_on("/child-breaks-in-destructor", (500, "gone"));
}

/// Has `/first` block in a method that a task does not leave, and returns its answer and that of `/second`, which comes meanwhile.
fn in_turn(first: &str, second: &str) -> (String, String) {
    let code = r"
        final class Kept { public static $document; }
        function waits($value) { UNTIL_GO return $value; }
        class Slow {
            public static string $written = '';
            public $context;
            private bool $read = false;
            function stream_open() { return true; } function url_stat() { return []; }
            function stream_eof() { return $this->read; }
            function stream_stat() { return []; }
            function stream_set_option() { return false; }
            function stream_read() { if ($this->read) { return ''; } $this->read = true; UNTIL_GO return 'late'; }
            function stream_write($text) { self::$written .= $text; UNTIL_GO return strlen($text); }
        }
        stream_wrapper_register('slow', 'Slow');
        return function ($request) {
            if ($request->path === '/first') { FIRST }
            SECOND
        };";
    let code = code.replace("FIRST", first).replace("SECOND", second);
    let server = one_worker(&code.replace("UNTIL_GO", UNTIL_GO)).start();
    let mut begins = server.connect();
    begins.send("GET /first HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(&server, 1);
    let mut meanwhile = server.connect();
    meanwhile.send("GET /second HTTP/1.1\r\nHost: x\r\n\r\n");
    let_go(&server);
    let answers = (ok(&begins.response()), ok(&meanwhile.response()));
    server.stop();
    answers
}

/// libxml2 has one variable for it, which is set for the time of the call: documents of others were written that way, too.
#[test]
fn a_document_is_saved_with_empty_tags_for_itself() {
    let document = "$document = new DOMDocument(); $document->loadXML('<a><b/></a>');";
    let first =
        format!("{document} return 'saved ' . $document->save('slow://x', LIBXML_NOEMPTYTAG);");
    let second = format!("{document} return $document->saveXML($document->documentElement);");
    let (saved, other) = in_turn(&first, &second);
    assert_eq!(other, "<a><b/></a>");
    assert_eq!(saved, "saved 37");
}

/// Two objects of one archive share what the extension knows of it: the worker ended by SIGSEGV, or the archive was corrupt.
#[test]
fn an_archive_is_written_by_one_request_at_a_time() {
    let first = "$archive = new PharData('x.tar'); $archive['a'] = fopen('slow://x', 'r'); return $archive['a']->getContent();";
    let second =
        "$archive = new PharData('x.tar'); $archive['b'] = 'other'; $archive->compress(Phar::GZ);
        return $archive['b']->getContent() . count(new PharData('x.tar.gz'));";
    let answers = in_turn(first, second);
    assert_eq!(answers, ("late".to_owned(), "other2".to_owned()));
}

/// libxml2 and libxslt walk a document that both requests have: the worker ended by SIGSEGV, or the result had what the second
/// request stored in the memory of the nodes that it had removed.
#[test]
fn a_document_is_walked_to_its_end_before_another_request_removes_nodes() {
    let schema = r#"<schema xmlns="http://www.w3.org/2001/XMLSchema"><element name="r"><complexType><sequence maxOccurs="unbounded"><element name="a" type="int"/></sequence></complexType></element></schema>"#;
    let sheet = r#"<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" xmlns:php="http://php.net/xsl"><xsl:template match="/r"><xsl:for-each select="a"><xsl:value-of select="php:functionString('waits', .)"/>:<xsl:value-of select="."/>,</xsl:for-each></xsl:template></xsl:stylesheet>"#;
    let transform = format!(
        "$sheet = new DOMDocument; $sheet->loadXML('{}'); $processor = new XSLTProcessor; $processor->registerPHPFunctions();
        $processor->importStylesheet($sheet); $got = $processor->transformToXml(Kept::$document);",
        sheet.replace('\'', "\\'")
    );
    let validate = format!(
        "$errors = 0; set_error_handler(function () use (&$errors) {{ $errors++; waits(1); return true; }});
        Kept::$document->schemaValidateSource('{schema}'); $got = str_repeat('t:t', $errors);"
    );
    let include =
        "$found = Kept::$document->createElementNS('http://www.w3.org/2001/XInclude', 'include');
        $found->setAttribute('href', 'slow://x'); $found->setAttribute('parse', 'text');
        Kept::$document->documentElement->prepend($found);
        Kept::$document->xinclude();
        $got = str_repeat('t:t', substr_count(Kept::$document->saveXML(), '<a>'));";
    for first in [
        "Kept::$document->saveHTMLFile('slow://x'); $got = Slow::$written;",
        "Kept::$document->save('slow://x'); $got = Slow::$written;",
        "Kept::$document->C14NFile('slow://x'); $got = Slow::$written;",
        "simplexml_import_dom(Kept::$document)->asXML('slow://x'); $got = Slow::$written;",
        &transform,
        &validate,
        include,
    ] {
        let first = format!(
            "Kept::$document = new DOMDocument; Kept::$document->loadXML('<r>' . str_repeat('<a>t</a>', 2000) . '</r>');
            {first} return (string) (substr_count($got, '<a>t</a>') + substr_count($got, 't:t'));"
        );
        let second = "$root = Kept::$document->documentElement;
            while ($root->firstChild) { $root->removeChild($root->firstChild); }
            $other = new DOMDocument; $other->loadXML('<z>' . str_repeat('<b>other</b>', 3000) . '</z>'); return 'removed';";
        assert_eq!(
            in_turn(&first, second),
            ("2000".to_owned(), "removed".to_owned()),
            "{first}"
        );
    }
}
