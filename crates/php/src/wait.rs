//! Waiting inside a task, and why a wait ends early.

use std::ffi::c_int;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use php_sys as sys;

use crate::host::{host, is_forked, on_engine_thread};
use crate::task::{TaskCell, current};

/// Why a wait ends early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancel {
    /// The request took longer than it may.
    Timeout(Duration),
    /// It has computed for longer than it may (`set_time_limit()`).
    Computed(Duration),
    /// The client hung up.
    ClientGone,
    /// `Task::cancel()`, or the request of this child has ended.
    Task,
    /// The server stops.
    Stop,
}

impl Cancel {
    fn message(self) -> String {
        match self {
            Cancel::Timeout(limit) => {
                format!(
                    "The request took longer than its time limit of {} s (request.timeout)",
                    limit.as_secs_f64()
                )
            }
            Cancel::Computed(limit) => {
                format!(
                    "Maximum execution time of {} s exceeded (set_time_limit())",
                    limit.as_secs_f64()
                )
            }
            Cancel::ClientGone => "The client closed the connection".to_owned(),
            Cancel::Task => "The task was cancelled".to_owned(),
            Cancel::Stop => "The server is stopping".to_owned(),
        }
    }
}

/// A wait was ended early; a PHP exception that says so is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cancelled;

/// Is a PHP exception on its way up? Then what runs is a clean-up, and must not take long.
pub fn is_unwinding() -> bool {
    // SAFETY: reads a flag of the engine.
    unsafe { sys::hearth_is_unwinding() }
}

/// A wait of the running task on this descriptor was ended early: the answer to a question may still come there. C code
/// that asked does not always say so (the end of a statement cannot), so a connection pool looks here.
pub fn note_interrupted(fd: c_int) {
    if on_engine_thread() {
        // SAFETY: this is the engine's thread, which alone has the list and the current task.
        unsafe { sys::hearth_note_interrupted(fd) }
    }
}

/// Nothing comes on this descriptor any more. What other threads close was never asked a question by a task.
pub fn descriptor_closed(fd: c_int) {
    if on_engine_thread() {
        // SAFETY: this is the engine's thread, which alone has the list.
        unsafe { sys::hearth_descriptor_closed(fd) }
    }
}

/// Marks that Rust runs on the task's stack, so that libc hooks let its calls pass.
pub(crate) struct HookBypass(bool);

impl HookBypass {
    pub(crate) fn enter() -> HookBypass {
        // SAFETY: sets a flag of the current task, if any.
        HookBypass(unsafe { sys::hearth_busy(true) })
    }

    /// The opposite: for calls by which Rust waits as PHP's libraries do.
    pub(crate) fn leave() -> HookBypass {
        // SAFETY: clears a flag of the current task, if any.
        HookBypass(unsafe { sys::hearth_busy(false) })
    }
}

impl Drop for HookBypass {
    fn drop(&mut self) {
        // SAFETY: sets the flag of the current task, if any, to what it was.
        unsafe { sys::hearth_busy(self.0) };
    }
}

/// Whether the engine is at a place at which another task may run.
pub(crate) fn may_leave() -> bool {
    // SAFETY: reads flags of the engine.
    unsafe { sys::hearth_may_suspend() }
}

fn take_cancel(cell: &TaskCell) -> bool {
    let Some(why) = cell.cancel.take() else {
        return false;
    };
    let kind = if matches!(why, Cancel::Timeout(_) | Cancel::Computed(_)) {
        sys::HEARTH_THROW_TIMEOUT
    } else {
        sys::HEARTH_THROW_CANCELLED
    };
    throw(kind, &why.message());
    true
}

pub(crate) fn throw(kind: c_int, message: &str) {
    // SAFETY: called on a task's stack below a PHP function, where an exception may be raised.
    unsafe { sys::hearth_throw(kind, sys::hearth_str::new(message.as_bytes())) };
}

/// Raise a PHP `Error` in the task that runs.
pub fn throw_error(message: &str) {
    throw(sys::HEARTH_THROW_ERROR, message);
}

