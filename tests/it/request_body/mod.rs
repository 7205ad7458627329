//! The body of a request while it comes: read once, for all tasks of the request, and never taken for complete when it is not.

mod broken_off;

use testkit::http::Client;
use testkit::{Server, ServerBuilder};

use crate::support::{eventually, ok, one_worker, until_handled};

const FORM: &str = "application/x-www-form-urlencoded";

fn half_a_form(server: &Server, path: &str, media_type: &str, body: &str) -> (Client, String) {
    let mut client = server.connect();
    let (first, rest) = body.split_at(body.len() / 2);
    client.send(format!(
        "POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: {media_type}\r\nContent-Length: {}\r\n\r\n{first}",
        body.len()
    ));
    (client, rest.to_owned())
}

fn direct(code: &str) -> ServerBuilder {
    one_worker(code).args(["--dispatch", "direct"])
}

#[test]
fn a_body_that_cannot_be_stored_is_not_cut() {
    let server = direct(
        "return fn ($r) => (function () use ($r) {
            $said = [];
            foreach ([1, 2] as $time) {
                try { $said[] = strlen($r->body()); } catch (Error $e) { $said[] = $e->getMessage(); }
            }
            return implode(' ', $said);
        })();",
    )
    .args(["--ini=sys_temp_dir=/nonexistent"])
    .start();
    let request = |length: usize| {
        let body = "x".repeat(length);
        let mut client = server.connect();
        client.send(format!(
            "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n{body}"
        ));
        ok(&client.response())
    };
    assert_eq!(request(5000), "5000 5000", "a small one needs no file");
    let text = request(500_000);
    assert!(
        text.starts_with("The body of the request cannot be stored whole"),
        "{text}"
    );
    assert!(!text.contains("8192"), "{text}");
}

#[test]
fn all_tasks_of_a_request_see_the_whole_body() {
    let server = direct(
        r#"return function ($r) {
            $ways = [
                fn () => $_POST['z'], fn () => $_REQUEST['z'], fn () => $r->form('z'), fn () => $r->form()['z'], fn () => filter_input(INPUT_POST, 'z'),
                fn () => $r->path === '/form' ? substr($r->body(), -2) : '99', fn () => $r->path === '/form' ? substr(file_get_contents('php://input'), -2) : '99',
                fn () => $r->path === '/form' ? '99' : $_FILES['one']['size'] . '', fn () => $r->path === '/form' ? '99' : $r->files()['one']['size'] . '',
            ];
            $order = (int) $r->query('o');
            $ways = [...array_slice($ways, $order), ...array_slice($ways, 0, $order)];
            $tasks = array_map(fn ($way) => Hearth\async($way), $ways);
            return implode(' ', [...array_map(fn ($way) => $way(), $ways), ...array_map(fn ($task) => $task->await(), $tasks)]);
        };"#,
    )
    .start();
    let all = vec!["99"; 18].join(" ");
    let plain = format!("a={}&z=99", "x".repeat(200_000));
    let upload = "--XX\r\nContent-Disposition: form-data; name=\"one\"; filename=\"a\"\r\n\r\n"
        .to_owned()
        + &"u".repeat(99)
        + "\r\n--XX\r\nContent-Disposition: form-data; name=\"pad\"\r\n\r\n"
        + &"p".repeat(200_000)
        + "\r\n--XX\r\nContent-Disposition: form-data; name=\"z\"\r\n\r\n99\r\n--XX--\r\n";
    for order in 0..9 {
        let (mut client, rest) = half_a_form(&server, &format!("/form?o={order}"), FORM, &plain);
        until_handled(&server, 1);
        client.send(rest);
        assert_eq!(ok(&client.response()), all, "form, order {order}");
        let media_type = "multipart/form-data; boundary=XX";
        let (mut client, rest) =
            half_a_form(&server, &format!("/upload?o={order}"), media_type, &upload);
        until_handled(&server, 1);
        client.send(rest);
        assert_eq!(ok(&client.response()), all, "upload, order {order}");
    }
    server.stop();
}

