//! Which task has a connection, for the message to the one that may not use it.

use crate::{current_request_id, current_task_id, throw_error};

/// A task, and the request it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskRef {
    pub(crate) task: u64,
    pub(crate) request: u64,
}

impl TaskRef {
    /// The task that runs.
    pub fn current() -> TaskRef {
        TaskRef {
            task: current_task_id(),
            request: current_request_id(),
        }
    }

    /// Its id.
    pub fn task(&self) -> u64 {
        self.task
    }
}

impl std::fmt::Display for TaskRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.request {
            0 => write!(f, "task {}", self.task),
            request => write!(f, "task {} (request {request:016x})", self.task),
        }
    }
}

/// Raise the PHP `Error` that the running task gets which does `what` to something that `other` uses.
pub fn throw_two_tasks(what: &str, other: TaskRef) {
    throw_error(&format!(
        "Two tasks on one connection: {} {what} while {other} is waiting on it. They would read each other's answers: give \
         each its own, or use Hearth\\Pool",
        TaskRef::current()
    ));
}
