//! Classic mode: a life of the engine per request, as under php-fpm.

mod output;
mod process;
mod sessions;
mod workers;

use std::fs;

use testkit::{Server, ServerBuilder};

use crate::support::ok;

/// A site of one worker without a front.
fn site(files: &[(&str, &str)]) -> ServerBuilder {
    let builder = Server::app(".").args(["--dispatch", "direct", "--workers", "1"]);
    files.iter().fold(builder, |builder, (name, code)| {
        builder.file(name, format!("<?php {code}"))
    })
}

#[test]
fn nothing_survives_a_request() {
    let code = r#"
        class Counter { public static int $n = 0; }
        function f() { static $calls = 0; return ++$calls; }
        define('ONCE', 1);
        if (isset($_GET['leave'])) {
            Counter::$n = 5; f(); $GLOBALS['left'] = 1;
            ini_set('memory_limit', '200M'); ini_set('precision', '3'); putenv('LEFT=1'); chdir('/'); umask(0); setlocale(LC_ALL, 'C.UTF-8');
            set_error_handler(fn () => true); set_exception_handler(fn () => true); ob_start(); date_default_timezone_set('Asia/Tokyo');
            mb_internal_encoding('ISO-8859-1'); error_reporting(0); header('X-Left: 1'); http_response_code(201); libxml_use_internal_errors(true);
            spl_autoload_register(fn () => null);
            exit('left');
        }
        echo json_encode([Counter::$n, f(), isset($left), ini_get('precision'), getenv('LEFT'), getcwd() === __DIR__, set_error_handler(null),
            date_default_timezone_get(), mb_internal_encoding(), error_reporting() > 0, libxml_use_internal_errors(), count(spl_autoload_functions()), ob_get_level()]);
    "#;
    let server = site(&[("index.php", code)]).start();
    let before = ok(&server.get("/"));
    assert_eq!(server.get("/?leave").status, 201);
    let after = server.get("/");
    assert_eq!(ok(&after), before);
    assert_eq!(after.header("x-left"), None);
    assert!(
        before.starts_with("[0,1,false,\"14\",false,true,null,\"UTC\",\"UTF-8\",true,false,0,")
    );
    server.stop();
}

/// The path of a script's directory may lead to another directory than for the last request: a release that was moved there.
#[test]
fn a_script_runs_in_the_directory_that_is_now_at_its_path() {
    let code = "echo getcwd() === __DIR__ ? 'own ' : getcwd(), file_get_contents('data.txt');";
    let server = site(&[]).start();
    let root = server.directory();
    let release = |name: &str| {
        let folder = root.join(name);
        fs::create_dir(&folder).expect("a directory");
        fs::write(folder.join("i.php"), format!("<?php {code}")).expect("a script");
        fs::write(folder.join("data.txt"), name).expect("a file");
        folder
    };
    let (blog, old) = (release("blog"), root.join("old"));
    let is_in = |name: &str| assert_eq!(ok(&server.get("/blog/i.php")), format!("own {name}"));
    is_in("blog");
    let next = release("next");
    fs::rename(&blog, &old).expect("the old directory is moved away");
    fs::rename(next, &blog).expect("the new one is moved there");
    is_in("next");
    let again = release("again");
    fs::remove_dir_all(&blog).expect("the directory is removed");
    fs::rename(again, &blog).expect("another is moved there");
    is_in("again");
    server.stop();
}

/// The engine remembers by name what a class or function is: for one request, though the names are one for all.
#[test]
fn what_a_request_declares_is_another_for_the_next() {
    let declare = |v: u8| {
        format!(
            "enum Suit: int {{ case A = {v}; }}
             class Thing extends ArrayObject {{ const OWN = self::class . {v}; public static int $n = {v}; static function one(): self {{ return new self([self::$n++]); }} }}
             function thing(Thing $t = new Thing([])): string {{ static $n = {v}; return get_class($t) . $n++ . Thing::OWN . Suit::A->value; }}"
        )
    };
    let server = site(&[
        ("1.php", &declare(1)),
        ("2.php", &declare(2)),
        ("index.php", "require (int) $_GET['v'] . '.php'; $make = 'Thing'; $t = new $make; thing();
            echo thing($t), Thing::one()[0], $t instanceof Thing, count(new Thing([1])), constant('Thing::OWN'), (new ReflectionMethod('ArrayObject', 'count'))->class;"),
    ])
    .start();
    let mut client = server.connect();
    for v in [1, 2, 2, 1, 1, 2, 1, 2] {
        let expected = format!("Thing{}Thing{v}{v}{v}11Thing{v}ArrayObject", v + 1);
        assert_eq!(ok(&client.get(&format!("/?v={v}"))), expected);
    }
    server.stop();
}

#[test]
fn errors_end_the_request_and_nothing_else() {
    let server = site(&[
        ("pid.php", "echo getmypid();"),
        ("fatal.php", "undefined();"),
        ("parse.php", "echo 1 2;"),
        ("throw.php", "throw new RuntimeException('thrown');"),
        ("exit.php", "echo 'said'; exit(3);"),
        ("memory.php", "$a = str_repeat('x', 1 << 29);"),
        (
            "bailout_in_fiber.php",
            "$f = new Fiber(function () { undefined(); }); $f->start();",
        ),
        (
            "destructor.php",
            "class D { function __destruct() { throw new Error('late'); } } $d = new D; echo 'x';",
        ),
        (
            "shutdown.php",
            "register_shutdown_function(function () { echo 'bye'; undefined(); }); echo 'hello ';",
        ),
    ])
    .start();
    let pid = ok(&server.get("/pid.php"));
    for page in ["fatal", "parse", "throw", "memory", "bailout_in_fiber"] {
        let answer = server.get(&format!("/{page}.php"));
        assert_eq!((answer.status, answer.text().as_str()), (500, ""), "{page}");
    }
    assert_eq!(ok(&server.get("/exit.php")), "said");
    assert_eq!(server.get("/destructor.php").status, 500);
    assert_eq!(server.get("/shutdown.php").status, 500);
    assert_eq!(ok(&server.get("/pid.php")), pid, "the worker stays");
    for text in ["undefined()", "thrown", "Allowed memory size", "late"] {
        server.expect_log(text);
    }
    server.stop();
}
