//! State that PHP and its extensions keep between two lines of code: no request sees what another one left there.

use testkit::Server;

use crate::support::{UNTIL_GO, eventually, let_go, ok, until_handled};

/// Compiles `tests/apps/state/unknown.c` as the extension `name`.
fn extension(folder: &std::path::Path, name: &str, defines: &[&str]) -> String {
    let names = ["php-config8.4", "php-config8.2", "php-config"];
    let includes = names.iter().find_map(|name| {
        let output = std::process::Command::new(name).arg("--includes").output();
        String::from_utf8(output.ok()?.stdout).ok()
    });
    let includes = includes.expect("php-config");
    let library = folder.join(format!("{name}.so"));
    let compiled = std::process::Command::new("cc")
        .args(["-shared", "-fPIC", "-w", "-DCOMPILE_DL_PROBE", "-o"])
        .arg(&library)
        .arg(format!("-DNAME={name}"))
        .args(defines)
        .args(includes.split_whitespace())
        .arg(testkit::checkout().join("tests/apps/state/unknown.c"))
        .status()
        .expect("cc");
    assert!(compiled.success());
    library.display().to_string()
}

/// A handler that sets the extension's text, waits while it is told to, and answers what the extension has.
const UNKNOWN: &str = r"return function (Hearth\Request $request) {
    if ($text = $request->query('set')) { NAME_set($text); }
    $request->query('wait') && usleep(300000);
    return json_encode(NAME_get());
};";

#[test]
fn what_an_unknown_extension_keeps_of_a_request_is_its_own() {
    let folder = testkit::temporary();
    let library = extension(folder.path(), "unknown", &[]);
    for concurrency in ["64", "1"] {
        let server = Server::script(&UNKNOWN.replace("NAME", "unknown"))
            .args(["--workers", "1", "--concurrency", concurrency])
            .args(["--ini", &format!("extension={library}")])
            .start();
        server.expect_log("extension state is unknown");
        let (answers, _) = crate::support::at_once(
            &server,
            &["/?set=first&wait=1", "/?set=second&wait=1", "/", "/?wait=1"],
        );
        let texts: Vec<String> = answers.iter().map(ok).collect();
        assert_eq!(
            texts,
            [
                r#"[1,"first"]"#,
                r#"[1,"second"]"#,
                r#"[0,""]"#,
                r#"[0,""]"#
            ],
            "concurrency {concurrency}"
        );
        server.stop();
    }
}

