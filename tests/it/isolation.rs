//! Requests that run at the same time in one worker, and never see each other.

use std::time::Duration;

use testkit::Server;

use crate::support::{UNTIL_GO, at_once, eventually, let_go, ok, one_worker, same, until_handled};

/// Sets everything a request may call its own, waits at random points, and checks that all of it is still its own.
const IDENTITY: &str = r#"
return function (Hearth\Request $request): Hearth\Response|string {
    $me = $request->query('id');
    $wrong = [];
    $check = function (string $what, mixed $is) use (&$wrong, $me): void {
        if ((string) $is !== $me) { $wrong[] = "$what is " . var_export($is, true); }
    };
    $wait = fn () => usleep(mt_rand(0, 3000));
    $_SERVER['mine'] = $me; $_COOKIE['set'] = $me; $_REQUEST['set'] = $me; $_FILES['set'] = $me; $_GET['set'] = $me; $_POST['set'] = $me;
    header("X-Me: $me");
    setcookie('me', $me);
    http_response_code(400 + $me % 7);
    ini_set('user_agent', $me);
    ini_set('precision', (string) (1 + $me % 15));
    error_reporting((int) $me);
    set_error_handler(function ($number, $message) use ($check) { $check('error handler', $message); return true; }, E_ALL);
    set_exception_handler(fn () => $me);
    ob_start();
    echo $me; $wait();
    ob_start(fn ($text) => "[$text]");
    echo $me; $wait();
    for ($round = 0; $round < 6; $round++) {
        $wait();
        $check('query', $request->query('id'));
        $check('$_GET', $_GET['id']); $check('$_GET set', $_GET['set']);
        $check('$_COOKIE', $_COOKIE['id']); $check('$_COOKIE set', $_COOKIE['set']);
        $check('$_REQUEST', $_REQUEST['id']); $check('$_REQUEST set', $_REQUEST['set']);
        $check('$_POST', $_POST['id']); $check('$_POST set', $_POST['set']); $check('$_FILES', $_FILES['set']);
        $check('$_SERVER', $_SERVER['mine']); $check('header', $_SERVER['HTTP_X_ID']);
        $check('REQUEST_URI', explode('=', $_SERVER['REQUEST_URI'])[1]);
        $check('php://input', explode('=', file_get_contents('php://input'))[1]);
        $check('body', explode('=', $request->body())[1]);
        $check('ini_get', ini_get('user_agent'));
        $check('error_reporting', error_reporting());
        $check('headers_list', preg_replace('/\D/', '', implode(' ', preg_grep('/^X-Me:/', headers_list()))));
        $check('status', http_response_code() === 400 + $me % 7 ? $me : http_response_code());
        $check('precision', ini_get('precision') === (string) (1 + $me % 15) ? $me : ini_get('precision'));
        @trigger_error($me, E_USER_NOTICE); trigger_error($me, E_USER_WARNING);
        $silent = @(function () use ($wait) { $wait(); return error_reporting(); })();
        $check('silence', $silent === ((int) $me & 4437) ? $me : "silenced $silent");
        try { $wait(); throw new RuntimeException($me); } catch (RuntimeException $e) { $wait(); $check('exception', $e->getMessage()); } finally { $wait(); }
        $fiber = new Fiber(function () use ($wait, $me, $check) { $wait(); $check('resumed', Fiber::suspend($me)); $wait(); });
        $check('fiber', $fiber->start()); $wait(); $fiber->resume($me);
    }
    $check('inner buffer', ob_get_contents()); ob_end_flush();
    $check('outer buffer', ob_get_clean() === "{$me}[$me]" ? $me : 'mixed');
    restore_error_handler();
    return $wrong === [] ? "fine $me" : implode("\n", array_unique($wrong));
};"#;

