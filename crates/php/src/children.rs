//! Tasks that tasks start and wait for; PHP's functions call this through `callbacks/tasks.rs`.

use std::ffi::c_int;
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use php_sys as sys;

use crate::background;
use crate::host::is_forked;
use crate::task::{Park, TaskCell, current};
use crate::task_group::TaskGroup;
use crate::timeout::Timeout;
use crate::wait::{Cancel, Cancelled, wait};

/// Makes a task for `async()` (`child`) or `background()`. The caller gets one reference.
pub(crate) fn new_task(parent: &TaskCell, c: *mut sys::hearth_task, child: bool) -> Rc<TaskCell> {
    let cell = if child {
        TaskCell::new(Some(Rc::clone(parent.group())), parent.request.clone())
    } else {
        TaskCell::new(None, None)
    };
    cell.c.set(c);
    if child {
        cell.of_request.set(parent.of_request.get());
        parent.group().enter(&cell);
    } else {
        background::begins(parent, &cell);
    }
    cell
}

async fn ended(cell: &TaskCell) {
    std::future::poll_fn(|context| {
        if cell.ended.get() {
            return Poll::Ready(());
        }
        cell.joiners.borrow_mut().push(context.waker().clone());
        Poll::Pending
    })
    .await;
}

fn in_time(seconds: f64) -> Option<Duration> {
    (seconds >= 0.0).then(|| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX / 4))
}

/// Resolves to the output of `future`, or to `None` once the time is over.
async fn within<F: Future>(limit: Option<Duration>, future: F) -> Option<F::Output> {
    let Some(limit) = limit else {
        return Some(future.await);
    };
    let mut limit = Timeout::of(limit);
    let mut future = pin!(future);
    std::future::poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(value) => Poll::Ready(Some(value)),
        Poll::Pending => limit.poll_reached(context).map(|()| None),
    })
    .await
}

/// Waits for a task. Returns 0 if it has ended, 1 if the time was over, 2 if the waiting task was cancelled.
pub(crate) fn await_task(cell: &TaskCell, seconds: f64) -> c_int {
    match wait(within(in_time(seconds), ended(cell))) {
        Ok(Some(())) => 0,
        Ok(None) => 1,
        Err(Cancelled) => 2,
    }
}

/// Waits until every child of the running task's group has ended. With `cancel` they are cancelled first. Returns false when
/// the wait was ended early: the children are cancelled then, but have not ended yet.
pub(crate) fn join_children(cancel: bool) -> bool {
    if is_forked() {
        return true;
    }
    let cell = current().expect("called in a task");
    let Some(group) = cell.group.get().cloned() else {
        return true;
    };
    let this = Rc::as_ptr(&cell);
    if cancel {
        cancel_all(&group);
    }
    let joined = std::future::poll_fn(|context| {
        let children = group.children.borrow();
        if children.iter().all(|child| Rc::as_ptr(child) == this) {
            return Poll::Ready(());
        }
        *group.joiner.borrow_mut() = Some(context.waker().clone());
        Poll::Pending
    });
    let ended = wait(joined).is_ok();
    if !ended {
        cancel_all(&group);
    }
    ended
}

pub(crate) fn cancel_all(group: &TaskGroup) {
    let children = group.children.borrow().clone();
    for child in &children {
        child.cancel(Cancel::Task);
    }
}

/// Parks the running task. Returns 0 if it was unparked, 1 if the time was over, 2 if it was cancelled.
pub(crate) fn park(seconds: f64) -> c_int {
    let cell = current().expect("called in a task");
    cell.park.set(Park::Parked);
    let unparked = std::future::poll_fn(|_| {
        if cell.park.get() == Park::Unparked {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    });
    let outcome = wait(within(in_time(seconds), unparked));
    let was_unparked = cell.park.replace(Park::Running) == Park::Unparked;
    match outcome {
        Ok(Some(())) => 0,
        // Unparked at the moment the time was over: the wake must not be lost.
        Ok(None) if was_unparked => 0,
        Ok(None) => 1,
        Err(Cancelled) => 2,
    }
}

pub(crate) fn unpark(cell: &TaskCell) -> bool {
    if cell.park.get() != Park::Parked {
        return false;
    }
    cell.park.set(Park::Unparked);
    cell.wake();
    true
}

/// Lets everything else that can run go first. In a process that PHP code forked there is nothing else.
pub(crate) fn yield_now() {
    if is_forked() {
        return;
    }
    let mut yielded = false;
    let _ = wait(std::future::poll_fn(|context| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }));
}