/// The task that reads the body is cancelled: another reads on, or is told that it cannot.
#[test]
fn a_cancelled_reader_does_not_take_the_body_with_it() {
    let server = direct(
        r#"return function ($r) {
            $ways = ['post' => fn () => $_POST['z'] ?? 'none', 'input' => fn () => substr(file_get_contents('php://input'), -2), 'body' => fn () => substr($r->body(), -2)];
            [, $first, $second] = explode('/', $r->path);
            $reader = Hearth\async($ways[$first]);
            $waits = Hearth\async($ways[$second]);
            usleep(1000);
            $reader->cancel();
            try { $said = $reader->await(); } catch (Hearth\CancelledError) { $said = 'cancelled'; }
            echo 'x'; Hearth\flush();
            try { return "$said " . $waits->await() . ' ' . $ways[$second](); } catch (\Error $e) { return "$said " . $e->getMessage(); }
        };"#
            .replace("echo 'x'; Hearth\\flush();", "touch(__DIR__ . '/cancelled');")
            .as_str(),
    )
    .start();
    let cancelled = server.directory().join("cancelled");
    let plain = format!("a={}&z=99", "x".repeat(200_000));
    for path in [
        "/post/post",
        "/post/input",
        "/input/post",
        "/body/post",
        "/input/body",
        "/body/input",
    ] {
        let (mut client, rest) = half_a_form(&server, path, FORM, &plain);
        eventually("the reader was cancelled", || cancelled.exists());
        client.send(rest);
        assert_eq!(ok(&client.response()), "cancelled 99 99", "{path}");
        std::fs::remove_file(&cancelled).expect("it was there");
    }
    let upload = format!(
        "--XX\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n{}\r\n--XX\r\nContent-Disposition: form-data; name=\"z\"\r\n\r\n99\r\n--XX--\r\n",
        "a".repeat(200_000)
    );
    let (mut client, rest) = half_a_form(
        &server,
        "/post/post",
        "multipart/form-data; boundary=XX",
        &upload,
    );
    eventually("the reader was cancelled", || cancelled.exists());
    client.send(rest);
    assert_eq!(
        ok(&client.response()),
        "cancelled The body of the request cannot be read: the task that parsed it was ended in the middle"
    );
    server.stop();
}

/// S21: as many slow bodies as requests may run at a time.
#[test]
fn slow_bodies_take_no_place_of_a_request() {
    let server = direct("return fn ($r) => (string) strlen(http_build_query($r->form()));")
        .args(["--concurrency=4"])
        .start();
    let mut slow: Vec<(Client, String)> = (0..12)
        .map(|n| {
            let length = if n % 2 == 0 { 100 } else { 70_000 };
            let (client, rest) =
                half_a_form(&server, "/", FORM, &format!("a={}", "x".repeat(length)));
            (client, rest)
        })
        .collect();
    for _ in 0..20 {
        assert_eq!(ok(&server.connect().post("/", FORM, "a=1")), "3");
    }
    for (client, rest) in &mut slow {
        client.send(std::mem::take(rest));
        assert!(["102", "70002"].contains(&ok(&client.response()).as_str()));
    }
    server.stop();
}

/// As under php-fpm, where the form is parsed before the script begins.
#[test]
fn php_input_before_the_form_leaves_the_form_whole() {
    let server = one_worker(
        "return function ($r) { $f = fopen('php://input', 'r'); $part = fread($f, 3); $post = $_POST; return [$part, $post, fread($f, 100), $r->body()]; };",
    )
    .start();
    for _ in 0..3 {
        let answer = server.connect().post("/", FORM, "a=1&b=2");
        assert_eq!(ok(&answer), r#"["a=1",{"a":"1","b":"2"},"&b=2","a=1&b=2"]"#);
    }
    server.stop();
}

/// As under php-fpm, where the stream ends with its request.
#[test]
fn php_input_that_is_kept_reads_the_body_of_no_other_request() {
    let server = direct(
        r"class Kept { public static $stream; }
        return function ($r) {
            if ($r->path === '/keep') {
                Kept::$stream = fopen('php://input', 'r');
                $first = fread(Kept::$stream, 1);
                while ($r->query('waits') && !file_exists('go')) { usleep(1000); }
                return $first;
            }
            $seen = stream_get_contents(Kept::$stream, 1 << 20, $r->query('from') === null ? -1 : 0);
            touch('go');
            return [str_contains((string) $seen, 'B'), $r->body(), file_get_contents('php://input')];
        };",
    )
    .start();
    let own = r#"[false,"BBB","BBB"]"#;
    let post = |path: &str, body: &str| server.connect().post(path, "text/plain", body);
    for _ in 0..2 {
        assert_eq!(ok(&post("/keep", "AAA")), "A");
        assert_eq!(ok(&post("/other", "BBB")), own);
        assert_eq!(ok(&post("/other?from=0", "BBB")), own);
    }
    let _ = std::fs::remove_file(server.directory().join("go"));
    let mut waits = server.connect();
    waits.send("POST /keep?waits=1 HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\nAAA");
    until_handled(&server, 1);
    assert_eq!(ok(&post("/other", "BBB")), own);
    assert_eq!(ok(&waits.response()), "A");
    server.stop();
}
