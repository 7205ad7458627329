//! Compressors of output, `ob_gzhandler` and `zlib.output_compression`: the fields of a response say what its body is.

use std::io::Write;
use std::process::{Command, Stdio};

use testkit::Server;
use testkit::http::{Client, Response};
use testkit::service::Fpm;

use crate::support::one_worker;

fn unpacked(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = Command::new("gzip")
        .args(["-dc"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("gzip starts");
    let mut input = gzip.stdin.take().expect("a pipe");
    let text = bytes.to_vec();
    let writes = std::thread::spawn(move || input.write_all(&text));
    let output = gzip.wait_with_output().expect("gzip ends");
    writes.join().expect("it writes").expect("gzip reads");
    assert!(
        output.status.success(),
        "a body that is not whole: {bytes:?}"
    );
    output.stdout
}

fn request(address: &str, method: &str, target: &str, accepts: bool) -> Response {
    let mut client = Client::connect(address);
    let accept = if accepts {
        "Accept-Encoding: gzip\r\n"
    } else {
        ""
    };
    client.send(format!(
        "{method} {target} HTTP/1.1\r\nHost: localhost\r\n{accept}\r\n"
    ));
    client
        .try_response(method == "HEAD")
        .unwrap_or_else(|error| panic!("{target}: {error:?}"))
}

/// Status, fields and text of it, as a client reads it.
fn read(response: &Response) -> String {
    let is_packed = response.header("content-encoding") == Some("gzip");
    let text = if is_packed && !response.body.is_empty() {
        unpacked(&response.body)
    } else {
        response.body.clone()
    };
    let names = ["content-encoding", "vary", "content-type"];
    let fields = names.map(|name| response.header(name).unwrap_or("-").to_lowercase());
    format!(
        "{} {fields:?} {}",
        response.status,
        String::from_utf8_lossy(&text)
    )
}

/// A handler's own response is sent as it is. What was echoed is not, nor what a compressor would say of it.
#[test]
fn a_returned_response_beside_a_compressor() {
    let server = one_worker(
        "return function ($request) {
            $request->query('by') ? ini_set('zlib.output_compression', '1') : ob_start('ob_gzhandler');
            $request->query('echoes') && print 'lost';
            $text = str_repeat('text ', 1000);
            return match ($request->path) {
                '/string' => $text,
                '/response' => new Hearth\\Response($text, 201, ['Content-Type' => 'text/plain']),
                '/array' => [$text],
                '/pieces' => (function () use ($text) { yield $text; usleep(1000); yield 'end'; })(),
                '/stream' => Hearth\\Response::stream((function () use ($text) { yield $text; usleep(1000); yield 'end'; })()),
                '/file' => Hearth\\Response::file(__FILE__),
                '/cleaned' => ob_end_clean() ? $text : '',
            };
        };",
    )
    .start();
    for path in [
        "string", "response", "array", "pieces", "stream", "file", "cleaned",
    ] {
        for query in ["", "?echoes=1", "?by=ini", "?by=ini&echoes=1"] {
            let target = format!("/{path}{query}");
            let response = request(&server.address(), "GET", &target, true);
            assert_eq!(response.header("content-encoding"), None, "{target}");
            assert_eq!(response.header("vary"), None, "{target}");
            assert!(response.status < 300, "{target}");
            let text = response.text();
            assert!(!text.starts_with("lost"), "{target}: {text}");
            assert!(text.len() > 500, "{target}: {text}");
        }
    }
    server.expect_log("4 bytes were echoed, but the handler returned a response of its own");
    server.stop();
}

/// The fields have gone out, so what the handler returns is the rest of what was echoed.
#[test]
fn what_is_returned_after_a_flush_goes_through_the_compressor() {
    let server = one_worker(
        "return function ($request) {
            ob_start('ob_gzhandler');
            echo str_repeat('text ', 1000);
            ob_flush(); flush();
            return match ($request->path) {
                '/nothing' => null,
                '/string' => 'end',
                '/response' => new Hearth\\Response('end', 201),
                '/pieces' => (function () { yield 'e'; usleep(1000); yield 'nd'; })(),
                '/list' => Hearth\\Response::stream(['e', 'nd']),
            };
        };",
    )
    .start();
    for (path, end) in [
        ("/nothing", ""),
        ("/string", "end"),
        ("/response", "end"),
        ("/pieces", "end"),
        ("/list", "end"),
    ] {
        let response = request(&server.address(), "GET", path, true);
        assert_eq!(response.header("content-encoding"), Some("gzip"), "{path}");
        let text = unpacked(&response.body);
        let text = String::from_utf8_lossy(&text);
        assert_eq!(
            text.strip_prefix(&"text ".repeat(1000)),
            Some(end),
            "{path}"
        );
    }
    server.stop();
}

