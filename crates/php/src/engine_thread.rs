//! The engine's thread: the one that booted it, and the same thread in a fork.
//!
//! Functions of this crate are safe to call, so those that need the engine's thread, or no running task, check that.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

use php_sys as sys;

static BOOTED: AtomicBool = AtomicBool::new(false);

thread_local! {
    static IS_THIS: Cell<bool> = const { Cell::new(false) };
}

/// Makes this thread the engine's.
///
/// # Panics
/// When the engine was booted before.
#[track_caller]
pub(crate) fn begin() {
    let booted = BOOTED.swap(true, Ordering::Relaxed);
    assert!(!booted, "the engine is booted once in a process");
    IS_THIS.set(true);
}

pub(crate) fn is_this() -> bool {
    IS_THIS.get()
}

/// # Panics
/// On every other thread.
#[track_caller]
pub(crate) fn require() {
    assert!(is_this(), "called on another thread than the engine's");
}

/// # Panics
/// On every other thread, and in a task.
#[track_caller]
pub(crate) fn require_outside_tasks() {
    require();
    // SAFETY: it reads a number that this thread writes.
    let task = unsafe { sys::hearth_current_task_id() };
    assert!(task == 0, "called in task {task}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "another thread than the engine's")]
    fn what_needs_the_engines_thread_is_refused_elsewhere() {
        crate::seal();
    }

    #[test]
    fn the_thread_that_boots_is_the_engines_and_no_other() {
        std::thread::spawn(|| {
            begin();
            require();
            assert!(std::thread::spawn(begin).join().is_err());
            assert!(!std::thread::spawn(is_this).join().unwrap());
        })
        .join()
        .unwrap();
    }
}
