//! Runners poll the tasks that tasks start: futures of the host's, used again and again.
//!
//! A task runs up to its first wait on top of the one that starts it, and what it waits for must know at that moment which future
//! to wake. A runner that has been polled before knows; with a new one for each task, the host would have to poll it
//! once more only to tell, and to allocate and free it: more than the task's own switches cost.

use std::cell::{OnceCell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker, ready};

use crate::host::host;
use crate::task::{Task, TaskCell, current};
use crate::wait::interrupt;

/// How many wait for a task at most; those of a burst end with it.
const MOST_IDLE: usize = 256;

thread_local! {
    static IDLE: RefCell<Vec<Rc<Runner>>> = const { RefCell::new(Vec::new()) };
}

#[derive(Default)]
struct Runner {
    /// The host's, the same at each poll; known from the first on.
    waker: OnceCell<Waker>,
    task: RefCell<Option<Task>>,
}

impl Runner {
    /// Wait for a task in the list, if there is room.
    fn rest(self: Rc<Self>) -> bool {
        IDLE.with_borrow_mut(|idle| {
            let has_room = idle.len() < MOST_IDLE;
            if has_room {
                idle.push(self);
            }
            has_room
        })
    }

    /// Have it polled from here on.
    fn take(&self, cell: Rc<TaskCell>) {
        self.task.replace(Some(Task(cell)));
        host().task_began();
    }
}

/// What the host polls. A wake that was meant for the task before is one that finds nothing.
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

/// Run a new task up to its first wait, on top of the one that runs; the host polls it from there.
pub(crate) fn start(cell: Rc<TaskCell>) {
    start_on_top(cell);
    // The time of both may have ended in the new one.
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
