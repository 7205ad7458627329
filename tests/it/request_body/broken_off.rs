//! Bodies that break off, are malformed or too large: PHP code never takes the part for the whole.

use testkit::Server;
use testkit::http::Client;

use super::{FORM, direct};
use crate::support::{ok, until_handled};

/// Ways to read a body that go on with what they have read, and ways that catch what they are told and read again.
const READERS: &str = r#"
    $ways = [
        'post' => fn ($r) => $_POST, 'request' => fn ($r) => $_REQUEST, 'files' => fn ($r) => $_FILES, 'filter' => fn ($r) => filter_input_array(INPUT_POST),
        'form' => fn ($r) => $r->form(), 'of-files' => fn ($r) => $r->files(), 'body' => fn ($r) => $r->body(), 'json' => fn ($r) => $r->json(),
        'input' => fn ($r) => file_get_contents('php://input'), 'copy' => function ($r) { $to = fopen('php://temp', 'w'); copy('php://input', 'php://memory'); return stream_copy_to_stream(fopen('php://input', 'r'), $to); },
        'stream' => fn ($r) => stream_get_contents($r->stream()), 'pieces' => function ($r) { for ($s = $r->stream(), $n = 0; !feof($s);) { $n += strlen(fread($s, 8192)); } return $n; },
    ];
    $went_on = fn () => file_put_contents(__DIR__ . '/went-on', $_SERVER["REQUEST_URI"] . " " . ($GLOBALS["went"] ?? "") . " ", FILE_APPEND);
    return function ($r) use ($ways, $went_on) {
        [, $how, $way] = explode('/', $r->path);
        $read = fn () => $ways[$way]($r);
        if ($how === 'child') { $task = Hearth\async($read); $read = fn () => $task->await(); }
        if ($how === 'both') { $task = Hearth\async($read); try { $read(); } catch (\Error) { } $read = fn () => $task->await(); }
        if ($how === 'other') { foreach ($ways as $name => $other) { try { $read(); } catch (\Error) { } try { $other($r); $GLOBALS['went'] = $name; $went_on(); } catch (\Error) { } } }
        if ($how === 'again') { try { $read(); $went_on(); } catch (\Error) { } }
        if ($how === 'last') { try { $read(); $went_on(); } catch (\Error $e) { return 'caught ' . $e->getMessage(); } return 'whole'; }
        $got = $read();
        $went_on();
        return 'done';
    };"#;

const WAYS: [&str; 12] = [
    "post", "request", "files", "filter", "form", "of-files", "body", "json", "input", "copy",
    "stream", "pieces",
];

/// What is wrong with a body behind its first part, how it is answered and what the log says.
#[derive(Clone, Copy, Debug)]
enum Fault {
    Closed,
    Malformed,
    OverPostLimit,
    TooLarge,
}

impl Fault {
    const ALL: [Fault; 4] = [
        Fault::Closed,
        Fault::Malformed,
        Fault::OverPostLimit,
        Fault::TooLarge,
    ];

    fn expected(self) -> (u16, &'static str) {
        match self {
            Fault::Closed => (400, "the client closed the connection"),
            Fault::Malformed => (400, "malformed"),
            Fault::OverPostLimit => (413, "post_max_size"),
            Fault::TooLarge => (413, "http.max_body"),
        }
    }

    /// Options of a server that bodies meet this at.
    fn limits(self) -> [&'static str; 2] {
        match self {
            Fault::TooLarge => ["--ini=post_max_size=0", "--max-body=400000"],
            _ => ["--ini=post_max_size=200000", "--max-body=400000"],
        }
    }

    /// Behind a chunk.
    fn happen(self, client: &mut Client) {
        let more = |length: usize| format!("{length:x}\r\n{}\r\n", "&".repeat(length));
        match self {
            Fault::Closed => client
                .stream()
                .shutdown(std::net::Shutdown::Write)
                .expect("half closed"),
            Fault::Malformed => client.send("no chunk\r\n"),
            Fault::OverPostLimit => client.send(more(250_000)),
            Fault::TooLarge => client.send(more(450_000)),
        }
    }
}

const UPLOAD: &str = "multipart/form-data; boundary=XX";

fn begin(client: &mut Client, path: &str, length: usize) {
    let is_upload = path.ends_with("files");
    let kind = if is_upload { UPLOAD } else { FORM };
    let first = if is_upload {
        "--XX\r\nContent-Disposition: form-data; name=\"a\"; filename=\"a\"\r\n\r\n"
    } else {
        "to=bob&amount=1"
    };
    let first = format!("{first}{}", "0".repeat(length));
    client.send(format!(
        "POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{first}\r\n",
        first.len()
    ));
}

