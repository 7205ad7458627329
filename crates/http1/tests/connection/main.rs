//! What a connection does, seen from the client's end of a socket.

mod support;

use std::cell::{Cell, RefCell};
use std::future::{Future, pending, poll_fn, ready};
use std::io;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll, Wake, Waker};

use http1::{Incoming, Options, Phase, RequestHead, Response, Stream};
use hyper::body::Bytes;
use support::{Answer, By, Pieces, answers, echo, read_all, run, serve, streamed, talk, whole};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::UnixStream;

const GET: &str = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";

/// What comes until this is at its end.
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

/// A client that reads as fast as it is sent to.
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

    fn say(&self, _: &[u8]) {}

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
            response.head.reason = "Fine".into();
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

#[test]
fn large_pieces_arrive_whole_however_slowly_they_are_read() {
    let large: &'static str = Box::leak("0123456789abcdef".repeat(20_000).into_boxed_str());
    run(async move {
        let (mut stream, state) = serve(move |_, _| async move { streamed(&[large, "x", large]) });
        stream.write_all(GET.as_bytes()).await.expect("sent");
        let text = read_until(&mut stream, "\r\n0\r\n\r\n").await;
        let size = format!("{:x}\r\n", large.len());
        let (_, body) = text.split_once("\r\n\r\n").expect("a head");
        assert_eq!(
            body,
            format!("{size}{large}\r\n1\r\nx\r\n{size}{large}\r\n0\r\n\r\n")
        );
        stream.write_all(GET.as_bytes()).await.expect("sent");
        read_until(&mut stream, "\r\n0\r\n\r\n").await;
        assert_eq!(state.phase(), Phase::Idle);
    });
}

#[test]
fn a_100_is_sent_when_the_body_is_read() {
    run(async {
        let (mut stream, _) = serve(echo);
        let head =
            "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n";
        stream.write_all(head.as_bytes()).await.expect("sent");
        assert_eq!(
            read_until(&mut stream, "\r\n\r\n").await,
            "HTTP/1.1 100 Continue\r\n\r\n"
        );
        stream.write_all(b"abc").await.expect("sent");
        assert!(
            read_until(&mut stream, "\nabc")
                .await
                .starts_with("HTTP/1.1 200 OK\r\n")
        );
        // Not if the body is there, nor if it is not wanted: then the server cannot know whether it still comes.
        let text = whole_talk(serve(echo).0, &format!("{head}abc")).await;
        assert!(text.starts_with("HTTP/1.1 200 OK\r\n"), "{text}");
        let unwanted = |_: RequestHead, _: Option<Incoming>| async { whole(401, "no") };
        let text = whole_talk(serve(unwanted).0, head).await;
        assert!(
            text.starts_with("HTTP/1.1 401 ") && text.contains("\r\nConnection: close\r\n"),
            "{text}"
        );
    });
}

