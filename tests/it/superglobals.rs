//! PHP's own way to see a request and to answer it, inside a handler.

use testkit::Server;

use crate::support::{UNTIL_GO, eventually, let_go, ok, one_worker};

#[test]
fn the_superglobals_hold_the_request() {
    let server = Server::script(
        r#"return function () {
            return ['get' => $_GET, 'post' => $_POST, 'cookie' => $_COOKIE, 'request' => $_REQUEST, 'server' => array_intersect_key($_SERVER, array_flip(
                ['REQUEST_METHOD', 'REQUEST_URI', 'QUERY_STRING', 'HTTP_X_THING', 'CONTENT_TYPE', 'CONTENT_LENGTH', 'SERVER_PROTOCOL', 'REMOTE_ADDR', 'HTTP_HOST'])),
                'float' => is_float($_SERVER['REQUEST_TIME_FLOAT']) && abs($_SERVER['REQUEST_TIME_FLOAT'] - microtime(true)) < 5];
        };"#,
    )
    .args(["--workers", "1"])
    .start();
    let mut client = server.connect();
    client.send(
        "POST /path/x?a=1&b[]=2&b[]=3 HTTP/1.1\r\nHost: example.test\r\nCookie: one=1; two=t%20o\r\nX-Thing: yes\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 13\r\n\r\na=9&c%5Bd%5D=4",
    );
    // One byte more than announced must not be read: the length says 13.
    let text = ok(&client.response());
    for part in [
        r#""get":{"a":"1","b":["2","3"]}"#,
        r#""post":{"a":"9","c":{"d":""}}"#,
        r#""cookie":{"one":"1","two":"t o"}"#,
        r#""REQUEST_METHOD":"POST""#,
        r#""REQUEST_URI":"/path/x?a=1&b[]=2&b[]=3""#,
        r#""QUERY_STRING":"a=1&b[]=2&b[]=3""#,
        r#""HTTP_X_THING":"yes""#,
        r#""HTTP_HOST":"example.test""#,
        r#""CONTENT_TYPE":"application/x-www-form-urlencoded""#,
        r#""CONTENT_LENGTH":"13""#,
        r#""SERVER_PROTOCOL":"HTTP/1.1""#,
        r#""REMOTE_ADDR":"127.0.0.1""#,
        r#""float":true"#,
    ] {
        assert!(text.contains(part), "no {part} in {text}");
    }
    server.stop();
}

/// `empty()` and `unset()` of a whole superglobal are opcodes of their own.
#[test]
fn superglobals_may_first_be_asked_whether_they_are_empty() {
    let server = Server::script(
        r"return fn ($r) => match ($r->path) {
            '/empty/get' => ['filled' => !empty($_GET), 'in turn' => $_GET],
            '/empty/post' => ['filled' => !empty($_POST), 'in turn' => $_POST],
            '/empty/cookie' => ['filled' => !empty($_COOKIE), 'in turn' => $_COOKIE],
            '/empty/request' => ['filled' => !empty($_REQUEST), 'in turn' => ['a' => $_REQUEST['a']]],
            '/empty/server' => ['filled' => !empty($_SERVER), 'in turn' => ['a' => $_SERVER['HTTP_X_A']]],
            '/empty/files' => ['filled' => !empty($_FILES), 'in turn' => ['a' => (string) $_FILES['doc']['error'] . '1']],
            '/isset/get' => ['filled' => isset($_GET), 'in turn' => $_GET],
            '/isset/session' => ['filled' => !isset($_SESSION), 'in turn' => ['a' => '01']],
            '/isset/globals' => ['filled' => !empty($GLOBALS['_GET']), 'in turn' => $_GET],
        };",
    )
    .args(["--workers", "1"])
    .start();
    let form = "application/x-www-form-urlencoded";
    for (path, media_type, body) in [
        ("/empty/get?a=01", form, ""),
        ("/empty/post", form, "a=01"),
        ("/empty/cookie", form, ""),
        ("/empty/request?a=01", form, ""),
        ("/empty/server", form, ""),
        (
            "/empty/files",
            "multipart/form-data; boundary=XX",
            MULTIPART,
        ),
        ("/isset/get?a=01", form, ""),
        ("/isset/session", form, ""),
        ("/isset/globals?a=01", form, ""),
    ] {
        let mut client = server.connect();
        client.send(format!(
            "POST {path} HTTP/1.1\r\nHost: x\r\nCookie: a=01\r\nX-A: 01\r\nContent-Type: {media_type}\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        ));
        let expected = r#"{"filled":true,"in turn":{"a":"01"}}"#;
        assert_eq!(ok(&client.response()), expected, "{path}");
    }
    server.stop();
}

#[test]
fn a_superglobal_that_was_unset_stays_so_until_the_next_request() {
    let server = Server::script(
        r"return function ($r) {
            if ($r->path === '/look') { return $_GET['a'] . $_POST['b']; }
            unset($_GET, $GLOBALS['_POST']);
            usleep(1000);
            return !isset($_REQUEST['a']) || isset($_GET) || isset($_POST) ? 'there' : 'gone';
        };",
    )
    .args(["--workers", "1"])
    .start();
    let form = "application/x-www-form-urlencoded";
    for _ in 0..2 {
        assert_eq!(ok(&server.connect().post("/?a=1", form, "b=2")), "gone");
        assert_eq!(ok(&server.connect().post("/look?a=1", form, "b=2")), "12");
    }
    server.stop();
}

