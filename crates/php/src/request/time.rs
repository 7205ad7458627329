//! The time limits of a request: in all, and of computing.

use super::Request;
use crate::wait::Cancel;

/// A limit of computing time, in milliseconds of the host's clock.
#[derive(Debug, Clone, Copy)]
pub(super) struct Computing {
    limit: u64,
    used: u64,
    since: Option<u64>,
}

impl Computing {
    fn used_at(self, now: u64) -> u64 {
        let running = self.since.map_or(0, |since| now.saturating_sub(since));
        self.used.saturating_add(running)
    }
}

impl Request {
    /// When the request counts as slow, in the host's milliseconds; `u64::MAX` is never.
    pub fn slow_at(&self) -> u64 {
        self.slow_at.get()
    }

    pub fn set_slow_at(&self, time: u64) {
        self.slow_at.set(time);
    }

    /// When the request's time is over, in the host's milliseconds; `u64::MAX` is never.
    pub fn deadline(&self) -> u64 {
        self.deadline.get()
    }

    pub fn set_deadline(&self, deadline: u64) {
        self.deadline.set(deadline);
    }

    /// The number of notices after which the worker of a request that goes on is replaced.
    pub const IGNORED_NOTICES: u32 = 3;

    /// Counts one more notice to the request that its time is over. Returns the number of notices, this one included.
    pub fn notify_overdue(&self, why: Cancel) -> u32 {
        self.overdue.set(Some(why));
        self.notices.set(self.notices.get().saturating_add(1));
        self.notices.get()
    }

    /// Whether the request has ignored the notices too often: no worker waits for its end.
    pub fn is_given_up(&self) -> bool {
        self.notices.get() > Request::IGNORED_NOTICES
    }

    /// Why the request's time is over, if the timeout error was raised.
    pub fn overdue(&self) -> Option<Cancel> {
        self.overdue.get()
    }

    /// When the request's time is over if its code runs on from `now`: by the deadline or the limit of computing.
    pub fn ends(&self, now: u64) -> u64 {
        let left = |computing: Computing| computing.limit.saturating_sub(computing.used_at(now));
        let computing = self.computing.get().map(left);
        self.deadline()
            .min(computing.map_or(u64::MAX, |left| now.saturating_add(left)))
    }

    /// Lets the code compute for `limit` milliseconds from here on; `None` is no limit. Called while the code runs.
    pub fn limit_computing(&self, limit: Option<u64>, now: u64) {
        let limited = |limit| Computing {
            limit,
            used: 0,
            since: Some(now),
        };
        self.computing.set(limit.map(limited));
    }

    /// Starts the clock of computing. Returns until when the code may run at the latest.
    #[inline]
    pub fn resumes_computing(&self, now: impl FnOnce() -> u64) -> u64 {
        let Some(computing) = self.computing.get() else {
            return self.deadline();
        };
        let now = now();
        let since = Some(now);
        self.computing.set(Some(Computing { since, ..computing }));
        let left = computing.limit.saturating_sub(computing.used);
        self.deadline().min(now.saturating_add(left))
    }

    /// Stops the clock of computing.
    #[inline]
    pub fn pauses_computing(&self, now: impl FnOnce() -> u64) {
        if let Some(computing) = self.computing.get() {
            let used = computing.used_at(now());
            let since = None;
            let paused = Computing {
                used,
                since,
                ..computing
            };
            self.computing.set(Some(paused));
        }
    }

    /// The limit in milliseconds, if the code is running and has used it up.
    pub fn computed_too_long(&self, now: u64) -> Option<u64> {
        let computing = self.computing.get()?;
        let is_over = computing.since.is_some() && computing.used_at(now) >= computing.limit;
        is_over.then_some(computing.limit)
    }
}