#[test]
fn what_an_unknown_extension_keeps_of_the_process_is_left_alone() {
    let folder = testkit::temporary();
    let library = extension(folder.path(), "shared", &["-DSHARED"]);
    let server = Server::script(&UNKNOWN.replace("NAME", "shared"))
        .args(["--workers", "1", "--ini", &format!("extension={library}")])
        .start();
    assert_eq!(ok(&server.get("/?set=first")), r#"[1,"first"]"#);
    server.expect_log("extension state is shared by requests");
    assert_eq!(ok(&server.get("/?set=second")), r#"[2,"second"]"#);
    assert_eq!(ok(&server.get("/")), r#"[2,"second"]"#);
    server.stop();
}

/// Libraries take the locale of the environment when they begin. PHP code may, for its own request.
#[test]
fn a_library_that_takes_the_locale_of_the_environment_leaves_each_request_its_own() {
    let folder = testkit::temporary();
    let library = extension(folder.path(), "library", &[]);
    let server = Server::script(
        r#"return fn ($request) => match ($request->path) {
            '/php' => setlocale(LC_ALL, ''),
            '/own' => setlocale(LC_ALL, 'C.UTF-8') . ' ' . library_begin() . ' ' . setlocale(LC_ALL, 0),
            default => (string) library_begin(),
        } . ' ' . setlocale(LC_NUMERIC, 0);"#,
    )
    .args(["--workers", "1", "--ini", &format!("extension={library}")])
    .env("LC_ALL", "C.UTF-8")
    .start();
    let fresh = ok(&server.get("/"));
    assert!(fresh.ends_with(" C"), "{fresh}");
    assert_eq!(ok(&server.get("/php")), "C.UTF-8 C.UTF-8");
    assert_eq!(ok(&server.get("/own")), "C.UTF-8 C.UTF-8 C.UTF-8 C.UTF-8");
    assert_eq!(ok(&server.get("/")), fresh);
    server.stop();
}

/// Signals are the process's. What is left of them when those that use them have ended would call another request's code, or end
/// the worker.
#[test]
fn signals_are_as_before_when_the_last_request_that_uses_them_has_ended() {
    for concurrency in ["1", "64"] {
        let server = Server::script(
            r#"return function ($request) {
                match ($request->path) {
                    '/handler' => pcntl_async_signals(true) || pcntl_signal(SIGUSR2, fn () => error_log('the code of another request')),
                    '/alarm' => pcntl_alarm(1),
                    '/mask' => pcntl_sigprocmask(SIG_BLOCK, [SIGUSR1]) && proc_nice(1),
                    '/throws' => pcntl_signal(SIGUSR2, SIG_IGN) && throw new Exception('thrown'),
                    '/slow' => pcntl_signal(SIGUSR2, fn () => 1) && UNTIL_GO,
                    default => 0,
                };
                preg_match('/^SigBlk:\s*(\S+)/m', file_get_contents('/proc/thread-self/status'), $blocked);
                return json_encode([getmypid(), pcntl_async_signals(), pcntl_signal_get_handler(SIGUSR2), $blocked, pcntl_getpriority()]);
            };"#.replace("&& UNTIL_GO", "&& (function () { UNTIL_GO })()").replace("UNTIL_GO", UNTIL_GO).as_str(),
        )
        .args(["--workers", "1", "--concurrency", concurrency])
        .start();
        let fresh = ok(&server.get("/"));
        for path in ["/handler", "/mask", "/throws", "/alarm"] {
            assert_eq!(
                server.get(path).status,
                if path == "/throws" { 500 } else { 200 }
            );
            assert_eq!(
                ok(&server.get("/")),
                fresh,
                "after {path}, {concurrency} at a time"
            );
        }
        if concurrency == "64" {
            let mut slow = server.connect();
            slow.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
            until_handled(&server, 1);
            ok(&server.get("/handler"));
            assert_ne!(ok(&server.get("/")), fresh, "the slow one still uses them");
            let_go(&server);
            ok(&slow.response());
        }
        // As long as the alarm would have taken.
        std::thread::sleep(std::time::Duration::from_millis(1100));
        assert_eq!(ok(&server.get("/")), fresh, "{concurrency} at a time");
        server.stop();
    }
}

/// The next request would run as another user, or with fewer files than it needs.
#[test]
fn a_worker_whose_process_cannot_be_put_back_serves_no_other_request() {
    let code = r"return function ($request) {
        match ($request->path) {
            '/session' => posix_setsid(),
            '/user' => posix_setuid(65534),
            '/users' => posix_seteuid(65534),
            '/root' => pcntl_unshare(CLONE_NEWNS),
            default => 0,
        };
        return json_encode([posix_getsid(0) === posix_getpid(), posix_getuid(), posix_geteuid(), posix_getpid()]);
    };";
    let is_root = rustix::process::getuid().is_root();
    for concurrency in ["1", "64"] {
        let server = Server::script(code)
            .args(["--workers", "1", "--concurrency", concurrency])
            .start();
        let fresh = ok(&server.get("/"));
        let (facts, first) = fresh.rsplit_once(',').expect("a process");
        if is_root {
            assert_ne!(ok(&server.get("/users")), fresh);
            assert_eq!(ok(&server.get("/")), fresh, "the user can be put back");
        }
        let mut last = first.to_owned();
        let targets: &[&str] = if is_root {
            &["/session", "/user", "/root"]
        } else {
            &["/session"]
        };
        for target in targets {
            ok(&server.get(target));
            let next = ok(&server.get("/"));
            let (next_facts, process) = next.rsplit_once(',').expect("a process");
            assert_eq!(next_facts, facts, "after {target}, {concurrency} at a time");
            assert_ne!(process, last, "after {target}, {concurrency} at a time");
            last = process.to_owned();
        }
        server.expect_log(
            "worker leaves: a request has changed the session or process group of the process for good requests=[GET /session request=",
        );
        server.stop();
    }
}

