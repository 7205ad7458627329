//! Background work of requests: tasks of `background()` that a request has begun, or such work itself.
//!
//! A worker that leaves finishes them, because a request that has been answered relies on them. What timers and the entry script
//! begin may be endless, so it is not among them.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use crate::task::TaskCell;
use crate::wait::Cancel;

thread_local! {
    /// By the address of the cell, which stays where it is while the map has it.
    static WORK: RefCell<HashMap<*const TaskCell, Rc<TaskCell>>> = RefCell::default();
}

/// Notes a task of `background()` if `parent`, which has begun it, belongs to a request or to such work.
pub(crate) fn begins(parent: &TaskCell, task: &Rc<TaskCell>) {
    if parent.request.is_some() || parent.of_request.get() {
        task.of_request.set(true);
        WORK.with_borrow_mut(|work| work.insert(Rc::as_ptr(task), Rc::clone(task)));
    }
}

/// Notes the end of a task that may be background work.
pub(crate) fn ended(task: &TaskCell) {
    if task.of_request.get() {
        WORK.with_borrow_mut(|work| work.remove(&std::ptr::from_ref(task)));
    }
}

/// The number of tasks of background work that requests have begun and that have not ended.
pub fn background_work() -> usize {
    WORK.with_borrow(HashMap::len)
}

/// Cancels all background work of requests.
pub fn cancel_background_work() {
    let work: Vec<_> = WORK.with_borrow(|work| work.values().cloned().collect());
    for task in work {
        task.cancel(Cancel::Task);
    }
}