#[test]
fn two_hundred_requests_at_once_never_see_each_other() {
    let server = one_worker(IDENTITY).start();
    for _ in 0..3 {
        let mut clients: Vec<_> = (0..200).map(|_| server.connect()).collect();
        for (client, id) in clients.iter_mut().zip(1000..) {
            let body = format!("id={id}");
            client.send(format!(
                "POST /?id={id} HTTP/1.1\r\nHost: x\r\nX-Id: {id}\r\nCookie: id={id}\r\n\
                 Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            ));
        }
        for (client, id) in clients.iter_mut().zip(1000..) {
            let response = client.response();
            assert_eq!(response.text(), format!("fine {id}"));
            assert_eq!(response.status, 400 + id % 7);
            assert_eq!(response.header_all("x-me"), [id.to_string()]);
            assert_eq!(response.header_all("set-cookie"), [format!("me={id}")]);
        }
    }
    server.stop();
}

/// Children run on top of the task that starts them and later by themselves, a child's child, and work of no request in between.
const RELATED: &str = r#"
return function (Hearth\Request $request): string {
    $me = $request->query('id');
    $wrong = [];
    $check = function (string $where, int $steps) use (&$wrong, $me): void {
        $is = [http_response_code(), ini_get('user_agent'), ini_get('precision'), $_SERVER['mine'], date_default_timezone_get()];
        $is[] = count(preg_grep("/^X-Step: $me-/", headers_list()));
        if ($is !== [400 + $me % 7, "agent $me", (string) (1 + $me % 15), $me, 'Etc/GMT-' . $me % 14, $steps]) {
            $wrong[] = "$where: " . json_encode($is);
        }
        trigger_error($me);
    };
    $wait = fn () => usleep(mt_rand(0, 2000));
    set_error_handler(function ($number, $message) use (&$wrong, $me) {
        if ($message !== $me) { $wrong[] = "the error handler got $message"; }
        return true;
    }, E_ALL);
    http_response_code(400 + $me % 7);
    ini_set('user_agent', "agent $me");
    $parent = Hearth\async(function () use ($me, $check, $wait) {
        ini_set('precision', (string) (1 + $me % 15));
        $_SERVER['mine'] = $me;
        date_default_timezone_set('Etc/GMT-' . $me % 14);
        header("X-Step: $me-1", false);
        $check('child, on top', 1);
        $alone = Hearth\background(function () use ($wait) {
            http_response_code(500); ini_set('precision', '3'); date_default_timezone_set('Asia/Tokyo');
            $wait();
            return [http_response_code(), ini_get('precision'), ini_get('user_agent')];
        });
        $check('child, after background()', 1);
        $inner = Hearth\async(function () use ($me, $check, $wait) {
            header("X-Step: $me-2", false);
            $check('inner, on top', 2);
            ob_start(); echo 'inner'; $wait();
            $check('inner, by itself', 2);
            header("X-Step: $me-3", false);
            return ob_get_clean();
        });
        if ($inner->await() !== 'inner') { throw new LogicException('other output'); }
        $check('child, by itself', 3);
        header("X-Step: $me-4", false);
        if ($alone->await() !== [500, '3', '']) { throw new LogicException('not alone'); }
        Hearth\async(fn () => $check('ends on top', 4))->await();
    });
    $check('parent, after the start', 2);
    $parent->await();
    $check('parent, at the end', 4);
    http_response_code(200);
    return $wrong ? implode("\n", $wrong) : 'ok';
};"#;

#[test]
fn a_request_and_its_tasks_share_what_they_set() {
    let server = one_worker(RELATED).start();
    let targets: Vec<String> = (1..=60).map(|id| format!("/?id={id}")).collect();
    for answer in at_once(&server, &targets).0 {
        assert_eq!(ok(&answer), "ok");
    }
    server.stop();
}

#[test]
fn what_a_request_set_is_gone_in_the_next() {
    let server = one_worker(
        r#"return function (Hearth\Request $request) {
            $seen = [ini_get('user_agent'), error_reporting() === E_ALL, count(headers_list()), http_response_code(), ob_get_level(),
                isset($_SERVER['left']), isset($_GET['left']), date_default_timezone_get(), set_error_handler(null) === null];
            ini_set('user_agent', 'left'); error_reporting(0); header('X-Left: 1'); http_response_code(200); ob_start(); ob_start();
            $_SERVER['left'] = $_GET['left'] = 1; date_default_timezone_set('Asia/Tokyo'); set_error_handler(fn () => true);
            return Hearth\Response::json($seen);
        };"#,
    )
    .args(["--ini", "error_reporting=E_ALL", "--ini", "date.timezone=UTC"])
    .start();
    let first = ok(&server.get("/"));
    for _ in 0..5 {
        assert_eq!(ok(&server.get("/")), first);
    }
    assert!(first.starts_with(r#"["",true,"#), "{first}");
    server.stop();
}

#[test]
fn random_numbers_differ_between_workers() {
    let server = Server::script(
        "mt_rand(); lcg_value(); return function () { usleep(20000); return getmypid() . ' ' . mt_rand() . ' ' . lcg_value() . ' ' . rand() . ' ' . uniqid('', true); };",
    )
    .args(["--workers", "4"])
    .start();
    let (answers, _) = at_once(&server, &same("/", 64));
    let mut first_of: std::collections::BTreeMap<String, String> =
        std::collections::BTreeMap::new();
    for answer in &answers {
        let text = ok(answer);
        let (pid, numbers) = text.split_once(' ').expect("two words");
        first_of
            .entry(pid.to_owned())
            .or_insert_with(|| numbers.to_owned());
    }
    assert!(
        first_of.len() > 1,
        "all were served by one worker: {first_of:?}"
    );
    for column in 0..3 {
        let numbers: std::collections::BTreeSet<&str> = first_of
            .values()
            .filter_map(|numbers| numbers.split(' ').nth(column))
            .collect();
        assert_eq!(
            numbers.len(),
            first_of.len(),
            "workers draw the same numbers: {first_of:?}"
        );
    }
    server.stop();
}

#[test]
fn requests_on_one_session_follow_each_other_and_do_not_deadlock() {
    let server = one_worker(
        "return function () { session_id('shared'); session_start(); $n = ($_SESSION['n'] ?? 0) + 1; usleep(30000); $_SESSION['n'] = $n; return (string) $n; };",
    )
    .args(["--ini", "session.save_path=.", "--ini", "session.use_strict_mode=0"])
    .start();
    let (answers, took) = at_once(&server, &same("/", 8));
    let mut numbers: Vec<u32> = answers
        .iter()
        .map(|answer| ok(answer).parse().expect("a number"))
        .collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6, 7, 8]);
    assert!(took < Duration::from_secs(10), "{took:?}");
    server.stop();
}

/// PHP goes on without a lock that it did not get; only a request that waited for it in vain comes so far.
#[test]
fn a_session_whose_lock_does_not_come_in_time_is_not_opened() {
    let server = one_worker(&format!(
        "return function ($request) {{
            session_id('shared');
            if ($request->path === '/holds') {{ session_start(); {UNTIL_GO} $_SESSION['by'] = 'holder'; return 'held'; }}
            if ($request->path === '/late') {{
                try {{ Hearth\\timeout(0.1, fn () => session_start()); }} catch (Hearth\\TimeoutError) {{}}
                $seen = [session_status() === PHP_SESSION_ACTIVE, $_SESSION ?? []];
                $_SESSION['by'] = 'intruder';
                return $seen;
            }}
            session_start();
            return ['by' => $_SESSION['by'] ?? 'nothing'];
        }};"
    ))
    .args(["--ini", "session.save_path=.", "--ini", "session.use_strict_mode=0"])
    .start();
    let mut holder = server.connect();
    holder.send("GET /holds HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(&server, 1);
    assert_eq!(ok(&server.get("/late")), "[false,[]]");
    let_go(&server);
    assert_eq!(ok(&holder.response()), "held");
    assert_eq!(ok(&server.get("/")), r#"{"by":"holder"}"#);
    server.stop();
}

#[test]
fn opcache_is_on_and_shared() {
    let server = Server::script(
        r#"return function ($request) {
            $file = __DIR__ . '/later.php';
            if ($request->path === '/compile') { opcache_compile_file($file); }
            return json_encode([getmypid(), opcache_get_status(false)['opcache_enabled'], opcache_is_script_cached($file), PHP_SAPI]);
        };"#,
    )
    .args(["--workers", "2", "--concurrency", "1", "--ini", "opcache.file_update_protection=0"])
    .start();
    std::fs::write(server.directory().join("later.php"), "<?php").expect("a file");
    let request = |path: &str| -> (u32, bool, bool, String) {
        serde_json::from_str(&ok(&server.get(path))).expect("JSON")
    };
    let (compiled_by, on, _, sapi) = request("/compile");
    assert_eq!((on, &*sapi), (true, "hearth"));
    eventually("the other worker has it too", || {
        let (pid, _, is_cached, _) = request("/");
        assert!(is_cached, "{pid}, compiled by {compiled_by}");
        pid != compiled_by
    });
    server.stop();
}

