//! The heads of requests and responses.

use std::fmt;
use std::ops::{Deref, DerefMut};

use bytes::Bytes;

use crate::fields::{Fields, Malformed, Span, is_token};
use crate::target::Target;

/// What both sides speak; other versions are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    Http10,
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

/// The head of a request: everything in one piece of memory, as it was sent.
///
/// It goes from hand to hand on its way to who answers it, so it is only a pointer.
#[derive(Clone)]
pub struct RequestHead(Box<RequestParts>);

/// What a [`RequestHead`] points to.
#[derive(Clone)]
pub struct RequestParts {
    pub version: Version,
    /// Method and target lie in their buffer, before them.
    pub fields: Fields,
    pub(crate) method: Span,
    pub(crate) target: Span,
    pub(crate) parts: Target,
}

impl Deref for RequestHead {
    type Target = RequestParts;

    fn deref(&self) -> &RequestParts {
        &self.0
    }
}

impl DerefMut for RequestHead {
    fn deref_mut(&mut self) -> &mut RequestParts {
        &mut self.0
    }
}

impl From<RequestParts> for RequestHead {
    fn from(parts: RequestParts) -> RequestHead {
        RequestHead(Box::new(parts))
    }
}

impl RequestHead {
    /// The same head as [`RequestHead::parse`] makes.
    ///
    /// # Errors
    /// If the method or the target is none.
    pub fn build(
        method: &[u8],
        target: &[u8],
        version: Version,
        fields: &Fields,
    ) -> Result<RequestHead, Malformed> {
        let mut own = Fields::with_capacity(
            fields.len(),
            fields.bytes().len() + method.len() + target.len(),
        );
        let (method_span, target_span) = (own.append_bytes(method), own.append_bytes(target));
        let is_target = target.iter().all(|&byte| byte > b' ' && byte != 0x7f);
        let place = (method.len(), method.len() + target.len());
        let parts = Target::parse(method, place, &mut own).ok_or(Malformed)?;
        if !is_token(method) || !is_target {
            return Err(Malformed);
        }
        for (name, value) in fields.iter() {
            own.try_push(name, value)?;
        }
        Ok(RequestHead::from(RequestParts {
            version,
            method: method_span,
            target: target_span,
            fields: own,
            parts,
        }))
    }
}

impl RequestParts {
    /// As it was sent: methods are told apart by case.
    #[must_use]
    pub fn method(&self) -> &[u8] {
        self.method.of(self.fields.bytes())
    }

    #[must_use]
    pub fn is_head(&self) -> bool {
        self.method() == b"HEAD"
    }

    /// The raw bytes as they were sent.
    #[must_use]
    pub fn target(&self) -> &[u8] {
        self.target.of(self.fields.bytes())
    }

    /// The target without the scheme and the host that it may begin with: what is asked of this server. Empty where only
    /// a host was named (CONNECT).
    #[must_use]
    pub fn resource(&self) -> &[u8] {
        self.parts.resource.of(self.fields.bytes())
    }

    /// What is before the query.
    #[must_use]
    pub fn path(&self) -> &[u8] {
        self.parts.path.of(self.fields.bytes())
    }

    /// What is behind the question mark; empty if there is none.
    #[must_use]
    pub fn query(&self) -> &[u8] {
        self.parts.query.of(self.fields.bytes())
    }

    /// The host and port that an absolute target begins with, without the user's name.
    #[must_use]
    pub fn authority(&self) -> Option<&[u8]> {
        Some(self.parts.authority?.of(self.fields.bytes()))
    }

    /// As it is sent, without the empty line at the end of the head.
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
    /// What stands behind the status; empty: what is usual there.
    pub reason: Bytes,
    pub fields: Fields,
}

impl ResponseHead {
    #[must_use]
    pub fn new(status: u16) -> ResponseHead {
        ResponseHead {
            status,
            reason: Bytes::new(),
            fields: Fields::new(),
        }
    }
}

/// A response: its head, and whatever its body is.
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
