//! The body of a response, for who sends it; and why the body of a request does not come.

use std::fmt;
use std::io;
use std::task::{Context, Poll};

use bytes::Bytes;

/// Bytes that come piece by piece.
pub trait Body {
    /// The next piece, never empty; `None` at the end. After an error the message is broken off.
    fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>>;

    /// How many bytes are still to come, where that is known.
    fn length(&self) -> Option<u64>;

    /// The client takes no more for now: what is left can be kept elsewhere.
    fn stalled(&mut self) {}

    /// Whether other connections have their turn while much of it is sent. Not where it is memory of PHP: their responses would be
    /// added to it, and all of them together have one `memory_limit`.
    fn leaves_turns(&self) -> bool {
        true
    }

    /// As much of it was taken as the message announces. Dropped before that, it is of no use any more.
    fn was_sent(&mut self) {}
}

/// Why no more of a request's body comes, though it is not at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyError {
    /// The client closed the connection.
    Closed,
    /// A chunk is malformed.
    Malformed,
    /// The client sends nothing, or too little at a time.
    TimedOut,
    /// It is larger than the server takes.
    TooLarge,
    /// It is larger than PHP takes.
    OverPostLimit,
    /// It cannot be kept until it is read.
    Storage,
}

impl BodyError {
    /// Of the answer.
    #[must_use]
    pub fn status(self) -> u16 {
        match self {
            BodyError::Closed | BodyError::Malformed => 400,
            BodyError::TimedOut => 408,
            BodyError::TooLarge | BodyError::OverPostLimit => 413,
            BodyError::Storage => 507,
        }
    }

    /// What the client and the log are told.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            BodyError::Closed => {
                "The request body is incomplete: the client closed the connection.\n"
            }
            BodyError::Malformed => "The request body is malformed: it has a chunk that is none.\n",
            BodyError::TimedOut => {
                "The request body did not come in time (http.body_timeout, http.min_rate).\n"
            }
            BodyError::TooLarge => "The request body is too large (http.max_body).\n",
            BodyError::OverPostLimit => {
                "The request body is larger than this server accepts (post_max_size).\n"
            }
            BodyError::Storage => "The request body cannot be stored.\n",
        }
    }
}

impl fmt::Display for BodyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text().trim_end_matches(['.', '\n']))
    }
}

impl std::error::Error for BodyError {}
