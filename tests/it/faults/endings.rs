//! After a fatal error: what the client gets, and what is closed and removed, as under php-fpm.

use testkit::http::{Client, Response};
use testkit::service::Fpm;
use testkit::{Server, ServerBuilder};

use crate::support::{UNTIL_GO, eventually, let_go, ok, one_worker, until_handled};

/// The same under php-fpm and in a handler; each `case` ends as its fatal error makes it.
const CASES: &str = r#"<?php
$show = function () {
    $error = error_get_last();
    echo '[', $error['type'] ?? 'none', ' ', strtok($error['message'] ?? '', ' '), ']';
};
$fatal = fn () => str_repeat('x', 1 << 30);
switch ($_GET['case']) {
    case 'memory': $fatal();
    case 'small': $all = []; for (;;) { $all[] = str_repeat('x', 1000); }
    case 'user': trigger_error('own', E_USER_ERROR);
    case 'compile': include __DIR__ . '/broken.php';
    case 'twice': eval('class Twice' . bin2hex(random_bytes(4)) . ' {} interface Own {} interface Own {}');
    case 'echoed': echo 'before '; $fatal();
    case 'buffered': ob_start(); echo 'in a buffer '; eval('class Never {} class Never {}');
    case 'callback': ob_start(fn ($text) => strtoupper($text)); echo 'called '; trigger_error('own', E_USER_ERROR);
    case 'status': http_response_code(404); header('X-Own: yes'); echo 'kept'; trigger_error('own', E_USER_ERROR);
    case 'shutdown': register_shutdown_function($show); echo 'before '; trigger_error('own', E_USER_ERROR);
    case 'memory-shutdown': register_shutdown_function($show); $fatal();
    case 'small-shutdown': register_shutdown_function($show); $all = []; for (;;) { $all[] = str_repeat('x', 1000); }
    case 'compile-shutdown': register_shutdown_function($show); include __DIR__ . '/broken.php';
    case 'page':
        register_shutdown_function(function () { header('HTTP/1.1 503 Sorry'); header('X-Own: page'); echo 'sorry'; });
        $fatal();
    case 'several':
        register_shutdown_function(function () { echo 'one '; register_shutdown_function(fn () => print('three ')); });
        register_shutdown_function(fn () => print('two '));
        trigger_error('own', E_USER_ERROR);
    case 'exits':
        register_shutdown_function(function () { echo 'one '; exit; });
        register_shutdown_function(fn () => print('two '));
        trigger_error('own', E_USER_ERROR);
    case 'exits-with-text':
        register_shutdown_function(fn () => exit('bye'));
        trigger_error('own', E_USER_ERROR);
    case 'throws':
        register_shutdown_function(function () { echo 'one '; throw new Exception('not caught'); });
        register_shutdown_function(fn () => print('two '));
        trigger_error('own', E_USER_ERROR);
    case 'again':
        register_shutdown_function(function () use ($fatal) { echo 'one '; $fatal(); });
        register_shutdown_function(fn () => print('two '));
        $fatal();
    case 'only-then':
        register_shutdown_function(function () use ($fatal) { echo 'one '; $fatal(); });
        register_shutdown_function(fn () => print('two '));
        echo 'zero ';
        return;
    case 'waits':
        register_shutdown_function(function () { usleep(20000); echo 'waited'; });
        trigger_error('own', E_USER_ERROR);
    case 'session':
        session_start();
        $_SESSION['count'] = ($_SESSION['count'] ?? 0) + 1;
        echo session_status();
        register_shutdown_function(fn () => print($_SESSION['count']));
        $fatal();
    case 'in-fiber':
        register_shutdown_function($show);
        (new Fiber(function () { echo 'in '; trigger_error('own', E_USER_ERROR); }))->start();
    case 'in-callback':
        register_shutdown_function($show);
        array_map(function () { $two = [1, 2]; usort($two, fn () => trigger_error('own', E_USER_ERROR)); }, [1]);
    case 'in-destructor':
        register_shutdown_function($show);
        $object = new class { function __destruct() { echo 'gone '; trigger_error('own', E_USER_ERROR); } };
        $object = null;
    case 'in-output':
        register_shutdown_function($show);
        ob_start(function ($text) { trigger_error('own', E_USER_ERROR); return $text; });
        echo 'lost';
        ob_end_flush();
    case 'caught': try { undefined_function(); } catch (Error $error) { echo get_class($error); } return;
}
"#;

