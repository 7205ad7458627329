//! Tasks: PHP code that can wait, as futures.

use std::cell::{Cell, OnceCell, RefCell};
use std::ffi::c_void;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use php_sys as sys;

use crate::children;
use crate::engine::Level;
use crate::host::{host, is_forked};
use crate::request::{Request, Script};
use crate::runner;
use crate::task_group::TaskGroup;
use crate::trace::TaskHandle;
use crate::wait::Cancel;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Park {
    Running,
    Parked,
    Unparked,
}

pub(crate) struct TaskCell {
    pub(crate) c: Cell<*mut sys::hearth_task>,
    /// How to have it polled again, noted when it waits.
    waker: RefCell<Option<Waker>>,
    /// The waker of the poll under way, null outside of one.
    pub(crate) polling: Cell<*const Waker>,
    pub(crate) cancel: Cell<Option<Cancel>>,
    pub(crate) park: Cell<Park>,
    pub(crate) ended: Cell<bool>,
    broken: Cell<bool>,
    pub(crate) joiners: RefCell<Vec<Waker>>,
    /// Where it is among its group's children.
    pub(crate) place: Cell<Option<usize>>,
    /// Made with the first child.
    pub(crate) group: OnceCell<Rc<TaskGroup>>,
    pub(crate) request: Option<Rc<Request>>,
}

/// One task. Poll it to run it. It must be polled to its end: PHP code on a stack cannot be dropped half-way, only
/// cancelled.
pub struct Task(pub(crate) Rc<TaskCell>);

impl std::fmt::Debug for Task {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Task")
            .field("ended", &self.0.ended.get())
            .finish_non_exhaustive()
    }
}

/// How many cells of ended tasks are kept for the next ones.
const MOST_SPARE: usize = 256;

thread_local! {
    static RESUMED: Cell<u64> = const { Cell::new(0) };
    static TELLING: Cell<bool> = const { Cell::new(false) };
    /// A lock that was left behind has been logged.
    static LOCK_REPORTED: Cell<bool> = const { Cell::new(false) };
    static SPARE: RefCell<Vec<Rc<TaskCell>>> = const { RefCell::new(Vec::new()) };
}

impl Default for TaskCell {
    fn default() -> TaskCell {
        TaskCell {
            c: Cell::new(std::ptr::null_mut()),
            waker: RefCell::default(),
            polling: Cell::new(std::ptr::null()),
            cancel: Cell::new(None),
            park: Cell::new(Park::Running),
            ended: Cell::new(false),
            broken: Cell::new(false),
            joiners: RefCell::default(),
            place: Cell::new(None),
            group: OnceCell::new(),
            request: None,
        }
    }
}

impl TaskCell {
    pub(crate) fn new(group: Option<Rc<TaskGroup>>, request: Option<Rc<Request>>) -> Rc<TaskCell> {
        let mut this = SPARE.with_borrow_mut(Vec::pop).unwrap_or_default();
        let cell = Rc::get_mut(&mut this).expect("a spare cell has no owner");
        if let Some(group) = group {
            cell.group = OnceCell::from(group);
        }
        cell.request = request;
        this
    }

    /// As new, for the next.
    fn reset(&mut self) {
        self.waker.get_mut().take();
        self.cancel.set(None);
        self.park.set(Park::Running);
        self.ended.set(false);
        self.broken.set(false);
        self.joiners.get_mut().clear();
        self.group.take();
        self.request = None;
    }

    pub(crate) fn note_waker(&self, waker: &Waker) {
        let mut known = self.waker.borrow_mut();
        match &mut *known {
            Some(known) if known.will_wake(waker) => {}
            Some(known) => known.clone_from(waker),
            None => *known = Some(waker.clone()),
        }
    }

    pub(crate) fn wake(&self) {
        if let Some(waker) = &*self.waker.borrow() {
            waker.wake_by_ref();
        }
    }

    pub(crate) fn group(&self) -> &Rc<TaskGroup> {
        self.group.get_or_init(Rc::default)
    }

    /// The id of its request, 0 for none.
    pub(crate) fn request_id(&self) -> u64 {
        self.request.as_ref().map_or(0, |request| request.id)
    }

    /// Only the first reason counts, until it was delivered.
    pub(crate) fn cancel(&self, why: Cancel) {
        if why == Cancel::ClientGone && self.ignores_client() {
            return;
        }
        if !self.ended.get() && self.cancel.get().is_none() {
            self.cancel.set(Some(why));
            self.wake();
        }
    }

