//! One monotonic clock per run, in nanoseconds since the run's epoch.
//!
//! All times are compared as integers; the clock is read once per system call.

use rustix::time::{
    ClockId, Itimerspec, TimerfdTimerFlags, Timespec, clock_gettime, timerfd_settime,
};
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// Nanoseconds since the epoch of a run.
pub(crate) type Nanos = u64;

/// The clock of a run; copies share the epoch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    epoch: Instant,
}

impl Clock {
    /// Returns a clock that starts at zero, now.
    pub(crate) fn start() -> Self {
        Self {
            epoch: Instant::now(),
        }
    }

    /// Returns the time since the epoch.
    #[inline]
    pub(crate) fn now(self) -> Nanos {
        nanos(self.epoch.elapsed())
    }
}

/// Converts a duration to nanoseconds; saturates after five centuries.
pub(crate) fn nanos(duration: Duration) -> Nanos {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn cpu(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}

/// Returns the processor time that the calling thread has used.
pub(crate) fn thread_cpu() -> Duration {
    cpu(ClockId::ThreadCPUTime)
}

/// Returns the processor time that this process has used.
pub(crate) fn process_cpu() -> Duration {
    cpu(ClockId::ProcessCPUTime)
}

/// Makes a timerfd expire once, after `delta`.
pub(crate) fn expire_in(timer: &OwnedFd, delta: Nanos) -> io::Result<()> {
    let at = |delta: Nanos| Timespec {
        tv_sec: (delta / 1_000_000_000) as i64,
        tv_nsec: (delta % 1_000_000_000) as i64,
    };
    let once = Itimerspec {
        it_interval: at(0),
        it_value: at(delta),
    };
    timerfd_settime(timer, TimerfdTimerFlags::empty(), &once)?;
    Ok(())
}