const CASES: &str = r"<?php
switch ($_GET['case']) {
    case 'echo': echo str_repeat('text ', 1000); break;
    case 'short': echo 'x'; break;
    case 'empty': break;
    case 'no-content': http_response_code(204); break;
    case 'not-modified': http_response_code(304); break;
    case 'encoding': header('Content-Encoding: identity'); echo str_repeat('text ', 1000); break;
    case 'vary': header('Vary: Cookie'); echo str_repeat('text ', 1000); break;
    case 'flush': echo str_repeat('text ', 1000); @ob_flush(); flush(); echo 'end'; break;
    case 'exit': echo str_repeat('text ', 1000); exit;
    case 'status': http_response_code(404); echo str_repeat('text ', 1000); break;
    case 'fatal': echo 'before'; eval('class A {} class A {}');
    case 'thrown': echo 'before'; throw new Exception('boo');
    case 'on': ini_set('zlib.output_compression', '1'); echo str_repeat('text ', 1000); break;
    case 'handler': @ob_start('ob_gzhandler'); echo str_repeat('text ', 1000); break;
    case 'cleaned': @ob_start('ob_gzhandler'); echo 'lost'; @ob_end_clean(); echo str_repeat('text ', 1000); break;
    case 'finish': echo str_repeat('text ', 1000); fastcgi_finish_request(); echo 'lost'; break;
    case 'shutdown': register_shutdown_function(function () { echo 'late'; }); echo str_repeat('text ', 1000); break;
    case 'levels': echo json_encode(ob_list_handlers()); break;
    case 'much': for ($n = 0; $n < 300; $n++) { echo str_repeat(md5((string) $n), 40); } break;
}
";

fn cases() -> impl Iterator<Item = &'static str> {
    let lines = CASES
        .lines()
        .filter_map(|line| line.trim().strip_prefix("case '"));
    lines.filter_map(|line| line.split('\'').next())
}

/// The length that is said is that of what is sent.
fn assert_whole(what: &str, response: &Response) {
    if let Some(length) = response.header("content-length") {
        let found = response.body.len().to_string();
        assert!(length == found || response.body.is_empty(), "{what}");
    }
}

#[test]
fn a_classic_script_with_a_compressor_answers_as_under_php_fpm() {
    for ini in [
        ("zlib.output_compression", "1"),
        ("output_handler", "ob_gzhandler"),
        ("output_buffering", "4096"),
    ] {
        let root = testkit::document_root();
        std::fs::write(root.path().join("cases.php"), CASES).expect("a file can be written");
        let fpm = Fpm::start(root.path(), &[ini], "");
        let server = Server::app(root.path())
            .args(["--workers", "1", "--ini", &format!("{}={}", ini.0, ini.1)])
            .start();
        let mut differ = Vec::new();
        for case in cases() {
            for (method, accepts) in [("GET", true), ("GET", false), ("HEAD", true)] {
                let target = format!("/cases.php?case={case}");
                let what = format!("{ini:?} {method} {case}, accepts {accepts}");
                let response = request(&server.address(), method, &target, accepts);
                assert_whole(&what, &response);
                let found = read(&response);
                let expected = read(&request(&fpm.address(), method, &target, accepts));
                if found != expected {
                    differ.push(format!("{what}:\n  {found}\n  under php-fpm\n  {expected}"));
                }
            }
        }
        assert!(differ.is_empty(), "{}", differ.join("\n"));
        server.stop();
    }
}

/// `header()` of a length switches the compressor of php.ini off; under php-fpm the handler of `output_handler` goes on, and the
/// body is shorter than its length.
#[test]
fn a_script_that_says_its_length_sends_that_many_bytes() {
    for ini in ["zlib.output_compression=1", "output_handler=ob_gzhandler"] {
        let server = Server::app("www")
            .args(["--workers", "1", "--ini", ini])
            .file(
                "www/index.php",
                "<?php header('Content-Length: 5000'); echo str_repeat('text ', 1000);",
            )
            .start();
        let response = request(&server.address(), "GET", "/", true);
        assert_whole(ini, &response);
        assert!(read(&response).ends_with(&"text ".repeat(1000)), "{ini}");
        server.stop();
    }
}
