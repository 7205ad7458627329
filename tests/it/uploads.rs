//! Forms whose bodies come while other requests and other tasks run: each is parsed once, as if it were alone.

use testkit::Server;
use testkit::http::Client;
use testkit::service::Fpm;

use crate::support::{eventually, ok, one_worker, until_handled};

const PROGRESS: [&str; 5] = [
    "--ini=session.upload_progress.enabled=1",
    "--ini=session.upload_progress.min_freq=0",
    "--ini=session.upload_progress.freq=1",
    "--ini=session.save_path=.",
    "--ini=session.use_strict_mode=0",
];

/// A form of three parts, the last of them a file that contains `content`.
fn form(name: &str, content: &str) -> String {
    let field = |name: &str, value: &str| {
        format!("--XX\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    };
    let file = |name: &str, content: &str| {
        format!(
            "--XX\r\nContent-Disposition: form-data; name=\"{name}\"; filename=\"{name}.txt\"\r\n\r\n{content}\r\n"
        )
    };
    field("PHP_SESSION_UPLOAD_PROGRESS", name)
        + &field(name, name)
        + &file("first", name)
        + &file(name, content)
        + "--XX--\r\n"
}

fn head(path: &str, session: &str, length: usize) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nHost: x\r\nCookie: PHPSESSID={session}\r\n\
         Content-Type: multipart/form-data; boundary=XX\r\nContent-Length: {length}\r\n\r\n"
    )
}

/// A client that has sent all of a form but its end, and that end.
fn half_sent(server: &Server, path: &str, session: &str, body: &str) -> (Client, String) {
    let mut client = server.connect();
    client.send(head(path, session, body.len()));
    let (first, rest) = body.split_at(body.len() * 3 / 4);
    client.send(first);
    (client, rest.to_owned())
}

/// Answers with all that the form held; `/child` has a task of its own read it.
const ECHO: &str = r#"return function ($r) {
    $all = function () { $files = [];
        foreach ($_FILES as $name => $file) { $files[$name] = [$file['name'], $file['error'], md5_file($file['tmp_name'])]; }
        unset($_POST['PHP_SESSION_UPLOAD_PROGRESS']);
        return ['post' => $_POST, 'files' => $files]; };
    return $r->path === '/child' ? Hearth\async($all)->await() : $all();
};"#;

