//! Runners: reusable futures of the host that poll the tasks which tasks start.
//!
//! A task runs up to its first wait on top of the task that starts it, and what it waits for must know at that moment which
//! future to wake. A runner that has been polled before knows its waker. With a new runner for each task, the host would
//! have to poll it once more only to tell, and to allocate and free it: that costs more than the task's own switches.

use std::cell::{OnceCell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker, ready};

use crate::host::host;
use crate::task::{Task, TaskCell, current};
use crate::wait::interrupt;

/// The most idle runners that are kept; those that a burst needs beyond that end with it.
const MOST_IDLE: usize = 256;

thread_local! {
    static IDLE: RefCell<Vec<Rc<Runner>>> = const { RefCell::new(Vec::new()) };
}

#[derive(Default)]
struct Runner {
    /// The host's waker, which is the same at each poll; known from the first poll on.
    waker: OnceCell<Waker>,
    task: RefCell<Option<Task>>,
}

impl Runner {
    /// Puts this runner on the idle list, if there is room.
    fn rest(self: Rc<Self>) -> bool {
        IDLE.with_borrow_mut(|idle| {
            let has_room = idle.len() < MOST_IDLE;
            if has_room {
                idle.push(self);
            }
            has_room
        })
    }

    /// Polls the task from here on.
    fn take(&self, cell: Rc<TaskCell>) {
        self.task.replace(Some(Task(cell)));
        host().task_began();
    }
}

/// The future that the host polls. A late wake that was meant for the previous task finds nothing to do.
struct Run(Rc<Runner>);

impl Future for Run {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let runner = &self.0;
        runner.waker.get_or_init(|| context.waker().clone());
        let mut place = runner.task.borrow_mut();
        let Some(task) = place.as_mut() else {
            return Poll::Pending;
        };
        host().resumes(task.request_of().map(Rc::as_ref));
        let step = Pin::new(&mut *task).poll(context);
        host().left(task.request_of().map(Rc::as_ref));
        ready!(step);
        *place = None;
        host().task_ended();
        if Rc::clone(runner).rest() {
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    }
}

/// Runs a new task up to its first wait, on top of the running one; the host polls it from there.
pub(crate) fn start(cell: Rc<TaskCell>) {
    start_on_top(cell);
    // The time limit of both may have been reached in the new task.
    if current().is_some_and(|cell| cell.cancel.get().is_some()) {
        interrupt();
    }
}

fn start_on_top(cell: Rc<TaskCell>) {
    let Some(runner) = IDLE.with_borrow_mut(Vec::pop) else {
        if !cell.resume() {
            let runner = Rc::new(Runner::default());
            runner.take(cell);
            host().spawn(Box::pin(Run(runner)));
        }
        return;
    };
    let waker = runner.waker.get().expect("it has been polled");
    if cell.resume_for(waker) {
        drop(Task(cell));
        runner.rest();
    } else {
        runner.take(cell);
    }
}
