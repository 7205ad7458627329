//! How a file is sent: conditions, ranges, bodies.

use std::future::poll_fn;
use std::path::PathBuf;

use http1::{Body as _, Fields, Response};
use site::{FileBody, Representation, StaticFile};
use tempfile::TempDir;

struct Fixture {
    directory: TempDir,
}

impl Fixture {
    fn new(name: &str, bytes: &[u8]) -> (Fixture, PathBuf) {
        let directory = TempDir::new().expect("a directory");
        let path = directory.path().join(name);
        std::fs::write(&path, bytes).expect("a file");
        (Fixture { directory }, path)
    }
}

fn open(path: &std::path::Path) -> Representation<'static> {
    Representation::new(StaticFile::open(path).expect("the file"))
}

/// Status, and the header's value.
fn request(path: &std::path::Path, method: &str, headers: &[(&str, &str)]) -> Response<FileBody> {
    let fields: Fields = headers.iter().copied().collect();
    open(path).answer(method.as_bytes(), &fields)
}

fn header(response: &Response<FileBody>, name: &str) -> String {
    response.head.fields.text(name).unwrap_or("").to_owned()
}

async fn collect(mut response: Response<FileBody>) -> std::io::Result<Vec<u8>> {
    let mut all = Vec::new();
    while let Some(piece) = poll_fn(|context| response.body.poll_piece(context)).await {
        all.extend_from_slice(&piece?);
    }
    Ok(all)
}

fn body(response: Response<FileBody>) -> Vec<u8> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    runtime.block_on(collect(response)).expect("a body")
}

#[test]
fn a_whole_file() {
    let (_fixture, path) = Fixture::new("page.html", b"0123456789");
    let response = request(&path, "GET", &[]);
    assert_eq!(response.head.status, 200);
    assert_eq!(header(&response, "content-type"), "text/html");
    assert_eq!(header(&response, "content-length"), "10");
    assert_eq!(header(&response, "accept-ranges"), "bytes");
    assert!(header(&response, "last-modified").ends_with(" GMT"));
    assert_eq!(body(response), b"0123456789");
    let head = request(&path, "HEAD", &[]);
    assert_eq!(
        (head.head.status, header(&head, "content-length").as_str()),
        (200, "10")
    );
    assert_eq!(body(head), b"");
}

#[test]
fn types() {
    for (name, expected) in [
        ("a.css", "text/css"),
        ("a.js", "text/javascript"),
        ("a.mjs", "application/javascript"),
        ("a.svg", "image/svg+xml"),
        ("a.webp", "image/webp"),
        ("a.woff2", "font/woff2"),
        ("a.json", "application/json"),
        ("a.wasm", "application/wasm"),
        ("a.PNG", "image/png"),
        ("a.unknown", "application/octet-stream"),
        ("a", "application/octet-stream"),
    ] {
        let (_fixture, path) = Fixture::new(name, b"x");
        assert_eq!(
            header(&request(&path, "GET", &[]), "content-type"),
            expected,
            "{name}"
        );
    }
}

#[test]
fn other_methods_are_not_allowed() {
    let (_fixture, path) = Fixture::new("a.txt", b"x");
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "PROPFIND"] {
        let response = request(&path, method, &[]);
        assert_eq!(response.head.status, 405, "{method}");
        assert_eq!(header(&response, "allow"), "GET, HEAD");
    }
    let any = open(&path);
    let response = any.answer_any(b"POST", &Fields::new());
    assert_eq!((response.head.status, body(response)), (200, b"x".to_vec()));
}