#[test]
fn a_connection_to_a_worker_that_cannot_be_put_back_is_told_so() {
    let server = Server::script(
        "return fn ($request) => $request->path === '/session' ? (string) posix_setsid() : 'served';",
    )
    .args(["--workers", "1", "--dispatch", "direct"])
    .start();
    let mut beside = server.connect();
    beside.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!(ok(&beside.response()), "served");
    ok(&server.get("/session"));
    beside.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    let answer = beside.response();
    assert_eq!(answer.status, 503, "{}", answer.text());
    assert_eq!(answer.header("retry-after"), Some("1"));
    eventually("the next worker serves", || server.get("/").status == 200);
    server.stop();
}

/// Each would be an entry of the system's process table for as long as the worker lives.
#[test]
fn programs_that_nothing_has_waited_for_leave_no_zombie() {
    let code = r"return function ($request) {
        match ($request->path) {
            '/program' => proc_open(['true'], [], $pipes),
            '/child' => pcntl_fork() ?: exit(),
            '/kept' => (function () { static $kept; $kept = proc_open(['true'], [], $pipes); while (proc_get_status($kept)['running']) { usleep(1000); } })(),
            default => 0,
        };
    };";
    for concurrency in ["1", "64"] {
        let server = Server::script(code)
            .args(["--workers", "1", "--concurrency", concurrency])
            .start();
        for path in ["/program", "/child", "/program", "/kept"] {
            server.get(path);
        }
        let worker = server.workers()[0];
        let children = format!("/proc/{worker}/task/{worker}/children");
        eventually("the worker has no children", || {
            server.get("/");
            std::fs::read_to_string(&children).is_ok_and(|list| list.is_empty())
        });
        server.stop();
    }
}

#[test]
fn the_stat_cache_does_not_outlive_its_request_or_a_wait() {
    let code = r"return function (Hearth\Request $request) {
        $file = $request->query('file');
        $look = fn () => [filesize($file), is_file($file), @fileperms($file) & 0777];
        $seen = $look();
        if ($request->query('wait')) {
            touch($request->query('wait'));
            while (!file_exists($request->query('go'))) { usleep(2000); }
            return json_encode([$seen, $look()]);
        }
        return json_encode($seen);
    };";
    for concurrency in ["64", "1"] {
        let server = Server::script(code)
            .args(["--workers", "1", "--concurrency", concurrency])
            .start();
        let path = |name: &str| server.directory().join(name).display().to_string();
        let (file, waits, go) = (path("probe"), path("waits"), path("go"));
        let write = |text: &str| std::fs::write(&file, text).expect("a file");
        write("12345");
        assert_eq!(ok(&server.get(&format!("/?file={file}"))), "[5,true,420]");
        write("1234567");
        assert_eq!(ok(&server.get(&format!("/?file={file}"))), "[7,true,420]");
        let mut client = server.connect();
        client.send(format!(
            "GET /?file={file}&wait={waits}&go={go} HTTP/1.1\r\nHost: x\r\n\r\n"
        ));
        eventually("the request waits", || {
            std::path::Path::new(&waits).exists()
        });
        write("1");
        std::fs::write(&go, "").expect("a file");
        assert_eq!(ok(&client.response()), "[[7,true,420],[1,true,420]]");
        server.stop();
    }
}

/// The engine's variable for it is found at boot by `opendir()`, which a setting may exclude for `/`, or for PHP code.
#[test]
fn the_last_directory_is_the_requests_own() {
    let code = r"return function (Hearth\Request $request) {
        if ($request->path === '/opens') {
            $directory = dir(__DIR__);
            UNTIL_GO
            return is_string(readdir()) ? 'its own' : 'none';
        }
        try { return 'of another request: ' . readdir(); } catch (TypeError) { return 'none'; }
    };"
    .replace("UNTIL_GO", UNTIL_GO);
    for setting in [
        &format!("open_basedir={}", std::env::temp_dir().display()),
        "disable_functions=opendir,closedir",
    ] {
        let server = crate::support::one_worker(&code)
            .args(["--ini", setting])
            .start();
        let mut first = server.connect();
        first.send("GET /opens HTTP/1.1\r\nHost: x\r\n\r\n");
        until_handled(&server, 1);
        assert_eq!(ok(&server.get("/")), "none", "{setting}");
        let_go(&server);
        assert_eq!(ok(&first.response()), "its own", "{setting}");
        let log = server.log().text();
        assert!(!log.contains("open_basedir"), "{log}");
        server.stop();
    }
}