/// Code that took the part for the whole would go on with it.
#[test]
fn a_body_that_breaks_off_is_not_taken_for_complete() {
    let server = direct(READERS).args(Fault::OverPostLimit.limits()).start();
    let larger = direct(READERS).args(Fault::TooLarge.limits()).start();
    for (how, length) in [
        ("once", 100),
        ("once", 100_000),
        ("child", 100_000),
        ("both", 100_000),
        ("again", 100_000),
        ("other", 100_000),
    ] {
        for way in WAYS {
            for fault in Fault::ALL {
                let server = match fault {
                    Fault::TooLarge => &larger,
                    _ => &server,
                };
                let path = format!("/{how}/{way}");
                let mut client = server.connect();
                begin(&mut client, &path, length);
                fault.happen(&mut client);
                let answer = client.response();
                let (status, _) = fault.expected();
                assert_eq!(answer.status, status, "{path} {length} {fault:?}");
                assert_eq!(answer.header("connection"), Some("close"), "{path}");
            }
        }
    }
    let went_on = std::fs::read_to_string(larger.directory().join("went-on"));
    assert!(went_on.is_err(), "{went_on:?}");
    larger.stop();
    let went_on = std::fs::read_to_string(server.directory().join("went-on"));
    assert!(went_on.is_err(), "{went_on:?}");
    for way in WAYS {
        let (kind, body) = match way {
            "files" | "of-files" => (UPLOAD, "--XX--\r\n"),
            "json" => ("application/json", "{}"),
            _ => (FORM, "a=1"),
        };
        let answer = server.connect().post(&format!("/last/{way}"), kind, body);
        assert_eq!(ok(&answer), "whole", "{way}");
    }
    assert_eq!(server.in_flight(), 0);
    server.stop();
}

/// The client, the log and PHP code are told the same.
#[test]
fn what_is_wrong_with_a_body_is_named() {
    let code = READERS.replace(
        "return 'caught ' . $e->getMessage();",
        "error_log($e->getMessage()); return 'caught';",
    );
    for fault in Fault::ALL {
        let server = direct(&code).args(fault.limits()).start();
        let (status, text) = fault.expected();
        for length in [100, 100_000] {
            let mut client = server.connect();
            let from = client.stream().local_addr().expect("an address");
            begin(&mut client, "/last/body", length);
            if length > 100 {
                until_handled(&server, 1);
            }
            fault.happen(&mut client);
            let answer = client.response();
            assert!(answer.text().contains(text), "{fault:?}: {}", answer.text());
            let line = server.expect_log(&format!("client={from}"));
            assert!(line.contains(text), "{line}");
            assert!(line.contains(&format!("status={status}")), "{line}");
        }
        let lines = server.log().lines();
        let logged = lines.iter().filter(|line| {
            line.contains("The request body is") && !line.contains("request refused")
        });
        let logged: Vec<_> = logged.collect();
        assert!(!logged.is_empty(), "PHP is told");
        assert!(logged.iter().all(|line| line.contains(text)), "{logged:?}");
        server.stop();
    }
}

#[test]
fn a_client_that_stops_sending_a_body_is_answered_408() {
    let server = direct(READERS).args(["--body-timeout=0.5"]).start();
    for (way, length) in [
        ("body", 100),
        ("body", 100_000),
        ("stream", 100_000),
        ("post", 100_000),
    ] {
        let mut client = server.connect();
        begin(&mut client, &format!("/once/{way}"), length);
        let answer = client.response();
        assert_eq!(answer.status, 408, "{way} {length}");
        assert!(
            answer.text().contains("http.body_timeout"),
            "{}",
            answer.text()
        );
        assert!(client.is_closed_by_server());
    }
    assert!(!server.directory().join("went-on").exists());
    server.stop();
}

/// One request at a time: the whole body is there before the app is asked, in a file if it is large.
#[test]
fn where_one_request_runs_at_a_time_no_body_comes_to_php_in_part() {
    let site = "<?php file_put_contents(__DIR__ . '/ran', $_SERVER['REQUEST_URI'], FILE_APPEND); \
        echo strlen(file_get_contents('php://input')), ' ', strlen($_POST['amount'] ?? ''), ' ', $_FILES['a']['size'] ?? -1;";
    let loop_script = "while (frankenphp_handle_request(function () { \
        file_put_contents(__DIR__ . '/ran', $_SERVER['REQUEST_URI'], FILE_APPEND); \
        echo strlen(file_get_contents('php://input')), ' ', strlen($_POST['amount'] ?? ''), ' ', $_FILES['a']['size'] ?? -1; })) {}";
    let handler = "return function () { \
        file_put_contents(__DIR__ . '/ran', $_SERVER['REQUEST_URI'], FILE_APPEND); \
        echo strlen(file_get_contents('php://input')), ' ', strlen($_POST['amount'] ?? ''), ' ', $_FILES['a']['size'] ?? -1; };";
    let one = ["--workers=1", "--dispatch=direct"];
    for server in [
        Server::app(".").file("index.php", site).args(one),
        Server::script(loop_script).args(one),
        Server::script(handler).args(one).arg("--concurrency=1"),
    ] {
        let server = server
            .args(["--max-body=400000", "--body-timeout=5"])
            .start();
        let worker = server.workers();
        for length in [100, 100_000] {
            for path in ["/once/post", "/once/files"] {
                for fault in [Fault::Closed, Fault::Malformed, Fault::TooLarge] {
                    let mut client = server.connect();
                    begin(&mut client, path, length);
                    // The only worker is free meanwhile.
                    assert_eq!(server.get("/free").status, 200);
                    fault.happen(&mut client);
                    assert_eq!(
                        client.response().status,
                        fault.expected().0,
                        "{path} {fault:?}"
                    );
                }
            }
            let mut client = server.connect();
            begin(&mut client, "/whole/post", length);
            client.send("0\r\n\r\n");
            let amount = length + 1;
            let all = "to=bob&amount=1".len() + length;
            assert_eq!(ok(&client.response()), format!("{all} {amount} -1"));
        }
        let ran = std::fs::read_to_string(server.directory().join("ran")).expect("it ran");
        assert!(!ran.contains("once"), "{ran}");
        assert_eq!(server.workers(), worker, "it lives");
        server.stop();
    }
}
