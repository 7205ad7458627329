//! Requests and responses as they lie in the memory between front and worker.

use http1::{Endpoints, Fields, RequestHead};
use relay::frame::{RequestFrame, ResponseFrame, STREAM_HEADER, StreamFrame};

/// Parses any bytes: a request, a response, its fields or the head of a piece that is accepted is written as bytes that
/// mean the same, and is no longer than the input.
///
/// # Panics
/// If that does not hold.
pub fn frames(bytes: &[u8]) {
    if let Some(frame) = RequestFrame::parse(bytes) {
        let mut written = Vec::new();
        frame.write_to(&mut written);
        assert!(written.len() <= bytes.len());
        assert_eq!(RequestFrame::parse(&written), Some(frame));
    }
    if let Some(answered) = ResponseFrame::parse(bytes) {
        let mut written = Vec::new();
        answered.write_to(&mut written);
        assert!(written.len() <= bytes.len());
        assert_eq!(ResponseFrame::parse(&written), Some(answered));
        if let ResponseFrame::Head(head, _) = answered {
            packed(head.fields);
        }
    }
    packed(bytes);
    if let Some(head) = bytes.first_chunk::<STREAM_HEADER>() {
        let (number, piece) = StreamFrame::parse(*head);
        assert_eq!(piece.head(number), *head);
    }
}

/// Checks heads, fields and addresses: what is accepted can be packed and unpacked again.
fn packed(bytes: &[u8]) {
    if let Some(ends) = Endpoints::unpack(bytes) {
        assert_eq!(Endpoints::unpack(&ends.pack()), Some(ends));
    }
    let mut written = Vec::new();
    if let Some(fields) = Fields::unpack(bytes) {
        fields.pack(&mut written);
        assert!(bytes.starts_with(&written));
        assert_eq!(Fields::unpack(&written), Some(fields));
    }
    written.clear();
    if let Some(head) = RequestHead::unpack(bytes) {
        head.pack(&mut written);
        let again = RequestHead::unpack(&written).expect("a head");
        assert_eq!(format!("{again:?}"), format!("{head:?}"));
        assert_eq!(again.authority(), head.authority());
    }
}
