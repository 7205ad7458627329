//! The body of a response, as the connection reads it; and the reasons why a request's body ends early.

use std::fmt;
use std::io;
use std::task::{Context, Poll};

use bytes::Bytes;

/// The body of a response, which comes piece by piece.
pub trait Body {
    /// Returns the next piece, never empty; `None` at the end. After an error the message is cut off.
    fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>>;

    /// Returns how many bytes are still to come, where that is known.
    fn length(&self) -> Option<u64>;

    /// Called when the client takes no more for now: the rest can be moved elsewhere, such as to a file.
    fn stalled(&mut self) {}

    /// Returns whether other connections get a turn while much of the body is sent. Not for a body that is memory of PHP:
    /// the responses of the others would be added to it, and all of them share one `memory_limit`.
    fn yields(&self) -> bool {
        true
    }

    /// Called when the connection has taken as many bytes as the message announces. If the body is dropped without this
    /// call, its rest is not wanted any more.
    fn was_sent(&mut self) {}
}

/// Why a request's body ends early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyError {
    /// The client closed the connection.
    Closed,
    /// A chunk is malformed.
    Malformed,
    /// The client sends nothing, or too slowly.
    TimedOut,
    /// The body is larger than `http.max_body`.
    TooLarge,
    /// The body is larger than `post_max_size`.
    OverPostLimit,
    /// The body cannot be stored until PHP reads it.
    Storage,
}

impl BodyError {
    /// Returns the status of the response.
    #[must_use]
    pub fn status(self) -> u16 {
        match self {
            BodyError::Closed | BodyError::Malformed => 400,
            BodyError::TimedOut => 408,
            BodyError::TooLarge | BodyError::OverPostLimit => 413,
            BodyError::Storage => 507,
        }
    }

    /// Returns the text for the client and the log.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            BodyError::Closed => {
                "The request body is incomplete: the client closed the connection.\n"
            }
            BodyError::Malformed => {
                "The request body is malformed: it contains an invalid chunk.\n"
            }
            BodyError::TimedOut => {
                "The request body did not arrive in time (http.body_timeout, http.min_rate).\n"
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
