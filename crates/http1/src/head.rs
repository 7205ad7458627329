//! The heads of requests and responses.

use std::cell::RefCell;
use std::fmt;
use std::ops::{Deref, DerefMut};

use crate::fields::{Fields, Malformed, Span, is_token};
use crate::target::Target;

/// The versions of HTTP that Hearth speaks; others are rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Version {
    Http10,
    #[default]
    Http11,
}

impl Version {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Version::Http10 => "HTTP/1.0",
            Version::Http11 => "HTTP/1.1",
        }
    }
}

/// The head of a request: all of it in one piece of memory, as it was sent.
///
/// A head is moved through many functions, so it is only a pointer. Its memory is used again for the next head.
#[derive(Clone)]
pub struct RequestHead(Option<Box<RequestParts>>);

/// The content of a [`RequestHead`].
#[derive(Clone, Default)]
pub struct RequestParts {
    pub version: Version,
    /// The fields; method and target lie before them in the same buffer.
    pub fields: Fields,
    pub(crate) method: Span,
    pub(crate) target: Span,
    pub(crate) parts: Target,
}

impl Deref for RequestHead {
    type Target = RequestParts;

    fn deref(&self) -> &RequestParts {
        self.0.as_ref().expect(WHILE_IT_LIVES)
    }
}

impl DerefMut for RequestHead {
    fn deref_mut(&mut self) -> &mut RequestParts {
        self.0.as_mut().expect(WHILE_IT_LIVES)
    }
}

const WHILE_IT_LIVES: &str = "it is taken when the head is dropped";

thread_local! {
    #[allow(clippy::vec_box, reason = "the boxes are what is kept")]
    static FREE_LIST: RefCell<Vec<Box<RequestParts>>> = const { RefCell::new(Vec::new()) };
}

/// The number of heads in the free list, and the bytes that each may have.
const FREE_LIST_LENGTH: usize = 32;
const FREE_LIST_BYTES: usize = 4 * 1024;

impl RequestHead {
    /// Returns a head without content, with memory from the free list if there is some.
    pub(crate) fn empty() -> RequestHead {
        let used = FREE_LIST.try_with(|shelf| shelf.borrow_mut().pop()).ok();
        RequestHead(Some(used.flatten().unwrap_or_default()))
    }
}

impl Drop for RequestHead {
    fn drop(&mut self) {
        let Some(parts) = self.0.take() else { return };
        if parts.fields.capacity() > FREE_LIST_BYTES {
            return;
        }
        // Without a free list, at the end of the thread, the head is freed.
        let _ = FREE_LIST.try_with(|shelf| {
            let mut shelf = shelf.borrow_mut();
            if shelf.len() < FREE_LIST_LENGTH {
                shelf.push(parts);
            }
        });
    }
}

impl RequestHead {
    /// Makes the same head as [`RequestHead::parse`].
    ///
    /// # Errors
    /// If the method, the target or a field is invalid.
    pub fn build(
        method: &[u8],
        target: &[u8],
        version: Version,
        fields: &Fields,
    ) -> Result<RequestHead, Malformed> {
        let mut head = RequestHead::empty();
        let own = &mut head.fields;
        own.refill(b"", fields.len());
        let (method_span, target_span) = (own.append_bytes(method), own.append_bytes(target));
        let is_target = target.iter().all(|&byte| byte > b' ' && byte != 0x7f);
        let place = (method.len(), method.len() + target.len());
        let parts = Target::parse(method, place, own).ok_or(Malformed)?;
        if !is_token(method) || !is_target {
            return Err(Malformed);
        }
        for (name, value) in fields.iter() {
            own.try_push(name, value)?;
        }
        head.version = version;
        (head.method, head.target, head.parts) = (method_span, target_span, parts);
        Ok(head)
    }
}

/// What each byte is in the name of a host or in an address: 0 where it may not be there, `DOT`, or `IN_HOST`.
const HOST_BYTES: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'~' | b'%') {
            table[byte as usize] = IN_HOST;
        }
        byte += 1;
    }
    table[b'.' as usize] = DOT;
    table
};

const IN_HOST: u8 = 1;
const DOT: u8 = 2;

/// Returns where the name ends that `bytes` begins with; the second of two adjacent dots ends it too.
fn name_end(bytes: &[u8], has_colons: bool) -> usize {
    let mut before = IN_HOST;
    for (at, &byte) in bytes.iter().enumerate() {
        let kind = HOST_BYTES[usize::from(byte)];
        let ends = kind == 0 && !(has_colons && byte == b':');
        if ends || kind & before == DOT {
            return at;
        }
        before = kind;
    }
    bytes.len()
}

