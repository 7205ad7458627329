//! What is passed on of a message, and what belongs to one connection only (RFC 9110, section 7.6.1).

use http1::{Fields, RequestHead};
use relay::frame::{ResponseHead, fields};

/// What is between us and the other end of this connection only.
fn is_hop(name: &[u8]) -> bool {
    const HOPS: [&[u8]; 7] = [
        b"connection",
        b"keep-alive",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    ];
    HOPS.iter().any(|hop| name.eq_ignore_ascii_case(hop))
}

/// A client's head as text, made ours: for a body of this length, if it has one.
pub(crate) fn request(head: &RequestHead, body: Option<u64>, out: &mut Vec<u8>) {
    for part in [head.method(), b" ", head.target(), b" HTTP/1.1\r\n"] {
        out.extend_from_slice(part);
    }
    let connection = head.fields.contains("Connection");
    let mut announced = false;
    for (name, value) in head.fields.iter() {
        if is(name, "Content-Length") || is(name, "Transfer-Encoding") {
            announced = true;
        } else if is_hop(name) || is(name, "Expect") || connection && names(&head.fields, name) {
            continue;
        } else {
            line(name, value, out);
        }
    }
    if let Some(length) = body.or(announced.then_some(0)) {
        line(b"Content-Length", length.to_string().as_bytes(), out);
    }
    out.extend_from_slice(b"\r\n");
}

fn is(name: &[u8], other: &str) -> bool {
    name.eq_ignore_ascii_case(other.as_bytes())
}

fn line(name: &[u8], value: &[u8], out: &mut Vec<u8>) {
    for part in [name, b": ", value, b"\r\n"] {
        out.extend_from_slice(part);
    }
}

/// Does `Connection` name this field? What the message cannot do without is not up to the other end.
fn names(fields: &Fields, name: &[u8]) -> bool {
    let named = |name| fields.has_token("Connection", name);
    // A proxy may pass on its client's Connection, which must not take the proxy's own word away.
    let is_forwarded = name.len() >= 9
        && (name[..9].eq_ignore_ascii_case(b"forwarded")
            || name[..9].eq_ignore_ascii_case(b"x-forward"));
    !is(name, "Host") && !is_forwarded && std::str::from_utf8(name).is_ok_and(named)
}

/// Make a worker's fields the client's.
pub(crate) fn response(head: &ResponseHead<'_>, to: &mut Fields) {
    for (name, value) in fields(head.fields) {
        if !is_hop(name) {
            // The worker has looked at them.
            let _ = to.try_push(name, value);
        }
    }
    if head.closes {
        to.push("Connection", "close");
    }
}

/// Whether a request may be given to a second worker when the first has died with it.
pub(crate) fn is_repeatable(method: &[u8]) -> bool {
    matches!(
        method,
        b"GET" | b"HEAD" | b"OPTIONS" | b"TRACE" | b"PUT" | b"DELETE"
    )
}

#[cfg(test)]
mod tests {
    use http1::Limits;
    use relay::frame::push_field;

    use super::*;

    fn passed(text: &str, body: Option<u64>) -> String {
        let (head, _) = RequestHead::parse(text.as_bytes(), Limits::default())
            .expect("a head")
            .expect("all of it");
        let mut out = Vec::new();
        request(&head, body, &mut out);
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn what_belongs_to_the_connection_stays_there() {
        let text = "POST /a?b HTTP/1.0\r\nConnection: keep-alive, X-Mine\r\nconnection: Upgrade, Host, Content-Length\r\n\
            X-mine: 1\r\nUpgrade: websocket\r\nKeep-Alive: timeout=5\r\nProxy-Connection: keep-alive\r\nTE: trailers\r\n\
            Trailer: x\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\nHost: a\r\nCookie: b\r\n\r\n";
        assert_eq!(
            passed(text, Some(3)),
            "POST /a?b HTTP/1.1\r\nHost: a\r\nCookie: b\r\nContent-Length: 3\r\n\r\n"
        );
    }

    #[test]
    fn an_empty_body_is_announced_only_if_the_client_did() {
        let text = "GET / HTTP/1.1\r\nContent-Length: 0\r\n\r\n";
        assert_eq!(passed(text, None), text);
        let text = "GET / HTTP/1.1\r\n\r\n";
        assert_eq!(passed(text, None), text);
    }

    #[test]
    fn what_belongs_to_the_worker_stays_there() {
        let mut bytes = Vec::new();
        for (name, value) in [
            ("Keep-Alive", "1"),
            ("X", "y"),
            ("Set-Cookie", "a"),
            ("Set-Cookie", "b"),
        ] {
            push_field(&mut bytes, name.as_bytes(), value.as_bytes());
        }
        let head = |closes| ResponseHead {
            status: 200,
            closes,
            reason: b"",
            fields: &bytes,
        };
        let mut to = Fields::new();
        response(&head(false), &mut to);
        let expected = [("X", "y"), ("Set-Cookie", "a"), ("Set-Cookie", "b")];
        assert!(
            to.iter().eq(expected
                .iter()
                .map(|(name, value)| (name.as_bytes(), value.as_bytes())))
        );
        let mut to = Fields::new();
        response(&head(true), &mut to);
        assert_eq!(to.get("connection"), Some(&b"close"[..]));
    }
}
