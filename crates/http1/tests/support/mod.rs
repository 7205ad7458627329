//! Hearth's HTTP server and hyper's, each at one end of a socket pair, both with the same echo service.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::io;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use http1::{Body, ConnectionState, Incoming, Options, RequestHead, Response, Service};
use hyper::body::Bytes;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

/// Runs a test on this thread, for at most 20 seconds.
pub(crate) fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let local = tokio::task::LocalSet::new();
    let limited = async { tokio::time::timeout(Duration::from_secs(20), test).await };
    runtime
        .block_on(local.run_until(limited))
        .expect("it ends in time")
}

/// A body in pieces, with or without a length.
pub(crate) struct Pieces {
    pub(crate) pieces: VecDeque<io::Result<Bytes>>,
    pub(crate) length: Option<u64>,
}

impl Body for Pieces {
    fn poll_piece(&mut self, _: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        Poll::Ready(self.pieces.pop_front())
    }

    fn length(&self) -> Option<u64> {
        self.length
    }
}

pub(crate) fn whole(status: u16, text: impl Into<Bytes>) -> Response<Pieces> {
    let bytes: Bytes = text.into();
    let length = Some(bytes.len() as u64);
    let pieces = (!bytes.is_empty())
        .then_some(Ok(bytes))
        .into_iter()
        .collect();
    Response::new(status, Pieces { pieces, length })
}

pub(crate) fn streamed(pieces: &[&'static str]) -> Response<Pieces> {
    let pieces = pieces
        .iter()
        .map(|piece| Ok(Bytes::from_static(piece.as_bytes())))
        .collect();
    Response::new(
        200,
        Pieces {
            pieces,
            length: None,
        },
    )
}

pub(crate) async fn read_all(body: Option<Incoming>) -> Result<Vec<u8>, http1::BodyError> {
    let mut all = Vec::new();
    if let Some(mut body) = body {
        while let Some(piece) = poll_fn(|context| body.poll_piece(context)).await {
            all.extend_from_slice(&piece?);
        }
    }
    Ok(all)
}

/// A service that calls a closure.
pub(crate) struct By<F>(pub(crate) F);

impl<F, A> Service for By<F>
where
    F: Fn(RequestHead, Option<Incoming>) -> A,
    A: Future<Output = Response<Pieces>>,
{
    type Body = Pieces;

    fn call(
        &self,
        head: RequestHead,
        body: Option<Incoming>,
    ) -> impl Future<Output = Response<Pieces>> {
        (self.0)(head, body)
    }
}

/// Returns the response of the echo service.
fn echoed(method: &[u8], target: &[u8], fields: &[(String, Vec<u8>)], body: &[u8]) -> Vec<u8> {
    let mut text = [method, b" ", target, b"\n"].concat();
    let mut fields = fields.to_vec();
    fields.sort();
    for (name, value) in fields {
        text.extend_from_slice(name.as_bytes());
        text.extend_from_slice(b"=");
        text.extend_from_slice(&value);
        text.push(b'\n');
    }
    text.extend_from_slice(body);
    text
}

pub(crate) async fn echo(head: RequestHead, body: Option<Incoming>) -> Response<Pieces> {
    let Ok(body) = read_all(body).await else {
        return whole(499, "");
    };
    let fields: Vec<_> = head
        .fields
        .iter()
        .map(|(name, value)| (String::from_utf8_lossy(name).to_lowercase(), value.to_vec()))
        .collect();
    let target = head
        .resource()
        .split(|byte| *byte == b'#')
        .next()
        .unwrap_or_default();
    whole(200, echoed(head.method(), target, &fields, &body))
}

/// Starts Hearth's server at one end of a socket pair, and returns the other end.
pub(crate) fn serve<F, A>(answer: F) -> (UnixStream, Rc<ConnectionState>)
where
    F: Fn(RequestHead, Option<Incoming>) -> A + 'static,
    A: Future<Output = Response<Pieces>> + 'static,
{
    let (ours, theirs) = UnixStream::pair().expect("a pair of sockets");
    let state = Rc::new(ConnectionState::default());
    let of_connection = Rc::clone(&state);
    tokio::task::spawn_local(async move {
        http1::serve(theirs, of_connection, &By(answer), Options::default()).await;
    });
    (ours, state)
}

/// Starts hyper's server at one end of a socket pair, and returns the other end.
pub(crate) fn serve_hyper() -> UnixStream {
    let (ours, theirs) = UnixStream::pair().expect("a pair of sockets");
    let service = service_fn(
        |request: hyper::Request<hyper::body::Incoming>| async move {
            let (head, body) = request.into_parts();
            let mut response = hyper::Response::new(Full::new(Bytes::new()));
            let Ok(body) = body.collect().await else {
                *response.status_mut() = hyper::StatusCode::from_u16(499).expect("a status");
                return Ok::<_, Infallible>(response);
            };
            let fields: Vec<_> = head
                .headers
                .iter()
                .map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec()))
                .collect();
            let target = head
                .uri
                .path_and_query()
                .map_or("", |target| target.as_str());
            let text = echoed(
                head.method.as_str().as_bytes(),
                target.as_bytes(),
                &fields,
                &body.to_bytes(),
            );
            *response.body_mut() = Full::new(text.into());
            Ok(response)
        },
    );
    tokio::task::spawn_local(async move {
        let mut builder = hyper::server::conn::http1::Builder::new();
        let _ = builder
            .half_close(true)
            .serve_connection(TokioIo::new(theirs), service)
            .await;
    });
    ours
}

/// Sends each piece after the one before was received, then closes the sending side; returns all bytes received.
pub(crate) async fn talk(stream: UnixStream, pieces: impl Iterator<Item = &[u8]>) -> Vec<u8> {
    talk_until_reset(stream, pieces).await.0
}

/// As [`talk`]; also returns whether the server reset the connection because of unread bytes: then a part may have been
/// lost.
pub(crate) async fn talk_until_reset(
    stream: UnixStream,
    pieces: impl Iterator<Item = &[u8]>,
) -> (Vec<u8>, bool) {
    let (mut read, mut write) = stream.into_split();
    let sending = async {
        for piece in pieces {
            if write.write_all(piece).await.is_err() {
                return;
            }
            // The server's task receives this piece alone.
            for _ in 0..3 {
                tokio::task::yield_now().await;
            }
        }
        let _ = write.shutdown().await;
    };
    let mut all = Vec::new();
    let receiving = async { read.read_to_end(&mut all).await.is_err() };
    let ((), reset) = tokio::join!(sending, receiving);
    (all, reset)
}

/// A response as it was received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

/// Parses the final responses, each with a known length, without their fields.
pub(crate) fn answers(mut bytes: &[u8]) -> Vec<Answer> {
    let mut all = Vec::new();
    while let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
        let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
        bytes = &bytes[end + 4..];
        let status = head[9..12].parse().expect("a status");
        if status == 100 {
            continue;
        }
        let length = head
            .split("content-length: ")
            .nth(1)
            .and_then(|rest| rest.lines().next());
        let length: usize = length.map_or(0, |length| length.parse().expect("a length"));
        let body = bytes[..length].to_vec();
        bytes = &bytes[length..];
        all.push(Answer { status, body });
    }
    assert_eq!(bytes, b"", "something behind the last answer");
    all
}
