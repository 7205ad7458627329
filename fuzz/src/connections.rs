//! Connections: several requests one after another, with their bodies.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http1::{Body, ConnectionState, Incoming, Options, RequestHead, Response, Service, Version};

use crate::input::{Input, pieces};
use crate::memory::Memory;
use crate::oracle::{self, Seen};

/// Serves the requests in the bytes; the first byte determines how the rest is cut into pieces.
///
/// However the bytes are cut, they are the same requests, each answered once, and a refusal is the last response. Where
/// hyper accepts a request too, it is the same one, and a request that hyper refuses is refused, except for targets that
/// its `Uri` does not accept.
///
/// # Panics
/// If that does not hold.
pub fn requests(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let seed = input.byte();
    let bytes = input.rest();
    let (ours, sent) = serve(&[bytes]);
    let (cut, sent_to_cut) = serve(&pieces(bytes, seed.max(1)));
    assert_eq!(cut, ours, "in pieces");
    // A head that never ends may be refused before its end arrives, or end with the connection: the parser need not
    // examine each byte when it arrives.
    let (all, cut) = (statuses(&sent), statuses(&sent_to_cut));
    assert!(
        all == cut
            || all
                .split_last()
                .is_some_and(|(last, rest)| *last >= 400 && rest == cut),
        "{all:?}, in pieces {cut:?}"
    );
    answered(&ours, &statuses(&sent));
    compare(&ours, &oracle::requests(bytes));
}

/// Returns the requests that the service saw in these bytes, and the bytes that were sent.
fn serve(pieces: &[&[u8]]) -> (Vec<Seen>, Vec<u8>) {
    let stream = Memory::new(pieces);
    let (sent, seen) = (Rc::clone(&stream.sent), Seeing::default());
    let options = Options {
        date: false,
        ..Options::default()
    };
    {
        let mut connection = pin!(http1::serve(
            stream,
            Rc::new(ConnectionState::default()),
            &seen,
            options
        ));
        let mut context = Context::from_waker(Waker::noop());
        let most = 2 * pieces.len() + 16;
        let ended = (0..most).any(|_| connection.as_mut().poll(&mut context).is_ready());
        assert!(ended, "it waits for what is there");
    }
    (seen.0.take(), sent.take())
}

/// Returns the status of each response: responses have no bodies, so each is a head.
fn statuses(sent: &[u8]) -> Vec<u16> {
    let text = String::from_utf8_lossy(sent);
    text.lines()
        .filter_map(|line| line.strip_prefix("HTTP/1."))
        .map(|rest| rest[2..5].parse().expect("a status"))
        .filter(|status| *status != 100)
        .collect()
}

fn answered(seen: &[Seen], statuses: &[u16]) {
    let good = statuses.iter().take_while(|status| **status == 200).count();
    let rest = &statuses[good..];
    assert!(rest.len() <= 1, "{statuses:?}");
    assert!(
        good <= seen.len() && seen.len() <= good + 1,
        "{statuses:?} for {seen:?}"
    );
    // Only a request that is cut off in the middle of its body gets no response.
    assert!(
        good == seen.len() || seen[good].body.is_none(),
        "{statuses:?} for {seen:?}"
    );
}

#[derive(Default)]
struct Seeing(RefCell<Vec<Seen>>);

impl Service for Seeing {
    type Body = Nothing;

    async fn call(&self, head: RequestHead, body: Option<Incoming>) -> Response<Nothing> {
        let index = self.0.borrow().len();
        self.0.borrow_mut().push(seen(&head));
        let body = read(body).await;
        self.0.borrow_mut()[index].body = body;
        Response::new(200, Nothing)
    }
}

fn seen(head: &RequestHead) -> Seen {
    let mut fields: Vec<_> = head
        .fields
        .iter()
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_vec()))
        .collect();
    fields.sort_by(|one, other| one.0.cmp(&other.0));
    let resource = head.resource().split(|byte| *byte == b'#').next();
    Seen {
        method: head.method().to_vec(),
        resource: resource.unwrap_or_default().to_vec(),
        scheme: None,
        authority: head
            .authority()
            .map(|named| named.escape_ascii().to_string()),
        is_http10: head.version == Version::Http10,
        fields,
        body: None,
    }
}

async fn read(body: Option<Incoming>) -> Option<Vec<u8>> {
    let mut all = Vec::new();
    if let Some(mut body) = body {
        while let Some(piece) = poll_fn(|context| body.poll_piece(context)).await {
            all.extend_from_slice(&piece.ok()?);
        }
    }
    Some(all)
}

struct Nothing;

impl Body for Nothing {
    fn poll_piece(&mut self, _: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        Poll::Ready(None)
    }

    fn length(&self) -> Option<u64> {
        Some(0)
    }
}

fn compare(ours: &[Seen], theirs: &[Seen]) {
    for (ours, theirs) in ours.iter().zip(theirs) {
        // A 200 to CONNECT turns hyper's connection into a tunnel.
        if ours.method == b"CONNECT" {
            return;
        }
        // Scheme and authority are left to the target `heads`.
        let [ours, theirs] = [ours, theirs].map(|seen| Seen {
            scheme: None,
            authority: None,
            ..seen.clone()
        });
        if ours.body.is_none() {
            assert_eq!(
                ours,
                Seen {
                    body: None,
                    ..theirs
                }
            );
            return;
        }
        assert_eq!(ours, theirs);
    }
    if let Some(more) = ours.get(theirs.len()) {
        assert!(is_no_uri(more), "hyper does not take {more:?}");
    }
}

/// Returns whether the target has bytes that RFC 3986 wants escaped, or an invalid host.
fn is_no_uri(seen: &Seen) -> bool {
    let strange = |byte: &u8| !byte.is_ascii_graphic() || b"<>\"\\^`{}|".contains(byte);
    seen.resource.iter().any(strange) || seen.authority.is_some() || seen.method == b"CONNECT"
}
