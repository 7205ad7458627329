//! A timer for tokio with microsecond precision.

use crate::clock::Nanos;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use std::io;
use std::os::fd::OwnedFd;
use tokio::io::unix::AsyncFd;

/// A timerfd registered with tokio, whose own timer counts in milliseconds.
pub(super) struct Timer(AsyncFd<OwnedFd>);

impl Timer {
    // AsyncFd::new is deprecated because a type could swap its descriptor; OwnedFd cannot.
    #[expect(deprecated)]
    pub(super) fn new() -> io::Result<Self> {
        let fd = timerfd_create(
            TimerfdClockId::Monotonic,
            TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC,
        )?;
        Ok(Self(AsyncFd::new(fd)?))
    }

    pub(super) async fn until(&self, when: Nanos, now: Nanos) -> io::Result<()> {
        if when <= now {
            return Ok(());
        }
        let delta = when - now;
        let value = Timespec {
            tv_sec: (delta / 1_000_000_000) as i64,
            tv_nsec: (delta % 1_000_000_000) as i64,
        };
        let never = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        timerfd_settime(
            self.0.get_ref(),
            TimerfdTimerFlags::empty(),
            &Itimerspec {
                it_interval: never,
                it_value: value,
            },
        )?;
        loop {
            let mut guard = self.0.readable().await?;
            let mut expirations = [0; 8];
            match rustix::io::read(self.0.get_ref(), &mut expirations) {
                Ok(_) => return Ok(()),
                Err(rustix::io::Errno::AGAIN) => guard.clear_ready(),
                Err(error) => return Err(error.into()),
            }
        }
    }
}
