//! What PHP's C code and its extensions see of a request: `filter_input()`, `ob_gzhandler`, and what the entry script left in
//! `$_SERVER` and `$_ENV`.

use testkit::Server;
use testkit::http::Client;
use testkit::service::Fpm;

use crate::support::{large_form, let_go, ok, one_worker, until_handled};

/// Everything that ext/filter keeps of a request.
const INPUTS: &str = r"
    $inputs = static fn () => [
        'get' => filter_input_array(INPUT_GET), 'post' => filter_input_array(INPUT_POST), 'cookie' => filter_input_array(INPUT_COOKIE),
        'server' => array_map(static fn ($name) => filter_input(INPUT_SERVER, $name), ['QUERY_STRING', 'HTTP_X_ID', 'REQUEST_METHOD']),
        'has' => [filter_has_var(INPUT_GET, 'id'), filter_has_var(INPUT_POST, 'password'), filter_has_var(INPUT_COOKIE, 'sid'), filter_has_var(INPUT_SERVER, 'HTTP_X_ID')],
        'env' => filter_input(INPUT_ENV, 'NO_SUCH'),
    ];
";

const LOGIN: &str = "POST /login?id=1&a[]=1&a[]=2 HTTP/1.1\r\nHost: x\r\nCookie: sid=ADMIN; b[]=1; b[]=2\r\nX-Id: first\r\n\
    Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 29\r\n\r\npassword=hunter2&card%5B%5D=4";

const BARE: &str = "GET /bare HTTP/1.1\r\nHost: x\r\n\r\n";

fn answer_to(client: &mut Client, request: &str) -> String {
    client.send(request);
    ok(&client.response())
}

/// What php-fpm says of these requests, one after the other.
fn as_under_fpm(requests: &[&str], ini: &[(&str, &str)]) -> Vec<String> {
    let root = testkit::document_root();
    std::fs::write(
        root.path().join("index.php"),
        format!("<?php {INPUTS} echo json_encode($inputs());"),
    )
    .expect("a file can be written");
    let fpm = Fpm::start(root.path(), ini, "");
    let answer_to_one = |request: &&str| {
        let request = request
            .replace("/login?", "/index.php?")
            .replace("/bare ", "/index.php ");
        answer_to(&mut Client::connect(&fpm.address()), &request)
    };
    requests.iter().map(answer_to_one).collect()
}

#[test]
fn filter_input_sees_its_own_request_and_nothing_of_another() {
    for ini in [&[][..], &[("filter.default", "special_chars")]] {
        let expected = as_under_fpm(&[LOGIN, BARE], ini);
        assert!(expected[0].contains("hunter2"), "{expected:?}");
        for concurrency in ["1", "16"] {
            let mut server = one_worker(&format!(
                "return function ($r) {{ {INPUTS} return $inputs(); }};"
            ))
            .args(["--concurrency", concurrency]);
            for (name, value) in ini {
                server = server.arg(format!("--ini={name}={value}"));
            }
            let server = server.start();
            for _ in 0..2 {
                assert_eq!(answer_to(&mut server.connect(), LOGIN), expected[0]);
                assert_eq!(answer_to(&mut server.connect(), BARE), expected[1]);
            }
            server.stop();
        }
    }
}

#[test]
fn filter_input_is_the_requests_own_while_others_wait() {
    let code = format!(
        "return function ($r) {{ {INPUTS} $_GET; $before = $inputs();
            while ($r->path === '/login' && !file_exists(__DIR__ . '/go')) {{ usleep(1000); }}
            return $inputs() === $before ? $before : 'changed'; }};"
    );
    let server = one_worker(&code).start();
    let expected = as_under_fpm(&[LOGIN, BARE], &[]);
    let mut waiting = server.connect();
    waiting.send(LOGIN);
    until_handled(&server, 1);
    assert_eq!(answer_to(&mut server.connect(), BARE), expected[1]);
    let_go(&server);
    assert_eq!(ok(&waiting.response()), expected[0]);
    assert_eq!(answer_to(&mut server.connect(), BARE), expected[1]);
    server.stop();
}

/// They parse for themselves, by the default filter; `filter_input()` neither loses nor doubles what it has.
#[test]
fn methods_of_the_request_leave_filter_input_alone() {
    let code = format!(
        "return function ($r) {{ {INPUTS} $own = [$r->query(), $r->cookie()]; if ($r->path === '/bare') {{ return $inputs(); }}
            $inputs(); $own[] = $r->form(); return $own === [$_GET, $_COOKIE, $_POST] ? $inputs() : [$own, $_GET, $_COOKIE, $_POST]; }};"
    );
    let ini = [("filter.default", "special_chars")];
    let expected = as_under_fpm(&[LOGIN, BARE], &ini);
    for concurrency in ["1", "16"] {
        let server = one_worker(&code)
            .args([
                "--concurrency",
                concurrency,
                "--ini=filter.default=special_chars",
            ])
            .start();
        assert_eq!(answer_to(&mut server.connect(), LOGIN), expected[0]);
        assert_eq!(answer_to(&mut server.connect(), BARE), expected[1]);
        server.stop();
    }
}