/// Returns whether this is a host or an address, with or without a port, as nginx defines it. Of the characters that RFC
/// 3986 allows in a host, only those that occur in practice are accepted, because PHP code prints the host.
fn is_host(bytes: &[u8]) -> bool {
    let (name, port) = match bytes {
        [b'[', rest @ ..] => match rest.split_at(name_end(rest, true)) {
            (name, [b']', port @ ..]) => (name, port),
            _ => return false,
        },
        _ => bytes.split_at(name_end(bytes, false)),
    };
    let is_port = match port {
        [] => true,
        [b':', digits @ ..] => digits.len() <= 5 && digits.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    is_port && !name.is_empty() && name != b"."
}

impl RequestParts {
    /// Returns the method as it was sent; methods are case-sensitive.
    #[must_use]
    pub fn method(&self) -> &[u8] {
        self.method.of(self.fields.bytes())
    }

    /// Returns whether the request names one valid host (RFC 9112, section 3.2). A request with two Host fields may be read
    /// differently by two servers, and an HTTP/1.1 request without one does not come from an HTTP/1.1 client.
    #[must_use]
    pub fn names_one_host(&self) -> bool {
        let mut hosts = self.fields.get_all("Host");
        let first = hosts.next();
        let may_lack = self.version == Version::Http10;
        hosts.next().is_none()
            && first.map_or(may_lack, |host| {
                is_host(host) || may_lack && host.is_empty()
            })
            && self.authority().is_none_or(is_host)
    }

    #[must_use]
    pub fn is_head(&self) -> bool {
        self.method() == b"HEAD"
    }

    /// Returns whether the method is safe (RFC 9110, section 9.2.1): a client that leaves loses nothing if the request is
    /// not run.
    #[must_use]
    pub fn is_safe(&self) -> bool {
        matches!(self.method(), b"GET" | b"HEAD" | b"OPTIONS" | b"TRACE")
    }

    /// Returns the target as it was sent.
    #[must_use]
    pub fn target(&self) -> &[u8] {
        self.target.of(self.fields.bytes())
    }

    /// Returns the target without a leading scheme and host. Empty for CONNECT, whose target is only a host.
    #[must_use]
    pub fn resource(&self) -> &[u8] {
        self.parts.resource.of(self.fields.bytes())
    }

    /// Returns the part before the query.
    #[must_use]
    pub fn path(&self) -> &[u8] {
        self.parts.path.of(self.fields.bytes())
    }

    /// Returns the part behind the question mark; empty if there is none.
    #[must_use]
    pub fn query(&self) -> &[u8] {
        self.parts.query.of(self.fields.bytes())
    }

    /// Returns the host and port of an absolute target, without the userinfo.
    #[must_use]
    pub fn authority(&self) -> Option<&[u8]> {
        Some(self.parts.authority?.of(self.fields.bytes()))
    }

    /// Appends the head as it is sent, without the empty line at its end.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.method());
        out.push(b' ');
        out.extend_from_slice(self.target());
        out.push(b' ');
        out.extend_from_slice(self.version.as_str().as_bytes());
        out.extend_from_slice(b"\r\n");
        self.fields.write_to(out);
    }
}

impl fmt::Debug for RequestHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        write!(
            f,
            "{} {} {:?}",
            text(self.method()),
            text(self.target()),
            self.fields
        )
    }
}

/// The head of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResponseHead {
    pub status: u16,
    /// The reason phrase; if empty, the usual one of the status is sent.
    pub reason: Box<[u8]>,
    pub fields: Fields,
}

impl ResponseHead {
    #[must_use]
    pub fn new(status: u16) -> ResponseHead {
        ResponseHead {
            status,
            reason: Box::default(),
            fields: Fields::new(),
        }
    }
}

/// A response: its head, and a body of any kind.
#[derive(Debug)]
pub struct Response<B> {
    pub head: ResponseHead,
    pub body: B,
}

impl<B> Response<B> {
    pub fn new(status: u16, body: B) -> Response<B> {
        Response {
            head: ResponseHead::new(status),
            body,
        }
    }

    pub fn map<C>(self, map: impl FnOnce(B) -> C) -> Response<C> {
        Response {
            head: self.head,
            body: map(self.body),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_host;

    #[test]
    fn hosts() {
        for host in [
            "a",
            "a.example",
            "A_b-c.example.:80",
            "127.0.0.1:8080",
            "[::1]",
            "[::1]:80",
            "a:",
        ] {
            assert!(is_host(host.as_bytes()), "{host}");
        }
        for host in [
            "",
            ":80",
            "a:b",
            "a:-1",
            "a:800000",
            "u@a",
            "a/b",
            "a b",
            "a\tb",
            "a,b",
            "http://a",
            "a?b",
            "a#b",
            "a\\b",
            "a\"b",
            "a'b",
            "<script>",
            "a\u{e9}",
            "a::80",
            "[::1",
            "[::1]x",
            "[]",
            "a:80:80",
            ".",
            "a..b",
            ".:80",
            "[",
            "]",
            "[]:80",
            "[:..:]",
            "[.]",
            "a:8\u{e9}",
            "a..",
            "..",
        ] {
            assert!(!is_host(host.as_bytes()), "{host}");
        }
    }
}