#[test]
fn php_input_is_the_body() {
    let server = Server::script(
        "return function ($r) { return file_get_contents('php://input') . '|' . file_get_contents('php://input') . '|' . $r->body(); };",
    )
    .start();
    assert_eq!(
        ok(&server.connect().post("/", "application/json", r#"{"a":1}"#)),
        r#"{"a":1}|{"a":1}|{"a":1}"#
    );
    server.stop();
}

const MULTIPART: &str = "--XX\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\nA title\r\n\
    --XX\r\nContent-Disposition: form-data; name=\"doc\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\nthe content\r\n\
    --XX\r\nContent-Disposition: form-data; name=\"many[]\"; filename=\"b.bin\"\r\n\r\n\0\x01\r\n--XX--\r\n";

#[test]
fn uploads_arrive_and_are_removed_with_their_request() {
    let server = Server::script(
        r#"return function () {
            $doc = $_FILES['doc'];
            $stays = is_uploaded_file($doc['tmp_name']);
            $moved = move_uploaded_file($doc['tmp_name'], __DIR__ . '/kept.txt');
            return ['post' => $_POST, 'name' => $doc['name'], 'type' => $doc['type'], 'size' => $doc['size'], 'error' => $doc['error'],
                'uploaded' => $stays, 'moved' => $moved, 'gone' => $_FILES['many']['tmp_name'][0], 'other' => is_uploaded_file(__FILE__)];
        };"#,
    )
    .start();
    let text = ok(&server
        .connect()
        .post("/", "multipart/form-data; boundary=XX", MULTIPART));
    for part in [
        r#""post":{"title":"A title"}"#,
        r#""name":"a.txt","type":"text/plain","size":11,"error":0,"uploaded":true,"moved":true"#,
        r#""other":false"#,
    ] {
        assert!(text.contains(part), "no {part} in {text}");
    }
    assert_eq!(
        std::fs::read_to_string(server.directory().join("kept.txt")).expect("the moved file"),
        "the content"
    );
    let gone = text
        .split(r#""gone":""#)
        .nth(1)
        .and_then(|rest| rest.split('"').next())
        .expect("a path");
    assert!(
        !std::path::Path::new(gone).exists(),
        "{gone} outlives its request"
    );
    server.stop();
}

#[test]
fn the_request_object_gives_forms_and_files() {
    let server = Server::script(
        r#"return function (Hearth\Request $r) {
            return ['form' => $r->form(), 'title' => $r->form('title'), 'none' => $r->form('none', 'default'), 'files' => array_keys($r->files())];
        };"#,
    )
    .start();
    let text = ok(&server
        .connect()
        .post("/", "multipart/form-data; boundary=XX", MULTIPART));
    assert_eq!(
        text,
        r#"{"form":{"title":"A title"},"title":"A title","none":"default","files":["doc","many"]}"#
    );
    server.stop();
}

#[test]
fn upload_max_filesize_is_honoured() {
    let server = Server::script(
        "return fn () => ['error' => $_FILES['doc']['error'], 'size' => $_FILES['doc']['size']];",
    )
    .args(["--ini", "upload_max_filesize=5"])
    .start();
    let text = ok(&server
        .connect()
        .post("/", "multipart/form-data; boundary=XX", MULTIPART));
    assert_eq!(text, r#"{"error":1,"size":0}"#);
    server.stop();
}

#[test]
fn a_broken_multipart_body_has_the_parts_that_php_finds_in_it() {
    let server = Server::script("return fn () => json_encode([$_POST, $_FILES]);")
        .args(["--workers", "1"])
        .start();
    let named = "--XX\r\nContent-Disposition: form-data; name=a\r\n\r\n";
    let xx = "multipart/form-data; boundary=XX";
    // What PHP's own server answers to each.
    for (content_type, body, parts) in [
        (xx, String::new(), "[[],[]]"),
        (xx, "--XX".to_owned(), "[[],[]]"),
        (
            xx,
            "--XX\r\nContent-Disposition: form-data\r\n\r\nx".to_owned(),
            "[[],[]]",
        ),
        (xx, "--XX\r\n\r\n\r\n--XX--".to_owned(), "[[],[]]"),
        (xx, "garbage".to_owned(), "[[],[]]"),
        (
            xx,
            format!("{named}without an end"),
            r#"[{"a":"without an end"},[]]"#,
        ),
        (xx, format!("{named}x\r\n--XX--\r\n"), r#"[{"a":"x"},[]]"#),
        (
            "multipart/form-data",
            format!("{named}x\r\n--XX--\r\n"),
            "[[],[]]",
        ),
        (
            "multipart/form-data; boundary=",
            format!("{named}x\r\n--XX--\r\n"),
            "[[],[]]",
        ),
    ] {
        let answer = server.connect().post("/", content_type, &body);
        assert_eq!(
            (answer.status, &*answer.text()),
            (200, parts),
            "{content_type} {body:?}"
        );
    }
    server.stop();
}

#[test]
fn output_buffering_works_as_in_php() {
    let server = Server::script(
        r#"return function ($r) {
            ob_start(fn ($text) => strtoupper($text)); echo 'upper '; ob_end_flush();
            ob_start(); echo 'dropped'; ob_end_clean();
            ob_start(); echo 'kept'; $kept = ob_get_clean();
            ob_start(); echo ' open at the end';
            echo " $kept ", ob_get_level() > 0 ? 'buffered' : 'not'; return null;
        };"#,
    )
    .args(["--workers", "1"])
    .start();
    for _ in 0..3 {
        assert_eq!(ok(&server.get("/")), "UPPER  open at the end kept buffered");
    }
    server.stop();
}

#[test]
fn sessions_keep_their_data_between_requests() {
    let server = Server::script(
        "return function () { session_start(); $_SESSION['n'] = ($_SESSION['n'] ?? 0) + 1; usleep(1000); return (string) $_SESSION['n']; };",
    )
    .args(["--workers", "1", "--ini", "session.save_path=."])
    .start();
    let first = server.get("/");
    let cookie = first
        .header("set-cookie")
        .expect("a session cookie")
        .split(';')
        .next()
        .expect("a cookie")
        .to_owned();
    assert_eq!(ok(&first), "1");
    for number in 2..5 {
        let mut client = server.connect();
        client.send(format!(
            "GET / HTTP/1.1\r\nHost: x\r\nCookie: {cookie}\r\n\r\n"
        ));
        assert_eq!(ok(&client.response()), number.to_string());
    }
    assert_eq!(
        ok(&server.get("/")),
        "1",
        "another browser, another session"
    );
    server.stop();
}

/// Background work has none of a request. What it writes there is its own, over its waits too.
#[test]
fn what_background_work_writes_to_superglobals_is_its_own() {
    let expression = "[$_GET, $_POST, $_COOKIE, $_FILES, $_REQUEST, $_SESSION ?? null, $_SERVER['mine'] ?? null, $_ENV['mine'] ?? null]";
    let server = one_worker(
        &r"function look() { return json_encode(LOOK); }
        function write($text) {
            $_GET[] = $_POST[] = $_COOKIE[] = $_FILES[] = $_REQUEST[] = $_SERVER['mine'] = $_ENV['mine'] = $text;
            $_SESSION = [$text];
        }
        return function ($request) {
            switch ($request->path) {
                case '/writes':
                    Hearth\background(function () {
                        write('one');
                        $before = look();
                        UNTIL_GO
                        file_put_contents('seen', look() === $before ? 'the same' : look());
                    });
                    return 'begun';
                case '/background': return Hearth\background(function () { usleep(1); return look(); })->await();
            }
            return look();
        };"
            .replace("UNTIL_GO", UNTIL_GO)
            .replace("LOOK", expression),
    )
    .start();
    let fresh = "[[],[],[],[],[],null,null,null]";
    assert_eq!(ok(&server.get("/writes")), "begun");
    assert_eq!(ok(&server.get("/background")), fresh);
    assert_eq!(ok(&server.get("/")), fresh);
    let_go(&server);
    let seen = server.directory().join("seen");
    eventually("the background work has ended", || {
        std::fs::read_to_string(&seen).is_ok_and(|text| text == "the same")
    });
    assert_eq!(ok(&server.get("/background")), fresh);
    server.stop();
}
