//! Request lines, targets and fields.

use super::{Case, fields, host, line, raw, target};

pub(super) fn all() -> Vec<Case> {
    let mut all = request_lines();
    all.extend(methods());
    all.extend(targets());
    all.extend(header_fields());
    all.extend(hosts());
    all
}

fn request_lines() -> Vec<Case> {
    vec![
        line("line", "GET / HTTP/1.1"),
        line("line with two spaces", "GET  / HTTP/1.1"),
        line("line with two spaces before the version", "GET /  HTTP/1.1"),
        line("line with a space behind it", "GET / HTTP/1.1 "),
        line("line with a space before it", " GET / HTTP/1.1"),
        line("line with a word behind it", "GET / HTTP/1.1 x"),
        line("line with tabs", "GET\t/\tHTTP/1.1"),
        line("line behind an empty one", "\r\nGET / HTTP/1.1"),
        line(
            "line behind many empty ones",
            format!("{}GET / HTTP/1.1", "\r\n".repeat(20)),
        ),
        line("line behind a bare line feed", "\nGET / HTTP/1.1"),
        line("line behind a bare carriage return", "\rGET / HTTP/1.1"),
        raw(
            "line that ends with a bare line feed",
            "GET / HTTP/1.1\nHost: x\r\n\r\n",
        ),
        raw(
            "line that ends with a bare carriage return",
            "GET / HTTP/1.1\rHost: x\r\n\r\n",
        ),
        line("line without a version", "GET /"),
        line("line that is a method", "GET"),
        line("line that is empty", ""),
        line("version 0.9", "GET / HTTP/0.9"),
        line("version 1.2", "GET / HTTP/1.2"),
        line("version 1.9", "GET / HTTP/1.9"),
        line("version 2.0", "GET / HTTP/2.0"),
        line("version 3.0", "GET / HTTP/3.0"),
        line("version 11.1", "GET / HTTP/11.1"),
        line("version 1.10", "GET / HTTP/1.10"),
        line("version 01.1", "GET / HTTP/01.1"),
        line("version 1.01", "GET / HTTP/1.01"),
        line("version without a minor one", "GET / HTTP/1"),
        line("version that is cut", "GET / HTTP/1."),
        line("version in small letters", "GET / http/1.1"),
        line("version of another protocol", "GET / HTTPS/1.1"),
        line("version with a space", "GET / HTTP /1.1"),
        raw("preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        raw(
            "hello of TLS",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        ),
        raw(
            "header of the PROXY protocol",
            "PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n",
        ),
        raw("nothing", "").cut(),
        raw("head that is cut in its line", "GET / HT").cut(),
        raw("head that is cut in a field", "GET / HTTP/1.1\r\nHost: ").cut(),
        raw(
            "head that is cut before its end",
            "GET / HTTP/1.1\r\nHost: x\r\n",
        )
        .cut(),
    ]
}

fn methods() -> Vec<Case> {
    let method = |name, method: &str| line(name, format!("{method} / HTTP/1.1"));
    vec![
        method("method HEAD", "HEAD"),
        method("method PUT", "PUT"),
        method("method DELETE", "DELETE"),
        method("method PATCH", "PATCH"),
        method("method OPTIONS", "OPTIONS"),
        method("method TRACE", "TRACE"),
        method("method PROPFIND", "PROPFIND"),
        method("method that is unknown", "BREW"),
        method("method in small letters", "get"),
        method("method with a dash", "M-SEARCH"),
        method("method with an underscore", "GET_IT"),
        method("method with a colon", "GET:"),
        method("method with a parenthesis", "GE(T"),
        method("method with a digit", "G3T"),
        method("method with a NUL", "G\0T"),
        method("method that is empty", ""),
        method("method of 40 letters", &"X".repeat(40)),
        method("method of 100 letters", &"X".repeat(100)),
        line("method CONNECT with an authority", "CONNECT x:80 HTTP/1.1"),
        line("method CONNECT with a path", "CONNECT / HTTP/1.1"),
        line("method OPTIONS of the server", "OPTIONS * HTTP/1.1"),
    ]
}

fn targets() -> Vec<Case> {
    vec![
        target("target with a query", "/?a=1"),
        target("target with an empty query", "/?"),
        target("target that is a star", "*"),
        target("target without a slash", "a"),
        target("target that is a query", "?a"),
        target("target with two slashes", "//"),
        target("target with a percent sign", "/%"),
        target("target with no hex digits", "/%zz"),
        target("target with an encoded NUL", "/%00"),
        target("target with an encoded line feed", "/a%0ab"),
        target("target with an encoded slash", "/a%2fb"),
        target("target above the root", "/.."),
        target("target far above the root", "/a/../../b"),
        target("target above the root, encoded", "/%2e%2e/a"),
        target("target with dots", "/a/./b/../c"),
        target("target with a space", "/a b"),
        target("target with a backslash", "/a\\b"),
        target("target with a NUL", "/a\0b"),
        target("target with a control character", "/a\x01b"),
        target("target with a delete character", "/a\x7fb"),
        target("target with a tab", "/a\tb"),
        target("target with a carriage return", "/a\rb"),
        target("target with bytes", b"/\xe9\xff"),
        target("target with UTF-8", "/\u{e9}"),
        target("target with a fragment", "/a#b"),
        target("target with marks", "/<a>\"b\"|{c}^`"),
        target("target with an encoded NUL in its query", "/?a=%00"),
        target("target with a URL in its query", "/?a=http://x/"),
        target("target that is absolute", "http://x/a"),
        target("target that is absolute, of another host", "http://y/a"),
        target("target that is absolute, in capitals", "HTTP://x/a"),
        target("target that is absolute, without a path", "http://x"),
        target("target that is absolute, with a query only", "http://x?a"),
        target("target that is absolute, without a host", "http:///a"),
        target("target that is a scheme", "http://"),
        target("target that is absolute, of https", "https://x/a"),
        target("target that is absolute, of ftp", "ftp://x/a"),
        target("target that is absolute, with a user", "http://u:p@x/a"),
        target("target that is absolute, with a port", "http://x:80/a"),
        target(
            "target that is absolute, with a long port",
            "http://x:999999/a",
        ),
        target("target that is absolute, with a bad port", "http://x:a/a"),
        target("target that is absolute, with an address", "http://[::1]/a"),
        target("target that is an authority", "x:80"),
        target("target of 8,000 bytes", format!("/{}", "a".repeat(8000))),
        target("target of 40,000 bytes", format!("/{}", "a".repeat(40_000))),
    ]
}