const BROKEN: &str = "<?php
foreach ([1] as $value) { foreach ([2] as $other) {
    class Broken { abstract function missing(); }
} }
";
const INI: [(&str, &str); 6] = [
    ("memory_limit", "32M"),
    ("display_errors", "0"),
    ("log_errors", "1"),
    ("output_buffering", "4096"),
    ("session.use_cookies", "0"),
    ("default_mimetype", "text/html"),
];

fn cases() -> impl Iterator<Item = &'static str> {
    let lines = CASES
        .lines()
        .filter_map(|line| line.trim().strip_prefix("case '"));
    lines.filter_map(|line| line.split('\'').next())
}

fn site() -> tempfile::TempDir {
    let root = testkit::document_root();
    for (name, text) in [("cases.php", CASES), ("broken.php", BROKEN)] {
        std::fs::write(root.path().join(name), text).expect("a file can be written");
    }
    root
}

/// Status, own header and body. Where php-fpm sends a 500 without a body, a handler's answer is a page that says so.
fn seen(response: &Response) -> (u16, Option<String>, String) {
    let text = response.text();
    let own = response.header("x-own").map(str::to_owned);
    let is_empty = text == "Internal Server Error\n";
    (
        response.status,
        own,
        if is_empty { String::new() } else { text },
    )
}

#[test]
fn a_fatal_error_ends_a_request_as_under_php_fpm() {
    let root = site();
    let fpm = Fpm::start(root.path(), &INI, "");
    let code = format!(
        "return function () {{ include '{}/cases.php'; }};",
        root.path().display()
    );
    let mut server = Server::script(&code).args(["--workers", "16"]);
    for (name, value) in INI {
        server = server.args(["--ini", &format!("{name}={value}")]);
    }
    let server = server.start();
    let mut differ = Vec::new();
    for case in cases() {
        let target = format!("/cases.php?case={case}");
        let expected = seen(&Client::connect(&fpm.address()).get(&target));
        let found = seen(&server.get(&target));
        if found != expected {
            differ.push(format!("{case}: {found:?}, under php-fpm {expected:?}"));
        }
    }
    assert!(differ.is_empty(), "{differ:#?}");
    let stopped = server.stop();
    assert!(!stopped.log.contains("SIG"), "{}", stopped.log);
}

/// `/slow` keeps the worker after the others broke.
const APP: &str = r#"
spl_autoload_register(function ($class) {
    static $times = 0;
    eval($times++ ? "class $class {}" : 'class A {} class A {}');
});

return function (Hearth\Request $request) {
    switch ($request->path) {
        case '/slow': UNTIL_GO return 'slow done';
        case '/slow-loads': UNTIL_GO return get_class(new Loaded);
        case '/load-breaks': new Loaded;
        case '/pid': return (string) getmypid();
        case '/session':
            session_id('agent'); session_start();
            $_SESSION['n'] = ($_SESSION['n'] ?? 0) + 1;
            echo $_SESSION['n'];
            if ($request->query('fatal')) { eval('class A {} class A {}'); }
            return;
        case '/upload': count($_FILES); eval('class A {} class A {}');
        case '/moved': move_uploaded_file($_FILES['file']['tmp_name'], 'kept'); eval('class A {} class A {}');
        case '/body': file_get_contents('php://input'); eval('class A {} class A {}');
        case '/temporary':
            $kept = fopen('php://temp/maxmemory:10', 'w+'); fwrite($kept, 'more than ten bytes');
            $other = tmpfile();
            eval('class A {} class A {}');
        case '/shutdown-child':
            register_shutdown_function(function () {
                echo Hearth\async(fn () => [usleep(1000), 'awaited'])->await()[1];
                Hearth\async(fn () => sleep(20));
            });
            Hearth\defer(fn () => touch('deferred'));
            eval('class A {} class A {}');
        case '/compiles-after':
            // What it compiles is wrong if the compiler still thinks of the loops that the error left.
            register_shutdown_function(fn () => print(eval('foreach ([1, 2] as $n) { return "sound"; }')));
            eval('foreach ([1] as $a) { foreach ([2] as $b) { class Broken { abstract function missing(); } } }');
        case '/background':
            Hearth\background(function () {
                register_shutdown_function(fn () => touch('ended'));
                usleep(1000);
                eval('class A {} class A {}');
            });
            return 'begun';
        case '/streamed':
            register_shutdown_function(fn () => print('the end'));
            echo 'begun '; flush();
            eval('class A {} class A {}');
    }
    return 'fine';
};"#;

fn app() -> ServerBuilder {
    one_worker(&APP.replace("UNTIL_GO", UNTIL_GO))
        .file("temporary/unused", "")
        .file("sessions/unused", "")
        .args(["--ini", "sys_temp_dir=temporary"])
        .args(["--ini", "upload_tmp_dir=temporary"])
        .args(["--ini", "session.save_path=sessions"])
}

