//! What is passed on of a message, and what belongs to one connection only (RFC 9110, section 7.6.1).

use http::Method;
use http::header::{
    CONNECTION, CONTENT_LENGTH, EXPECT, HOST, HeaderMap, HeaderName, HeaderValue, TE, TRAILER,
    TRANSFER_ENCODING, UPGRADE,
};

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");

/// Remove what is between us and the other end of this connection only, and what its `Connection` names.
pub(crate) fn strip_hops(headers: &mut HeaderMap) {
    if headers.contains_key(CONNECTION) {
        let named: Vec<HeaderName> = headers
            .get_all(CONNECTION)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .filter_map(|name| name.trim().parse().ok())
            .collect();
        for name in named {
            // What the message cannot do without is not up to the other end.
            if name != HOST && name != CONTENT_LENGTH {
                headers.remove(name);
            }
        }
        headers.remove(CONNECTION);
    }
    for name in [
        KEEP_ALIVE,
        PROXY_CONNECTION,
        TE,
        TRAILER,
        TRANSFER_ENCODING,
        UPGRADE,
    ] {
        if !headers.is_empty() {
            headers.remove(name);
        }
    }
}

/// Make a client's header ours: for a body of this length, if it has one.
pub(crate) fn request(headers: &mut HeaderMap, origin: HeaderValue, body: Option<u64>) {
    let announced =
        headers.remove(CONTENT_LENGTH).is_some() || headers.contains_key(TRANSFER_ENCODING);
    strip_hops(headers);
    headers.remove(EXPECT);
    if let Some(length) = body.or(announced.then_some(0)) {
        headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
    headers.insert(ipc::CLIENT_HEADER, origin);
}

/// What a worker said of itself beside its response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Said {
    /// It takes no further request.
    pub(crate) leaves: bool,
    /// It goes on after the response.
    pub(crate) more: bool,
    /// The app wants the client's connection closed.
    pub(crate) close: bool,
}

/// Make a worker's header the client's.
pub(crate) fn response(headers: &mut HeaderMap) -> Said {
    strip_hops(headers);
    let said = headers.remove(ipc::WORKER_HEADER);
    let said = said
        .as_ref()
        .and_then(|said| said.to_str().ok())
        .unwrap_or("");
    let has = |word| said.split(' ').any(|other| other == word);
    let said = Said {
        leaves: has(ipc::LEAVE),
        more: has(ipc::MORE),
        close: has(ipc::CLOSE),
    };
    if said.close {
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    said
}

/// Whether a request may be given to a second worker when the first has died with it.
pub(crate) fn is_repeatable(method: &Method) -> bool {
    method.is_idempotent()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(fields: &[(&'static str, &'static str)]) -> HeaderMap {
        fields
            .iter()
            .map(|(name, value)| {
                (
                    name.parse::<HeaderName>().unwrap(),
                    HeaderValue::from_static(value),
                )
            })
            .collect()
    }

    #[test]
    fn what_belongs_to_the_connection_stays_there() {
        let mut headers = map(&[
            ("connection", "keep-alive, X-Mine"),
            ("connection", "Upgrade, Host, Content-Length"),
            ("x-mine", "1"),
            ("upgrade", "websocket"),
            ("keep-alive", "timeout=5"),
            ("proxy-connection", "keep-alive"),
            ("te", "trailers"),
            ("trailer", "x"),
            ("transfer-encoding", "chunked"),
            ("expect", "100-continue"),
            ("host", "a"),
            ("cookie", "b"),
            ("hearth-client", "a lie"),
        ]);
        request(&mut headers, HeaderValue::from_static("the truth"), Some(3));
        let expected = map(&[
            ("host", "a"),
            ("cookie", "b"),
            ("content-length", "3"),
            ("hearth-client", "the truth"),
        ]);
        assert_eq!(headers, expected);
    }

    #[test]
    fn an_empty_body_is_announced_only_if_the_client_did() {
        let mut headers = map(&[("content-length", "0")]);
        request(&mut headers, HeaderValue::from_static("x"), None);
        assert_eq!(headers["content-length"], "0");
        let mut headers = map(&[]);
        request(&mut headers, HeaderValue::from_static("x"), None);
        assert!(!headers.contains_key("content-length"));
    }

    #[test]
    fn what_the_worker_says_of_itself_is_not_the_clients() {
        let mut headers = map(&[
            ("connection", "close"),
            ("x", "y"),
            ("hearth-worker", "leave"),
        ]);
        assert!(response(&mut headers).leaves);
        assert_eq!(headers, map(&[("x", "y")]));
        let mut headers = map(&[("hearth-worker", "more close")]);
        let said = response(&mut headers);
        assert_eq!((said.leaves, said.more, said.close), (false, true, true));
        assert_eq!(headers, map(&[("connection", "close")]));
    }
}
