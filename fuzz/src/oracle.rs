//! hyper as an oracle: what another strict and widely used reader of HTTP/1 makes of the same bytes.

use std::cell::RefCell;
use std::convert::Infallible;
use std::fmt;
use std::io::{self, ErrorKind};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};

/// A request as hyper read it.
#[derive(Clone, PartialEq, Eq)]
pub struct Seen {
    pub method: Vec<u8>,
    /// Path and query.
    pub resource: Vec<u8>,
    pub scheme: Option<String>,
    pub authority: Option<String>,
    pub is_http10: bool,
    /// Names in lower case; sorted by name, equal names in their original order.
    pub fields: Vec<(Vec<u8>, Vec<u8>)>,
    /// The body; `None` if it was cut off.
    pub body: Option<Vec<u8>>,
}

impl fmt::Debug for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {:?} {:?} ",
            self.method.escape_ascii(),
            self.scheme,
            self.authority
        )?;
        write!(
            f,
            "{} HTTP/1.{}",
            self.resource.escape_ascii(),
            u8::from(!self.is_http10)
        )?;
        for (name, value) in &self.fields {
            write!(f, " [{}: {}]", name.escape_ascii(), value.escape_ascii())?;
        }
        match &self.body {
            Some(body) => write!(f, " \"{}\"", body.escape_ascii()),
            None => f.write_str(" broken off"),
        }
    }
}

/// Returns every request that hyper accepts from a connection on which these bytes arrive before it closes.
pub fn requests(bytes: &[u8]) -> Vec<Seen> {
    let seen = Rc::new(RefCell::new(Vec::new()));
    let taken = Rc::clone(&seen);
    let service = service_fn(move |request| see(request, Rc::clone(&taken)));
    let mut connection = pin!(
        http1::Builder::new()
            .half_close(true)
            .serve_connection(ConnectionIo(bytes.to_vec(), 0), service)
    );
    let mut context = Context::from_waker(Waker::noop());
    // Bytes are always available, so every poll makes progress.
    for _ in 0..=bytes.len() + 8 {
        if connection.as_mut().poll(&mut context).is_ready() {
            break;
        }
    }
    seen.take()
}

async fn see(
    request: Request<Incoming>,
    seen: Rc<RefCell<Vec<Seen>>>,
) -> Result<Response<Empty<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let mut fields: Vec<_> = head
        .headers
        .iter()
        .map(|(name, value)| (name.as_str().as_bytes().to_vec(), value.as_bytes().to_vec()))
        .collect();
    fields.sort_by(|one, other| one.0.cmp(&other.0));
    // Displayed, not `as_str()`: only then a query without a path has its slash.
    let resource = head.uri.path_and_query().map(ToString::to_string);
    let index = seen.borrow().len();
    seen.borrow_mut().push(Seen {
        method: head.method.as_str().as_bytes().to_vec(),
        resource: resource.unwrap_or_default().into_bytes(),
        scheme: head.uri.scheme_str().map(str::to_owned),
        authority: head.uri.authority().map(ToString::to_string),
        is_http10: head.version == hyper::Version::HTTP_10,
        fields,
        body: None,
    });
    let body = body
        .collect()
        .await
        .ok()
        .map(|body| body.to_bytes().to_vec());
    seen.borrow_mut()[index].body = body;
    Ok(Response::new(Empty::new()))
}

/// The bytes, and the offset of the next read.
struct ConnectionIo(Vec<u8>, usize);

impl Read for ConnectionIo {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let rest = &self.0[self.1..];
        let piece = rest.len().min(buffer.remaining());
        buffer.put_slice(&rest[..piece]);
        self.1 += piece;
        Poll::Ready(Ok(()))
    }
}

impl Write for ConnectionIo {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if bytes.is_empty() {
            return Poll::Ready(Err(ErrorKind::InvalidInput.into()));
        }
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