fn expected(name: &str, content: &str) -> String {
    let md5 = |text: &str| {
        let output = std::process::Command::new("php")
            .args(["-n", "-r", "echo md5(stream_get_contents(STDIN));"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .and_then(|mut child| {
                std::io::Write::write_all(child.stdin.as_mut().expect("a pipe"), text.as_bytes())?;
                child.wait_with_output()
            });
        String::from_utf8(output.expect("php runs").stdout).expect("a sum")
    };
    format!(
        r#"{{"post":{{"{name}":"{name}"}},"files":{{"first":["first.txt",0,"{}"],"{name}":["{name}.txt",0,"{}"]}}}}"#,
        md5(name),
        md5(content)
    )
}

#[test]
fn uploads_at_the_same_time_do_not_meet() {
    let large = "a".repeat(100_000);
    let (one, two) = (form("one", &large), form("two", "b"));
    let (text_one, text_two) = (expected("one", &large), expected("two", "b"));
    for progress in [false, true] {
        for path in ["/", "/child"] {
            let mut server = one_worker(ECHO).arg("--dispatch=direct");
            if progress {
                server = server.args(PROGRESS);
            }
            let server = server.start();
            let worker = server.workers();
            for _ in 0..25 {
                let (mut first, rest) = half_sent(&server, path, "onesession", &one);
                until_handled(&server, 1);
                let mut second = server.connect();
                second.send(head(path, "twosession", two.len()) + &two);
                assert_eq!(ok(&second.response()), text_two);
                first.send(rest);
                assert_eq!(ok(&first.response()), text_one);
            }
            assert_eq!(server.workers(), worker, "it lives");
            server.stop();
        }
    }
}

const WATCH: &str = r"return function ($r) {
    session_start(['read_and_close' => true]);
    return $r->path === '/upload' ? ['own' => $_SESSION['own'] ?? null, 'files' => count($_FILES)] : ($_SESSION['upload_progress_one'] ?? ['done' => 'none']);
};";

#[test]
fn the_progress_of_an_upload_is_seen_while_it_comes() {
    for (cleanup, after) in [("1", r#""done":"none""#), ("0", r#""done":true"#)] {
        let server = one_worker(WATCH)
            .args(PROGRESS)
            .arg(format!("--ini=session.upload_progress.cleanup={cleanup}"))
            .arg("--dispatch=direct")
            .start();
        let request = |session: &str| {
            let mut client = server.connect();
            client.send(format!(
                "GET / HTTP/1.1\r\nHost: x\r\nCookie: PHPSESSID={session}\r\n\r\n"
            ));
            ok(&client.response())
        };
        let body = form("one", &"x".repeat(200_000));
        let (mut client, rest) = half_sent(&server, "/upload", "mine", &body);
        eventually("progress", || {
            request("mine").contains(r#""field_name":"one""#)
        });
        let seen = request("mine");
        assert!(
            seen.contains(r#""done":false"#)
                && seen.contains(&format!(r#""content_length":{}"#, body.len())),
            "{seen}"
        );
        assert_eq!(request("another"), r#"{"done":"none"}"#);
        client.send(rest);
        assert_eq!(ok(&client.response()), r#"{"own":null,"files":2}"#);
        assert!(request("mine").contains(after), "{}", request("mine"));
        server.stop();
    }
}

#[test]
fn an_upload_whose_client_leaves_leaves_nothing() {
    std::thread::scope(|scope| {
        for (dispatch, progress) in [("direct", true), ("direct", false), ("balanced", true)] {
            scope.spawn(move || leaves_nothing(dispatch, progress));
        }
    });
}

fn leaves_nothing(dispatch: &str, progress: bool) {
    let mut server = one_worker(&format!(
        "mkdir(__DIR__ . '/tmp'); $handle = (function () {{ {ECHO} }})(); return fn ($r) => $r->path === '/memory' ? (string) memory_get_usage() : $handle($r);"
    ))
    .args(["--dispatch", dispatch, "--ini", "upload_tmp_dir=tmp"]);
    if progress {
        server = server.args(PROGRESS);
    }
    let server = server.start();
    let (body, worker) = (form("one", &"y".repeat(500_000)), server.workers());
    let text = expected("one", &"y".repeat(500_000));
    let mut memory = Vec::new();
    for round in 0..12 {
        let (client, _) = half_sent(&server, "/", "mine", &body);
        if dispatch == "direct" {
            until_handled(&server, 1);
        }
        drop(client);
        eventually("it has ended", || server.in_flight() == 0);
        let temporary = server.directory().join("tmp");
        eventually("no file stays", || {
            std::fs::read_dir(&temporary).expect("a directory").count() == 0
        });
        let mut whole = server.connect();
        whole.send(head("/", "mine", body.len()) + &body);
        assert_eq!(ok(&whole.response()), text);
        if round > 3 {
            memory.push(ok(&server.get("/memory")).parse::<i64>().expect("a number"));
        }
    }
    assert!(memory[memory.len() - 1] - memory[0] < 10_000, "{memory:?}");
    assert_eq!(server.workers(), worker, "it lives");
    server.stop();
}

/// Its progress is taken out of a session that has other things in it.
#[test]
fn an_upload_that_is_ended_early_spares_the_session() {
    let server = one_worker(
        r"return function ($r) {
            if ($r->path === '/upload') { return count($_FILES) . ''; }
            if ($r->path === '/cancel') {
                $reader = Hearth\async(fn () => $_FILES); usleep(1000); $reader->cancel();
                try { $reader->await(); } catch (Hearth\CancelledError) { return 'cancelled'; }
            }
            session_start(); $_SESSION['own'] ??= $r->queryString; return json_encode($_SESSION);
        };",
    )
    .args(PROGRESS)
    .args(["--dispatch", "direct"])
    .start();
    let request = |query: &str| {
        let mut client = server.connect();
        client.send(format!(
            "GET /session?{query} HTTP/1.1\r\nHost: x\r\nCookie: PHPSESSID=mine\r\n\r\n"
        ));
        ok(&client.response())
    };
    let body = form("one", &"x".repeat(100_000));
    assert_eq!(request("first"), r#"{"own":"first"}"#);
    for _ in 0..5 {
        let (client, _) = half_sent(&server, "/upload", "mine", &body);
        eventually("progress", || request("").contains(r#""field_name":"one""#));
        drop(client);
        eventually("it has ended", || server.in_flight() == 0);
        assert_eq!(request(""), r#"{"own":"first"}"#);
        let (mut client, _) = half_sent(&server, "/cancel", "mine", &body);
        assert_eq!(ok(&client.response()), "cancelled");
        assert_eq!(request(""), r#"{"own":"first"}"#);
    }
    server.stop();
}

/// The limits are those of the parser, whatever else is parsed meanwhile.
#[test]
fn the_limits_of_uploads_are_those_of_php() {
    const SHOW: &str = "['post' => array_keys($_POST), 'files' => array_map(fn ($file) => $file['error'], $_FILES), 'error' => preg_replace('/^.*?: /', '', error_get_last()['message'] ?? '')]";
    let limits = [
        ("upload_max_filesize", "100"),
        ("max_file_uploads", "1"),
        ("max_input_vars", "1"),
        ("max_multipart_body_parts", "2"),
        ("post_max_size", "500"),
        ("file_uploads", "0"),
    ];
    let body = form("one", &"z".repeat(300));
    for (name, value) in limits {
        let root = testkit::document_root();
        std::fs::write(
            root.path().join("index.php"),
            format!("<?php echo json_encode({SHOW});"),
        )
        .expect("a file");
        let fpm = Fpm::start(root.path(), &[(name, value), ("display_errors", "0")], "");
        let mut client = Client::connect(&fpm.address());
        client.send(head("/index.php", "a", body.len()) + &body);
        let expected = ok(&client.response());
        let server = one_worker(&format!("return fn () => {SHOW};"))
            .args(["--dispatch", "direct"])
            .arg(format!("--ini={name}={value}"))
            .start();
        let other = form("two", "t");
        let (mut half, rest) = half_sent(&server, "/", "b", &other);
        let mut client = server.connect();
        client.send(head("/", "a", body.len()) + &body);
        let answer = client.response();
        if name == "post_max_size" {
            assert_eq!(answer.status, 413, "{}", answer.text());
        } else {
            assert_eq!(ok(&answer), expected, "{name}");
        }
        half.send(rest);
        half.response();
        server.stop();
    }
}
