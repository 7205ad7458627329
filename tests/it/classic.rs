//! Classic mode: a life of the engine per request, as under php-fpm.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use testkit::service::Redis;
use testkit::{Server, ServerBuilder, kill};

use crate::support::{UNTIL_GO, at_once, eventually, let_go, ok, same};

/// Bytes of memory of all workers.
fn resident(server: &Server) -> usize {
    let pages = |pid: u32| {
        let statm = std::fs::read_to_string(format!("/proc/{pid}/statm")).unwrap();
        statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap()
    };
    server.workers().into_iter().map(pages).sum::<usize>() * 4096
}

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

#[test]
fn headers_in_all_forms() {
    let server = site(&[(
        "index.php",
        r#"
        match ($_SERVER['PATH_INFO'] ?? $_GET['do'] ?? '') {
            'location' => header('Location: /there'),
            'status' => header('Status: 418 Teapot'),
            'line' => header('HTTP/1.1 404 Not Found'),
            'code' => http_response_code(503),
            'third' => header('X-A: 1', true, 202),
            'twice' => [header('X-A: 1'), header('X-A: 2', false), setcookie('a', '1'), setcookie('b', '2')],
            'type' => header('Content-Type: text/plain'),
            'untyped' => header_remove('Content-Type') || ini_set('default_mimetype', ''),
            'length' => header('Content-Length: 4'),
            'callback' => header_register_callback(fn () => header('X-Late: ' . http_response_code())),
            'chunked' => header('Transfer-Encoding: chunked'),
        };
        echo 'body';"#,
    )])
    .start();
    let get = |what: &str| server.get(&format!("/?do={what}"));
    assert_eq!(
        (get("location").status, get("location").header("location")),
        (302, Some("/there"))
    );
    assert_eq!(
        (get("status").status, get("status").header("status")),
        (418, None)
    );
    assert_eq!(
        (get("line").status, get("code").status, get("third").status),
        (404, 503, 202)
    );
    let twice = get("twice");
    assert_eq!(twice.header_all("x-a"), ["1", "2"]);
    assert_eq!(twice.header_all("set-cookie"), ["a=1", "b=2"]);
    assert_eq!(
        get("type").header("content-type"),
        Some("text/plain;charset=UTF-8")
    );
    assert_eq!(get("untyped").header("content-type"), None);
    assert_eq!(get("callback").header("x-late"), Some("200"));
    for what in ["length", "chunked"] {
        let answer = get(what);
        assert_eq!(
            (ok(&answer).as_str(), answer.header_all("content-length")),
            ("body", vec!["4"])
        );
    }
    server.stop();
}

