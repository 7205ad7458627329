//! Rate-limited logging of requests that are rejected before the service sees them.
//!
//! Rejected requests seldom come from users, and a client can send any number of them. A process logs enough of them to find
//! a mistake and no more, so that no client can fill a disk. Their number is counted elsewhere.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;
use std::net::SocketAddr;

use crate::connection::Options;
use crate::connection_state::now_ms;
use crate::encode;
use crate::head::RequestParts;
use crate::parse::ParseError;

/// A request, or a connection, that was rejected.
#[derive(Debug)]
pub struct Rejection<'a> {
    /// The status of the response; `None` if the connection was closed without one.
    pub status: Option<u16>,
    pub why: Cow<'a, str>,
    /// The beginning of the request as it was received; empty if unknown.
    pub request: Cow<'a, [u8]>,
    /// Bytes of the response's body, where the connection itself responds.
    pub sent: u64,
}

/// Bytes of a request that a log line shows.
const SHOWN: usize = 100;

impl<'a> Rejection<'a> {
    /// Makes the rejection of a request with a valid head; `why` may be the text for the client.
    #[must_use]
    pub fn new(status: u16, why: &'a str, head: &RequestParts) -> Rejection<'a> {
        Rejection {
            status: Some(status),
            why: why.trim_end_matches(['.', '\n']).into(),
            request: beginning(head).into(),
            sent: 0,
        }
    }

    /// Makes the rejection of a connection before anything was received on it.
    #[must_use]
    pub fn connection(status: u16, why: &'a str) -> Rejection<'a> {
        Rejection {
            status: Some(status),
            why: why.into(),
            request: Vec::new().into(),
            sent: 0,
        }
    }

    pub(crate) fn of(error: ParseError, options: &Options, request: Vec<u8>) -> Rejection<'static> {
        Rejection {
            status: Some(error.status()),
            why: why(error, options, &request),
            request: request.into(),
            sent: encode::error_text(error).len() as u64,
        }
    }
}

/// Returns the bytes that a log line shows, and one more if there are more.
pub(crate) fn shown(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len().min(SHOWN + 1)]
}

pub(crate) fn beginning(head: &RequestParts) -> Vec<u8> {
    [head.method(), b" ", shown(head.target())].concat()
}

/// Returns the first line of bytes that are no head, as far as a log line shows it.
pub(crate) fn first_line(bytes: &[u8]) -> Vec<u8> {
    let bytes = bytes.trim_ascii_start();
    let end = bytes
        .iter()
        .position(|&byte| byte == b'\r' || byte == b'\n');
    shown(&bytes[..end.unwrap_or(bytes.len())]).to_vec()
}

fn why(error: ParseError, options: &Options, request: &[u8]) -> Cow<'static, str> {
    const TLS: &[u8] = b"\x16\x03";
    // The signature of version 2 begins with empty lines, which `first_line` skips, and a NUL.
    let is_proxied = request.starts_with(b"PROXY ") || request == b"\0";
    let limits = &options.limits;
    match error {
        ParseError::NoRequest if request.starts_with(TLS) => {
            "it is TLS, but Hearth speaks plain HTTP; let a proxy in front terminate TLS".into()
        }
        ParseError::NoRequest if is_proxied => {
            "not an HTTP request; it looks like the PROXY protocol, which is read from trusted proxies only: add the load \
             balancer to http.trusted_proxies, or remove send-proxy from it"
                .into()
        }
        ParseError::NoProxyHeader => "malformed header of the PROXY protocol".into(),
        ParseError::NoRequest | ParseError::Version => "not an HTTP/1.1 request".into(),
        ParseError::NoTarget => "invalid request target".into(),
        ParseError::NoField => "malformed header field".into(),
        ParseError::Lengths => "invalid or duplicate Content-Length".into(),
        ParseError::Coding => "unsupported Transfer-Encoding".into(),
        ParseError::Chunks => "Transfer-Encoding twice, or in HTTP/1.0".into(),
        ParseError::TargetTooLong => {
            format!("its target is longer than {} bytes", limits.target).into()
        }
        ParseError::TooLarge => format!("its head is larger than {} bytes", limits.head).into(),
        ParseError::TooManyFields => {
            format!("its head has more than {} fields", limits.fields).into()
        }
        ParseError::BodyTooLarge => format!(
            "its body is larger than {} bytes (http.max_body)",
            options.body
        )
        .into(),
    }
}

