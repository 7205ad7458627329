//! Files that lie compressed beside a file: which is sent, with which headers.

use testkit::Server;

use super::in_all_modes;
use crate::support::{ok, request};

/// Sets the time at which a file was changed, in seconds after the beginning of 2026.
fn set_modified(server: &Server, name: &str, seconds: u64) {
    const BEGIN: u64 = 1_767_225_600;
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(BEGIN + seconds);
    let path = server.directory().join("public").join(name);
    let file = std::fs::File::options().write(true).open(path);
    file.and_then(|file| file.set_modified(time))
        .expect("a time");
}

const CSS: [(&str, &str); 7] = [
    ("a.css", "as it is"),
    ("a.css.br", "brotli"),
    ("a.css.gz", "gzip"),
    ("old.css", "as it is"),
    ("old.css.gz", "gzip"),
    ("photo.jpg", "as it is"),
    ("photo.jpg.gz", "gzip"),
];

fn set_all_modified(server: &Server) {
    for (name, _) in CSS {
        set_modified(server, name, 10);
    }
    set_modified(server, "old.css.gz", 9);
}

/// `start` runs `set_all_modified` before the first look at any of these files.
fn with_compressed(args: &[&str], test: impl Fn(&Server)) {
    in_all_modes(&CSS, args, |server| {
        set_all_modified(server);
        test(server);
    });
}

#[test]
fn what_lies_compressed_beside_a_file() {
    with_compressed(&[], |server| {
        let get = |target: &str, accepted: &str| {
            request(
                server,
                "GET",
                target,
                &format!("Accept-Encoding: {accepted}\r\n"),
            )
        };
        for (accepted, encoding, text) in [
            ("gzip, deflate, br, zstd", Some("br"), "brotli"),
            ("gzip", Some("gzip"), "gzip"),
            ("zstd", None, "as it is"),
            ("br;q=0.5, gzip", Some("gzip"), "gzip"),
            ("br;q=0, gzip;q=0", None, "as it is"),
            ("*;q=0.1", Some("br"), "brotli"),
            ("identity, *;q=0", None, "as it is"),
            ("", None, "as it is"),
        ] {
            let answer = get("/a.css", accepted);
            assert_eq!(ok(&answer), text, "{accepted}");
            assert_eq!(answer.header("content-encoding"), encoding, "{accepted}");
            assert_eq!(answer.header("content-type"), Some("text/css"));
            assert_eq!(answer.header("vary"), Some("Accept-Encoding"), "{accepted}");
            let date = answer.header("last-modified");
            assert_eq!(date, Some("Thu, 01 Jan 2026 00:00:10 GMT"));
        }
        // What is older than the file, and pictures, are not looked at.
        for target in ["/old.css", "/photo.jpg"] {
            let answer = get(target, "gzip, br");
            assert_eq!(ok(&answer), "as it is", "{target}");
            assert_eq!(answer.header("vary"), None, "{target}");
        }
        assert_eq!(ok(&get("/a.css.gz", "gzip")), "gzip");
        assert_eq!(get("/a.css.gz", "gzip").header("content-encoding"), None);
    });
}

#[test]
fn each_encoding_has_a_tag_and_ranges_of_its_own() {
    with_compressed(&[], |server| {
        let request = |method: &str, headers: &str| request(server, method, "/a.css", headers);
        let tag = |accepted: &str| {
            let answer = request("HEAD", &format!("Accept-Encoding: {accepted}\r\n"));
            answer.header("etag").expect("an ETag").to_owned()
        };
        let tags = [tag("br"), tag("gzip"), tag("identity")];
        assert!(tags[0] != tags[1] && tags[1] != tags[2], "{tags:?}");
        let known = request(
            "GET",
            &format!("Accept-Encoding: br\r\nIf-None-Match: {}\r\n", tags[0]),
        );
        assert_eq!(known.status, 304);
        assert_eq!(known.header("vary"), Some("Accept-Encoding"));
        let other = request(
            "GET",
            &format!("Accept-Encoding: br\r\nIf-None-Match: {}\r\n", tags[2]),
        );
        assert_eq!(ok(&other), "brotli");
        let part = request("GET", "Accept-Encoding: br\r\nRange: bytes=1-3\r\n");
        assert_eq!((part.status, part.text().as_str()), (206, "rot"));
        assert_eq!(part.header("content-range"), Some("bytes 1-3/6"));
        assert_eq!(part.header("content-encoding"), Some("br"));
        let changed = format!(
            "Accept-Encoding: br\r\nRange: bytes=1-3\r\nIf-Range: {}\r\n",
            tags[2]
        );
        assert_eq!(ok(&request("GET", &changed)), "brotli");
        let head = request("HEAD", "Accept-Encoding: gzip\r\n");
        assert_eq!(head.header("content-length"), Some("4"));
    });
}

#[test]
fn what_is_compressed_is_looked_for_unless_that_is_off() {
    with_compressed(&["--precompressed", "off"], |server| {
        let answer = request(server, "GET", "/a.css", "Accept-Encoding: br\r\n");
        assert_eq!(ok(&answer), "as it is");
        assert_eq!(answer.header("vary"), None);
    });
}

/// The file is written again: what lies beside it holds what it was, and is not sent from the next request on.
#[test]
fn a_newer_file_is_sent_instead_of_what_was_compressed() {
    with_compressed(&[], |server| {
        let get = || request(server, "GET", "/a.css", "Accept-Encoding: br\r\n");
        assert_eq!(ok(&get()), "brotli");
        set_modified(server, "a.css", 20);
        let answer = get();
        assert_eq!(ok(&answer), "as it is");
        assert_eq!(answer.header("content-encoding"), None);
    });
}
