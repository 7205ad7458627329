//! The tasks that claim requests and serve them: leader and followers.
//!
//! One task at a time leads: it claims the next request. The leader runs this request up to its first wait, and only then
//! another task leads. So a request that never waits costs no switch between tasks, and no request is claimed while PHP
//! computes.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::os::fd::OwnedFd;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Poll, Waker};

use relay::RequestKey;
use tokio::task::spawn_local;

use super::{FrontLink, Links};
use crate::worker::Worker;

/// A task that claims requests and serves them.
#[derive(Default)]
pub(super) struct Claimer {
    /// The request that the claimer serves.
    request: RefCell<Option<(Rc<FrontLink>, RequestKey)>>,
    /// Files of that request, once the front has sent them.
    files: RefCell<Option<Vec<OwnedFd>>>,
    leads: Cell<bool>,
    /// The waker of the claimer's task, which never changes.
    waker: RefCell<Option<Waker>>,
}

/// All claimers of this worker.
pub(super) struct Claimers {
    all: RefCell<Vec<Rc<Claimer>>>,
    /// Claimers that neither lead nor serve.
    idle: RefCell<Vec<Rc<Claimer>>>,
    has_leader: Cell<bool>,
    /// The number of claimers that serve a request, and the most that may.
    serving: Cell<u32>,
    most: u32,
}

impl Claimer {
    pub(super) fn wake(&self) {
        if let Some(waker) = &*self.waker.borrow() {
            waker.wake_by_ref();
        }
    }

    fn serves(&self, link: &FrontLink, number: u32) -> bool {
        let request = self.request.borrow();
        let is_its = |(its, key): &(Rc<FrontLink>, RequestKey)| {
            std::ptr::eq(&raw const **its, link) && key.seq == number
        };
        request.as_ref().is_some_and(is_its)
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

    /// Gives files that the front has sent to the claimer of the request with this number.
    pub(super) fn give_files(&self, link: &FrontLink, number: u32, files: Vec<OwnedFd>) {
        let all = self.all.borrow();
        if let Some(claimer) = all.iter().find(|claimer| claimer.serves(link, number)) {
            claimer.files.replace(Some(files));
            claimer.wake();
        }
    }
}

/// Makes another claimer the leader, if one more request may run.
pub(super) fn promote(links: &Rc<Links>, worker: &Rc<Worker>) {
    let claimers = &links.claimers;
    let has_room = claimers.room() > 0;
    claimers.has_leader.set(has_room);
    links.queues.set_capacity(claimers.room());
    if !has_room {
        return;
    }
    let follower = claimers.idle.borrow_mut().pop();
    let is_new = follower.is_none();
    let claimer = follower.unwrap_or_default();
    claimer.leads.set(true);
    if is_new {
        claimers.all.borrow_mut().push(Rc::clone(&claimer));
        spawn_local(run(Rc::clone(worker), Rc::clone(links), claimer));
    } else {
        claimer.wake();
    }
}

async fn run(worker: Rc<Worker>, links: Rc<Links>, claimer: Rc<Claimer>) {
    poll_fn(|context| {
        claimer.waker.replace(Some(context.waker().clone()));
        Poll::Ready(())
    })
    .await;
    loop {
        poll_fn(|_| match claimer.leads.get() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        })
        .await;
        let (link, key) = links.next().await;
        serve(&worker, link, &claimer, key).await;
    }
}

async fn serve(worker: &Rc<Worker>, link: Rc<FrontLink>, claimer: &Rc<Claimer>, key: RequestKey) {
    let links = &link.all;
    let claimers = &links.claimers;
    claimer.request.replace(Some((Rc::clone(&link), key)));
    claimers.serving.set(claimers.serving.get() + 1);
    worker.serves(true);
    let mut serving = pin!(link.serve(worker, claimer, key));
    poll_fn(|context| {
        let step = serving.as_mut().poll(context);
        if step.is_pending() && claimer.leads.replace(false) {
            promote(links, worker);
        }
        step
    })
    .await;
    worker.serves(false);
    claimer.request.take();
    claimer.files.take();
    claimers.serving.set(claimers.serving.get() - 1);
    if claimer.leads.get() {
        return;
    }
    links.queues.set_capacity(claimers.room());
    if claimers.has_leader.replace(true) {
        claimers.idle.borrow_mut().push(Rc::clone(claimer));
    } else {
        claimer.leads.set(true);
    }
}