/// Memory that another request has used is behind what is echoed.
#[test]
fn what_is_lost_is_logged_without_what_lies_behind_it() {
    let server = one_worker(
        r#"return function ($request) {
            switch ($request->path) {
                // As long as what is echoed below has place for.
                case '/secret': for ($n = 0; $n < 64; $n++) { $all[] = str_repeat('secret', 30 + $n); } ob_start(); echo implode($all); ob_end_clean(); return 'kept';
                case '/both': echo 'lost'; return 'response';
                default: Hearth\defer(function () { echo 'late'; }); return 'response';
            }
        };"#,
    )
    .start();
    for _ in 0..8 {
        for path in ["/secret", "/both", "/late"] {
            ok(&server.get(path));
        }
    }
    server.expect_log("Lost: lost");
    server.expect_log("are lost: late");
    for line in server.stop().log.lines() {
        let shown = line
            .split_once("Lost: ")
            .or_else(|| line.split_once("are lost: "));
        let shown = shown.map(|(_, text)| text.split(" request=").next().unwrap_or_default());
        assert!(
            shown.is_none_or(|text| text == "lost" || text == "late"),
            "{line}"
        );
    }
}

/// PHP 8.4 frees the string of the setting in mb_get_info().
#[test]
fn mb_get_info_leaves_its_settings_alone() {
    let server = one_worker(
        "return function () {
            $value = 'abc' . getmypid();
            ini_set('mbstring.http_output_conv_mimetypes', $value);
            for ($n = 0; $n < 5; $n++) {
                mb_get_info();
                mb_get_info('http_output_conv_mimetypes');
            }
            $others = array_map(fn () => str_repeat('x', strlen($value)), range(1, 50));
            return ini_get('mbstring.http_output_conv_mimetypes') === 'abc' . getmypid() ? 'kept' : 'freed';
        };",
    )
    .start();
    for _ in 0..3 {
        assert_eq!(ok(&server.get("/")), "kept");
    }
    server.stop();
}

