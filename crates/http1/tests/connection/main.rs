//! The behaviour of a connection, seen from the client's end of a socket.

#[path = "../support/mod.rs"]
mod support;

mod bodies;
mod ends;

use std::cell::Cell;
use std::future::ready;
use std::io;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll, Wake, Waker};

use http1::{Incoming, Options, RequestHead, Response, Stream};
use hyper::body::Bytes;
use support::{By, Pieces, answers, echo, run, serve, streamed, talk, whole};
use tokio::io::AsyncReadExt;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::UnixStream;

const GET: &str = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";

/// Reads until the received text ends with `end`.
async fn read_until(stream: &mut UnixStream, end: &str) -> String {
    let mut all = Vec::new();
    while !all.ends_with(end.as_bytes()) {
        let count = stream.read_buf(&mut all).await.expect("bytes");
        assert!(count > 0, "closed after {}", String::from_utf8_lossy(&all));
    }
    String::from_utf8(all).expect("text")
}

async fn whole_talk(stream: UnixStream, text: &str) -> String {
    let all = talk(stream, std::iter::once(text.as_bytes())).await;
    String::from_utf8(all).expect("text")
}

fn without_date(text: &str) -> String {
    text.split_inclusive("\r\n")
        .filter(|line| !line.starts_with("Date: "))
        .collect()
}

/// A client that reads as fast as the server sends.
struct Greedy {
    request: &'static [u8],
    received: Rc<Cell<usize>>,
}

impl AsyncRead for Greedy {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match std::mem::take(&mut self.request) {
            [] => Poll::Pending,
            request => {
                buffer.put_slice(request);
                Poll::Ready(Ok(()))
            }
        }
    }
}

impl AsyncWrite for Greedy {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.received.set(self.received.get() + bytes.len());
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl Stream for Greedy {
    fn poll_readable(&self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Pending
    }

    fn peek(&self) -> io::Result<usize> {
        Err(io::ErrorKind::WouldBlock.into())
    }

    fn has_unread(&self) -> bool {
        false
    }

    fn try_send(&self, _: &[u8]) {}

    fn break_off(&self) {}
}

#[test]
fn one_that_reads_fast_leaves_the_others_their_turn() {
    const PIECE: &[u8] = &[b'x'; 64 * 1024];
    let pieces = 128;
    let service = By(|_, _| {
        let all = (0..pieces).map(|_| Ok(Bytes::from_static(PIECE)));
        let body = Pieces {
            pieces: all.collect(),
            length: Some((pieces * PIECE.len()) as u64),
        };
        ready(Response::new(200, body))
    });
    let received = Rc::<Cell<usize>>::default();
    let client = Greedy {
        request: GET.as_bytes(),
        received: Rc::clone(&received),
    };
    let mut served = pin!(http1::serve(
        client,
        Rc::default(),
        &service,
        Options::default()
    ));
    let wakes = Arc::new(Wakes::default());
    let waker = Waker::from(Arc::clone(&wakes));
    let mut turns = 0;
    while received.get() < pieces * PIECE.len() {
        let (before, woken) = (received.get(), wakes.0.load(Relaxed));
        assert!(
            served
                .as_mut()
                .poll(&mut Context::from_waker(&waker))
                .is_pending()
        );
        let sent = received.get() - before;
        assert!((1..512 * 1024).contains(&sent), "{sent} bytes in one turn");
        let is_done = received.get() >= pieces * PIECE.len();
        assert!(is_done || wakes.0.load(Relaxed) > woken, "it sleeps");
        turns += 1;
    }
    assert!(turns > 16, "{turns}");
}

#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

#[test]
fn requests_in_pieces_of_every_size() {
    let text = "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n12\r\n5GET /b?c HTTP/1.1\r\nHost: h\r\n\r\n\r\n\
                PUT /d HTTP/1.1\r\nTransfer-Encoding: chunked\r\nHost: h\r\n\r\n3\r\nabc\r\nA;x\r\n0123456789\r\n0\r\nT: v\r\n\r\n\
                GET /e HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    run(async {
        let expected = answers(&talk(serve(echo).0, std::iter::once(text.as_bytes())).await);
        let bodies: Vec<_> = expected
            .iter()
            .map(|answer| String::from_utf8_lossy(&answer.body))
            .collect();
        assert_eq!(expected.len(), 4, "{bodies:?}");
        assert!(
            bodies[0].ends_with("\n12\r\n5") && bodies[2].ends_with("\nabc0123456789"),
            "{bodies:?}"
        );
        for size in 1..text.len() {
            let (stream, _) = serve(echo);
            assert_eq!(
                answers(&talk(stream, text.as_bytes().chunks(size)).await),
                expected,
                "{size}"
            );
        }
        for at in 1..text.len() {
            let (stream, _) = serve(echo);
            let (one, two) = text.as_bytes().split_at(at);
            assert_eq!(
                answers(&talk(stream, [one, two].into_iter()).await),
                expected,
                "{at}"
            );
        }
    });
}

