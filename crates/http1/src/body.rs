//! The body of a response, for who sends it.

use std::io;
use std::task::{Context, Poll};

use bytes::Bytes;

/// Bytes that come piece by piece.
pub trait Body {
    /// The next piece, never empty; `None` at the end. After an error the message is broken off.
    fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>>;

    /// How many bytes are still to come, where that is known.
    fn length(&self) -> Option<u64>;

    /// As much of it was taken as the message announces. Dropped before that, it is of no use to anybody any more.
    fn was_sent(&mut self) {}
}