/// Under php-fpm the input is parsed before a handler is set.
#[test]
fn too_many_variables_are_left_out_without_a_call_of_the_error_handler() {
    let server = one_worker(
        "return function ($r) {
            $said = 0;
            set_error_handler(function () use (&$said) { $said++; usleep(500); return true; });
            $counts = [count($r->cookie()), count($r->query()), count($_COOKIE), count($_GET), count($_POST), count($_SERVER) > 10, $said];
            return [...$counts, array_map(fn ($input) => count(filter_input_array($input)), [INPUT_COOKIE, INPUT_GET, INPUT_POST])];
        };",
    )
    .arg("--ini=max_input_vars=2")
    .start();
    let request = "POST /?a=1&b=2&c=3 HTTP/1.1\r\nHost: x\r\nCookie: a=1; b=2; c=3\r\n\
        Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 11\r\n\r\na=1&b=2&c=3";
    // Of a form PHP counts a variable after it has taken it.
    for _ in 0..3 {
        let mut clients: Vec<Client> = (0..4).map(|_| server.connect()).collect();
        clients.iter_mut().for_each(|client| client.send(request));
        for client in &mut clients {
            assert_eq!(ok(&client.response()), "[2,2,2,2,3,true,0,[2,2,3]]");
        }
    }
    server.stop();
}

/// They are the process's, even if another request parses meanwhile.
#[test]
fn input_env_stays_while_forms_are_parsed() {
    let server = one_worker(
        "return fn ($r) => [filter_input(INPUT_ENV, 'OWN'), $_ENV['OWN'] ?? null, count($_POST)];",
    )
    .args(["--dispatch", "direct", "--ini", "variables_order=EGPCS"])
    .env("OWN", "own")
    .start();
    for _ in 0..3 {
        let (mut first, mut second) = (server.connect(), server.connect());
        let (begin, end) = large_form("/", "a=1");
        first.send(&begin);
        until_handled(&server, 1);
        second.send(&begin);
        until_handled(&server, 2);
        first.send(&end);
        assert_eq!(ok(&first.response()), r#"["own","own",2]"#);
        second.send(&end);
        assert_eq!(ok(&second.response()), r#"["own","own",2]"#);
    }
    server.stop();
}

/// The names of fields are the client's, so what is kept of them would fill memory.
#[test]
fn what_a_form_held_is_freed_with_its_request() {
    for concurrency in ["1", "16"] {
        let server = one_worker("return fn ($r) => $r->path === '/memory' ? (string) memory_get_usage() : count($_POST) . '';")
            .args(["--concurrency", concurrency])
            .start();
        let memory = || -> i64 { ok(&server.get("/memory")).parse().expect("a number") };
        let before = memory();
        for name in 0..15 {
            let body = format!("field{name}={}", "x".repeat(7 << 20));
            let answer = server
                .connect()
                .post("/", "application/x-www-form-urlencoded", body);
            assert_eq!(ok(&answer), "1");
        }
        let grown = memory() - before;
        assert!(grown < 1 << 20, "{grown} bytes are kept");
        server.stop();
    }
}

/// Whether the answer is compressed, and its text when it is not.
fn fetch(server: &Server, accept: &str) -> (Option<String>, bool) {
    let mut client = server.connect();
    let accept = if accept.is_empty() {
        String::new()
    } else {
        format!("Accept-Encoding: {accept}\r\n")
    };
    client.send(format!("GET / HTTP/1.1\r\nHost: x\r\n{accept}\r\n"));
    let answer = client.response();
    assert_eq!(answer.status, 200);
    let coding = answer.header("content-encoding").map(str::to_owned);
    (coding, answer.body.starts_with(b"\x1f\x8b"))
}

#[test]
fn ob_gzhandler_compresses_for_clients_that_ask_for_it() {
    for concurrency in ["1", "16"] {
        let server = one_worker("return function () { usleep(100); ob_start('ob_gzhandler'); echo str_repeat('text ', 1000); };")
            .args(["--concurrency", concurrency])
            .start();
        for _ in 0..3 {
            assert_eq!(
                fetch(&server, "gzip"),
                (Some("gzip".to_owned()), true),
                "concurrency {concurrency}"
            );
            assert_eq!(
                fetch(&server, ""),
                (None, false),
                "concurrency {concurrency}"
            );
        }
        server.stop();
    }
}

/// It was memory of the request before that it read, and that was used for something else by then.
#[test]
fn ob_gzhandler_after_a_request_with_superglobals() {
    let server = one_worker(
        r#"return function ($r) { if ($r->path === '/server') { return $_SERVER['HTTP_X']; }
            $fill = array_map(fn ($i) => str_repeat("\xff", 20 + $i), range(0, 99)); ob_start('ob_gzhandler'); echo str_repeat('text ', 1000); };"#,
    )
    .start();
    for _ in 0..20 {
        let request = "GET /server HTTP/1.1\r\nHost: x\r\nX: 1\r\n\r\n";
        assert_eq!(answer_to(&mut server.connect(), request), "1");
        assert_eq!(fetch(&server, "gzip"), (Some("gzip".to_owned()), true));
    }
    server.stop();
}

/// Extensions that ask for a superglobal from C.
#[test]
fn c_code_finds_the_requests_variables() {
    let server = one_worker(
        "return function () { ob_start(); phpinfo(INFO_VARIABLES); $info = html_entity_decode(strip_tags(ob_get_clean()));
            return preg_match('/HTTP_X.{0,20}own/s', $info) && preg_match('/_GET..id...{0,20}7/s', $info) ? 'found' : $info; };",
    )
    .start();
    let request = "GET /?id=7 HTTP/1.1\r\nHost: x\r\nX: own\r\n\r\n";
    assert_eq!(answer_to(&mut server.connect(), request), "found");
    server.stop();
}

