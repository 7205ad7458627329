//! Request bodies: when they are read, and how far.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::rc::Rc;

use http1::{Incoming, Phase, RequestHead};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use super::{GET, read_until, whole_talk};
use crate::support::{answers, echo, read_all, run, serve, streamed, talk, whole};

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
        // No 100 is sent if the body is there already, nor if the service does not want it: then the server cannot know
        // whether it still comes, and closes the connection.
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
        // The server does not wait for the rest of an unwanted body: it responds and closes.
        let (mut stream, state) = serve(deaf);
        stream
            .write_all(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc")
            .await
            .expect("sent");
        let mut all = Vec::new();
        stream.read_to_end(&mut all).await.expect("an end");
        assert_eq!(answers(&all).len(), 1);
        // Bytes that arrive meanwhile do not harm the response.
        stream.write_all(b"more").await.expect("it listens");
        assert_eq!(state.phase(), Phase::Lingering);
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
        // When the client leaves, the body's reader gets an error.
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
fn who_reads_a_body_does_not_take_the_answers_waker() {
    // How much fits into the socket is up to the kernel: one of these counts leaves a little of the response behind.
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
