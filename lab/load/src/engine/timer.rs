//! A timer that wakes the event loop with microsecond precision.
//!
//! The time-out of epoll counts in milliseconds, too coarse for a plan of 20,000 requests per
//! second; a timerfd counts in nanoseconds.

use crate::clock::Nanos;
use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
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
        let delta = when.saturating_sub(now).max(1);
        let value = Timespec {
            tv_sec: (delta / 1_000_000_000) as i64,
            tv_nsec: (delta % 1_000_000_000) as i64,
        };
        let never = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        timerfd_settime(
            &self.fd,
            TimerfdTimerFlags::empty(),
            &Itimerspec {
                it_interval: never,
                it_value: value,
            },
        )?;
        self.armed_for = when;
        Ok(())
    }
}
