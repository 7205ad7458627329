//! Requests and answers as they lie in the memory between front and worker.

use ipc::Ends;
use ipc::frame::{Answered, Asked, PIECE_HEAD, Piece, fields, push_field};

/// Any bytes: what is taken for a request, an answer, its fields or the beginning of a piece is written as bytes that mean
/// the same, and holds no more than they did.
///
/// # Panics
/// When that does not hold.
pub fn frames(bytes: &[u8]) {
    if let Some(asked) = Asked::parse(bytes) {
        let mut written = Vec::new();
        asked.write_to(&mut written);
        assert!(written.len() <= bytes.len());
        assert_eq!(Asked::parse(&written), Some(asked));
        let _ = Ends::parse(asked.ends);
    }
    if let Some(answered) = Answered::parse(bytes) {
        let mut written = Vec::new();
        answered.write_to(&mut written);
        assert!(written.len() <= bytes.len());
        assert_eq!(Answered::parse(&written), Some(answered));
        if let Answered::Head(head, _) = answered {
            lists(head.fields);
        }
    }
    lists(bytes);
    if let Some(head) = bytes.first_chunk::<PIECE_HEAD>() {
        let (number, piece) = Piece::parse(*head);
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
