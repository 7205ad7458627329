//! The body of a request, read piece by piece by the task that serves the request.
//!
//! The reader waits for the socket itself: bytes take no detour through the connection's task, and nothing is read before it
//! is asked for.

use std::fmt;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Bytes;

use crate::body::BodyError;

/// The handle of a request's body, read piece by piece.
pub struct Incoming(pub(crate) Rc<dyn Source>);

impl fmt::Debug for Incoming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Incoming")
    }
}

pub(crate) trait Source {
    fn poll_piece(&self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>>;
    fn let_go(&self);
}

impl Incoming {
    /// Returns the next piece, never empty; `None` at the end.
    pub fn poll_piece(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, BodyError>>> {
        self.0.poll_piece(context)
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        self.0.let_go();
    }
}