/// From PHP 8.4 on a relative path means what it meant when it was set, whatever the directory is after a wait.
#[test]
fn open_basedir_after_a_wait_is_what_it_was() {
    let code = r"
    mkdir(__DIR__ . '/a/b', 0777, true);
    chdir(__DIR__);
    // In a second change PHP resolves the path.
    ini_set('open_basedir', sys_get_temp_dir());
    ini_set('open_basedir', '.');
    return function (Hearth\Request $request) {
        chdir(__DIR__ . '/a/b');
        ini_set('open_basedir', __DIR__ . '/a');
        ini_set('open_basedir', $request->query('base'));
        ini_set('precision', '5');
        chdir('..');
        $look = fn () => json_encode([@is_file(__FILE__), @is_dir(__DIR__ . '/a'), @is_dir(__DIR__ . '/a/b'), ini_get('open_basedir')]);
        $before = $look();
        usleep(50000);
        return $before === $look() ? 'the same' : $before . ', then ' . $look();
    };";
    let server = crate::support::one_worker(code).start();
    for _ in 0..3 {
        let targets = ["/?base=..", "/?base=.", "/?base=b", "/?base="];
        let (answers, _) = crate::support::at_once(&server, &targets);
        for (target, answer) in targets.iter().zip(&answers) {
            assert_eq!(ok(answer), "the same", "{target}");
        }
    }
    server.stop();
}

#[test]
fn the_same_path_of_a_wrapper_that_waits_is_opened_by_many() {
    let code = r"
    final class Slow {
        public $context; private string $left = '';
        function stream_open(string $path): bool { usleep(20000); $this->left = $path . ' ' . Hearth\requestId(); return true; }
        function stream_read(int $count): string { [$text, $this->left] = [$this->left, '']; return $text; }
        function stream_eof(): bool { return $this->left === ''; }
        function stream_stat(): array { return []; }
    }
    stream_wrapper_register('slow', Slow::class);
    return fn () => file_get_contents('slow://same') === 'slow://same ' . Hearth\requestId() ? 'ok' : 'another one';";
    let server = crate::support::one_worker(code).start();
    let (answers, _) = crate::support::at_once(&server, &crate::support::same("/", 20));
    for answer in &answers {
        assert_eq!(ok(answer), "ok");
    }
    server.stop();
}

#[test]
fn links_carry_the_session_of_their_own_request() {
    let code = r#"return function ($request) {
        if ($request->path === '/none') { return defined('SID') ? SID : 'undefined'; }
        session_id($id = bin2hex(random_bytes(8)));
        session_start();
        usleep(20000);
        ob_start();
        echo '<a href="page.php">page</a>';
        usleep(20000);
        echo '<form action="form.php"></form>';
        usleep(20000);
        ob_end_flush();
        header("X-Session: $id");
        header('X-Sid: ' . SID);
        $request->query('destroys') && session_destroy();
    };"#;
    let server = crate::support::one_worker(code)
        .args([
            "--ini",
            "session.use_trans_sid=1",
            "--ini",
            "session.use_cookies=0",
        ])
        .args([
            "--ini",
            "session.use_only_cookies=0",
            "--ini",
            "session.use_strict_mode=0",
        ])
        .args(["--ini", "session.save_path=/tmp"])
        .start();
    for target in ["/", "/", "/?destroys=1"] {
        let (answers, _) = crate::support::at_once(&server, &crate::support::same(target, 10));
        for answer in &answers {
            let session = answer.header("x-session").expect("a session").to_owned();
            let text = ok(answer);
            assert!(
                text.contains(&format!("page.php?PHPSESSID={session}")),
                "{session}: {text}"
            );
            assert!(
                text.contains(&format!("value=\"{session}\"")),
                "{session}: {text}"
            );
            let sid = format!("PHPSESSID={session}");
            assert_eq!(answer.header("x-sid"), Some(sid.as_str()));
        }
        assert_eq!(ok(&server.get("/none")), "");
    }
    server.stop();
}
