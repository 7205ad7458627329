//! The task that uses a connection, named in the error of another task that tries to use it.

use crate::task::current_request_id;
use crate::{current_task_id, throw_error};

/// A task, and the request to which it belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskRef {
    pub(crate) task: u64,
    pub(crate) request: u64,
}

impl TaskRef {
    /// The running task.
    pub fn current() -> TaskRef {
        TaskRef {
            task: current_task_id(),
            request: current_request_id(),
        }
    }

    /// The id of the task.
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

/// Raises the PHP `Error` in the running task, which does `what` to a connection, or an object that is like one, that `other` uses.
pub fn throw_two_tasks(what: &str, other: TaskRef) {
    throw_error(&format!(
        "Two tasks on one connection: {} {what} while {other} is waiting on it. They would read each other's answers, \
         or change what the other goes over: give each its own, or use Hearth\\Pool for connections",
        TaskRef::current()
    ));
}
