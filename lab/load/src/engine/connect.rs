//! Opening a connection: its source address, TCP or Unix connect, TLS handshake.

use super::slot::State;
use super::{Token, Worker};
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
            // connect(2) to a Unix socket with a full queue fails with EAGAIN at once instead of waiting.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                slot.state = State::Retry;
                self.later.push(Reverse((now + 1_000_000, index)));
            }
            Err(error) => self.fail(index, connect_class(&error), &error.to_string(), now),
        }
    }

    /// Picks the source address: many short connections to loopback come from several addresses, or ports would run out.
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

    pub(super) fn on_connected(&mut self, index: usize) {
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

    pub(super) fn on_handshake(&mut self, index: usize) {
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
}

/// Returns the class of a failure to connect.
pub(crate) fn connect_class(error: &io::Error) -> ErrorClass {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::CONNREFUSED | Errno::NOENT) => ErrorClass::ConnectRefused,
        Some(Errno::TIMEDOUT) => ErrorClass::ConnectTimeout,
        Some(Errno::ADDRNOTAVAIL) => ErrorClass::NoLocalPort,
        Some(Errno::MFILE | Errno::NFILE) => ErrorClass::NoFileDescriptor,
        _ => ErrorClass::ConnectFailed,
    }
}
