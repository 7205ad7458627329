//! Tasks: PHP code that can wait, as futures.

mod cell;

use std::ffi::c_void;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use php_sys as sys;

pub use cell::times_resumed;
pub(crate) use cell::{Park, TaskCell, cell_of, reuse};

use crate::request::{Request, Script};
use crate::trace::TaskHandle;
use crate::wait::Cancel;

/// A task, run by polling. It must be polled to its end: PHP code on a stack cannot be dropped half-way, only cancelled.
pub struct Task(pub(crate) Rc<TaskCell>);

impl std::fmt::Debug for Task {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Task")
            .field("ended", &self.0.ended.get())
            .finish_non_exhaustive()
    }
}

impl Task {
    /// Makes a task that calls the app's handler with `request`.
    pub fn request(request: Rc<Request>) -> Task {
        let cell = TaskCell::new(None, Some(request));
        let request = cell.request.as_ref().expect("just given");
        let owner = Rc::as_ptr(&cell).cast_mut().cast::<c_void>();
        // SAFETY: the cell outlives the C task: it is freed in `end`, which needs the cell. The request pointer carries
        // a reference of its own, released by hearth_on_request_release.
        let c = unsafe {
            sys::hearth_task_request(owner, Rc::into_raw(Rc::clone(request)).cast_mut().cast())
        };
        cell.c.set(c);
        Task(cell)
    }

    /// Makes a task that runs a script of a classic site, from the engine's request startup to its shutdown. The previous
    /// task must have ended.
    pub fn classic(request: Rc<Request>, script: Rc<Script>) -> Task {
        let cell = TaskCell::new(None, Some(request));
        let request = cell.request.as_ref().expect("just given");
        let owner = Rc::as_ptr(&cell).cast_mut().cast::<c_void>();
        let script = request.set_script(script);
        let script = sys::hearth_script {
            filename: script.filename.as_ptr(),
            name: sys::hearth_str::new(&script.name),
            path_info: sys::hearth_str::new(&script.path_info),
            document_root: sys::hearth_str::new(&script.document_root),
            query: sys::hearth_str::new(script.query.as_deref().unwrap_or_default()),
            has_query: script.query.is_some(),
        };
        // SAFETY: the cell at `owner` outlives the C task: `end` frees it, and needs the cell. The task takes over the reference to the
        // request, and the script lives in the request.
        let c = unsafe {
            let request = Rc::into_raw(Rc::clone(request)).cast_mut().cast();
            sys::hearth_task_classic(owner, request, &script)
        };
        cell.c.set(c);
        Task(cell)
    }

    /// Makes a task without a request around the C task that `make` builds for the given owner.
    pub(crate) fn detached(
        make: impl FnOnce(*mut c_void) -> *mut sys::hearth_task,
    ) -> Option<Task> {
        let cell = TaskCell::new(None, None);
        let c = make(Rc::as_ptr(&cell).cast_mut().cast());
        if c.is_null() {
            return None;
        }
        cell.c.set(c);
        Some(Task(cell))
    }

    /// Ends the task's current wait, or its next one, with an exception.
    pub fn cancel(&self, why: Cancel) {
        self.0.cancel(why);
    }

    /// Whether the request goes on without its client (`ignore_user_abort()`).
    pub fn ignores_client(&self) -> bool {
        self.0.ignores_client()
    }

    /// Whether a fatal error ended the task.
    pub fn is_broken(&self) -> bool {
        self.0.broken.get()
    }

    /// The request that the task handles.
    pub fn request_of(&self) -> Option<&Rc<Request>> {
        self.0.request.as_ref()
    }

    /// A weak handle for code that watches the task.
    pub fn handle(&self) -> TaskHandle {
        TaskHandle(Rc::downgrade(&self.0))
    }

    /// A function that cancels the task, as long as it exists.
    pub fn canceller(&self) -> impl Fn(Cancel) + use<> {
        let cell = Rc::downgrade(&self.0);
        move |why| {
            if let Some(cell) = cell.upgrade() {
                cell.cancel(why);
            }
        }
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        reuse(&mut self.0);
    }
}