const BOOT: &str = "$_SERVER['K'] = 'boot'; $_SERVER['HTTP_X'] = 'boot'; $_ENV['K'] = 'boot'; $_GET['K'] = 'boot';
    return function () {
        $inc = require __DIR__ . '/inc.php';
        $mine = [$_SERVER['K'] ?? null, $_SERVER['FROM_OUTSIDE'] ?? null, $_ENV['K'] ?? null, $_SERVER['HTTP_X'] ?? null, $_GET['K'] ?? null];
        $_SERVER['K'] = 'request';
        return [...$mine, $inc];
    };";

#[test]
fn what_the_entry_script_put_into_server_and_env_is_every_requests() {
    for (concurrency, opcache, jit) in [
        ("1", "1", "1"),
        ("16", "1", "1"),
        ("1", "0", "1"),
        ("1", "1", "0"),
        ("16", "1", "0"),
    ] {
        let server = one_worker(BOOT)
            .args(["--concurrency", concurrency])
            .arg(format!("--ini=opcache.enable={opcache}"))
            .arg(format!("--ini=auto_globals_jit={jit}"))
            .env("FROM_OUTSIDE", "env")
            .env("HTTP_X", "env")
            .file(
                "inc.php",
                "<?php return [$_ENV['K'] ?? null, $_SERVER['K'] ?? null, $_REQUEST];",
            )
            .start();
        for _ in 0..3 {
            assert_eq!(
                ok(&server.get("/")),
                r#"["boot","env","boot","boot",null,["boot","boot",[]]]"#,
                "concurrency {concurrency}, opcache {opcache}, auto_globals_jit {jit}"
            );
            let header = answer_to(
                &mut server.connect(),
                "GET / HTTP/1.1\r\nHost: x\r\nX: 1\r\nX: 2\r\n\r\n",
            );
            assert!(header.contains(r#""1, 2""#), "{header}");
        }
        server.stop();
    }
}

/// `env[NAME]` of php-fpm; nothing in it passes for what a client said.
#[test]
fn the_environment_is_in_server() {
    let names = "['APP_ENV', 'HTTP_PROXY', 'HTTP_X', 'HTTPS', 'REMOTE_USER', 'CONTENT_TYPE', 'REQUEST_METHOD']";
    let probe = format!(
        "json_encode([array_map(fn ($name) => $_SERVER[$name] ?? null, {names}), getenv('APP_ENV')])"
    );
    let expected = r#"[["prod",null,null,null,null,null,"GET"],"prod"]"#;
    let environment = |mut server: testkit::ServerBuilder| {
        for (name, value) in [
            ("APP_ENV", "prod"),
            ("HTTP_PROXY", "p"),
            ("HTTP_X", "x"),
            ("HTTPS", "on"),
            ("REMOTE_USER", "root"),
            ("CONTENT_TYPE", "a/b"),
            ("REQUEST_METHOD", "PUT"),
        ] {
            server = server.env(name, value);
        }
        server.start()
    };
    let resident = environment(one_worker(&format!("return fn () => {probe};")));
    assert_eq!(ok(&resident.get("/")), expected);
    resident.stop();
    let classic = Server::app(".").file("index.php", format!("<?php echo {probe};"))
        .file("put.php", "<?php $_SERVER['APP_ENV']; putenv('APP_ENV=put'); echo getenv('APP_ENV'), ' ', getenv('HTTP_HOST');");
    let classic = environment(classic.args(["--workers", "1"]));
    assert_eq!(ok(&classic.get("/")), expected);
    assert!(ok(&classic.get("/put.php")).starts_with("put localhost"));
    assert_eq!(ok(&classic.get("/")), expected);
    classic.stop();
}

#[test]
fn variables_order_decides_what_there_is() {
    let server =
        one_worker("return fn () => [$_GET, $_POST, isset($_SERVER['HTTP_HOST']), $_COOKIE];")
            .arg("--ini=variables_order=G")
            .start();
    for _ in 0..2 {
        let answer = server
            .connect()
            .post("/?a=1", "application/x-www-form-urlencoded", "b=2");
        assert_eq!(ok(&answer), r#"[{"a":"1"},[],false,[]]"#);
    }
    server.stop();
}
