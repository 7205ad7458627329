use super::*;

fn parse(text: &[u8]) -> Result<Option<(RequestHead, usize)>, ParseError> {
    RequestHead::parse(text, Limits::default())
}

fn head(text: &[u8]) -> RequestHead {
    parse(text).expect("a head").expect("all of it").0
}

#[test]
fn a_head_and_its_parts() {
    let text = b"\r\n\nGET /a%20b/?x=1&y=\xff<\"> HTTP/1.1\r\nHost: h\r\nX-Empty:\r\nX-Pad: \t v w\t \r\n\r\nrest";
    let (head, length) = parse(text).unwrap().unwrap();
    assert_eq!(&text[length..], b"rest");
    assert_eq!(
        (head.method(), head.version),
        (&b"GET"[..], Version::Http11)
    );
    assert_eq!(head.target(), b"/a%20b/?x=1&y=\xff<\">");
    assert_eq!(
        (head.path(), head.query()),
        (&b"/a%20b/"[..], &b"x=1&y=\xff<\">"[..])
    );
    assert_eq!(head.authority(), None);
    let fields: Vec<_> = head.fields.iter().collect();
    let expected: [(&[u8], &[u8]); 3] = [(b"Host", b"h"), (b"X-Empty", b""), (b"X-Pad", b"v w")];
    assert_eq!(fields, expected);
    for end in 0..length {
        assert!(matches!(parse(&text[..end]), Ok(None)), "{end}");
    }
}

#[test]
fn targets() {
    for (line, resource, path, query, authority) in [
        ("GET /", "/", "/", "", None),
        ("GET /?", "/?", "/", "", None),
        ("GET /a?b?c", "/a?b?c", "/a", "b?c", None),
        ("GET /a#b?c", "/a#b?c", "/a", "", None),
        ("GET /a?b#c", "/a?b#c", "/a", "b", None),
        ("GET //a", "//a", "//a", "", None),
        ("OPTIONS *", "*", "*", "", None),
        ("GET http://h:1/a?b", "/a?b", "/a", "b", Some("h:1")),
        ("GET HTTP://u:p@[::1]:2", "/", "/", "", Some("[::1]:2")),
        ("GET http://h?b", "/?b", "/", "b", Some("h")),
        ("CONNECT h:443", "", "", "", None),
    ] {
        let head = head(format!("{line} HTTP/1.1\r\n\r\n").as_bytes());
        let text = |bytes| std::str::from_utf8(bytes).unwrap();
        assert_eq!(
            (
                text(head.resource()),
                text(head.path()),
                text(head.query()),
                head.authority().map(text)
            ),
            (resource, path, query, authority),
            "{line}"
        );
    }
    for line in [
        "GET *",
        "GET h",
        "GET h:1",
        "GET a/b",
        "GET http:/a",
        "GET http://",
        "GET http:///a",
        "GET 1://h/",
        "GET http://u@/a",
        "GET http://h\u{e9}/",
        "CONNECT /a",
        "GET  /",
        "GET / ",
        "GET",
        "GET /\t",
        "G\0T /",
        "(GET) /",
    ] {
        let text = format!("{line} HTTP/1.1\r\n\r\n");
        assert_eq!(
            parse(text.as_bytes()).err().map(ParseError::status),
            Some(400),
            "{line}"
        );
    }
}

#[test]
fn what_may_smuggle_is_refused() {
    for text in [
        "GET / HTTP/1.1\r\nA : b\r\n\r\n",
        "GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n",
        "GET / HTTP/1.1\r\n A: b\r\n\r\n",
        "GET / HTTP/1.1\r\nA: b\rc\r\n\r\n",
        "GET / HTTP/1.1\r\nA: b\0\r\n\r\n",
        "GET / HTTP/1.1\r\nA\r\n\r\n",
        "GET / HTTP/1.1\r\n: b\r\n\r\n",
        "GET / HTTP/1.1 \r\n\r\n",
        "GET / HTTP/1.1\rA: b\r\n\r\n",
        "GET / HTTP/1.2\r\n\r\n",
        "GET / HTTP/2.0\r\n\r\n",
        "GET / http/1.1\r\n\r\n",
        "GET /\r\n\r\n",
        "GET / HTTP/1.1\nA: b\r\n\r\n",
        "GET / HTTP/1.1\r\nA: b\nC: d\r\n\r\n",
        "GET / HTTP/1.1\r\nA: b\n\r\n",
        "GET / HTTP/1.1\r\nA: b\r\n\n",
        "GET / HTTP/1.1\r\n\n",
        "\rGET / HTTP/1.1\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ] {
        assert_eq!(
            parse(text.as_bytes()).err().map(ParseError::status),
            Some(if text.contains("HTTP/2.0\r") {
                505
            } else {
                400
            }),
            "{text:?}"
        );
    }
}

/// A rejection does not depend on how the bytes are split.
#[test]
fn another_version_is_known_when_all_of_it_is_there() {
    let line = "GET / HTTP/2.0\r";
    for end in 6..line.len() {
        assert!(matches!(parse(&line.as_bytes()[..end]), Ok(None)), "{end}");
    }
    assert_eq!(parse(line.as_bytes()).err(), Some(ParseError::Version));
    for line in [
        "GET / HTTP/2x",
        "GET / HTTP/0",
        "GET / HTTP/2.0 ",
        "GET / HTTP/22",
    ] {
        assert_eq!(
            parse(line.as_bytes()).err(),
            Some(ParseError::NoRequest),
            "{line}"
        );
    }
}

#[test]
fn limits() {
    let many = |count: usize| format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(count));
    assert_eq!(head(many(24).as_bytes()).fields.len(), 24);
    assert_eq!(head(many(100).as_bytes()).fields.len(), 100);
    assert_eq!(
        parse(many(101).as_bytes()).err(),
        Some(ParseError::TooManyFields)
    );
    let long = |length: usize| format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(length - 1));
    let most = 32 * 1024;
    let fits = long(most - "GET  HTTP/1.1\r\n\r\n".len());
    assert_eq!(head(fits.as_bytes()).target().len(), fits.len() - 17);
    assert_eq!(
        parse(long(most + 1).as_bytes()).err(),
        Some(ParseError::TargetTooLong)
    );
    let large = format!("GET / HTTP/1.1\r\nA: {}", "a".repeat(most));
    assert_eq!(parse(large.as_bytes()).err(), Some(ParseError::TooLarge));
    let unlimited = crate::Settings {
        max_header_size: 0,
        max_headers: 0,
        ..crate::Settings::default()
    };
    let of = |text: String| RequestHead::parse(text.as_bytes(), unlimited.limits());
    assert!(matches!(of(long(65_534)), Ok(Some(_))));
    assert_eq!(of(long(65_535)).err(), Some(ParseError::TargetTooLong));
    assert!(matches!(of(many(128)), Ok(Some(_))));
    assert_eq!(of(many(129)).err(), Some(ParseError::TooManyFields));
    let method = format!("{} / HTTP/1.1\r\n\r\n", "A".repeat(65));
    assert_eq!(parse(method.as_bytes()).err(), Some(ParseError::NoRequest));
}
