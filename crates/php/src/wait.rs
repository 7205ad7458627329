//! Waits inside a task, and their cancellation.

use std::ffi::c_int;
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use php_sys as sys;

use crate::host::{host, is_forked, on_engine_thread};
use crate::request::Request;
use crate::task::{TaskCell, current};

/// Why a wait ends early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancel {
    /// The request took longer than its time limit.
    Timeout(Duration),
    /// The request has computed for longer than its limit (`set_time_limit()`).
    Computed(Duration),
    /// The client closed the connection.
    ClientGone,
    /// `Task::cancel()`, or the request of this child task has ended.
    Task,
    /// The server is stopping.
    Stop,
}

impl Cancel {
    /// Whether a file that is included once comes to its end first: the next wait after it is ended then.
    pub(crate) fn lets_files_end(self) -> bool {
        matches!(self, Cancel::ClientGone | Cancel::Task)
    }

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

/// A wait was ended early, and a PHP exception that names the reason has been thrown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cancelled;

/// Whether a PHP exception is propagating. What runs is then a clean-up, which must not take long.
pub fn is_unwinding() -> bool {
    // SAFETY: reads a flag of the engine.
    unsafe { sys::hearth_is_unwinding() }
}

/// Notes that a wait of the running task on this descriptor was ended early: the answer to a query may still arrive there. C
/// code that asked does not always report it (the end of a statement cannot), so a connection pool looks here.
pub fn note_interrupted(fd: c_int) {
    if on_engine_thread() {
        // SAFETY: this is the engine's thread, which alone has the list and the current task.
        unsafe { sys::hearth_note_interrupted(fd) }
    }
}

/// Forgets the descriptor, which is closed. Does nothing on other threads: no task has sent a query on what they close.
pub fn descriptor_closed(fd: c_int) {
    if on_engine_thread() {
        // SAFETY: this is the engine's thread, which alone has the list.
        unsafe { sys::hearth_descriptor_closed(fd) }
    }
}

/// Marks that Rust runs on the task's stack, so that libc hooks pass its calls through.
pub(crate) struct HookBypass(bool);

impl HookBypass {
    pub(crate) fn enter() -> HookBypass {
        // SAFETY: sets a flag of the current task, if any.
        HookBypass(unsafe { sys::hearth_busy(true) })
    }

