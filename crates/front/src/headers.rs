//! End-to-end and hop-by-hop header fields (RFC 9110, section 7.6.1).

use http1::{Fields, RequestHead};

/// Whether a field is hop-by-hop: it belongs to one connection only.
fn is_hop(name: &[u8]) -> bool {
    // Most field names differ from all of these in length.
    let hops: &[&[u8]] = match name.len() {
        2 => &[b"te"],
        7 => &[b"trailer", b"upgrade"],
        10 => &[b"connection", b"keep-alive"],
        16 => &[b"proxy-connection"],
        17 => &[b"transfer-encoding"],
        _ => return false,
    };
    hops.iter().any(|hop| name.eq_ignore_ascii_case(hop))
}

/// Removes the hop-by-hop fields from a client's request. If its body was chunked, sets `Content-Length` to `body` bytes.
pub(crate) fn request(head: &mut RequestHead, body: Option<u64>) {
    let named = named(&head.fields);
    let was_coded = head.fields.contains("Transfer-Encoding");
    head.fields.retain(|name, _| {
        !is_hop(name)
            && !is(name, "Expect")
            && !named.iter().any(|one| one.eq_ignore_ascii_case(name))
    });
    if was_coded {
        let length = body.unwrap_or(0).to_string();
        head.fields.set("Content-Length", length);
    }
}

fn is(name: &[u8], other: &str) -> bool {
    name.eq_ignore_ascii_case(other.as_bytes())
}

/// Returns the further hop-by-hop fields that `Connection` names, except those that the client must not remove.
fn named(fields: &Fields) -> Vec<Vec<u8>> {
    let lists = fields.get_all("Connection");
    let tokens = lists.flat_map(|list| list.split(|byte| *byte == b','));
    let tokens = tokens.map(<[u8]>::trim_ascii);
    let is_theirs = |token: &&[u8]| !is_hop(token) && !is(token, "close") && !is_ours(token);
    tokens.filter(is_theirs).map(<[u8]>::to_vec).collect()
}

/// Whether a field stays although `Connection` names it. A proxy may forward its client's `Connection`, which must not
/// remove the fields that the proxy itself has added.
fn is_ours(name: &[u8]) -> bool {
    let is_forwarded = name.get(..9).is_some_and(|begin| {
        begin.eq_ignore_ascii_case(b"forwarded") || begin.eq_ignore_ascii_case(b"x-forward")
    });
    is_forwarded || is(name, "Host") || is(name, "Content-Length")
}

/// Removes the hop-by-hop fields from a worker's response. If `closes`, adds `Connection: close`.
pub(crate) fn response(fields: &mut Fields, closes: bool) {
    fields.retain(|name, _| !is_hop(name));
    if closes {
        fields.push("Connection", "close");
    }
}

/// Whether a request may be retried on a second worker when the first has died with it: its method is idempotent.
pub(crate) fn is_repeatable(method: &[u8]) -> bool {
    matches!(
        method,
        b"GET" | b"HEAD" | b"OPTIONS" | b"TRACE" | b"PUT" | b"DELETE"
    )
}

#[cfg(test)]
mod tests {
    use http1::Limits;

    use super::*;

    fn passed(text: &str, body: Option<u64>) -> String {
        let (mut head, _) = RequestHead::parse(text.as_bytes(), Limits::default())
            .expect("a head")
            .expect("all of it");
        request(&mut head, body);
        let mut out = Vec::new();
        head.write_to(&mut out);
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn what_belongs_to_the_connection_stays_there() {
        let text = "POST /a?b HTTP/1.0\r\nConnection: keep-alive, X-Mine\r\nconnection: Upgrade, Host, Content-Length\r\n\
            X-mine: 1\r\nUpgrade: websocket\r\nKeep-Alive: timeout=5\r\nProxy-Connection: keep-alive\r\nTE: trailers\r\n\
            Trailer: x\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\nHost: a\r\nCookie: b\r\n\r\n";
        assert_eq!(
            passed(text, Some(3)),
            "POST /a?b HTTP/1.0\r\nHost: a\r\nCookie: b\r\nContent-Length: 3\r\n"
        );
    }

    #[test]
    fn an_empty_body_is_announced_only_if_the_client_did() {
        for fields in ["Content-Length: 0\r\n", ""] {
            let text = format!("GET / HTTP/1.1\r\n{fields}");
            assert_eq!(passed(&format!("{text}\r\n"), None), text);
        }
        let chunked = "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
        let announced = "GET / HTTP/1.1\r\nContent-Length: 0\r\n";
        assert_eq!(passed(chunked, None), announced);
    }

    #[test]
    fn what_belongs_to_the_worker_stays_there() {
        let all = [
            ("Keep-Alive", "1"),
            ("X", "y"),
            ("Set-Cookie", "a"),
            ("Set-Cookie", "b"),
        ];
        let passed = |closes| {
            let mut fields: Fields = all.into_iter().collect();
            response(&mut fields, closes);
            fields
        };
        let expected: Fields = all[1..].iter().copied().collect();
        assert!(passed(false).iter().eq(expected.iter()));
        assert_eq!(passed(true).get("connection"), Some(&b"close"[..]));
    }
}