#[test]
fn flushed_output_reaches_the_client_at_once() {
    let server = site(&[(
        "index.php",
        "echo 'first'; while (ob_get_level()) ob_end_flush(); flush(); fgets(fopen($_GET['wait'], 'r')); echo 'second';",
    )])
    .start();
    let fifo = server.directory().join("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, 0o600.into()).unwrap();
    let mut client = server.connect();
    client.send(format!(
        "GET /?wait={} HTTP/1.1\r\nHost: localhost\r\n\r\n",
        fifo.display()
    ));
    let head = client.head().unwrap();
    assert_eq!(head.status, 200);
    assert_eq!(client.chunk().unwrap(), b"first");
    std::fs::write(&fifo, "go\n").unwrap();
    assert_eq!(client.chunk().unwrap(), b"second");
    assert_eq!(client.chunk().unwrap(), b"");
    server.stop();
}

#[test]
fn large_output_and_bodies() {
    let server = site(&[
        ("big.php", "for ($i = 0; $i < 5000; $i++) echo str_repeat(chr(97 + $i % 26), 1000);"),
        ("md5.php", "echo md5(str_repeat('z', 2000000));"),
        ("hash.php", "echo md5(file_get_contents('php://input')), ' ', $_SERVER['CONTENT_LENGTH'] ?? 'none';"),
        ("form.php", "echo count($_POST), ' ', $_POST['a'] ?? '-', ' ', error_get_last()['message'] ?? '';"),
        ("upload.php", "move_uploaded_file($_FILES['f']['tmp_name'], 'kept.bin'); echo $_FILES['f']['name'], ' ', md5_file('kept.bin');"),
    ])
    .args(["--ini", "post_max_size=3M", "--ini", "upload_max_filesize=3M"])
    .start();
    assert_eq!(server.get("/big.php").body.len(), 5_000_000);
    let body = vec![b'z'; 2_000_000];
    let mut client = server.connect();
    let md5 = ok(&client.get("/md5.php"));
    assert_eq!(
        ok(&client.post("/hash.php", "application/json", &body)),
        format!("{md5} 2000000")
    );
    client.send("POST /hash.php HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
    assert_eq!(
        ok(&client.response()),
        "900150983cd24fb0d6963f7d28e17f72 none"
    );
    assert_eq!(
        ok(&client.post("/form.php", "application/x-www-form-urlencoded", "a=1&b=2")),
        "2 1 "
    );
    let over = format!("a={}", "x".repeat(4_000_000));
    let answer = ok(&client.post("/form.php", "application/x-www-form-urlencoded", over));
    assert_eq!(
        answer,
        "0 - PHP Request Startup: POST Content-Length of 4000002 bytes exceeds the limit of 3145728 bytes"
    );
    let mut form =
        b"--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a.bin\"\r\n\r\n".to_vec();
    form.extend_from_slice(&body);
    form.extend_from_slice(b"\r\n--b--\r\n");
    assert_eq!(
        ok(&client.post("/upload.php", "multipart/form-data; boundary=b", form)),
        format!("a.bin {md5}")
    );
    server.stop();
}

#[test]
fn the_script_goes_on_after_fastcgi_finish_request() {
    let server = site(&[
        ("index.php", "echo 'early'; var_dump(fastcgi_finish_request()); usleep(100000); echo 'lost'; touch('after'); fastcgi_finish_request() or touch('twice');"),
        ("next.php", "echo (int) file_exists('after'), (int) file_exists('twice');"),
    ])
    .start();
    assert_eq!(ok(&server.get("/")), "early");
    assert!(!server.directory().join("after").exists());
    assert_eq!(ok(&server.get("/next.php")), "11", "one at a time");
    server.stop();
}

#[test]
fn a_client_that_hangs_up_is_noticed_when_something_is_sent() {
    let code = "ignore_user_abort(isset($_GET['ignore'])); register_shutdown_function(fn () => touch('status' . connection_status()));
        for ($i = 0; $i < 200; $i++) { echo str_repeat('x', 8192); flush(); usleep(5000); } touch('whole');";
    let seen = "foreach (['status0', 'status1', 'whole'] as $f) { if (file_exists($f)) { echo \"$f \"; unlink($f); } }";
    let server = site(&[("index.php", code), ("seen.php", seen)]).start();
    let hang_up = |target: &str| {
        let mut client = server.connect();
        client.send(format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n"));
        client.head().unwrap();
    };
    // The worker has one request at a time, so the second is answered when the first has ended.
    hang_up("/");
    assert_eq!(ok(&server.get("/seen.php")), "status1 ");
    hang_up("/?ignore");
    assert_eq!(ok(&server.get("/seen.php")), "status1 whole ");
    server.stop();
}

#[test]
fn sessions_last_and_lock() {
    let code =
        "session_start(); $n = $_SESSION['n'] = ($_SESSION['n'] ?? 0) + 1; usleep(50000); echo $n;";
    let server = Server::app(".")
        .args(["--dispatch", "direct", "--workers", "4"])
        .args([
            "--ini",
            "session.save_path=.",
            "--ini",
            "session.use_strict_mode=0",
        ])
        .file("index.php", format!("<?php {code}"))
        .start();
    let mut numbers: Vec<u32> = std::thread::scope(|scope| {
        let one = || {
            let mut client = server.connect();
            client.send("GET / HTTP/1.1\r\nHost: a\r\nCookie: PHPSESSID=abcdefghijklmnopqrstuvwx\r\nConnection: close\r\n\r\n");
            ok(&client.response()).parse().unwrap()
        };
        let all: Vec<_> = (0..8).map(|_| scope.spawn(one)).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    numbers.sort_unstable();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6, 7, 8], "no update is lost");
    server.stop();
}

#[test]
fn sessions_in_redis() {
    let redis = Redis::shared();
    let server = Server::app(".")
        .args(["--dispatch", "direct", "--workers", "2"])
        .arg("--ini=session.save_handler=redis")
        .arg(format!(
            "--ini=session.save_path=tcp://127.0.0.1:{}",
            redis.port
        ))
        .file(
            "index.php",
            "<?php session_start(); echo $_SESSION['n'] = ($_SESSION['n'] ?? 0) + 1;",
        )
        .start();
    let first = server.get("/");
    assert_eq!(ok(&first), "1");
    let cookie = first
        .header("set-cookie")
        .unwrap()
        .split(';')
        .next()
        .unwrap()
        .to_owned();
    for n in 2..6 {
        let mut client = server.connect();
        client.send(format!(
            "GET / HTTP/1.1\r\nHost: a\r\nCookie: {cookie}\r\n\r\n"
        ));
        assert_eq!(ok(&client.response()), n.to_string());
    }
    server.stop();
}

#[test]
fn time_limits() {
    let server = site(&[
        (
            "cpu.php",
            "ini_set('max_execution_time', '1'); while (true);",
        ),
        ("wall.php", "try { sleep(30); } finally { echo 'cleaned'; }"),
        (
            "more.php",
            "set_time_limit(5); usleep(1500000); echo 'done';",
        ),
        ("next.php", "echo 'next';"),
    ])
    .args(["--request-timeout", "1"])
    .start();
    let start = Instant::now();
    assert_eq!(server.get("/cpu.php").status, 500);
    assert_eq!(server.get("/wall.php").status, 500);
    assert!(
        start.elapsed() < Duration::from_secs(6),
        "{:?}",
        start.elapsed()
    );
    assert_eq!(ok(&server.get("/more.php")), "done");
    assert_eq!(ok(&server.get("/next.php")), "next");
    server.expect_log("time limit of 1 s (request.timeout)");
    server.stop();
}

#[test]
fn opcache_and_apcu_are_one_for_all_workers() {
    let server = Server::app(".")
        .args(["--dispatch", "direct", "--workers", "4"])
        .args(["--ini", "opcache.file_update_protection=0"])
        .file("index.php", "<?php apcu_add('n', 0); echo apcu_inc('n'), ' ', getmypid(), ' ', opcache_is_script_cached(__FILE__) ? 'cached' : 'new';")
        .start();
    let answers: Vec<String> = at_once(&server, &same("/", 40)).0.iter().map(ok).collect();
    let mut numbers: Vec<u32> = answers
        .iter()
        .map(|a| a.split(' ').next().unwrap().parse().unwrap())
        .collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=40).collect::<Vec<u32>>());
    assert!(answers.iter().all(|answer| answer.ends_with("cached")));
    server.stop();
}

/// `current` is resolved once per generation: a release is switched by the reload, not by the link.
#[test]
fn a_release_is_switched_by_the_reload() {
    for dispatch in ["direct", "balanced"] {
        a_release_is_switched(dispatch);
    }
}

fn a_release_is_switched(dispatch: &str) {
    let releases = testkit::temporary();
    let link = releases.path().join("current");
    for name in ["one", "two"] {
        let folder = releases.path().join(name);
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("index.php"), "<?php require 'version.php';").unwrap();
        let code = format!("<?php echo '{name} ', basename(__DIR__), ' ', getmypid();");
        std::fs::write(folder.join("version.php"), code).unwrap();
        std::fs::write(folder.join("version.txt"), name).unwrap();
    }
    std::os::unix::fs::symlink("one", &link).unwrap();
    let server = Server::app(&link)
        .args(["--dispatch", dispatch, "--workers", "2"])
        .start();
    let first = ok(&server.get("/"));
    assert!(first.starts_with("one one "), "{first}");
    std::fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink("two", &link).unwrap();
    // A worker that comes up after the link was switched is still of the old generation.
    let old = server.workers();
    old.iter().for_each(|pid| kill(*pid, Signal::KILL));
    eventually("the old workers are gone", || {
        server.workers().iter().all(|pid| !old.contains(pid))
    });
    assert!(ok(&server.get("/")).starts_with("one one "));
    assert_eq!(ok(&server.get("/version.txt")), "one");
    server.signal(Signal::HUP);
    server.expect_log("serving generation=2");
    // For a moment a connection may still meet a worker of the old generation.
    eventually("the new release answers", || {
        server.get("/").text().starts_with("two two ")
    });
    eventually("its files are sent", || {
        server.get("/version.txt").text() == "two"
    });
    server.stop();
}

#[test]
fn memory_stays_flat() {
    let code = "require_once 'lib.php'; $a = range(1, 20000); $b = new ArrayObject($a); $b['self'] = $b; echo memory_get_usage() > 0;";
    let server = site(&[
        ("index.php", code),
        ("lib.php", "class Lib { public $x = [1, 2, 3]; }"),
    ])
    .start();
    let mut client = server.connect();
    let mut run = |times: usize| (0..times).for_each(|_| drop(ok(&client.get("/"))));
    run(300);
    let before = resident(&server);
    run(3000);
    let growth = resident(&server).saturating_sub(before);
    assert!(growth < 2 << 20, "{growth} bytes in 3,000 requests");
    server.stop();
}

#[test]
fn waits_leave_the_thread_to_other_connections() {
    let server = site(&[("slow.php", &format!("{UNTIL_GO} echo 'slow';"))]).start();
    std::fs::write(server.directory().join("a.txt"), "static").unwrap();
    let mut slow = server.connect();
    slow.send("GET /slow.php HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(ok(&server.get("/a.txt")), "static");
    let_go(&server);
    assert_eq!(ok(&slow.response()), "slow");
    server.stop();
}
