//! The process around the engine, as the engine sees it: [`php::Host`].

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::Future;
use std::io::Write as _;
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

use logging::Severity;
use php::{Cancel, Level, Request};
use rustix::time::{ClockId, clock_gettime};
use shm::{Counter, Writer};
use tokio::sync::Notify;
use tokio::task::{AbortHandle, spawn_local};

use crate::io::waiter;
use crate::slow_log::SlowLog;
use http1::now_ms;

/// The host of this process; one per worker or `hearth run`, for the life of the process.
pub(crate) struct ProcessHost {
    timers: RefCell<HashMap<u64, AbortHandle>>,
    pub(crate) board: Option<Rc<Writer>>,
    /// Whether a fatal error has happened, so that the worker must be replaced.
    pub(crate) is_broken: Cell<bool>,
    /// Whether the worker cannot begin another request.
    pub(crate) is_unfit: Cell<bool>,
    /// Whether a request has changed the process for good, its user for example, so that no other may begin.
    pub(crate) is_altered: Cell<bool>,
    /// Whether each request is one life of the engine, whose own time limit counts (classic mode).
    pub(crate) is_classic: Cell<bool>,
    /// Whether the app was made for several requests at once.
    concurrent: bool,
    /// Why this worker is to be replaced although no fatal error has happened.
    pub(crate) leaves: RefCell<Option<String>>,
    /// Notified when `is_broken` or `leaves` changes, or when the worker may have finished what it drains.
    pub(crate) changed: Rc<Notify>,
    /// The last text that PHP reported with `Hearth\Internal\report()`.
    pub(crate) reported: RefCell<Option<String>>,
    /// Whether this worker has closed its pools, because it exits, and reports nothing more about them.
    pub(crate) has_closed_pools: Cell<bool>,
    /// `request.timeout`, for the message about a request that exceeds it.
    time_limit: Duration,
    /// How long a request that was told to stop may go on before it is told again.
    grace: Duration,
    pub(crate) slow: SlowLog,
    cli: bool,
}

/// The shortest grace. Without one, every wait would end at once, even those of a clean-up.
const LEAST_GRACE: Duration = Duration::from_secs(1);