#[test]
fn a_body_that_is_not_read_is_read_over() {
    run(async {
        let deaf = |_: RequestHead, _: Option<Incoming>| async { whole(200, "hi") };
        let text = format!(
            "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n{}{GET}",
            "x".repeat(100_000)
        );
        let all = talk(serve(deaf).0, std::iter::once(text.as_bytes())).await;
        assert_eq!(answers(&all).len(), 2);
        // One that does not come is not waited for: the answer, then the end.
        let (mut stream, state) = serve(deaf);
        stream
            .write_all(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc")
            .await
            .expect("sent");
        let mut all = Vec::new();
        stream.read_to_end(&mut all).await.expect("an end");
        assert_eq!(answers(&all).len(), 1);
        // What still comes meanwhile does not hurt the answer.
        stream.write_all(b"more").await.expect("it listens");
        assert_eq!(state.phase(), Phase::Leaving);
    });
}

#[test]
fn a_body_may_be_read_after_the_answer() {
    run(async {
        let read = Rc::new(RefCell::new(None));
        let result = Rc::clone(&read);
        let (mut stream, _) = serve(move |_, body| {
            let result = Rc::clone(&result);
            tokio::task::spawn_local(async move {
                if body.is_some() {
                    *result.borrow_mut() = Some(read_all(body).await);
                }
            });
            async { whole(200, "hi") }
        });
        stream
            .write_all(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\n")
            .await
            .expect("sent");
        read_until(&mut stream, "hi").await;
        stream
            .write_all(format!("abc{GET}").as_bytes())
            .await
            .expect("sent");
        read_until(&mut stream, "hi").await;
        assert_eq!(read.take(), Some(Ok(b"abc".to_vec())));
        // Its client gone, who reads is told.
        stream
            .write_all(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\na")
            .await
            .expect("sent");
        read_until(&mut stream, "hi").await;
        drop(stream);
        while read.borrow().is_none() {
            tokio::task::yield_now().await;
        }
        assert_eq!(read.take(), Some(Err(http1::BodyError::Closed)));
    });
}

/// Tells when it is dropped.
struct Dropped(Rc<Cell<bool>>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.set(true);
    }
}

#[test]
fn who_hangs_up_is_not_waited_for() {
    run(async {
        let gone = Rc::new(Cell::new(false));
        let is_gone = Rc::clone(&gone);
        let (mut stream, state) = serve(move |_, _| {
            let guard = Dropped(Rc::clone(&is_gone));
            async move {
                let _guard = guard;
                pending().await
            }
        });
        stream.write_all(GET.as_bytes()).await.expect("sent");
        while state.phase() != Phase::Busy {
            tokio::task::yield_now().await;
        }
        stream.shutdown().await.expect("half closed");
        let mut all = Vec::new();
        stream.read_to_end(&mut all).await.expect("an end");
        assert!(all.is_empty() && gone.get());
    });
}

#[test]
fn refusals_are_answered_and_end_it() {
    for (text, status) in [
        ("G\0T / HTTP/1.1\r\n\r\n".to_owned(), 400),
        (format!("{GET}GET / HTTP/1.1\r\nA : b\r\n\r\n{GET}"), 400),
        (format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(70_000)), 414),
        (format!("GET / HTTP/1.1\r\nA: {}", "a".repeat(500_000)), 431),
        (format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(101)), 431),
        ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n".to_owned(), 400),
    ] {
        let all = run(async { talk(serve(echo).0, std::iter::once(text.as_bytes())).await });
        let why = match status {
            413 => "The request body is too large (http.max_body).\n",
            414 => "The request target is too long.\n",
            431 => "The request head is too large.\n",
            _ => "The request is malformed.\n",
        };
        let body = why.as_bytes().to_vec();
        assert_eq!(answers(&all).pop(), Some(Answer { status, body }), "{text:.60}");
        assert!(all.ends_with(why.as_bytes()), "{text:.60}");
    }
}

#[test]
fn it_ends_gently_between_requests_and_after_an_answer() {
    run(async {
        let (mut stream, state) = serve(echo);
        stream.write_all(GET.as_bytes()).await.expect("sent");
        read_until(&mut stream, "host=h\n").await;
        state.end();
        assert_eq!(stream.read(&mut [0; 1]).await.expect("an end"), 0);

        let go = Rc::new(tokio::sync::Notify::new());
        let gone = Rc::clone(&go);
        let (mut stream, state) = serve(move |_, _| {
            let go = Rc::clone(&gone);
            async move {
                go.notified().await;
                whole(200, "hi")
            }
        });
        stream.write_all(GET.as_bytes()).await.expect("sent");
        while state.phase() != Phase::Busy {
            tokio::task::yield_now().await;
        }
        state.end();
        go.notify_one();
        let mut all = String::new();
        stream.read_to_string(&mut all).await.expect("an end");
        assert!(
            all.contains("\r\nConnection: close\r\n") && all.ends_with("hi"),
            "{all}"
        );
    });
}

#[test]
fn who_is_too_slow_with_a_header_is_cut_off() {
    run(async {
        let (mut stream, state) = serve(echo);
        stream
            .write_all(b"GET / HTTP/1.1\r\nHos")
            .await
            .expect("sent");
        while state.phase() == Phase::New {
            tokio::task::yield_now().await;
        }
        assert_eq!(state.phase(), Phase::Header);
        state.end();
        assert_eq!(stream.read(&mut [0; 1]).await.expect("an end"), 0);
    });
}