/// The collector of cycles runs in whichever request fills its buffer or calls it, and destroys what others have left: the objects of
/// a cycle, and a Fiber that is suspended.
#[test]
fn what_the_collector_destroys_does_not_reach_the_request_that_it_runs_in() {
    let app = r#"class Cycle {
            public $self;
            function __construct(public string $of) { $this->self = $this; }
            function __destruct() {
                echo "destroys {$this->of}";
                header("X-Of: {$this->of}");
                ini_set('user_agent', $this->of);
                error_log("{$this->of} sees " . ($_GET['me'] ?? 'nothing'));
                if ($this->of === 'throws') { throw new LogicException('of another request'); }
                if ($this->of === 'exits') { exit; }
            }
        }
        function suspended(string $of) {
            $fiber = new Fiber(function () use (&$fiber, $of) {
                try { Fiber::suspend(); } finally { echo "fiber of $of"; header("X-Fiber: $of"); }
            });
            $fiber->start();
        }
        return function (Hearth\Request $request) {
            switch ($request->path) {
                case '/leaves': new Cycle($_GET['me']); suspended($_GET['me']); break;
                case '/collects': $count = gc_collect_cycles(); break;
                case '/fills': for ($n = 0; $n < 30000; $n++) { $new = new stdClass; $new->self = $new; $new = null; } break;
            }
            echo "{$_GET['me']} ", ini_get('user_agent'), ($count ?? 9) > 1 ? 'found' : "only $count";
        };"#;
    for concurrency in ["64", "1"] {
        let server = one_worker(app).args(["--concurrency", concurrency]).start();
        for path in ["/collects", "/fills"] {
            for of in ["first", "throws", "exits"] {
                ok(&server.get(&format!("/leaves?me={of}")));
                let second = server.get(&format!("{path}?me=second"));
                assert_eq!(ok(&second), "second found", "{path} after {of}");
                assert_eq!(second.header("x-of"), None, "{path} after {of}");
                assert_eq!(second.header("x-fiber"), None, "{path} after {of}");
                server.expect_log(&format!("{of} sees nothing"));
            }
        }
        server.stop();
    }
}

/// The collector looks into generators, also into one that an exception is leaving just now: PHP's test gh15275-004.
#[test]
fn the_collector_passes_over_a_generator_that_an_exception_leaves() {
    let app = r"class Delegate implements IteratorAggregate {
            public function getIterator(): Generator { yield 'first'; throw new LogicException('thrown'); }
            public function __destruct() { gc_collect_cycles(); }
        }
        function delegates() { var_dump(new stdClass, yield from new Delegate()); }
        return function () {
            $generator = delegates();
            try { $generator->current(); $generator->next(); } catch (LogicException $thrown) { return $thrown->getMessage(); }
        };";
    let server = one_worker(app).start();
    for _ in 0..3 {
        assert_eq!(ok(&server.get("/")), "thrown");
    }
    server.stop();
}
