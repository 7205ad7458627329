//! One request on a connection: sending the request and reading its response.

use super::Worker;
use super::slot::State;
use crate::clock::Nanos;
use crate::http1::{Keep, Progress};
use crate::record::{ClosedBy, Times};
use measure::ErrorClass;
use std::io;

impl Worker<'_> {
    /// Begins a request on a free slot.
    pub(super) fn begin_request(&mut self, index: usize, planned: Nanos, now: Nanos) {
        let request = self.picker.pick();
        let slot = &mut self.slots[index];
        slot.request = request;
        slot.written = 0;
        slot.times = Times {
            planned,
            started: now,
            sent: now,
            first: 0,
            end: 0,
        };
        slot.reader.reset();
        slot.awaited = self.plan.streams;
        self.in_flight += slot.awaited;
        self.recorder.tally.started += slot.awaited as u64;
        if self.plan.cookie_jar {
            let cookies = slot.cookies();
            self.plan.requests[request].with_cookies(&cookies, &mut slot.own_bytes);
        }
        if slot.state == State::Idle {
            slot.reused = slot.served > 0;
            self.send(index);
        } else {
            slot.reused = false;
            self.connect(index);
        }
    }

    /// Handles an event of a slot's socket.
    pub(super) fn on_event(&mut self, index: usize, writable: bool, read_closed: bool) {
        match self.slots[index].state {
            State::Connecting if writable => self.on_connected(index),
            State::Handshaking => self.on_handshake(index),
            State::Sending => {
                self.send(index);
                if self.slots[index].state.is_busy() {
                    self.receive(index, read_closed);
                }
            }
            State::Waiting => self.receive(index, read_closed),
            State::Idle => self.on_idle(index),
            State::Connecting | State::Retry | State::Closed => {}
        }
    }

    /// Writes the request, or the rest of it.
    pub(super) fn send(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        let Some(transport) = &mut slot.transport else {
            return;
        };
        let bytes = if self.plan.cookie_jar {
            &slot.own_bytes
        } else {
            &self.plan.requests[slot.request].bytes
        };
        let before = slot.written;
        let result = transport.send(bytes, &mut slot.written);
        self.recorder.tally.sent_bytes += (slot.written - before) as u64;
        match result {
            Ok(true) => slot.state = State::Waiting,
            Ok(false) => slot.state = State::Sending,
            Err(error) => {
                let now = self.now();
                self.fail(index, ErrorClass::Write, &error.to_string(), now);
            }
        }
    }

    /// Reads the bytes that have arrived; they may complete the response.
    fn receive(&mut self, index: usize, read_closed: bool) {
        let mut buffer = std::mem::take(&mut self.buffer);
        self.receive_into(index, read_closed, &mut buffer);
        self.buffer = buffer;
    }

    fn receive_into(&mut self, index: usize, read_closed: bool, buffer: &mut [u8]) {
        loop {
            let slot = &mut self.slots[index];
            let Some(transport) = &mut slot.transport else {
                return;
            };
            let read = transport.read(buffer, &mut self.raw);
            let drained =
                matches!(read, Ok(n) if n < buffer.len()) && !transport.is_tls() && !read_closed;
            let n = match read {
                Ok(0) => return self.on_eof(index),
                Ok(n) => n,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return self.on_read_error(index, &error),
            };
            let now = self.control.clock.now();
            if !self.take(index, &buffer[..n], now, read_closed) || drained {
                return;
            }
        }
    }

    /// Takes bytes of one response, or of several that were pipelined; returns false if the request is over.
    fn take(&mut self, index: usize, mut bytes: &[u8], now: Nanos, read_closed: bool) -> bool {
        while !bytes.is_empty() {
            let slot = &mut self.slots[index];
            if slot.times.first == 0 {
                slot.times.first = now;
            }
            let bodiless = self.plan.requests[slot.request].bodiless;
            let keep = Keep {
                head: self.keep.head || !self.seen_head,
                ..self.keep
            };
            match slot.reader.feed(bytes, bodiless, keep, &mut self.cache) {
                Ok(Progress::Done(used)) if slot.awaited > 1 => {
                    self.count(index, now);
                    let slot = &mut self.slots[index];
                    slot.reader.reset();
                    slot.times.first = 0;
                    bytes = &bytes[used..];
                }
                Ok(Progress::Done(used)) if used == bytes.len() => {
                    self.complete(index, now, read_closed);
                    return false;
                }
                Ok(Progress::Done(used)) => {
                    let over = bytes.len() - used;
                    let text = format!("{over} bytes after the end of the response");
                    self.fail(index, ErrorClass::BadFraming, &text, now);
                    return false;
                }
                Ok(Progress::More) => return true,
                Err(bad) => {
                    self.fail(index, ErrorClass::BadFraming, &bad.0, now);
                    return false;
                }
            }
        }
        true
    }

    fn on_eof(&mut self, index: usize) {
        let now = self.now();
        let slot = &self.slots[index];
        if slot.reader.ends_at_close() {
            self.complete(index, now, true);
        } else if slot.reader.is_fresh() {
            self.fail(index, ErrorClass::EarlyEof, "", now);
        } else {
            let text = format!(
                "connection closed after {} bytes of the body",
                slot.reader.body_bytes
            );
            self.fail(index, ErrorClass::Truncated, &text, now);
        }
    }

    fn on_read_error(&mut self, index: usize, error: &io::Error) {
        let now = self.now();
        let class = match error.kind() {
            io::ErrorKind::InvalidData => ErrorClass::Tls,
            _ if self.slots[index].reader.is_fresh() => ErrorClass::ResetBeforeFirstByte,
            _ => ErrorClass::ResetMidBody,
        };
        self.fail(index, class, &error.to_string(), now);
    }

    /// Handles an event on a connection without a request: the server closes it, or sends bytes unasked.
    fn on_idle(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        let Some(transport) = &mut slot.transport else {
            return;
        };
        match transport.read(&mut self.buffer, &mut self.raw) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
            _ => self.close(index, ClosedBy::Server),
        }
        if self.schedule.is_some() {
            self.closed.push(index);
        }
    }
}
