//! How a connection ends, and that no response is lost then.

use std::cell::{Cell, RefCell};
use std::future::pending;
use std::io;
use std::rc::Rc;

use http1::Phase;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use super::{GET, read_until};
use crate::support::{Answer, answers, echo, run, serve, streamed, talk, whole};

/// Notes when it is dropped.
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
fn the_last_answer_is_not_lost_when_more_has_come() {
    let last = "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    // More bytes arrive while the connection waits for the response, or so late that it has no time to see them.
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
            while !matches!(state.phase(), Phase::Lingering) && Rc::strong_count(&state) > 1 {
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
        while !matches!(state.phase(), Phase::Lingering) && Rc::strong_count(&state) > 1 {
            tokio::task::yield_now().await;
        }
        let mut stream = client.take().expect("it is there");
        let mut all = String::new();
        stream.read_to_string(&mut all).await.expect("no reset");
        assert!(all.ends_with("\r\n\r\n5\r\nbegun\r\n"), "{all}");
    });
}
