//! The requests.

mod bodies;
mod heads;

/// What follows the bytes of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// A second request.
    Next,
    /// Nothing: the client has no more to say.
    Cut,
}

#[derive(Debug)]
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) bytes: Vec<u8>,
    pub(super) end: End,
}

impl Case {
    /// The client stops in the middle.
    fn cut(self) -> Case {
        Case {
            end: End::Cut,
            ..self
        }
    }
}

fn raw(name: &'static str, bytes: impl AsRef<[u8]>) -> Case {
    Case {
        name,
        bytes: bytes.as_ref().to_vec(),
        end: End::Next,
    }
}

/// A request line.
fn line(name: &'static str, line: impl AsRef<[u8]>) -> Case {
    raw(name, [line.as_ref(), b"\r\nHost: x\r\n\r\n"].concat())
}

fn target(name: &'static str, target: impl AsRef<[u8]>) -> Case {
    line(name, [b"GET ", target.as_ref(), b" HTTP/1.1"].concat())
}

/// Fields of a GET.
fn fields(name: &'static str, fields: impl AsRef<[u8]>) -> Case {
    let head = b"GET / HTTP/1.1\r\nHost: x\r\n";
    raw(name, [head, fields.as_ref(), b"\r\n"].concat())
}

/// The only Host field, without its end.
fn host(name: &'static str, host: impl AsRef<[u8]>) -> Case {
    let head = b"GET / HTTP/1.1\r\n";
    raw(name, [head, host.as_ref(), b"\r\n\r\n"].concat())
}

fn post(name: &'static str, fields: impl AsRef<[u8]>, body: impl AsRef<[u8]>) -> Case {
    let head = b"POST / HTTP/1.1\r\nHost: x\r\n";
    raw(
        name,
        [head, fields.as_ref(), b"\r\n", body.as_ref()].concat(),
    )
}

fn chunks(name: &'static str, body: impl AsRef<[u8]>) -> Case {
    post(name, "Transfer-Encoding: chunked\r\n", body)
}

/// A whole body of three bytes in chunks.
const CHUNKED: &str = "3\r\nabc\r\n0\r\n\r\n";

pub(super) fn all() -> Vec<Case> {
    let mut all = heads::all();
    all.extend(bodies::all());
    all.extend(connections());
    all.extend(expectations());
    all.extend(pipelines());
    all
}

fn connections() -> Vec<Case> {
    let http10 =
        |name, fields: &str| raw(name, format!("GET / HTTP/1.0\r\nHost: x\r\n{fields}\r\n"));
    vec![
        fields("connection close", "Connection: close\r\n"),
        fields("connection close in capitals", "Connection: CLOSE\r\n"),
        fields("connection close in a list", "Connection: x, close\r\n"),
        fields(
            "connection close before keep-alive",
            "Connection: close, keep-alive\r\n",
        ),
        fields(
            "connection close in a second field",
            "Connection: keep-alive\r\nConnection: close\r\n",
        ),
        fields("connection closed", "Connection: closed\r\n"),
        fields("connection that is empty", "Connection:\r\n"),
        fields(
            "connection upgrade to a WebSocket",
            "Connection: Upgrade\r\nUpgrade: websocket\r\n",
        ),
        fields(
            "connection upgrade to HTTP/2",
            "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: a\r\n",
        ),
        fields(
            "connection with trailers",
            "Connection: TE\r\nTE: trailers\r\n",
        ),
        http10("connection of HTTP/1.0", ""),
        http10(
            "connection of HTTP/1.0 that is kept",
            "Connection: keep-alive\r\n",
        ),
        http10(
            "connection of HTTP/1.0 that is kept, in capitals",
            "Connection: Keep-Alive\r\n",
        ),
        http10(
            "connection of HTTP/1.0 of a proxy",
            "Proxy-Connection: keep-alive\r\n",
        ),
    ]
}

fn expectations() -> Vec<Case> {
    vec![
        post(
            "expectation",
            "Expect: 100-continue\r\nContent-Length: 3\r\n",
            "abc",
        ),
        post(
            "expectation in capitals",
            "Expect: 100-CONTINUE\r\nContent-Length: 3\r\n",
            "abc",
        ),
        post(
            "expectation that is unknown",
            "Expect: 200-ok\r\nContent-Length: 3\r\n",
            "abc",
        ),
        post(
            "expectation with chunks",
            "Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n",
            CHUNKED,
        ),
        fields("expectation of a GET", "Expect: 100-continue\r\n"),
        raw(
            "expectation of HTTP/1.0",
            "POST / HTTP/1.0\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc",
        ),
    ]
}

fn pipelines() -> Vec<Case> {
    vec![
        raw(
            "requests in a row",
            "GET /a HTTP/1.1\r\nHost: x\r\n\r\nPOST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx",
        ),
        raw(
            "requests with an empty line between them",
            "GET /a HTTP/1.1\r\nHost: x\r\n\r\n\r\n",
        ),
        raw(
            "requests with a body without a length between them",
            "POST /a HTTP/1.1\r\nHost: x\r\n\r\nabc",
        ),
        raw(
            "requests with a broken one between them",
            "GET /a HTTP/1.1\r\nHost: x\r\n\r\n\0\r\n\r\n",
        ),
        raw(
            "requests behind a HEAD",
            "HEAD /a HTTP/1.1\r\nHost: x\r\n\r\n",
        ),
    ]
}
