//! Stack traces of PHP code, for people.

use std::rc::Weak;

use php_sys as sys;

use crate::task::TaskCell;
use crate::wait::Cancel;

/// The most bytes of a trace; longer ones are cut.
const LENGTH: usize = 8 * 1024;
/// The most child tasks of a request that are shown beside its own.
const MOST_CHILDREN: usize = 8;

/// A task that other code polls.
pub struct TaskHandle(pub(crate) Weak<TaskCell>);

impl TaskHandle {
    /// Ends the task's current wait, or its next one, with an exception.
    pub fn cancel(&self, why: Cancel) {
        if let Some(cell) = self.0.upgrade() {
            cell.cancel(why);
        }
    }

    /// The calls in which the task and its children wait. Called while no task runs.
    pub fn trace(&self) -> Option<String> {
        let cell = self.0.upgrade()?;
        let mut all = of(&cell)?;
        let group = cell.group.get();
        let children = group.map(|group| group.children.borrow().clone());
        for child in children.iter().flatten().take(MOST_CHILDREN) {
            if let Some(trace) = of(child) {
                all += &format!("\nTask beside it: {trace}");
            }
        }
        Some(all)
    }
}

fn of(cell: &TaskCell) -> Option<String> {
    let task = cell.c.get();
    (!task.is_null()).then(|| write(task)).flatten()
}

/// The calls of the running code.
pub fn running_trace() -> Option<String> {
    write(std::ptr::null())
}

/// The calls of the running code, read from another thread: code in one long call of an extension handles no interrupt.
/// `None` where the kernel does not permit reading it.
pub fn outside_trace() -> Option<String> {
    let mut text = vec![0; LENGTH];
    // SAFETY: C reads the engine's memory by process_vm_readv() only, which fails where nothing is mapped, and writes at most
    // `text.len()` bytes to `text`.
    let length = unsafe { sys::hearth_outside_trace(text.as_mut_ptr().cast(), text.len()) };
    text.truncate(length);
    (length > 0).then(|| String::from_utf8_lossy(&text).into_owned())
}

fn write(task: *const sys::hearth_task) -> Option<String> {
    let mut text = vec![0; LENGTH];
    // SAFETY: null, or a C task that has not ended, because its cell has it; this is the engine's thread, on which no task changes
    // its calls meanwhile; as many bytes may be written as there are.
    let length = unsafe { sys::hearth_task_trace(task, text.as_mut_ptr().cast(), text.len()) };
    text.truncate(length);
    (length > 0).then(|| String::from_utf8_lossy(&text).into_owned())
}
