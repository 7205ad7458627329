//! Runs PHP's collector of cycles before its buffer is full: when the process has more open descriptors, and when it is idle.
//!
//! The engine begins with 10,001 possible cycles. A cycle may hold a connection, so a worker would keep thousands of them first.

use std::cell::Cell;
use std::os::fd::{AsFd, AsRawFd};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use php::Task;
use tokio::task::spawn_local;

use crate::watchdog;
use crate::worker::Worker;

/// After how many requests the descriptors are counted: two system calls.
const LOOK: u32 = 64;
/// The collector runs when the process has this many more descriptors than after the last run.
const GROWTH: i32 = 64;
/// A worker in which no request ends for this long is idle.
const IDLE: Duration = Duration::from_secs(1);

/// When the collector runs next.
pub(crate) struct Collector {
    /// Requests that have ended.
    ended: Cell<u32>,
    /// Whether [`until_idle`] runs.
    watched: Cell<bool>,
    /// Whether a run is due that has not begun yet.
    due: Cell<bool>,
    /// The number of open descriptors after the last run.
    open: Cell<i32>,
}

impl Collector {
    pub(crate) fn new() -> Collector {
        Collector {
            ended: Cell::new(0),
            watched: Cell::new(false),
            due: Cell::new(false),
            open: Cell::new(open_descriptors().unwrap_or(0)),
        }
    }

    fn has_grown(&self) -> bool {
        // No descriptor is left if none can be opened.
        open_descriptors().is_none_or(|now| now - self.open.get() >= GROWTH)
    }
}

async fn run(worker: &Worker) {
    worker.collector.due.set(false);
    if let Some(mut task) = php::collector_task() {
        std::future::poll_fn(|context| poll_watched(&mut task, worker, context)).await;
    }
    if let Some(now) = open_descriptors() {
        worker.collector.open.set(now);
    }
}

/// Polls the task once. A destructor that does not come to its end is ended as if it ran in a request.
fn poll_watched(task: &mut Task, worker: &Worker, context: &mut Context<'_>) -> Poll<()> {
    watchdog::slow_at(u64::MAX, 0);
    watchdog::running_until(worker.deadline());
    let step = Pin::new(task).poll(context);
    worker.host.rests(None);
    step
}

/// Called when a request has ended. In classic mode each request ends with the engine's life, and its cycles with it.
pub(crate) fn request_ended(worker: &Rc<Worker>) {
    if worker.classic.is_some() {
        return;
    }
    let collector = &worker.collector;
    let ended = collector.ended.get().wrapping_add(1);
    collector.ended.set(ended);
    if ended.is_multiple_of(LOOK) && collector.has_grown() && !collector.due.replace(true) {
        let worker = Rc::clone(worker);
        spawn_local(async move { run(&worker).await });
    }
    if !collector.watched.replace(true) {
        spawn_local(until_idle(Rc::clone(worker)));
    }
}

async fn until_idle(worker: Rc<Worker>) {
    let collector = &worker.collector;
    loop {
        let before = collector.ended.get();
        tokio::time::sleep(IDLE).await;
        if collector.ended.get() == before {
            break;
        }
    }
    collector.watched.set(false);
    run(&worker).await;
}

/// The lowest number that is free, which is at most the number of open descriptors; `None` if no further one can be opened.
fn open_descriptors() -> Option<i32> {
    let copy = std::io::stderr().as_fd().try_clone_to_owned().ok()?;
    Some(copy.as_raw_fd())
}