    /// Whether its request goes on without its client (`ignore_user_abort()`).
    fn ignores_client(&self) -> bool {
        let c = self.c.get();
        // SAFETY: null once it has ended; until then the C task that this cell was made with.
        !c.is_null() && unsafe { sys::hearth_task_ignores_client(c) }
    }

    /// Run it until it waits or ends; true when it has ended.
    pub(crate) fn resume(self: &Rc<Self>) -> bool {
        if self.ended.get() {
            return true;
        }
        let locks = host().locks_held();
        // SAFETY: `c` was made by one of the hearth_task_* constructors and is freed only below, after its end; the
        // engine's thread is this one, because Rc keeps the cell on it.
        let step = unsafe { sys::hearth_task_resume(self.c.get()) };
        RESUMED.set(RESUMED.get() + 1);
        if is_forked() {
            host().left_fork();
        }
        if step == sys::HEARTH_STEP_WAITING {
            return false;
        }
        self.forget_locks(locks);
        if step == sys::HEARTH_STEP_BROKEN {
            self.break_off();
        }
        self.end();
        true
    }

    /// What it locked and did not unlock would keep all others from being left at a wait.
    fn forget_locks(&self, before: usize) {
        let left = host().forget_locks(before);
        if left > 0 && !LOCK_REPORTED.replace(true) {
            let message = format!(
                "a library holds a lock after the task that it was taken in has ended ({left} in all); it is no longer waited \
                 for. This is logged once per process"
            );
            host().log(Level::Warning, &message, self.request_id());
        }
    }

    /// A fatal error ended its code. Called when that has happened, where PHP goes on with the end of the request, and again when
    /// nothing of it runs any more.
    pub(crate) fn break_off(&self) {
        if !self.broken.replace(true) {
            host().broken();
        }
        self.abort_group();
    }

    /// A fatal error ended it, in the middle of anything: no task waits for its request's children any more. They stand
    /// at waits of their own, on stacks that the error did not touch, and end as those of any other request do that failed.
    fn abort_group(&self) {
        // SAFETY: `c` is freed in `end`, which comes after this.
        tell_library(unsafe { sys::hearth_task_id_for_others(self.c.get()) });
        let is_child = self.place.get().is_some();
        if let Some(group) = self.group.get().filter(|_| !is_child) {
            children::cancel_all(group);
        }
    }

    fn end(&self) {
        self.ended.set(true);
        // SAFETY: it has ended, and `ended` keeps resume from using the pointer again.
        unsafe { sys::hearth_task_free(self.c.replace(std::ptr::null_mut())) };
        for waker in self.joiners.borrow_mut().drain(..) {
            waker.wake();
        }
        if let Some(place) = self.place.get() {
            self.group().leave(place);
        }
    }

    /// Polled on top of another task: what it waits for wakes `waker`.
    pub(crate) fn resume_for(self: &Rc<Self>, waker: &Waker) -> bool {
        self.polling.set(waker);
        let ended = self.resume();
        self.polling.set(std::ptr::null());
        ended
    }
}

/// Have the connections closed that task `id` had, before a task goes on that shares them.
fn tell_library(id: u64) {
    // What tells may meet a fatal error too, and there would be no end of it.
    if id == 0 || TELLING.replace(true) {
        return;
    }
    #[expect(
        clippy::cast_precision_loss,
        reason = "an id would need 2^29 tasks in one slot"
    )]
    if let Some(task) = call_pools(c"taskBroke", id as f64) {
        runner::start(Rc::clone(&task.0));
    }
    TELLING.set(false);
}

/// To be called with a reference that is about to be dropped: the last one of a task that has ended is kept, as new, for
/// the next task.
pub(crate) fn reuse(reference: &mut Rc<TaskCell>) {
    let Some(cell) = Rc::get_mut(reference).filter(|cell| cell.ended.get()) else {
        return;
    };
    cell.reset();
    SPARE.with_borrow_mut(|spare| {
        if spare.len() < MOST_SPARE {
            spare.push(Rc::clone(reference));
        }
    });
}

impl Task {
    /// A task that calls the app's handler with `request`.
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