impl ProcessHost {
    /// Makes the host and installs it for this thread.
    pub(crate) fn install(
        board: Option<Rc<Writer>>,
        (time_limit, grace): (Duration, Duration),
        slow: SlowLog,
        concurrent: bool,
        cli: bool,
    ) -> &'static ProcessHost {
        let host: &'static ProcessHost = Box::leak(Box::new(ProcessHost {
            timers: RefCell::default(),
            board,
            is_broken: Cell::new(false),
            is_unfit: Cell::new(false),
            is_altered: Cell::new(false),
            is_classic: Cell::new(false),
            concurrent,
            leaves: RefCell::default(),
            changed: Rc::default(),
            reported: RefCell::default(),
            has_closed_pools: Cell::new(false),
            time_limit,
            grace: grace.max(LEAST_GRACE),
            slow,
            cli,
        }));
        php::install(host);
        // Locks that the app took while it booted do not keep tasks from being suspended.
        hook::forget_locks(0);
        hook::install(&waiter::TokioWaiter);
        host
    }

    /// Returns why this worker is to be replaced although no fatal error has happened, if so.
    pub(crate) fn why_it_leaves(&self) -> Option<String> {
        self.leaves.borrow().clone()
    }

    /// Whether this worker is to get no further request.
    pub(crate) fn is_leaving(&self) -> bool {
        self.is_unfit.get() || self.leaves.borrow().is_some()
    }

    /// Notes that this request's code runs from here on, for the watchdog, and for the supervisor if this worker dies.
    #[inline]
    pub(crate) fn computes(&self, request: &Request) {
        crate::watchdog::slow_at(request.slow_at(), request.id());
        crate::watchdog::running_until(request.resumes_computing(now_ms));
        if let Some(timings) = request.timings() {
            timings.resumes(thread_cpu());
        }
        if let Some(board) = &self.board {
            board.computes(request.id());
        }
    }

    /// Notes that the request's code stops running.
    #[inline]
    pub(crate) fn rests(&self, request: Option<&Request>) {
        crate::watchdog::stopped();
        http1::expire_cached_time();
        if let Some(request) = request {
            request.pauses_computing(now_ms);
            if let Some(timings) = request.timings() {
                timings.pauses(thread_cpu());
            }
        }
        if let Some(board) = &self.board {
            board.rests();
        }
    }

    fn grace_ms(&self) -> u64 {
        u64::try_from(self.grace.as_millis()).unwrap_or(u64::MAX)
    }

    /// Returns why the request's time is over at `now`, if it is. Then the request is told so, and its grace begins.
    fn overdue_at(&self, request: &Request, now: u64) -> Option<Cancel> {
        // The handler may react until the grace is over; then the wait that it is in ends too, and so on. So a handler that
        // catches every exception comes to its end all the same.
        let why = if let Some(limit) = request.computed_too_long(now) {
            request.limit_computing(Some(self.grace_ms()), now);
            Cancel::Computed(Duration::from_millis(limit))
        } else if now >= request.deadline() {
            request.set_deadline(now.saturating_add(self.grace_ms()));
            Cancel::Timeout(self.time_limit)
        } else {
            return None;
        };
        match request.notify_overdue(why) {
            1 => self.count(Counter::Timeouts),
            times if times == Request::IGNORED_NOTICES + 1 => self.give_up(request),
            _ => {}
        }
        Some(why)
    }

    /// Replaces the worker because of a request that was told to stop, but always begins something else: only the end of the
    /// process ends that request.
    fn give_up(&self, request: &Request) {
        let millis = self
            .grace_ms()
            .saturating_mul(Request::IGNORED_NOTICES.into());
        let message = format!(
            "a request still runs {millis} ms after it was told to stop (request.grace): its worker is replaced without waiting for it"
        );
        logging::write(Severity::Warn, request.id(), &message);
        php::Host::leave(self, "a request that does not end", false);
    }

    /// Adds one to a counter of the scoreboard.
    pub(crate) fn count(&self, counter: Counter) {
        if let Some(board) = &self.board {
            board.count(counter, 1);
        }
    }
}

/// Returns the CPU time that this thread has used.
pub(crate) fn thread_cpu() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

async fn fire(id: u64, time: Duration, repeat: bool) {
    // An interval of zero would never let anything else run.
    let period = if repeat {
        time.max(Duration::from_millis(1))
    } else {
        time
    };
    let mut next = tokio::time::Instant::now() + period;
    loop {
        tokio::time::sleep_until(next).await;
        let Some(task) = php::timer_task(id) else {
            return;
        };
        if repeat {
            task.await;
            // Periods that were missed because a callback took longer are skipped.
            next = (next + period).max(tokio::time::Instant::now());
        } else {
            php::timer_forget(id);
            task.await;
            return;
        }
    }
}

impl php::Host for ProcessHost {
    fn task_began(&self) {
        self.count(Counter::Tasks);
    }

    fn task_ended(&self) {
        self.count(Counter::TasksFinished);
    }

    fn spawn(&self, future: Pin<Box<dyn Future<Output = ()>>>) {
        spawn_local(future);
    }

    fn alarm(&self) -> Box<dyn php::Alarm> {
        Box::new(waiter::Alarm::default())
    }

    fn log(&self, level: Level, message: &str, request: u64) {
        if self.cli {
            let _ = writeln!(std::io::stderr(), "{message}");
            return;
        }
        let severity = match level {
            Level::Debug => Severity::Debug,
            Level::Notice => Severity::Info,
            Level::Warning => Severity::Warn,
            Level::Error => Severity::Error,
        };
        if message.starts_with("Uncaught ") {
            self.count(Counter::Exceptions);
        }
        logging::write(severity, request, message);
    }

    fn report(&self, text: &str) {
        self.reported.replace(Some(text.to_owned()));
    }

    fn broken(&self) {
        self.count(Counter::Fatal);
        self.is_broken.set(true);
        // No `finally` ran: an app for one request at a time may have left a transaction open, or a service half changed,
        // and the next request would go on with that. An app for several requests at once does not rely on such state.
        if !self.concurrent || php::heap_is_full() {
            self.is_unfit.set(true);
        }
        self.changed.notify_waiters();
    }