/// A request that keeps the worker in which the others break.
fn with_another(server: &Server, test: impl FnOnce()) {
    let mut slow = server.connect();
    slow.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(server, 1);
    test();
    let_go(server);
    assert_eq!(ok(&slow.response()), "slow done");
}

fn temporary(server: &Server) -> Vec<String> {
    let entries = std::fs::read_dir(server.directory().join("temporary")).expect("a directory");
    let names = entries.map(|entry| {
        entry
            .expect("an entry")
            .file_name()
            .into_string()
            .expect("a name")
    });
    names.filter(|name| name != "unused").collect()
}

#[test]
fn the_next_request_of_a_visitor_does_not_wait_for_the_session_of_one_that_broke() {
    let server = app().start();
    with_another(&server, || {
        assert_eq!(ok(&server.get("/session")), "1");
        assert_eq!(server.get("/session?fatal=1").status, 500);
        // What it had changed is written, as under php-fpm.
        assert_eq!(ok(&server.get("/session")), "3");
    });
    server.stop();
}

/// Three megabytes: more than PHP keeps of a body in memory.
fn large() -> String {
    "x".repeat(3 << 20)
}

#[test]
fn no_uploaded_file_of_a_request_that_broke_stays() {
    let server = app().start();
    with_another(&server, || {
        for target in ["/upload", "/moved"] {
            let body = format!(
                "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"f\"\r\n\r\n{}\r\n--b--\r\n",
                "x".repeat(1000)
            );
            let mut client = server.connect();
            client.send(format!(
                "POST {target} HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            ));
            assert_eq!(client.response().status, 500);
            assert_eq!(temporary(&server), [""; 0], "{target}");
        }
        assert!(server.directory().join("kept").exists());
    });
    server.stop();
}

#[test]
fn no_file_with_the_body_of_a_request_that_broke_stays() {
    let server = app().start();
    with_another(&server, || {
        let mut client = server.connect();
        let body = large();
        client.send(format!(
            "POST /body HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ));
        assert_eq!(client.response().status, 500);
        assert_eq!(temporary(&server), [""; 0]);
    });
    server.stop();
}

#[test]
fn no_temporary_file_outlives_a_worker_that_broke() {
    let server = app().start();
    let pid = ok(&server.get("/pid"));
    assert_eq!(server.get("/temporary").status, 500);
    eventually("the worker is replaced", || ok(&server.get("/pid")) != pid);
    eventually("its files are gone", || temporary(&server).is_empty());
    server.stop();
}

#[test]
fn shutdown_functions_of_a_request_that_broke_may_wait_for_tasks() {
    let server = app().start();
    let response = server.get("/shutdown-child");
    assert_eq!(
        (response.status, response.text()),
        (500, "awaited".to_owned())
    );
    let directory = server.directory().to_owned();
    server.stop();
    assert!(
        !directory.join("deferred").exists(),
        "defer() is for what goes well"
    );
}

#[test]
fn what_is_compiled_after_a_compile_error_is_sound() {
    let server = app().start();
    let response = server.get("/compiles-after");
    assert_eq!(
        (response.status, response.text()),
        (500, "sound".to_owned())
    );
    server.stop();
}

/// The engine notes which classes it loads, so that an autoloader does not call itself.
#[test]
fn others_load_the_class_whose_autoloader_broke() {
    let server = app().start();
    let mut slow = server.connect();
    slow.send("GET /slow-loads HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(&server, 1);
    assert_eq!(server.get("/load-breaks").status, 500);
    let_go(&server);
    assert_eq!(ok(&slow.response()), "Loaded");
    server.stop();
}

#[test]
fn background_work_that_breaks_has_shutdown_functions_too() {
    let server = app().start();
    assert_eq!(ok(&server.get("/background")), "begun");
    eventually("they ran", || server.directory().join("ended").exists());
    server.stop();
}

/// What is there still goes out; the client is told that it is not all.
#[test]
fn a_streamed_answer_that_breaks_is_cut_off_after_what_its_shutdown_functions_print() {
    let server = app().start();
    let mut client = server.connect();
    client.send("GET /streamed HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!(client.head().expect("a header").status, 200);
    let mut text = Vec::new();
    let end = loop {
        match client.chunk() {
            Ok(chunk) if chunk.is_empty() => break Ok(()),
            Ok(chunk) => text.extend(chunk),
            Err(error) => break Err(error),
        }
    };
    assert_eq!(String::from_utf8_lossy(&text), "begun the end");
    assert!(end.is_err(), "taken for complete");
    server.stop();
}