    /// A task that runs a script of a classic site, from the engine's request startup to its shutdown. The one before
    /// must have ended.
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
        // SAFETY: as in Task::request; the script lives in the request.
        let c = unsafe {
            let request = Rc::into_raw(Rc::clone(request)).cast_mut().cast();
            sys::hearth_task_classic(owner, request, &script)
        };
        cell.c.set(c);
        Task(cell)
    }

    /// A task without a request around a C task that `make` builds for the given owner.
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

    /// End its current wait, or the next one, with an exception.
    pub fn cancel(&self, why: Cancel) {
        self.0.cancel(why);
    }

    /// Whether its request goes on without its client (`ignore_user_abort()`).
    pub fn ignores_client(&self) -> bool {
        self.0.ignores_client()
    }

    /// Whether a fatal error ended it.
    pub fn is_broken(&self) -> bool {
        self.0.broken.get()
    }

    /// The request that it handles.
    pub fn request_of(&self) -> Option<&Rc<Request>> {
        self.0.request.as_ref()
    }

    /// For who watches it.
    pub fn handle(&self) -> TaskHandle {
        TaskHandle(Rc::downgrade(&self.0))
    }

    /// A second handle to cancel it by.
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

/// # Safety
/// It must be the owner of a task that has not ended, or to which there is a reference.
pub(crate) unsafe fn cell_of(owner: *const TaskCell) -> Rc<TaskCell> {
    // SAFETY: an owner is the address of the cell in an `Rc` that the poller of the task holds until it has ended, which it has
    // not, as the caller promises.
    unsafe { Rc::increment_strong_count(owner) };
    // SAFETY: as above; the count was raised for this one.
    unsafe { Rc::from_raw(owner) }
}

/// More tasks than begin each other without a wait.
const MOST_BELOW: usize = 64;

/// The tasks of the same request in whose midst the running one was begun, and still runs.
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

/// The task that the request of the running one began with, unless it has ended.
pub(crate) fn first_of_request() -> Option<Rc<TaskCell>> {
    // SAFETY: reads the list of tasks, on the engine's thread.
    let owner = unsafe { sys::hearth_owner_of_request() }.cast::<TaskCell>();
    // SAFETY: C gives the owner of a task that has not ended, or null.
    (!owner.is_null()).then(|| unsafe { cell_of(owner) })
}

/// How many times tasks of this thread have run, from a start or a wait to the next wait or the end.
pub fn times_resumed() -> u64 {
    RESUMED.get()
}

/// The id of the task that runs, 0 for none. The same number PHP sees.
pub fn current_task_id() -> u64 {
    // SAFETY: reads the current task.
    unsafe { sys::hearth_current_task_id() }
}

/// The id of the request whose task runs, 0 for none.
pub fn current_request_id() -> u64 {
    current().map_or(0, |cell| cell.request_id())
}

/// The task for timer `id`, or `None` when it was stopped.
pub fn timer_task(id: u64) -> Option<Task> {
    // SAFETY: the owner outlives the C task, as in Task::request.
    Task::detached(|owner| unsafe { sys::hearth_timer_task(id, owner) })
}

/// A task that calls a method of `Hearth\Internal\PoolReports` with one number, or `None` if this process has no pools.
pub fn call_pools(method: &std::ffi::CStr, argument: f64) -> Option<Task> {
    // SAFETY: the name is copied; the owner outlives the C task, as in Task::request.
    Task::detached(|owner| unsafe { sys::hearth_call_pools(method.as_ptr(), argument, owner) })
}

/// A task in which the app's loop is told to end and does, or `None` if it has none that waits for a request.
pub fn loop_stop_task() -> Option<Task> {
    // SAFETY: the owner outlives the C task, as in Task::request.
    Task::detached(|owner| unsafe { sys::hearth_loop_stop(owner) })
}

/// A timer that fired for the last time: its callback is not needed any more once it runs.
pub fn timer_forget(id: u64) {
    // SAFETY: called on the engine's thread; the C side ignores ids it does not know.
    unsafe { sys::hearth_timer_forget(id) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cell_of_an_ended_task_is_used_again() {
        let mut first = TaskCell::new(Some(Rc::default()), None);
        let address = Rc::as_ptr(&first);
        reuse(&mut first);
        assert!(first.group.get().is_some(), "it has not ended");
        first.ended.set(true);
        let mut second_reference = Rc::clone(&first);
        reuse(&mut second_reference);
        drop(second_reference);
        assert!(first.group.get().is_some(), "another task has it");
        reuse(&mut first);
        drop(first);
        let next = TaskCell::new(None, None);
        assert_eq!(Rc::as_ptr(&next), address);
        assert!(next.group.get().is_none() && !next.ended.get());
    }
}