#[test]
fn conditions() {
    let (_fixture, path) = Fixture::new("a.txt", b"0123456789");
    let first = request(&path, "GET", &[]);
    let (tag, date) = (header(&first, "etag"), header(&first, "last-modified"));
    let weak = format!("W/{tag}");
    let several = format!("\"a\", {tag}");
    let old = "Thu, 01 Jan 2015 00:00:00 GMT";
    let future = "Fri, 01 Jan 2100 00:00:00 GMT";
    let cases: &[(&[(&str, &str)], u16)] = &[
        (&[("if-none-match", &tag)], 304),
        (&[("if-none-match", &weak)], 304),
        (&[("if-none-match", &several)], 304),
        (&[("if-none-match", "\"a\""), ("if-none-match", &tag)], 304),
        (&[("if-none-match", "*")], 304),
        (&[("if-none-match", "\"a\"")], 200),
        (
            &[("if-none-match", "\"a\""), ("if-modified-since", &date)],
            200,
        ),
        (&[("if-modified-since", &date)], 304),
        (&[("if-modified-since", future)], 304),
        (&[("if-modified-since", old)], 200),
        (&[("if-modified-since", "yesterday")], 200),
        (&[("if-match", &tag)], 200),
        (&[("if-match", "*")], 200),
        (&[("if-match", &weak)], 412),
        (&[("if-match", "\"a\"")], 412),
        (&[("if-match", "\"a\""), ("if-none-match", &tag)], 412),
        (&[("if-unmodified-since", &date)], 200),
        (&[("if-unmodified-since", old)], 412),
        (&[("if-unmodified-since", old), ("if-match", &tag)], 200),
        (&[("if-none-match", &tag), ("range", "bytes=0-1")], 304),
        (&[("range", "bytes=2-4")], 206),
        (&[("range", "bytes=2-4"), ("if-range", &tag)], 206),
        (&[("range", "bytes=2-4"), ("if-range", &date)], 206),
        (&[("range", "bytes=2-4"), ("if-range", &weak)], 200),
        (&[("range", "bytes=2-4"), ("if-range", "\"a\"")], 200),
        (&[("range", "bytes=2-4"), ("if-range", old)], 200),
        (&[("range", "bytes=2-4"), ("if-range", future)], 200),
        (&[("range", "bytes=99-")], 416),
    ];
    for (headers, expected) in cases {
        for method in ["GET", "HEAD"] {
            let response = request(&path, method, headers);
            assert_eq!(response.head.status, *expected, "{method} {headers:?}");
            assert_eq!(header(&response, "etag"), tag, "{headers:?}");
        }
    }
    std::fs::write(&path, b"new").expect("a file");
    assert_eq!(
        request(&path, "GET", &[("if-none-match", &tag)])
            .head
            .status,
        200
    );
}

#[test]
fn ranges() {
    let (_fixture, path) = Fixture::new("a.txt", b"0123456789");
    let part = request(&path, "GET", &[("range", "bytes=2-4")]);
    assert_eq!(header(&part, "content-range"), "bytes 2-4/10");
    assert_eq!(header(&part, "content-length"), "3");
    assert_eq!(body(part), b"234");
    let last = request(&path, "GET", &[("range", "bytes=-3")]);
    assert_eq!(body(last), b"789");
    let head = request(&path, "HEAD", &[("range", "bytes=2-4")]);
    assert_eq!(header(&head, "content-length"), "3");
    assert_eq!(body(head), b"");
    let none = request(&path, "GET", &[("range", "bytes=10-")]);
    assert_eq!(header(&none, "content-range"), "bytes */10");
    assert_eq!(body(none), b"");
    assert_eq!(
        body(request(&path, "GET", &[("range", "bytes=0-0,9-9")])),
        b"0123456789"
    );
    let (_fixture, empty) = Fixture::new("empty", b"");
    assert_eq!(body(request(&empty, "GET", &[])), b"");
    assert_eq!(
        request(&empty, "GET", &[("range", "bytes=0-")]).head.status,
        416
    );
}

#[test]
fn large_files_come_whole() {
    let bytes: Vec<u8> = (0..1_000_003_u32).flat_map(u32::to_le_bytes).collect();
    let (_fixture, path) = Fixture::new("large", &bytes);
    assert!(body(request(&path, "GET", &[])) == bytes);
    let part = request(&path, "GET", &[("range", "bytes=70001-3000001")]);
    assert!(body(part) == bytes[70_001..=3_000_001]);
}

#[test]
fn a_file_that_becomes_shorter_breaks_off() {
    let (_fixture, path) = Fixture::new("large", &[b'x'; 300_000]);
    let response = request(&path, "GET", &[]);
    std::fs::write(&path, b"short").expect("a file");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    let error = runtime.block_on(collect(response)).expect_err("an error");
    assert_eq!(error.kind(), std::io::ErrorKind::UnexpectedEof);
}

#[test]
fn a_file_that_is_replaced_is_sent_as_it_was() {
    let (fixture, path) = Fixture::new("page", b"old");
    let file = open(&path);
    std::fs::write(fixture.directory.path().join("new"), b"newer").expect("a file");
    std::fs::rename(fixture.directory.path().join("new"), &path).expect("renamed");
    let response = file.answer(b"GET", &Fields::new());
    assert_eq!(body(response), b"old");
}

#[test]
fn only_regular_files_open() {
    let (fixture, path) = Fixture::new("page", b"x");
    assert!(StaticFile::open(fixture.directory.path()).is_err());
    assert!(StaticFile::open(&path.join("x")).is_err());
    assert!(StaticFile::open(std::path::Path::new("/dev/null")).is_err());
}
