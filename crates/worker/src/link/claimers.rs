//! The tasks that claim requests and serve them: leader and followers.
//!
//! One of them leads, which is to claim. It runs what it has claimed up to the first wait, and only then another leads. So a
//! request that never waits costs no switch between tasks, and nothing is claimed while PHP computes.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::os::fd::OwnedFd;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Poll, Waker};

use relay::Order;
use tokio::task::spawn_local;

use super::Link;
use crate::worker::Worker;

/// One of them.
#[derive(Default)]
pub(super) struct Claimer {
    /// What it serves.
    order: Cell<Option<Order>>,
    /// Files of that request, once the front has sent them.
    files: RefCell<Option<Vec<OwnedFd>>>,
    leads: Cell<bool>,
    /// Of its task, which is always the same.
    waker: RefCell<Option<Waker>>,
}

/// All of them.
pub(super) struct Claimers {
    all: RefCell<Vec<Rc<Claimer>>>,
    /// Those that neither lead nor serve.
    idle: RefCell<Vec<Rc<Claimer>>>,
    has_leader: Cell<bool>,
    /// How many serve, and how many may.
    serving: Cell<u32>,
    most: u32,
    /// Tasks that run, and what waits for their end.
    running: Cell<usize>,
    last: RefCell<Option<Waker>>,
}

impl Claimer {
    pub(super) fn wake(&self) {
        if let Some(waker) = &*self.waker.borrow() {
            waker.wake_by_ref();
        }
    }

    pub(super) fn order(&self) -> Option<Order> {
        self.order.get()
    }

    pub(super) fn take_files(&self) -> Option<Vec<OwnedFd>> {
        self.files.take()
    }
}

impl Claimers {
    pub(super) fn new(most: u32) -> Claimers {
        Claimers {
            all: RefCell::default(),
            idle: RefCell::default(),
            has_leader: Cell::new(false),
            serving: Cell::new(0),
            most,
            running: Cell::new(0),
            last: RefCell::default(),
        }
    }

    pub(super) fn is_serving(&self) -> bool {
        self.serving.get() > 0
    }

    pub(super) fn room(&self) -> u32 {
        self.most.saturating_sub(self.serving.get())
    }

    pub(super) fn wake_all(&self) {
        self.all.borrow().iter().for_each(|claimer| claimer.wake());
    }

    /// The files of the request of this number have come.
    pub(super) fn give_files(&self, number: u32, files: Vec<OwnedFd>) {
        let is_its = |claimer: &&Rc<Claimer>| {
            let order = claimer.order();
            order.is_some_and(|order| order.number == number)
        };
        if let Some(claimer) = self.all.borrow().iter().find(is_its) {
            claimer.files.replace(Some(files));
            claimer.wake();
        }
    }

    /// All have ended, which they do when the front is gone.
    pub(super) async fn ended(&self) {
        poll_fn(|context| {
            self.last.replace(Some(context.waker().clone()));
            match self.running.get() {
                0 => Poll::Ready(()),
                _ => Poll::Pending,
            }
        })
        .await;
    }
}

/// Let another lead, if one more request may run.
pub(super) fn promote(link: &Rc<Link>, worker: &Rc<Worker>) {
    let claimers = &link.claimers;
    let has_room = claimers.room() > 0;
    claimers.has_leader.set(has_room);
    link.seat.set_room(claimers.room());
    if !has_room {
        return;
    }
    let follower = claimers.idle.borrow_mut().pop();
    let is_new = follower.is_none();
    let claimer = follower.unwrap_or_default();
    claimer.leads.set(true);
    if is_new {
        claimers.all.borrow_mut().push(Rc::clone(&claimer));
        claimers.running.set(claimers.running.get() + 1);
        spawn_local(run(Rc::clone(worker), Rc::clone(link), claimer));
    } else {
        claimer.wake();
    }
}

async fn run(worker: Rc<Worker>, link: Rc<Link>, claimer: Rc<Claimer>) {
    poll_fn(|context| {
        claimer.waker.replace(Some(context.waker().clone()));
        Poll::Ready(())
    })
    .await;
    loop {
        poll_fn(|_| match claimer.leads.get() || link.is_gone.get() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        })
        .await;
        let Some(order) = link.next().await else {
            break;
        };
        serve(&worker, &link, &claimer, order).await;
    }
    let claimers = &link.claimers;
    claimers.running.set(claimers.running.get() - 1);
    if let Some(waker) = claimers.last.take() {
        waker.wake();
    }
}

async fn serve(worker: &Rc<Worker>, link: &Rc<Link>, claimer: &Rc<Claimer>, order: Order) {
    let claimers = &link.claimers;
    claimer.order.set(Some(order));
    claimers.serving.set(claimers.serving.get() + 1);
    worker.serves(true);
    let mut serving = pin!(link.serve(worker, claimer, order));
    poll_fn(|context| {
        let step = serving.as_mut().poll(context);
        if step.is_pending() && claimer.leads.replace(false) {
            promote(link, worker);
        }
        step
    })
    .await;
    worker.serves(false);
    claimer.order.set(None);
    claimer.files.take();
    claimers.serving.set(claimers.serving.get() - 1);
    if claimer.leads.get() {
        return;
    }
    link.seat.set_room(claimers.room());
    if claimers.has_leader.replace(true) {
        claimers.idle.borrow_mut().push(Rc::clone(claimer));
    } else {
        claimer.leads.set(true);
    }
}