#[test]
fn heads_of_answers() {
    for (request, status, expected) in [
        (
            "GET / HTTP/1.1",
            200,
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
        ),
        (
            "HEAD / HTTP/1.1",
            200,
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n",
        ),
        ("GET / HTTP/1.1", 204, "HTTP/1.1 204 No Content\r\n\r\n"),
        ("GET / HTTP/1.1", 304, "HTTP/1.1 304 Not Modified\r\n\r\n"),
        (
            "GET / HTTP/1.1",
            101,
            "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n",
        ),
        (
            "GET / HTTP/1.0",
            404,
            "HTTP/1.0 404 Not Found\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi",
        ),
    ] {
        let text = run(async {
            let (stream, _) = serve(move |_, _| async move { whole(status, "hi") });
            whole_talk(stream, &format!("{request}\r\nHost: h\r\n\r\n")).await
        });
        assert_eq!(without_date(&text), expected, "{request}");
        assert_eq!(text.matches("\r\nDate: ").count(), 1);
    }
}

#[test]
fn fields_that_frame_are_the_connections_own() {
    let text = run(async {
        let (stream, _) = serve(|_, _| async {
            let mut response = whole(200, "hi");
            for (name, value) in [
                ("Transfer-Encoding", "gzip"),
                ("content-length", "99"),
                ("Connection", "x, close"),
                ("X", "y"),
            ] {
                response.head.fields.push(name, value);
            }
            response.head.fields.push("date", "now");
            response.head.reason = b"Fine".as_slice().into();
            response
        });
        whole_talk(stream, &format!("{GET}{GET}")).await
    });
    assert_eq!(
        text,
        "HTTP/1.1 200 Fine\r\nX: y\r\ndate: now\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi"
    );
}

#[test]
fn streams() {
    let stream = |_: RequestHead, _: Option<Incoming>| async { streamed(&["ab", "c"]) };
    let text = run(async { whole_talk(serve(stream).0, GET).await });
    assert!(
        text.contains("\r\nTransfer-Encoding: chunked\r\n")
            && text.ends_with("\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"),
        "{text}"
    );
    let text = run(async {
        whole_talk(
            serve(stream).0,
            "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
        )
        .await
    });
    assert!(
        text.contains("\r\nConnection: close\r\n") && text.ends_with("\r\n\r\nabc"),
        "{text}"
    );
    let announced = |length: &'static str| {
        run(async move {
            let (stream, _) = serve(move |_, _| async move {
                let mut response = streamed(&["ab", "c"]);
                response.head.fields.push("Content-Length", length);
                response
            });
            without_date(&whole_talk(stream, GET).await)
        })
    };
    assert_eq!(
        announced("3"),
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"
    );
    assert_eq!(
        announced("2"),
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab"
    );
    assert_eq!(
        announced("4"),
        "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc"
    );
}