#[test]
fn nothing_is_asked_of_a_body_while_the_client_does_not_read() {
    struct Endless(Rc<Cell<usize>>);
    impl http1::Body for Endless {
        fn poll_piece(
            &mut self,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Option<std::io::Result<bytes::Bytes>>> {
            self.0.set(self.0.get() + 10_000);
            std::task::Poll::Ready(Some(Ok(bytes::Bytes::from_static(&[b'x'; 10_000]))))
        }
        fn length(&self) -> Option<u64> {
            None
        }
    }
    struct Service(Rc<Cell<usize>>);
    impl http1::Service for Service {
        type Body = Endless;
        fn call(
            &self,
            _: RequestHead,
            _: Option<Incoming>,
        ) -> impl Future<Output = http1::Response<Endless>> {
            std::future::ready(http1::Response::new(200, Endless(Rc::clone(&self.0))))
        }
    }
    run(async {
        let taken = Rc::new(Cell::new(0));
        let service = Service(Rc::clone(&taken));
        let (mut ours, theirs) = UnixStream::pair().expect("a pair");
        let state = Rc::new(http1::ConnectionState::default());
        tokio::task::spawn_local(async move {
            http1::serve(theirs, state, &service, http1::Options::default()).await
        });
        ours.write_all(GET.as_bytes()).await.expect("sent");
        let mut before = usize::MAX;
        while before != taken.get() {
            before = taken.get();
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
        }
        assert!((10_000..2_000_000).contains(&before), "{before}");
        poll_fn(|context| ours.poll_read_ready(context))
            .await
            .expect("bytes");
        drop(ours);
    });
}

#[test]
fn the_last_answer_is_not_lost_when_more_has_come() {
    let last = "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    // While the answer is waited for, and without a moment to see it come.
    for waits in [true, false] {
        run(async {
            let go = Rc::new(tokio::sync::Notify::new());
            let client = Rc::new(RefCell::new(None::<UnixStream>));
            let (gone, sender) = (Rc::clone(&go), Rc::clone(&client));
            let (stream, state) = serve(move |_, _| {
                let go = Rc::clone(&gone);
                if !waits && let Some(stream) = &*sender.borrow() {
                    assert_eq!(stream.try_write(b"more").expect("sent"), 4);
                }
                async move {
                    if waits {
                        go.notified().await;
                    }
                    whole(200, "hi")
                }
            });
            stream.writable().await.expect("it is open");
            stream.try_write(last.as_bytes()).expect("sent");
            client.replace(Some(stream));
            if waits {
                while state.phase() != Phase::Busy {
                    tokio::task::yield_now().await;
                }
                let sent = client
                    .borrow()
                    .as_ref()
                    .map(|client| client.try_write(b"more"));
                assert!(matches!(sent, Some(Ok(4))));
                (0..10).for_each(|_| go.notify_one());
            }
            while !matches!(state.phase(), Phase::Leaving) && Rc::strong_count(&state) > 1 {
                tokio::task::yield_now().await;
            }
            let mut stream = client.take().expect("it is there");
            let mut all = String::new();
            stream.read_to_string(&mut all).await.expect("no reset");
            assert!(all.ends_with("hi"), "{all}");
        });
    }
}

#[test]
fn what_was_sent_of_a_body_that_broke_off_is_not_lost_when_more_has_come() {
    run(async {
        let client = Rc::new(RefCell::new(None::<UnixStream>));
        let sender = Rc::clone(&client);
        let (stream, state) = serve(move |_, _| {
            if let Some(stream) = &*sender.borrow() {
                assert_eq!(stream.try_write(b"more").expect("sent"), 4);
            }
            let mut response = streamed(&["begun"]);
            let broke = io::Error::other("the body broke off");
            response.body.pieces.push_back(Err(broke));
            async { response }
        });
        stream.writable().await.expect("it is open");
        stream.try_write(GET.as_bytes()).expect("sent");
        client.replace(Some(stream));
        while !matches!(state.phase(), Phase::Leaving) && Rc::strong_count(&state) > 1 {
            tokio::task::yield_now().await;
        }
        let mut stream = client.take().expect("it is there");
        let mut all = String::new();
        stream.read_to_string(&mut all).await.expect("no reset");
        assert!(all.ends_with("\r\n\r\n5\r\nbegun\r\n"), "{all}");
    });
}

#[test]
fn who_reads_a_body_does_not_take_the_answers_waker() {
    // How much fits into the socket is the kernel's business: one of these leaves a little of the answer behind.
    for count in 30..90 {
        run(async {
            let reads = Rc::new(Cell::new(0));
            let read = Rc::clone(&reads);
            let (mut stream, _) = serve(move |_, body| {
                let read = Rc::clone(&read);
                let has_body = body.is_some();
                tokio::task::spawn_local(async move {
                    let mut body = body;
                    while let Some(body) = &mut body
                        && let Some(Ok(_)) = poll_fn(|context| body.poll_piece(context)).await
                    {
                        read.set(read.get() + 1);
                    }
                });
                let pieces = if has_body { count } else { 1 };
                async move {
                    streamed(&vec![
                        &*Box::leak("x".repeat(4096).into_boxed_str());
                        pieces
                    ])
                }
            });
            stream
                .write_all(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\n")
                .await
                .expect("sent");
            let settle = async || {
                for _ in 0..50 {
                    tokio::task::yield_now().await;
                }
            };
            settle().await;
            for byte in [b"a", b"b"] {
                stream.write_all(byte).await.expect("sent");
                settle().await;
            }
            assert_eq!(reads.get(), 2, "{count}");
            read_until(&mut stream, "\r\n0\r\n\r\n").await;
            stream.write_all(b"c").await.expect("sent");
            stream.write_all(GET.as_bytes()).await.expect("sent");
            let next = read_until(&mut stream, "\r\n0\r\n\r\n");
            let next = tokio::time::timeout(std::time::Duration::from_secs(2), next).await;
            assert!(
                next.is_ok(),
                "after {count} pieces nothing more was answered"
            );
        });
    }
}