impl Future for Task {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.0.resume_for(context.waker()) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

/// The task that runs on this thread.
pub(crate) fn current() -> Option<Rc<TaskCell>> {
    // SAFETY: reads a pointer of this thread.
    let owner = unsafe { sys::hearth_current_owner() }.cast::<TaskCell>();
    // SAFETY: it is the owner of the task that runs on this thread, so that task has not ended.
    (!owner.is_null()).then(|| unsafe { cell_of(owner) })
}

/// More tasks than start each other without a wait.
const MOST_BELOW: usize = 64;

/// All tasks below the running one, the nearest first: each is still inside the call that started the next.
pub(crate) fn below() -> Vec<Rc<TaskCell>> {
    let mut owners = [std::ptr::null_mut(); MOST_BELOW];
    // SAFETY: C writes at most `owners.len()` pointers to `owners`, and returns how many.
    let count = unsafe { sys::hearth_owners_below(owners.as_mut_ptr(), owners.len()) };
    let owners = owners.into_iter().take(count);
    // SAFETY: each is the cell of a task that has not ended: the call in which the running task was begun is still on its stack.
    owners
        .map(|owner| unsafe { cell_of(owner.cast()) })
        .collect()
}

/// The first task of the request in whose time the running task runs, unless it has ended.
pub(crate) fn first_of_request() -> Option<Rc<TaskCell>> {
    // SAFETY: reads the list of tasks, on the engine's thread.
    let owner = unsafe { sys::hearth_owner_of_request() }.cast::<TaskCell>();
    // SAFETY: C gives the owner of a task that has not ended, or null.
    (!owner.is_null()).then(|| unsafe { cell_of(owner) })
}

/// The id of the running task, 0 for none. PHP sees the same number.
pub fn current_task_id() -> u64 {
    // SAFETY: reads the current task.
    unsafe { sys::hearth_current_task_id() }
}

/// The id of the running task's request, 0 for none.
pub fn current_request_id() -> u64 {
    current().map_or(0, |cell| cell.request_id())
}

/// Notes that the running call has taken a record lock.
pub fn records_locked() {
    // SAFETY: on the engine's thread; reads the running call.
    unsafe { sys::hearth_records_locked() };
}

/// Makes a task for the timer `id`; `None` when the timer was stopped.
pub fn timer_task(id: u64) -> Option<Task> {
    // SAFETY: the cell at `owner` outlives the C task: `end` frees it, and needs the cell.
    Task::detached(|owner| unsafe { sys::hearth_timer_task(id, owner) })
}

/// Makes a task that calls a method of `Hearth\Internal\PoolReports` with one number; `None` if this process has no pools.
pub fn call_pools(method: &std::ffi::CStr, argument: f64) -> Option<Task> {
    // SAFETY: the name is copied; the cell at `owner` outlives the C task: `end` frees it, and needs the cell.
    Task::detached(|owner| unsafe { sys::hearth_call_pools(method.as_ptr(), argument, owner) })
}

/// Makes a task that runs PHP's collector of cycles; `None` if it has nothing to look at, or a fatal error has
/// ended it.
pub fn collector_task() -> Option<Task> {
    // SAFETY: the cell at `owner` outlives the C task: `end` frees it, and needs the cell.
    Task::detached(|owner| unsafe { sys::hearth_collector_task(owner) })
}

/// Makes a task in which the app's loop is told to end, and ends; `None` if no loop waits for a request.
pub fn loop_stop_task() -> Option<Task> {
    // SAFETY: the cell at `owner` outlives the C task: `end` frees it, and needs the cell.
    Task::detached(|owner| unsafe { sys::hearth_loop_stop(owner) })
}

/// Forgets a timer that fired for the last time: its callback is not needed once it runs.
pub fn timer_forget(id: u64) {
    // SAFETY: called on the engine's thread; the C side ignores ids it does not know.
    unsafe { sys::hearth_timer_forget(id) };
}