    /// Clears the mark: for calls by which Rust waits as PHP's libraries do.
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

/// Whether the engine is at a place at which the task may be suspended.
pub(crate) fn may_leave() -> bool {
    // SAFETY: reads flags of the engine.
    unsafe { sys::hearth_may_suspend() }
}

fn take_cancel(cell: &TaskCell) -> bool {
    let Some(why) = cell.cancel.take() else {
        return false;
    };
    // SAFETY: reads the frames of the running task, on the engine's thread.
    if why.lets_files_end() && unsafe { sys::hearth_in_file_once() } {
        cell.cancel.set(Some(why));
        return false;
    }
    let kind = match why {
        Cancel::Timeout(_) | Cancel::Computed(_) => sys::HEARTH_THROW_TIMEOUT,
        Cancel::Task => sys::HEARTH_THROW_CANCELLED,
        Cancel::ClientGone | Cancel::Stop => sys::HEARTH_THROW_UNHEARD,
    };
    throw(kind, &why.message());
    true
}

pub(crate) fn throw(kind: c_int, message: &str) {
    // SAFETY: called on a task's stack below a PHP function, where an exception may be raised.
    unsafe { sys::hearth_throw(kind, sys::hearth_str::new(message.as_bytes())) };
}

/// Raises a PHP `Error` in the running task.
pub fn throw_error(message: &str) {
    throw(sys::HEARTH_THROW_ERROR, message);
}

/// What a call that blocks does here and now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitMode {
    /// It blocks: no task runs on this thread, or a process that PHP code has forked runs it.
    Blocks,
    /// It suspends the running task.
    Suspends,
    /// It blocks, because the running task must not be suspended here.
    BlocksLimited,
}

/// Returns how a call waits here. May be asked on any thread.
#[must_use]
pub fn wait_mode() -> WaitMode {
    // SAFETY: reads thread-local and engine flags.
    match unsafe { sys::hearth_mode_of_wait() } {
        sys::HEARTH_WAIT_BLOCKS => WaitMode::Blocks,
        _ if is_forked() => WaitMode::Blocks,
        sys::HEARTH_WAIT_SUSPENDS => WaitMode::Suspends,
        _ => WaitMode::BlocksLimited,
    }
}

/// How long calls of the running task may block where it must not be suspended: until its request's time is over, half of
/// the grace after that, or longer by as much in the comparison of a heap; [`Duration::MAX`] without a limit. `None` where no
/// task runs or it may be suspended.
pub fn time_to_block() -> Option<Duration> {
    if wait_mode() != WaitMode::BlocksLimited {
        return None;
    }
    let request = current().and_then(|cell| in_whose_time(&cell));
    Some(request.map_or(Duration::MAX, |request| {
        host().time_to_block(&request, changes_heap())
    }))
}

/// Raises the error that the request's time is over, in the running task, which has blocked for [`time_to_block`].
pub fn blocked_too_long() {
    let _busy = HookBypass::enter();
    let Some(cell) = current() else { return };
    let request = in_whose_time(&cell);
    if let Some(why) = request.and_then(|request| host().blocked_too_long(&request)) {
        notify_overdue(&cell, why);
    }
    take_cancel(&cell);
}

/// Raises the error that a task cannot wait here.
pub fn refuse_wait() {
    let _busy = HookBypass::enter();
    // SAFETY: raises an exception, as `throw` does.
    unsafe { sys::hearth_refuse_wait() };
}

/// Waits for `future` on the stack of the running task: to PHP code this is a blocking call.
///
/// When the task is cancelled meanwhile, or the engine is at a place at which a task must not be suspended, a PHP exception
/// is thrown and the future is dropped.
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

/// Makes the running task check for a cancellation at the VM's next check. Callable from any thread.
pub fn interrupt() {
    // SAFETY: stores one atomic flag.
    unsafe { sys::hearth_interrupt() }
}

pub(crate) fn on_interrupt(has_frame: bool) {
    let Some(cell) = current() else { return };
    if let Some(seconds) = host().cpu_time_over() {
        // SAFETY: sets flags of the engine, on whose thread this is.
        unsafe { sys::hearth_time_out(i64::from(seconds)) };
    }
    if let Some(request) = &cell.request {
        host().interrupted(request);
    }
    if has_frame && !is_put_off(&cell) {
        note_overdue(&cell);
        take_cancel(&cell);
    }
}

/// Whether the end of the task waits until a heap is whole again, at most as long as a call may block there. The watchdog
/// interrupts again every few milliseconds, so code that does nothing but compare goes on for that long.
fn is_put_off(cell: &TaskCell) -> bool {
    changes_heap()
        && in_whose_time(cell)
            .is_some_and(|request| host().time_to_block(&request, true) > Duration::from_millis(1))
}

/// Whether the running code is a comparison of a heap, which an exception would leave corrupted for all requests.
fn changes_heap() -> bool {
    // SAFETY: reads the engine's frames, on the engine's thread.
    unsafe { sys::hearth_heap_is_changed() }
}

/// The request whose time limit holds: background work has none of its own, but up to its first wait it keeps the request from going on
/// that began it.
fn in_whose_time(cell: &TaskCell) -> Option<Rc<Request>> {
    cell.request.clone().or_else(|| {
        let mut below = crate::task::below().into_iter();
        below.find_map(|outer| outer.request.clone())
    })
}

fn note_overdue(cell: &TaskCell) {
    let request = in_whose_time(cell);
    if let Some(why) = request.and_then(|request| host().overdue(&request)) {
        notify_overdue(cell, why);
    }
}

/// Cancels the task, the tasks below it and the first task of the request. Else a loop that starts tasks which nothing
/// awaits would go on, because only one of these would end.
fn notify_overdue(cell: &TaskCell, why: Cancel) {
    cell.cancel.set(Some(why));
    for outer in crate::task::below() {
        outer.cancel.set(Some(why));
    }
    if let Some(first) = crate::task::first_of_request() {
        first.cancel(why);
    }
}

/// Called when an exception with that message leaves the running task's call. Returns whether it is the pending
/// cancellation, which then counts as delivered.
pub(crate) fn on_cancel_delivered(message: &[u8]) -> bool {
    let Some(cell) = current() else { return false };
    let is_delivered = cell
        .cancel
        .get()
        .is_some_and(|why| why.message().as_bytes() == message);
    if is_delivered {
        cell.cancel.set(None);
    }
    is_delivered
}

/// Whether the running task's request was cancelled because its time is over.
pub(crate) fn is_overdue() -> bool {
    let request = current().and_then(|cell| cell.request.clone());
    request.is_some_and(|request| request.overdue().is_some())
}
