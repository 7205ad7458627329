//! A timer for tokio with microsecond precision.

use crate::clock::{Nanos, expire_in};
use rustix::time::{TimerfdClockId, TimerfdFlags, timerfd_create};
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
        expire_in(self.0.get_ref(), when - now)?;
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
