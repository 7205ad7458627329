//! Requests and answers as they lie in the memory between front and worker.

use http1::Endpoints;
use relay::frame::{RequestFrame, ResponseFrame, STREAM_HEADER, StreamFrame, fields, push_field};

/// Any bytes: what is taken for a request, an answer, its fields or the beginning of a piece is written as bytes that mean
/// the same, and holds no more than they did.
///
/// # Panics
/// When that does not hold.
pub fn frames(bytes: &[u8]) {
    if let Some(asked) = RequestFrame::parse(bytes) {
        let mut written = Vec::new();
        asked.write_to(&mut written);
        assert!(written.len() <= bytes.len());
        assert_eq!(RequestFrame::parse(&written), Some(asked));
        let _ = Endpoints::parse(asked.endpoints);
    }
    if let Some(answered) = ResponseFrame::parse(bytes) {
        let mut written = Vec::new();
        answered.write_to(&mut written);
        assert!(written.len() <= bytes.len());
        assert_eq!(ResponseFrame::parse(&written), Some(answered));
        if let ResponseFrame::Head(head, _) = answered {
            lists(head.fields);
        }
    }
    lists(bytes);
    if let Some(head) = bytes.first_chunk::<STREAM_HEADER>() {
        let (number, piece) = StreamFrame::parse(*head);
        assert_eq!(piece.head(number), *head);
    }
}

fn lists(bytes: &[u8]) {
    let mut written = Vec::new();
    for (name, value) in fields(bytes) {
        push_field(&mut written, name, value);
    }
    assert!(bytes.starts_with(&written));
    assert!(fields(&written).eq(fields(bytes)));
}
