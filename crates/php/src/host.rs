//! What the engine needs from the process around it.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::io::Write as _;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::engine::Level;
use crate::request::Request;
use crate::task::{TaskCell, current};
use crate::wait::{Cancel, HookBypass};

/// A timer that can be set again and again.
pub trait Alarm {
    /// Sets the alarm to go off after `time` from now, whatever it was set to before.
    fn set(&mut self, time: Duration);
    /// Ready when the alarm has gone off; else wakes `context` then.
    fn poll_over(&mut self, context: &mut Context<'_>) -> Poll<()>;
}

/// The process around the engine.
pub trait Host {
    /// A task that was started by another has begun to wait for the first time.
    fn task_began(&self);
    /// A task that was counted by [`task_began`](Host::task_began) has ended.
    fn task_ended(&self);
    /// Polls `future` until it is ready, if ever.
    fn spawn(&self, future: Pin<Box<dyn Future<Output = ()>>>);
    /// Makes a timer that is not set.
    fn alarm(&self) -> Box<dyn Alarm>;
    /// Writes a line to the log; `request` is the id of the request that it is about, 0 for none.
    fn log(&self, level: Level, message: &str, request: u64);
    /// Takes what PHP code reports that the host has called with [`call_pools`](crate::call_pools).
    fn report(&self, text: &str);
    /// A task ended in a fatal error, so this process has to be replaced.
    fn broken(&self);
    /// This process cannot serve any longer, for this reason, and has to be replaced after the requests that it has. With
    /// `at_once` it also begins no further request until its successor is ready.
    fn leave(&self, reason: &str, at_once: bool);
    /// The task that forked this process has ended in it, or waits. Such a process has no other work, and ends with `status`.
    fn left_fork(&self, status: i32);
    /// Starts a timer of PHP: runs `timer_task(id)` after `time`, once or repeatedly.
    fn timer(&self, id: u64, time: Duration, repeat: bool);
    /// Stops that timer; false if there is none.
    fn timer_stop(&self, id: u64) -> bool;
    /// `set_time_limit()`: the code of `request` may run for `limit` from now on, waits not counted; zero is no limit.
    fn time_limit(&self, request: &Request, limit: Duration);
    /// Classic mode: the running script may use this many seconds of CPU time from now on; zero is no limit.
    fn cpu_limit(&self, seconds: u32);
    /// The limit in seconds if the running script has used up its CPU time. Asked at the VM's interrupts; returned once.
    fn cpu_time_over(&self) -> Option<u32>;
    /// Task `intruder` was refused a connection that task `owner` uses and waits on. If both have sent something on it, the
    /// owner of the next answer is unknown.
    fn two_tasks(&self, owner: u64, intruder: u64);
    /// Whether another task waits on that descriptor. If so, a PHP exception has been thrown.
    fn refuses(&self, fd: i32) -> bool;
    /// The number of library locks that this thread holds. While it is not 0, no task is suspended.
    fn locks_held(&self) -> usize;
    /// Counts only the first `count` locks from here on, because a task has ended without unlocking the others. Returns the
    /// number of these.
    fn forget_locks(&self, count: usize) -> usize;
    /// Releases the locks, semaphores and connections of a task that a fatal error has ended. If that is its request's own task, `request` is
    /// not 0, and those of the request's tasks that `has_ended` tells are released too.
    fn release_held(&self, task: u64, request: u64, has_ended: &dyn Fn(u64) -> bool);
    /// Forgets what the request holds, which has ended otherwise.
    fn forget_held(&self, request: u64);
    /// A task is about to run on a runner's poll; `request` is the request that it belongs to, if any.
    fn resumes(&self, request: Option<&Request>);
    /// That task waits again, or has ended.
    fn left(&self, request: Option<&Request>);
    /// How long a call of this request may block the whole process; [`Duration::MAX`] without a limit. `must_finish`: half of
    /// the grace longer.
    fn time_to_block(&self, request: &Request, must_finish: bool) -> Duration;
    /// Returns why a call that has blocked for [`time_to_block`](Host::time_to_block) ends.
    fn blocked_too_long(&self, request: &Request) -> Option<Cancel>;
    /// The code of this request is at an interrupt of the VM.
    fn interrupted(&self, request: &Request);
    /// Returns why the running request must end if its time is over. Asked at the VM's interrupts.
    fn overdue(&self, request: &Request) -> Option<Cancel>;
}

thread_local! {
    static HOST: Cell<Option<&'static dyn Host>> = const { Cell::new(None) };
    static FORKED: Cell<bool> = const { Cell::new(false) };
    /// The task that forked this process.
    static FORKING: Cell<*const TaskCell> = const { Cell::new(std::ptr::null()) };
    /// Timers that the app set during boot; they start when a host is installed.
    static EARLY_TIMERS: RefCell<Vec<(u64, Duration, bool)>> = const { RefCell::new(Vec::new()) };
}

/// Sets the host of this thread, which runs PHP.
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

/// Whether this thread runs PHP, now or later.
pub fn on_engine_thread() -> bool {
    HOST.get().is_some()
}

/// Marks this process as a child that PHP code forked: it blocks where it would have waited, and the parent's other tasks do
/// not run in it.
pub fn forked() {
    FORKED.set(true);
    FORKING.set(current().map_or(std::ptr::null(), |cell| Rc::as_ptr(&cell)));
}

/// Whether this is a process that PHP code forked, in the running of this task.
pub(crate) fn is_forked_by(task: &TaskCell) -> bool {
    is_forked() && std::ptr::eq(FORKING.get(), task)
}

/// Whether a library holds a lock on this thread.
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

/// Writes a line to the log, or to the terminal while there is no host.
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