    fn leave(&self, reason: &str, at_once: bool) {
        if at_once {
            self.is_unfit.set(true);
            self.is_altered.set(true);
        }
        *self.leaves.borrow_mut() = Some(reason.to_owned());
        self.changed.notify_waiters();
    }

    fn left_fork(&self, status: i32) {
        if !self.cli {
            hook::exit_now(status);
        }
    }

    fn timer(&self, id: u64, time: Duration, repeat: bool) {
        let handle = spawn_local(fire(id, time, repeat)).abort_handle();
        let mut timers = self.timers.borrow_mut();
        timers.retain(|_, timer| !timer.is_finished());
        timers.insert(id, handle);
    }

    /// Stops a timer. A callback that is running runs to its end; the loop around it then finds that the timer is gone.
    fn timer_stop(&self, id: u64) -> bool {
        self.timers
            .borrow_mut()
            .remove(&id)
            .is_some_and(|timer| !timer.is_finished())
    }

    fn time_limit(&self, request: &Request, limit: Duration) {
        let (now, millis) = (
            now_ms(),
            u64::try_from(limit.as_millis()).unwrap_or(u64::MAX),
        );
        // A longer limit extends the deadline: under php-fpm nothing else ends such a request. A shorter limit does not
        // shorten the deadline, because it does not limit waits.
        request.set_deadline(match limit.is_zero() {
            true => u64::MAX,
            false => request.deadline().max(now.saturating_add(millis)),
        });
        if !self.is_classic.get() {
            request.limit_computing((!limit.is_zero()).then_some(millis), now);
        }
        crate::watchdog::running_until(request.resumes_computing(now_ms));
    }

    fn cpu_limit(&self, seconds: u32) {
        crate::watchdog::cpu_limit(seconds);
    }

    fn cpu_time_over(&self) -> Option<u32> {
        crate::watchdog::cpu_time_over()
    }

    fn two_tasks(&self, owner: u64, intruder: u64) {
        crate::io::descriptors::poison(owner, intruder);
    }

    fn refuses(&self, fd: i32) -> bool {
        // A poisoned descriptor is of no use to any task and may be closed.
        !hook::is_poisoned(fd) && hook::refuses(fd)
    }

    fn locks_held(&self) -> usize {
        hook::locks_held()
    }

    fn forget_locks(&self, count: usize) -> usize {
        hook::forget_locks(count)
    }

    fn release_held(&self, task: u64, request: u64, has_ended: &dyn Fn(u64) -> bool) {
        hook::release_held(task, request, has_ended);
    }

    fn forget_held(&self, request: u64) {
        hook::forget_held(request);
    }

    fn resumes(&self, request: Option<&Request>) {
        if let Some(request) = request {
            self.computes(request);
        }
    }

    fn left(&self, request: Option<&Request>) {
        self.rests(request);
    }

    fn time_to_block(&self, request: &Request, must_finish: bool) -> Duration {
        let now = now_ms();
        let end = request.ends(now);
        if end == u64::MAX {
            return Duration::MAX;
        }
        // The watchdog kills a process that blocks until the grace is over.
        let half = self.grace_ms() / 2;
        let end = match request.overdue() {
            Some(_) => end.saturating_sub(half),
            None if must_finish => end.saturating_add(half),
            None => end,
        };
        // Zero would be no wait.
        Duration::from_millis(end.saturating_sub(now).max(1))
    }

    /// Returns why a call ends that has blocked for `time_to_block`. The clock is a few milliseconds behind, so it may not
    /// show yet that the time is over.
    fn blocked_too_long(&self, request: &Request) -> Option<Cancel> {
        let now = now_ms();
        let now = match request.overdue() {
            None => request.ends(now).max(now),
            Some(_) => now,
        };
        self.overdue_at(request, now).or(request.overdue())
    }

    fn interrupted(&self, request: &Request) {
        self.log_if_slow(request, php::running_trace);
    }

    fn overdue(&self, request: &Request) -> Option<Cancel> {
        self.overdue_at(request, now_ms())
    }
}