fn header_fields() -> Vec<Case> {
    let many = |number| {
        (0..number)
            .map(|n| format!("X-{n}: a\r\n"))
            .collect::<String>()
    };
    vec![
        fields("field", "A: b\r\n"),
        fields("field without a space", "A:b\r\n"),
        fields("field with many spaces", "A:  \t b \t \r\n"),
        fields("field without a value", "A:\r\n"),
        fields("field without a colon", "A\r\n"),
        fields("field without a name", ": a\r\n"),
        fields("field with a space before the colon", "A : b\r\n"),
        fields("field with a tab before the colon", "A\t: b\r\n"),
        fields("field with a space in its name", "A B: c\r\n"),
        fields("field with a space before it", " A: b\r\n"),
        fields("field that is folded", "A: b\r\n c\r\n"),
        fields("field that is folded by a tab", "A: b\r\n\tc\r\n"),
        fields("field with a NUL in its name", "A\0B: c\r\n"),
        fields("field with a NUL in its value", "A: b\0c\r\n"),
        fields("field with a control character", "A: b\x01c\r\n"),
        fields("field with a delete character", "A: b\x7fc\r\n"),
        fields("field with a carriage return in its value", "A: b\rc\r\n"),
        fields("field with two carriage returns at its end", "A: b\r\r\n"),
        fields("field that ends with a line feed", "A: b\n"),
        fields("field with bytes in its value", b"A: \xe9\xff\r\n"),
        fields("field with bytes in its name", b"A\xe9: b\r\n"),
        fields("field with a parenthesis in its name", "A(: b\r\n"),
        fields("field with an underscore in its name", "A_B: c\r\n"),
        fields("field with a dot in its name", "A.B: c\r\n"),
        fields(
            "field with a long name",
            format!("{}: b\r\n", "A".repeat(7000)),
        ),
        fields(
            "field with a long value",
            format!("A: {}\r\n", "b".repeat(7000)),
        ),
        fields(
            "field with a value of 40,000 bytes",
            format!("A: {}\r\n", "b".repeat(40_000)),
        ),
        fields("fields, 90 of them", many(90)),
        fields("fields, 200 of them", many(200)),
        raw(
            "fields that end with a line feed",
            "GET / HTTP/1.1\r\nHost: x\r\n\n",
        ),
        raw(
            "fields that end with line feeds only",
            "GET / HTTP/1.1\nHost: x\n\n",
        ),
        raw("fields that are none", "GET / HTTP/1.0\r\n\r\n"),
    ]
}

fn hosts() -> Vec<Case> {
    vec![
        host("host with a name in small letters", "host: x"),
        host("host in capitals", "Host: X"),
        host("host with dots", "Host: a.example."),
        host("host with an underscore", "Host: a_b"),
        host("host with a port", "Host: x:80"),
        host("host with an empty port", "Host: x:"),
        host("host with a port of letters", "Host: x:a"),
        host("host with a negative port", "Host: x:-1"),
        host("host with a long port", "Host: x:999999"),
        host("host with two ports", "Host: x:80:80"),
        host("host that is an address", "Host: 127.0.0.1"),
        host("host that is an address of IPv6", "Host: [::1]"),
        host(
            "host that is an address of IPv6 with a port",
            "Host: [::1]:80",
        ),
        host("host with a bracket that is not closed", "Host: [::1"),
        host("host that is an address without brackets", "Host: ::1"),
        host("host that is empty", "Host:"),
        host("host that is a dot", "Host: ."),
        host("host that begins with a dot", "Host: .x"),
        host("host with two dots", "Host: a..b"),
        host("host with a space", "Host: x y"),
        host("host with a tab", "Host: x\ty"),
        host("host with a slash", "Host: x/y"),
        host("host with a backslash", "Host: x\\y"),
        host("host with a user", "Host: u@x"),
        host("host with a comma", "Host: x,y"),
        host("host with a percent sign", "Host: x%41"),
        host("host with marks", "Host: <x>"),
        host("host with a quote", "Host: x'y"),
        host("host with a NUL", "Host: x\0y"),
        host("host with UTF-8", "Host: \u{e9}"),
        host("host with a space before the colon", "Host : x"),
        host("host with spaces around it", "Host:   x  "),
        host("host that is not there", "A: b"),
        host("host twice", "Host: x\r\nHost: x"),
        host("host twice with two names", "Host: x\r\nHost: y"),
    ]
}
