//! The requests: each a shape that some client sends, or an attacker.

mod bodies;

/// One request, as it goes over the wire.
#[derive(Debug)]
pub(super) struct Shape {
    pub(super) name: &'static str,
    pub(super) bytes: Vec<u8>,
}

const HOST: &str = "Host: example.test\r\nConnection: close\r\n";

fn shape(name: &'static str, bytes: impl AsRef<[u8]>) -> Shape {
    Shape {
        name,
        bytes: bytes.as_ref().to_vec(),
    }
}

fn get(name: &'static str, target: &str) -> Shape {
    with(name, target, "")
}

/// A GET with further header fields.
fn with(name: &'static str, target: &str, fields: &str) -> Shape {
    shape(name, format!("GET {target} HTTP/1.1\r\n{HOST}{fields}\r\n"))
}

/// A request with a body and its length.
fn body(name: &'static str, line: &str, fields: &str, body: impl AsRef<[u8]>) -> Shape {
    let body = body.as_ref();
    let mut bytes = format!(
        "{line} HTTP/1.1\r\n{HOST}{fields}Content-Length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    bytes.extend_from_slice(body);
    shape(name, bytes)
}

pub(super) fn all() -> Vec<Shape> {
    let mut all = queries();
    all.extend(paths());
    all.extend(authentication());
    all.extend(cookies());
    all.extend(fields());
    all.extend(bodies::all());
    all.extend(methods());
    all.extend(protocol());
    all.extend(hosts());
    all
}

fn queries() -> Vec<Shape> {
    vec![
        get("plain", "/probe.php"),
        get("query", "/probe.php?a=1&b=2"),
        get("query empty", "/probe.php?"),
        get("query repeated fields", "/probe.php?a=1&a=2&b=3&a=4"),
        get("query empty fields", "/probe.php?a=&b&=c&&d=1&"),
        get(
            "query arrays",
            "/probe.php?a[b][c]=1&a[]=2&a[][x]=3&z%5Bq%5D=4",
        ),
        get(
            "query broken arrays",
            "/probe.php?a[b=1&c]=2&d[e]f=3&[x]=4&g[[h]]=5&i[%20]=6",
        ),
        get(
            "query odd names",
            "/probe.php?a.b=1&c%20d=2&e+f=3&%20g=4&h-i=5&0=6&a.b[c.d]=7",
        ),
        get(
            "query odd escapes",
            "/probe.php?a=%41%zz%4&b=%&c=x%00y&d%00e=1&f=%u0041",
        ),
        get("query plus", "/probe.php?a=b+c%2Bd"),
        get("query percent latin1", "/probe.php?a=%E9t%E9"),
        get("query percent utf-8", "/probe.php?a=%C3%A9t%C3%A9&%C3%BC=1"),
        shape(
            "query raw latin1",
            [
                b"GET /probe.php?a=\xe9t\xe9 HTTP/1.1\r\n".as_slice(),
                HOST.as_bytes(),
                b"\r\n",
            ]
            .concat(),
        ),
        get(
            "query very long",
            &format!("/probe.php?a={}&b=end", "x".repeat(6000)),
        ),
        get(
            "query with marks",
            "/probe.php?a=/x?y&b=%23&c=%26%3D&d='\"<>",
        ),
        get("query semicolons", "/probe.php?a=1;b=2&c=3"),
        get(
            "query too many",
            &format!(
                "/probe.php?{}",
                (0..30).map(|n| format!("v{n}={n}&")).collect::<String>()
            ),
        ),
        get(
            "query too deep",
            &format!("/probe.php?a{}=1&b=2", "[x]".repeat(70)),
        ),
        get("query is one word", "/probe.php?word+and"),
    ]
}

fn paths() -> Vec<Shape> {
    vec![
        get("root", "/"),
        get("root with query", "/?a=1"),
        get("directory", "/dir/"),
        get("directory without slash", "/dir?a=1"),
        get("script in directory", "/dir/inner.php"),
        get("path info", "/probe.php/a/b?a=1"),
        get("path info slash", "/probe.php/"),
        get("path info encoded", "/probe.php/a%20b/%C3%A9?a=1"),
        get("path info encoded slash", "/probe.php/a%2Fb"),
        get("path info plus", "/probe.php/a+b"),
        get("path info dots", "/probe.php/a/../b/./c"),
        get("path info double slash", "/probe.php//a//b"),
        get("path info php", "/probe.php/b.php/c"),
        get("path info of index", "/index.php/a/b"),
        get("path info of directory index", "/dir/index.php/a"),
        get("path encoded", "/pro%62e.php?a=1"),
        get("path dots", "/dir/../probe.php"),
        get("path double slash", "//probe.php"),
        get("path with space", "/with%20space.php/x"),
        get("path plus is no space", "/with+space.php"),
        get("fall-back", "/no/such/page?a=1"),
        get("fall-back encoded", "/caf%C3%A9/a%20b%2Bc"),
        get("fall-back slash", "/no/such/"),
        get("fall-back script", "/missing.php?a=1"),
        get("fall-back script path info", "/missing.php/a"),
        get("path above root", "/../probe.php"),
        get("path nul", "/probe.php%00.txt"),
        get("path fragment", "/probe.php#x"),
    ]
}

fn authentication() -> Vec<Shape> {
    let auth = |name, value: &str| with(name, "/probe.php", &format!("Authorization: {value}\r\n"));
    vec![
        auth("basic", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),
        auth("basic lower case", "basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),
        auth("basic colons", "Basic dXNlcjphOmI6Yw=="),
        auth("basic no password", "Basic dXNlcjo="),
        auth("basic no colon", "Basic dXNlcg=="),
        auth("basic broken", "Basic ***"),
        auth("basic empty", "Basic"),
        auth(
            "digest",
            "Digest username=\"Mufasa\", realm=\"a\", nonce=\"n\", uri=\"/probe.php\", response=\"r\"",
        ),
        auth("bearer", "Bearer abc.def"),
    ]
}

fn cookies() -> Vec<Shape> {
    vec![
        with("cookies", "/probe.php", "Cookie: a=1; b=t%20o\r\n"),
        with(
            "cookies odd",
            "/probe.php",
            "Cookie: a=1;b=2; c = 3;;d; =e; f=x=y; g=%41+%2B; a=9; h=\r\n",
        ),
        with(
            "cookies arrays",
            "/probe.php",
            "Cookie: a[b]=1; a[]=2; c.d=3; e[=4; __Host-x=5\r\n",
        ),
        with(
            "cookies fields repeated",
            "/probe.php",
            "Cookie: a=1\r\nCookie: b=2\r\n",
        ),
        with(
            "cookies quoted",
            "/probe.php",
            "Cookie: a=\"b c\"; d='e,f'; g=h,i\r\n",
        ),
        with(
            "cookies utf-8",
            "/probe.php",
            "Cookie: a=\u{e9}t\u{e9}; b=%C3%A9\r\n",
        ),
        with(
            "cookies and query",
            "/probe.php?a=query&q=1",
            "Cookie: a=cookie; c=1\r\n",
        ),
    ]
}

fn fields() -> Vec<Shape> {
    vec![
        with(
            "fields mixed case",
            "/probe.php",
            "x-THING: Yes\r\nACCEPT: */*\r\nuser-agent: Probe/1\r\n",
        ),
        with(
            "fields repeated",
            "/probe.php",
            "X-Thing: 1\r\nX-Other: o\r\nx-thing: 2\r\nAccept: a\r\nAccept: b\r\n",
        ),
        with(
            "fields underscore",
            "/probe.php",
            "X_Under: 1\r\nX-Under: 2\r\nA.B: 3\r\n",
        ),
        with("fields empty", "/probe.php", "X-Empty:\r\nX-Blank:   \r\n"),
        with(
            "fields padded",
            "/probe.php",
            "X-Padded:  \t a b \t \r\nX-Tight:c\r\n",
        ),
        shape(
            "fields latin1",
            [
                b"GET /probe.php HTTP/1.1\r\n".as_slice(),
                HOST.as_bytes(),
                b"X-Name: \xe9t\xe9\r\n\r\n",
            ]
            .concat(),
        ),
        with("fields proxy", "/probe.php", "Proxy: http://evil.test/\r\n"),
        with(
            "fields forwarded",
            "/probe.php",
            "X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Proto: https\r\nForwarded: for=192.0.2.7\r\n",
        ),
        with(
            "fields https",
            "/probe.php",
            "HTTPS: on\r\nRemote-Addr: 192.0.2.1\r\nContent-Type: text/odd\r\n",
        ),
        with(
            "fields long",
            "/probe.php",
            &format!("X-Long: {}\r\n", "y".repeat(7000)),
        ),
        with(
            "fields many",
            "/probe.php",
            &(0..80)
                .map(|n| format!("X-N{n}: {n}\r\n"))
                .collect::<String>(),
        ),
        with(
            "fields conditions",
            "/probe.php",
            "If-None-Match: \"x\"\r\nIf-Modified-Since: Sat, 21 Nov 2026 00:00:00 GMT\r\n",
        ),
        with("fields range", "/probe.php", "Range: bytes=0-3\r\n"),
        with(
            "fields accept",
            "/probe.php",
            "Accept: text/html\r\nAccept-Language: de\r\nAccept-Encoding: gzip\r\nReferer: http://a.test/\r\nOrigin: null\r\n",
        ),
    ]
}

fn methods() -> Vec<Shape> {
    vec![
        shape(
            "head",
            format!("HEAD /probe.php?a=1 HTTP/1.1\r\n{HOST}\r\n"),
        ),
        body(
            "put",
            "PUT /probe.php",
            "Content-Type: text/plain\r\n",
            "content",
        ),
        body(
            "put form",
            "PUT /probe.php",
            "Content-Type: application/x-www-form-urlencoded\r\n",
            "a=1",
        ),
        body(
            "patch json",
            "PATCH /probe.php",
            "Content-Type: application/json\r\n",
            "{}",
        ),
        shape(
            "delete",
            format!("DELETE /probe.php?a=1 HTTP/1.1\r\n{HOST}\r\n"),
        ),
        body("delete with body", "DELETE /probe.php", "", "x"),
        shape(
            "options",
            format!("OPTIONS /probe.php HTTP/1.1\r\n{HOST}\r\n"),
        ),
        shape(
            "options of the server",
            format!("OPTIONS * HTTP/1.1\r\n{HOST}\r\n"),
        ),
        shape(
            "propfind",
            format!("PROPFIND /probe.php HTTP/1.1\r\n{HOST}Depth: 1\r\n\r\n"),
        ),
        shape(
            "unknown method",
            format!("BREW /probe.php HTTP/1.1\r\n{HOST}\r\n"),
        ),
        shape(
            "method lower case",
            format!("get /probe.php HTTP/1.1\r\n{HOST}\r\n"),
        ),
        shape("trace", format!("TRACE /probe.php HTTP/1.1\r\n{HOST}\r\n")),
    ]
}

fn protocol() -> Vec<Shape> {
    vec![
        body(
            "get with body",
            "GET /probe.php?a=1",
            "Content-Type: application/x-www-form-urlencoded\r\n",
            "b=2",
        ),
        body("post without content", "POST /probe.php", "", ""),
        shape(
            "post without length",
            format!("POST /probe.php HTTP/1.1\r\n{HOST}\r\n"),
        ),
    ]
}

fn hosts() -> Vec<Shape> {
    vec![
        shape(
            "http 1.0",
            "GET /probe.php?a=1 HTTP/1.0\r\nHost: example.test\r\n\r\n",
        ),
        shape("http 1.0 without host", "GET /probe.php HTTP/1.0\r\n\r\n"),
        shape(
            "http 1.1 without host",
            "GET /probe.php HTTP/1.1\r\nConnection: close\r\n\r\n",
        ),
        shape(
            "absolute target",
            format!("GET http://other.test/probe.php/x?a=1 HTTP/1.1\r\n{HOST}\r\n"),
        ),
        shape(
            "absolute target with port",
            format!("GET http://other.test:81/probe.php HTTP/1.1\r\n{HOST}\r\n"),
        ),
        shape(
            "host with port",
            "GET /probe.php HTTP/1.1\r\nHost: example.test:8080\r\nConnection: close\r\n\r\n",
        ),
        shape(
            "host upper case",
            "GET /probe.php HTTP/1.1\r\nHost: Example.TEST\r\nConnection: close\r\n\r\n",
        ),
        shape(
            "host is an address",
            "GET /probe.php HTTP/1.1\r\nHost: [::1]:80\r\nConnection: close\r\n\r\n",
        ),
        shape(
            "host empty",
            "GET /probe.php HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n",
        ),
        shape(
            "host twice",
            format!("GET /probe.php HTTP/1.1\r\nHost: first.test\r\n{HOST}\r\n"),
        ),
        shape(
            "connection fields",
            "GET /probe.php HTTP/1.1\r\nHost: example.test\r\nConnection: close, x-thing\r\nX-Thing: 1\r\nKeep-Alive: 5\r\nTE: trailers\r\n\r\n",
        ),
        shape(
            "space in target",
            format!("GET /probe.php?a=b c HTTP/1.1\r\n{HOST}\r\n"),
        ),
        shape(
            "length and chunks",
            format!(
                "POST /probe.php HTTP/1.1\r\n{HOST}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n3\r\na=1\r\n0\r\n\r\n"
            ),
        ),
        shape(
            "length is no number",
            format!("POST /probe.php HTTP/1.1\r\n{HOST}Content-Length: x\r\n\r\n"),
        ),
    ]
}
