//! The life of one request: connect, shake hands, send, receive, judge.

use super::slot::State;
use super::{Token, Worker};
use crate::clock::Nanos;
use crate::control::Phase;
use crate::http1::{Keep, Progress};
use crate::record::{Answer, ClosedBy, Times};
use crate::target::Address;
use crate::transport::Transport;
use measure::{ErrorClass, KeepAlive};
use rustix::io::Errno;
use std::cmp::Reverse;
use std::io;
use std::net::{IpAddr, Ipv4Addr};

/// Loopback source addresses used when every request has a connection of its own.
pub(crate) const SOURCES: usize = 16;

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

    pub(super) fn connect(&mut self, index: usize) {
        let now = self.now();
        let source = self.source();
        let slot = &mut self.slots[index];
        slot.connect_began = now;
        slot.served = 0;
        let made = Transport::connect(&self.plan.target.address, source, self.plan.tls.as_ref())
            .and_then(|mut transport| {
                transport
                    .register(self.poll.registry(), Token(index))
                    .map(|()| transport)
            });
        match made {
            Ok(transport) => {
                slot.transport = Some(transport);
                slot.state = State::Connecting;
            }
            // A Unix socket whose queue is full says so at once instead of waiting.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                slot.state = State::Retry;
                self.later.push(Reverse((now + 1_000_000, index)));
            }
            Err(error) => self.fail(index, connect_class(&error), &error.to_string(), now),
        }
    }

    /// Many short connections to loopback come from several addresses, or ports run out.
    fn source(&mut self) -> Option<IpAddr> {
        let Address::Tcp(address) = &self.plan.target.address else {
            return None;
        };
        let IpAddr::V4(to) = address.ip() else {
            return None;
        };
        if self.plan.keep_alive == KeepAlive::On || !to.is_loopback() {
            return None;
        }
        self.next_source += 1;
        Some(IpAddr::V4(Ipv4Addr::new(
            127,
            0,
            0,
            1 + (self.next_source % SOURCES) as u8,
        )))
    }

    /// Something happened on a slot's socket.
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

    fn on_connected(&mut self, index: usize) {
        let now = self.now();
        let slot = &mut self.slots[index];
        let Some(transport) = &slot.transport else {
            return;
        };
        let problem = transport.connect_error().unwrap_or_else(Some);
        if let Some(error) = problem {
            return self.fail(index, connect_class(&error), &error.to_string(), now);
        }
        slot.failures = 0;
        slot.handshake_began = now;
        let is_tls = transport.is_tls();
        self.recorder.tally.opened += 1;
        self.recorder.tally.connect.record(now - slot.connect_began);
        if is_tls {
            slot.state = State::Handshaking;
            self.on_handshake(index);
        } else {
            slot.times.sent = now;
            self.send(index);
        }
    }

    fn on_handshake(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        let Some(transport) = &mut slot.transport else {
            return;
        };
        let over = transport.handshake(&mut self.raw);
        let now = self.now();
        match over {
            Ok(false) => {}
            Ok(true) => {
                let slot = &mut self.slots[index];
                self.recorder.tally.tls.record(now - slot.handshake_began);
                if self.recorder.tally.tls_session.is_none() {
                    self.recorder.tally.tls_session =
                        slot.transport.as_ref().and_then(Transport::session);
                }
                slot.times.sent = now;
                self.send(index);
            }
            Err(error) => self.fail(index, ErrorClass::Tls, &error.to_string(), now),
        }
    }

    /// Writes the request, or what is left of it.
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

    /// Reads what is there; the answer may be complete after it.
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

    /// Takes bytes of one answer, or of several that were pipelined; false if the request is over.
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
            let text = format!("closed after {} bytes of body", slot.reader.body_bytes);
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

    /// A connection without a request: the server closes it, or says something unasked.
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

    /// An answer is complete: it is judged and counted.
    fn count(&mut self, index: usize, now: Nanos) {
        let slot = &mut self.slots[index];
        slot.times.end = now;
        slot.served += 1;
        slot.awaited -= 1;
        self.in_flight -= 1;
        let answer = Answer {
            status: slot.reader.status,
            head_bytes: slot.reader.head_bytes,
            body_bytes: slot.reader.body_bytes,
            reused: slot.reused,
        };
        // What began in the warm-up belongs to nothing.
        if slot.times.started >= self.began {
            slot.answered += 1;
            slot.longest = slot.longest.max(now - slot.times.started);
            let verdict = self.plan.expect.judge(&slot.reader);
            let strange = self.plan.expect.wants_same_length()
                && *self.first_length.get_or_insert(answer.body_bytes) != answer.body_bytes;
            match verdict.or(strange.then_some(ErrorClass::BodyMismatch)) {
                None => self.recorder.good(slot.times, answer),
                Some(class) => {
                    self.recorder
                        .unexpected(class, slot.times, answer, &slot.reader.body)
                }
            }
        }
        if self.plan.cookie_jar {
            slot.learn_cookies();
        }
        if !self.seen_head {
            self.seen_head = true;
            self.recorder.tally.server_header = slot.header("server");
        }
    }

    /// The last answer that was awaited is complete.
    fn complete(&mut self, index: usize, now: Nanos, closing: bool) {
        self.count(index, now);
        let slot = &mut self.slots[index];
        let limit = match self.plan.keep_alive {
            KeepAlive::On => u64::MAX,
            KeepAlive::Off => 1,
            KeepAlive::Requests(n) => n,
        };
        slot.state = State::Idle;
        if slot.served >= limit {
            self.close(index, ClosedBy::Client);
        } else if closing || !slot.reader.keep_alive {
            self.close(index, ClosedBy::Server);
        }
        self.next(index, now, false);
        self.start_planned(now);
    }

    /// The request has failed.
    pub(super) fn fail(&mut self, index: usize, class: ErrorClass, text: &str, now: Nanos) {
        let slot = &mut self.slots[index];
        slot.times.end = now;
        let lost = std::mem::take(&mut slot.awaited);
        self.in_flight -= lost;
        if slot.times.started >= self.began {
            slot.longest = slot.longest.max(now - slot.times.started);
            for _ in 0..lost {
                self.recorder.lost(class, slot.times, slot.reused, text);
            }
            self.recorder
                .partial_bytes(slot.reader.head_bytes, slot.reader.body_bytes);
        }
        let connecting = class.is_connect() || class == ErrorClass::Tls;
        slot.failures = if connecting { slot.failures + 1 } else { 0 };
        if slot.transport.is_some() && slot.state != State::Connecting {
            self.close(index, ClosedBy::Error);
        } else {
            slot.transport = None;
            slot.state = State::Closed;
        }
        self.next(index, now, connecting);
    }

    fn close(&mut self, index: usize, by: ClosedBy) {
        let slot = &mut self.slots[index];
        slot.transport = None;
        slot.state = State::Closed;
        self.recorder.closed(by, slot.served);
        slot.served = 0;
    }

    /// Fails the requests that are over their time.
    pub(super) fn expire(&mut self, now: Nanos) {
        let limit = crate::clock::nanos(self.plan.timeout);
        for index in 0..self.slots.len() {
            let slot = &self.slots[index];
            if !slot.state.is_busy() || now.saturating_sub(slot.times.started) < limit {
                continue;
            }
            let class = if slot.state.is_opening() {
                ErrorClass::ConnectTimeout
            } else {
                ErrorClass::Timeout
            };
            let text = format!(
                "no whole answer within {} s",
                self.plan.timeout.as_secs_f64()
            );
            self.later.retain(|Reverse((_, other))| *other != index);
            self.fail(index, class, &text, now);
        }
    }

    /// The run is over: whatever is in flight was never answered.
    pub(super) fn abandon(&mut self, index: usize, now: Nanos) {
        let slot = &mut self.slots[index];
        if slot.state.is_busy() && slot.times.started >= self.began && self.phase != Phase::Warm {
            slot.longest = slot.longest.max(now.saturating_sub(slot.times.started));
            for _ in 0..slot.awaited {
                self.recorder
                    .unfinished(slot.times.planned, slot.times.started, now);
            }
        }
    }
}

/// Which failure to connect it was.
pub(crate) fn connect_class(error: &io::Error) -> ErrorClass {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::CONNREFUSED | Errno::NOENT) => ErrorClass::ConnectRefused,
        Some(Errno::TIMEDOUT) => ErrorClass::ConnectTimeout,
        Some(Errno::ADDRNOTAVAIL) => ErrorClass::NoLocalPort,
        Some(Errno::MFILE | Errno::NFILE) => ErrorClass::NoFileDescriptor,
        _ => ErrorClass::ConnectFailed,
    }
}
