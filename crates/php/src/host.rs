//! What the process around the engine provides.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::io::Write as _;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::engine::Level;
use crate::request::Request;
use crate::wait::{Cancel, HookBypass};

/// A timer that can be set again and again.
pub trait Alarm {
    /// To go off after `time` from now, whatever it was set to before.
    fn set(&mut self, time: Duration);
    /// Has it gone off? Else it wakes who asks.
    fn poll_over(&mut self, context: &mut Context<'_>) -> Poll<()>;
}

/// The process around the engine, as the engine sees it.
pub trait Host {
    /// A task that another has started waits for the first time.
    fn task_began(&self);
    /// Such a task has ended.
    fn task_ended(&self);
    /// Poll this to its end, if it has one.
    fn spawn(&self, future: Pin<Box<dyn Future<Output = ()>>>);
    /// A timer that is not set.
    fn alarm(&self) -> Box<dyn Alarm>;
    /// A line for the log; `request` is the id of the request that it is about, 0 for none.
    fn log(&self, level: Level, message: &str, request: u64);
    /// What PHP code that the host called with [`call_pools`](crate::call_pools) has to say to it.
    fn report(&self, text: &str);
    /// A task ended in a fatal error: the process is to be replaced.
    fn broken(&self);
    /// This process cannot serve any longer, for this reason: it is to be replaced after what it has; `at_once`: it serves nothing until
    /// its successor is ready either.
    fn leave(&self, reason: &str, at_once: bool);
    /// A task ended in a process that PHP code forked: such a process has no other work.
    fn left_fork(&self);
    /// A timer for PHP: run `timer_task(id)` after `time`, once or again and again.
    fn timer(&self, id: u64, time: Duration, repeat: bool);
    /// Stop that timer; false if there is none.
    fn timer_stop(&self, id: u64) -> bool;
    /// `set_time_limit()`: the code of the request that runs may run so long from now on, waits not counted; zero is no limit.
    fn time_limit(&self, request: &Request, limit: Duration);
    /// Classic mode: the script that runs may use this number of seconds of CPU time from now on; zero is no limit.
    fn cpu_limit(&self, seconds: u32);
    /// Has the script that runs used up its CPU time, of this number of seconds? Asked at the VM's interrupts, and true once.
    fn cpu_time_over(&self) -> Option<u32>;
    /// Task `intruder` was refused what task `owner` uses and waits on: where both have sent something, it is unknown whose
    /// answer comes next.
    fn two_tasks(&self, owner: u64, intruder: u64);
    /// Does another task wait on that descriptor? Then an exception is under way.
    fn refuses(&self, fd: i32) -> bool;
    /// How many locks of libraries this thread holds: while it holds one, no task is left.
    fn locks_held(&self) -> usize;
    /// What ended left locks behind: count only `count` of them from here on. The number of the others.
    fn forget_locks(&self, count: usize) -> usize;
    /// A task of this request, if it is one of a request, is about to run on a runner's poll.
    fn resumes(&self, request: Option<&Request>);
    /// It waits again, or has ended.
    fn left(&self, request: Option<&Request>);
    /// How long a call of this request may block everything else; [`Duration::MAX`] without a limit.
    fn time_to_block(&self, request: &Request) -> Duration;
    /// A call has blocked for so long: why it ends.
    fn blocked_too_long(&self, request: &Request) -> Option<Cancel>;
    /// The code of this request is at an interrupt of the VM.
    fn interrupted(&self, request: &Request);
    /// Has the request that runs used up its time? Asked at the VM's interrupts.
    fn overdue(&self, request: &Request) -> Option<Cancel>;
}

thread_local! {
    static HOST: Cell<Option<&'static dyn Host>> = const { Cell::new(None) };
    static FORKED: Cell<bool> = const { Cell::new(false) };
    /// Timers that the app set while it was booted: they begin when there is a host.
    static EARLY_TIMERS: RefCell<Vec<(u64, Duration, bool)>> = const { RefCell::new(Vec::new()) };
}

/// Set the host of this thread, the one that runs PHP.
///
/// # Panics
/// On another thread than the one that booted the engine.
pub fn install(host: &'static dyn Host) {
    crate::engine_thread::require();
    HOST.set(Some(host));
    for (id, time, repeat) in EARLY_TIMERS.take() {
        host.timer(id, time, repeat);
    }
}

/// Is this the thread that runs PHP, or will?
pub fn on_engine_thread() -> bool {
    HOST.get().is_some()
}

/// PHP code has forked and this is the child: from now on it blocks where it would have waited, and the parent's other
/// tasks do not run here.
pub fn forked() {
    FORKED.set(true);
}

/// Does a library hold a lock on this thread?
pub(crate) fn holds_lock() -> bool {
    HOST.get().is_some_and(|host| host.locks_held() > 0)
}

pub(crate) fn is_forked() -> bool {
    FORKED.get()
}

pub(crate) fn start_timer(id: u64, time: Duration, repeat: bool) {
    match HOST.get() {
        Some(host) => host.timer(id, time, repeat),
        None => EARLY_TIMERS.with_borrow_mut(|timers| timers.push((id, time, repeat))),
    }
}

pub(crate) fn stop_timer(id: u64) -> bool {
    match HOST.get() {
        Some(host) => host.timer_stop(id),
        None => EARLY_TIMERS.with_borrow_mut(|timers| {
            let before = timers.len();
            timers.retain(|(known, ..)| *known != id);
            timers.len() < before
        }),
    }
}

/// A line for the log, or for the terminal while there is no host yet.
pub(crate) fn log(level: Level, message: &str, request: u64) {
    let _busy = HookBypass::enter();
    match HOST.get() {
        Some(host) => host.log(level, message, request),
        None => {
            let _ = writeln!(std::io::stderr(), "hearth: {message}");
        }
    }
}

pub(crate) fn report(text: &str) {
    if let Some(host) = HOST.get() {
        host.report(text);
    }
}

pub(crate) fn host() -> &'static dyn Host {
    HOST.get()
        .expect("php::install was called before any task runs")
}