impl fmt::Display for Rejection<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.status {
            Some(status) => write!(f, "request refused: {} status={status}", self.why),
            None => write!(f, "gave up on a client: {}", self.why),
        }
    }
}

/// The most lines that are logged in [`SPAN`] milliseconds.
const MOST: u32 = 10;
const SPAN: u64 = 10_000;

/// The rate-limited log of rejections, one per process.
#[derive(Debug, Default)]
pub struct RejectionLog(LineLimit);

/// A rate limit for log lines that clients can cause: ten in ten seconds.
#[derive(Debug, Default)]
pub struct LineLimit {
    since: Cell<u64>,
    logged: Cell<u32>,
    left_out: Cell<u64>,
}

impl RejectionLog {
    /// Returns the line for the log, unless the limit is reached.
    pub fn line(&self, refused: &Rejection<'_>, client: Option<SocketAddr>) -> Option<String> {
        let left_out = self.0.take(now_ms())?;
        let mut line = refused.to_string();
        match client {
            Some(client) => line += &format!(" client={client}"),
            None => line += " client=unix",
        }
        if !refused.request.is_empty() {
            let shown = &refused.request[..refused.request.len().min(SHOWN)];
            let cut = if shown.len() < refused.request.len() {
                "…"
            } else {
                ""
            };
            line += &format!(" request=\"{}{cut}\"", shown.escape_ascii());
        }
        if left_out > 0 {
            line += &format!(" ({left_out} more like this were not logged)");
        }
        Some(line)
    }
}

impl LineLimit {
    /// Returns the number of lines that were left out before this one; `None` if this one is to be left out too. `now` is in
    /// the time of [`now_ms`].
    pub fn take(&self, now: u64) -> Option<u64> {
        if now.saturating_sub(self.since.get()) >= SPAN {
            self.since.set(now);
            self.logged.set(0);
        }
        if self.logged.get() == MOST {
            self.left_out.set(self.left_out.get() + 1);
            return None;
        }
        self.logged.set(self.logged.get() + 1);
        Some(self.left_out.take())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_are_logged_and_no_more() {
        let rejections = LineLimit::default();
        let begin = 1_000_000;
        for _ in 0..MOST {
            assert_eq!(rejections.take(begin), Some(0));
        }
        for later in [0, 1, SPAN - 1] {
            assert_eq!(rejections.take(begin + later), None);
        }
        assert_eq!(rejections.take(begin + SPAN), Some(3));
        assert_eq!(rejections.take(begin + SPAN), Some(0));
    }

    #[test]
    fn a_line_is_one_line_and_short() {
        let refused = |request: &[u8]| Rejection {
            status: Some(400),
            why: "why".into(),
            request: request.to_vec().into(),
            sent: 0,
        };
        let line = |request: &[u8]| {
            let client = Some(([127, 0, 0, 1], 4711).into());
            RejectionLog::default().line(&refused(request), client)
        };
        let expected = r#"request refused: why status=400 client=127.0.0.1:4711 request="a\"b\r\n\x1b[1m\xff""#;
        assert_eq!(line(b"a\"b\r\n\x1b[1m\xff").as_deref(), Some(expected));
        let long = line(&[b'x'; SHOWN + 1]).expect("a line");
        assert!(long.ends_with("xxx…\"") && long.len() < 200, "{long}");
        assert!(!line(b"").expect("a line").contains("request="));
    }

    #[test]
    fn the_first_line_of_whatever_came() {
        assert_eq!(first_line(b"\r\n\r\nGET / X\r\nA: b"), b"GET / X");
        assert_eq!(first_line(&[b'a'; 1000]).len(), SHOWN + 1);
        assert_eq!(first_line(b""), b"");
    }
}