/// Where the task that runs must not be left, how long its calls may block: as long as its request may take yet, half of
/// the grace after that, [`Duration::MAX`] without a limit. `None` elsewhere.
pub fn stays() -> Option<Duration> {
    // SAFETY: reads thread-local and engine flags.
    if !unsafe { sys::hearth_must_stay() } || is_forked() {
        return None;
    }
    let cell = current();
    let request = cell.as_ref().and_then(|cell| cell.request.as_ref());
    Some(request.map_or(Duration::MAX, |request| host().time_to_block(request)))
}

/// The task that runs has blocked for so long: it gets the error that its request's time is over.
pub fn stayed_too_long() {
    let _busy = HookBypass::enter();
    let Some(cell) = current() else { return };
    let request = cell.request.as_ref();
    if let Some(why) = request.and_then(|request| host().blocked_too_long(request)) {
        tell_overdue(&cell, why);
    }
    take_cancel(&cell);
}

/// Raise the error that a task cannot wait here.
pub fn refuse_wait() {
    let _busy = HookBypass::enter();
    // SAFETY: raises an exception, as `throw` does.
    unsafe { sys::hearth_refuse_wait() };
}

/// Wait for `future` on the stack of the task that runs: to the PHP code it is a call that blocks.
///
/// When the task is cancelled meanwhile, or the engine is at a place at which a task must not be left, the exception is
/// under way and the future is dropped.
pub fn wait<F: Future>(future: F) -> Result<F::Output, Cancelled> {
    let cell = current().expect("wait is called in a task");
    let _busy = HookBypass::enter();
    let mut future = pin!(future);
    loop {
        if take_cancel(&cell) {
            return Err(Cancelled);
        }
        // SAFETY: null, or the waker of the poll that resumed this task and lasts until the task suspends.
        let waker = unsafe { cell.polling.get().as_ref() }.unwrap_or(Waker::noop());
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(waker)) {
            return Ok(value);
        }
        if is_forked() {
            throw_error("A forked process cannot wait for tasks and timers of its parent");
            return Err(Cancelled);
        }
        if !may_leave() {
            refuse_wait();
            return Err(Cancelled);
        }
        cell.note_waker(waker);
        // SAFETY: we are on the stack of the current task, in a call that may wait, and hold no borrow that others need.
        unsafe { sys::hearth_task_suspend() };
    }
}

/// From any thread: let the task that runs look for a cancellation at the VM's next check.
pub fn interrupt() {
    // SAFETY: stores one atomic flag.
    unsafe { sys::hearth_interrupt() }
}

pub(crate) fn on_interrupt() {
    let Some(cell) = current() else { return };
    if let Some(seconds) = host().cpu_time_over() {
        // SAFETY: sets flags of the engine, on whose thread this is.
        unsafe { sys::hearth_time_out(i64::from(seconds)) };
    }
    if let Some(request) = &cell.request {
        host().interrupted(request);
    }
    note_overdue(&cell);
    take_cancel(&cell);
}

fn note_overdue(cell: &TaskCell) {
    let request = cell.request.as_ref();
    if let Some(why) = request.and_then(|request| host().overdue(request)) {
        tell_overdue(cell, why);
    }
}

/// Those below too, and the one that the request began with: else a loop that begins tasks which nothing awaits would go on, and
/// only one of these would end.
fn tell_overdue(cell: &TaskCell, why: Cancel) {
    cell.cancel.set(Some(why));
    for outer in crate::task::below() {
        outer.cancel.set(Some(why));
    }
    if let Some(first) = crate::task::first_of_request() {
        first.cancel(why);
    }
}

/// An exception with that message leaves the running task's call. True if it is what the task was to be told: then it is told.
pub(crate) fn on_told(message: &[u8]) -> bool {
    let Some(cell) = current() else { return false };
    let is_told = cell
        .cancel
        .get()
        .is_some_and(|why| why.message().as_bytes() == message);
    if is_told {
        cell.cancel.set(None);
    }
    is_told
}
