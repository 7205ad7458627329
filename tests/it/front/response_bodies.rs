//! Bodies of answers, which are framed alike with either dispatch.

use super::{under_both, until_made};
use crate::support::ok;

#[test]
fn a_handler_goes_on_when_all_it_announced_is_sent() {
    const APP: &str = r#"return function (Hearth\Request $request) {
        [, $length, $name] = explode('/', $request->path);
        $pieces = (function () use ($length, $name) {
            yield str_repeat('x', (int) $length);
            usleep(200000);
            yield 'more than was announced';
            for ($n = 0; $n < 32; $n++) { yield str_repeat('y', 65536); }
            touch($name);
        })();
        return new Hearth\Response($pieces, 200, ['Content-Length' => $length]);
    };"#;
    under_both(APP, [], |server, _| {
        let mut client = server.connect();
        for (target, body) in [("/5/five", "xxxxx"), ("/0/none", "")] {
            assert_eq!(ok(&client.get(target)), body);
            until_made(&server, &target[3..]);
        }
        server.stop();
    });
}

#[test]
fn a_stream_that_its_status_forbids_does_not_hold_its_handler() {
    const APP: &str = r#"return function () {
        $pieces = (function () {
            try {
                for ($n = 0; $n < 32; $n++) { yield str_repeat('y', 65536); }
            } finally {
                touch('ended');
            }
        })();
        return new Hearth\Response($pieces, 204);
    };"#;
    under_both(APP, [], |server, _| {
        assert_eq!(server.get("/").status, 204);
        until_made(&server, "ended");
        server.stop();
    });
}

#[test]
fn a_files_length_is_that_of_what_is_sent_whatever_its_handler_says() {
    const APP: &str = r#"file_put_contents('ten', '0123456789');
    return fn () => Hearth\Response::file('ten', headers: ['Content-Length' => '10', 'X-Kept' => 'yes']);"#;
    under_both(APP, [], |server, dispatch| {
        let mut client = server.connect();
        let mut request = |line: &str| {
            client.send(format!("{line}Host: x\r\n\r\n"));
            if line.starts_with("HEAD") {
                return client.response_to_head();
            }
            client.response()
        };
        let whole = ok(&request("GET / HTTP/1.1\r\n"));
        assert_eq!(whole, "0123456789", "{dispatch}");
        for (range, status, length, body) in
            [("bytes=2-4", 206, "3", "234"), ("bytes=20-", 416, "0", "")]
        {
            let answer = request(&format!("GET / HTTP/1.1\r\nRange: {range}\r\n"));
            assert_eq!(
                (answer.status, answer.text().as_str()),
                (status, body),
                "{dispatch}"
            );
            assert_eq!(answer.header("content-length"), Some(length), "{dispatch}");
            assert_eq!(answer.header("x-kept"), Some("yes"), "{dispatch}");
        }
        let head = request("HEAD / HTTP/1.1\r\nRange: bytes=2-4\r\n");
        assert_eq!(head.header("content-length"), Some("3"), "{dispatch}");
        server.stop();
    });
}
