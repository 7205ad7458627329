//! Bytes received on a connection and not used yet.
//!
//! Bytes are read into a buffer of the thread and parsed there. The connection keeps, in memory of its own, only those that
//! cannot be used at once: the beginning of a head, or a pipelined request.

use std::cell::Cell;

use crate::head::RequestHead;
use crate::parse::{Limits, ParseError};

/// Bytes read from a socket at a time.
const SCRATCH: usize = 64 * 1024;
thread_local! {
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Lends the thread's buffer to `use_it`. A nested call would allocate another one.
pub(crate) fn with_buffer<T>(use_it: impl FnOnce(&mut [u8]) -> T) -> T {
    let mut buffer = BUFFER.take();
    if buffer.is_empty() {
        buffer = vec![0; SCRATCH];
    }
    let used = use_it(&mut buffer);
    BUFFER.set(buffer);
    used
}

/// The bytes that a connection has received and not used yet.
#[derive(Default)]
pub(crate) struct Input {
    bytes: Vec<u8>,
    at: usize,
    /// Bytes after `at` that were parsed and are only the beginning of a head.
    scanned: usize,
}

impl Input {
    pub(crate) fn rest(&self) -> &[u8] {
        &self.bytes[self.at..]
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.at == self.bytes.len()
    }

    pub(crate) fn add(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        // Used bytes are dropped before more are kept: otherwise a client that always has half a request sent would make the
        // buffer grow.
        self.bytes.drain(..self.at);
        self.at = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns whether there are bytes that were not parsed yet.
    pub(crate) fn is_new(&self) -> bool {
        self.scanned < self.rest().len()
    }

    /// Notes that all bytes were parsed and are the beginning of a head.
    pub(crate) fn mark_scanned(&mut self) {
        self.skip_empty_lines();
        self.scanned = self.rest().len();
    }

    /// Drops the empty lines before a head. If they were kept, each read would scan them all again.
    fn skip_empty_lines(&mut self) {
        loop {
            let length = match self.rest() {
                [b'\n', ..] => 1,
                [b'\r', b'\n', ..] => 2,
                _ => return,
            };
            self.take(length);
        }
    }

    pub(crate) fn take(&mut self, count: usize) {
        self.at += count;
        self.scanned = 0;
        if self.is_empty() {
            *self = Input::default();
        }
    }

    /// Parses the head at the beginning, if it can be complete.
    pub(crate) fn head(&mut self, limits: Limits) -> Result<Option<RequestHead>, ParseError> {
        self.skip_empty_lines();
        let rest = self.rest();
        let length = rest.len();
        let may_end = self.scanned == 0 || has_empty_line(&rest[self.scanned.saturating_sub(3)..]);
        let parsed = if may_end {
            RequestHead::parse(rest, limits)?
        } else {
            None
        };
        if parsed.is_none() && length > limits.head {
            return Err(ParseError::TooLarge);
        }
        self.scanned = length;
        Ok(parsed.map(|(head, length)| {
            self.take(length);
            head
        }))
    }
}

fn has_empty_line(bytes: &[u8]) -> bool {
    let mut lines = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    lines.any(|(at, _)| matches!(bytes[at + 1..], [b'\n', ..] | [b'\r', b'\n', ..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_is_not_kept() {
        let request = b"GET / HTTP/1.1\r\n\r\n";
        let mut input = Input::default();
        input.add(&request[..4]);
        for _ in 0..1_000 {
            input.add(&request[4..]);
            input.add(&request[..4]);
            assert!(matches!(input.head(Limits::default()), Ok(Some(_))));
            assert!(matches!(input.head(Limits::default()), Ok(None)));
        }
        assert_eq!(input.rest(), &request[..4]);
        assert!(input.bytes.capacity() < 1_024);
    }

    #[test]
    fn empty_lines_before_a_request_are_not_kept_to_be_scanned_again() {
        let mut input = Input::default();
        for piece in [&b"\r\n"[..], b"\n", b"\r", b"\n\r\n"].repeat(1_000) {
            input.add(piece);
            assert!(matches!(input.head(Limits::default()), Ok(None)));
            assert!(input.rest().len() < 2, "{:?}", input.rest());
        }
        input.add(b"\r\nGET / HTTP/1.1\r\n\r\n");
        assert!(matches!(input.head(Limits::default()), Ok(Some(_))));
    }
}
