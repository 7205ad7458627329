//! A timer that wakes the event loop with microsecond precision.
//!
//! The time-out of epoll counts in milliseconds, too coarse for a plan of 20,000 requests per
//! second; a timerfd counts in nanoseconds.

use crate::clock::{Nanos, expire_in};
use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use rustix::time::{TimerfdClockId, TimerfdFlags, timerfd_create};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// A one-shot timer.
#[derive(Debug)]
pub(crate) struct Timer {
    fd: OwnedFd,
    armed_for: Nanos,
}

impl Timer {
    pub(crate) fn new(registry: &Registry, token: Token) -> io::Result<Self> {
        let fd = timerfd_create(
            TimerfdClockId::Monotonic,
            TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC,
        )?;
        registry.register(&mut SourceFd(&fd.as_raw_fd()), token, Interest::READABLE)?;
        Ok(Self {
            fd,
            armed_for: u64::MAX,
        })
    }

    /// Arms the timer for `when`, unless it is already armed for that time.
    pub(crate) fn arm(&mut self, when: Nanos, now: Nanos) -> io::Result<()> {
        if when == self.armed_for || when == u64::MAX {
            return Ok(());
        }
        expire_in(&self.fd, when.saturating_sub(now).max(1))?;
        self.armed_for = when;
        Ok(())
    }
}
