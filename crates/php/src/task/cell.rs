//! The Rust side of a task, in a cell that later tasks reuse.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;
use std::task::Waker;

use php_sys as sys;

use super::call_pools;
use crate::background;
use crate::children;
use crate::engine::Level;
use crate::host::{host, is_forked_by};
use crate::request::Request;
use crate::runner;
use crate::task_group::TaskGroup;
use crate::wait::Cancel;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Park {
    Running,
    Parked,
    Unparked,
}

pub(crate) struct TaskCell {
    pub(crate) c: Cell<*mut sys::hearth_task>,
    /// The waker by which the task is polled again, noted when the task waits.
    waker: RefCell<Option<Waker>>,
    /// The waker of the poll under way, null outside of one.
    pub(crate) polling: Cell<*const Waker>,
    pub(crate) cancel: Cell<Option<Cancel>>,
    /// Whether the task was cancelled because its worker stops, which counts once.
    stopped: Cell<bool>,
    pub(crate) park: Cell<Park>,
    pub(crate) ended: Cell<bool>,
    pub(super) broken: Cell<bool>,
    pub(crate) joiners: RefCell<Vec<Waker>>,
    /// The index of the task among its group's children.
    pub(crate) place: Cell<Option<usize>>,
    /// The group of the task's children, made with the first child.
    pub(crate) group: OnceCell<Rc<TaskGroup>>,
    pub(crate) request: Option<Rc<Request>>,
    /// Whether the task is background work of a request, or a child of such work.
    pub(crate) of_request: Cell<bool>,
}

/// The most cells of ended tasks that are kept for later ones.
const MOST_SPARE: usize = 256;

thread_local! {
    static RESUMED: Cell<u64> = const { Cell::new(0) };
    static CLOSING: Cell<bool> = const { Cell::new(false) };
    /// Whether a lock that was left behind has been logged.
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
            stopped: Cell::new(false),
            park: Cell::new(Park::Running),
            ended: Cell::new(false),
            broken: Cell::new(false),
            joiners: RefCell::default(),
            place: Cell::new(None),
            group: OnceCell::new(),
            request: None,
            of_request: Cell::new(false),
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

    /// Resets the cell for the next task.
    fn reset(&mut self) {
        self.waker.get_mut().take();
        self.cancel.set(None);
        self.stopped.set(false);
        self.park.set(Park::Running);
        self.ended.set(false);
        self.broken.set(false);
        self.joiners.get_mut().clear();
        self.group.take();
        self.request = None;
        self.of_request.set(false);
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

    /// The id of the task's request, 0 for none.
    pub(crate) fn request_id(&self) -> u64 {
        self.request.as_ref().map_or(0, |request| request.id)
    }

    /// Cancels the task. Only the first reason counts until it is delivered, unless that one may have been put off.
    pub(crate) fn cancel(&self, why: Cancel) {
        if why == Cancel::ClientGone && self.ignores_client() {
            return;
        }
        if why == Cancel::Stop && self.stopped.replace(true) {
            return;
        }
        let counts = self
            .cancel
            .get()
            .is_none_or(|first| first.lets_files_end() && !why.lets_files_end());
        if !self.ended.get() && counts {
            self.cancel.set(Some(why));
            self.wake();
        }
    }

    /// Whether the request goes on without its client (`ignore_user_abort()`).
    pub(super) fn ignores_client(&self) -> bool {
        let c = self.c.get();
        // SAFETY: null once it has ended; until then the C task that this cell was made with.
        !c.is_null() && unsafe { sys::hearth_task_ignores_client(c) }
    }

    /// Runs the task until it waits or ends. Returns whether it has ended.
    pub(crate) fn resume(self: &Rc<Self>) -> bool {
        if self.ended.get() {
            return true;
        }
        let locks = host().locks_held();
        // SAFETY: `c` was made by one of the hearth_task_* constructors and is freed only below, after its end; the
        // engine's thread is this one, because Rc keeps the cell on it.
        let step = unsafe { sys::hearth_task_resume(self.c.get()) };
        RESUMED.set(RESUMED.get() + 1);
        if is_forked_by(self) {
            // SAFETY: reads a number of this thread.
            host().left_fork(unsafe { sys::hearth_exit_status() });
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

    /// Forgets the locks that the task left locked: while they counted, no other task could be suspended.
    fn forget_locks(&self, before: usize) {
        let left = host().forget_locks(before);
        if left > 0 && !LOCK_REPORTED.replace(true) {
            let message = format!(
                "a library still holds a lock that a task took which has ended ({left} such locks); Hearth no longer waits \
                 for. This is logged once per process"
            );
            host().log(Level::Warning, &message, self.request_id());
        }
    }

    /// A fatal error ended the task's code. Called when that has happened, where PHP goes on with the end of the request,
    /// and again when none of the task's code runs any more.
    pub(crate) fn break_off(&self) {
        if !self.broken.replace(true) {
            host().broken();
        }
        self.abort_group();
    }

    /// Cancels the task's children after a fatal error, because no task joins them any more. They are suspended on stacks
    /// that the error did not touch, and end as the children of any other failed request do.
    fn abort_group(&self) {
        // SAFETY: `c` is freed in `end`, which comes after this.
        close_shared_connections(unsafe { sys::hearth_task_id_for_others(self.c.get()) });
        let is_child = self.place.get().is_some();
        if let Some(group) = self.group.get().filter(|_| !is_child) {
            children::cancel_all(group);
        }
    }

    fn end(&self) {
        self.ended.set(true);
        background::ended(self);
        // SAFETY: it has ended, and `ended` keeps resume from using the pointer again.
        unsafe { sys::hearth_task_free(self.c.replace(std::ptr::null_mut())) };
        for waker in self.joiners.borrow_mut().drain(..) {
            waker.wake();
        }
        if let Some(place) = self.place.get() {
            self.group().leave(place);
        }
    }

    /// Runs the task on top of another: what it waits for wakes `waker`.
    pub(crate) fn resume_for(self: &Rc<Self>, waker: &Waker) -> bool {
        self.polling.set(waker);
        let ended = self.resume();
        self.polling.set(std::ptr::null());
        ended
    }
}

/// Closes the connections of task `id` before another task that shares them goes on.
fn close_shared_connections(id: u64) {
    // The call itself may end in a fatal error, which would lead here again and again.
    if id == 0 || CLOSING.replace(true) {
        return;
    }
    #[expect(
        clippy::cast_precision_loss,
        reason = "an id would need 2^29 tasks in one slot"
    )]
    if let Some(task) = call_pools(c"taskBroke", id as f64) {
        runner::start(Rc::clone(&task.0));
    }
    CLOSING.set(false);
}

/// Keeps the cell of an ended task for the next task. Called with a reference that is about to be dropped; only the last one
/// counts.
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

/// # Safety
/// `owner` is the owner of a task that has not ended, or to which there is a reference.
pub(crate) unsafe fn cell_of(owner: *const TaskCell) -> Rc<TaskCell> {
    // SAFETY: an owner is the address of the cell in an `Rc` that the poller of the task holds until it has ended, which it has
    // not, as the caller promises.
    unsafe { Rc::increment_strong_count(owner) };
    // SAFETY: it is the address of a cell in an `Rc`, and the count was raised for this one.
    unsafe { Rc::from_raw(owner) }
}

/// The number of times that tasks of this thread have run, from a start or a wait to the next wait or the end.
pub fn times_resumed() -> u64 {
    RESUMED.get()
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
