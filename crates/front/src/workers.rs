//! The workers, seen from here: which are idle, who has which, and which are to go.
//!
//! A worker is idle when it has nothing to do, not when its response has come: a request may go on after that, and one
//! that was broken off is still being told so. In these cases the worker says when it is free ([`FromDoor`]).

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;

use ipc::{Channel, FromDoor, ToDoor};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use tokio::io::unix::AsyncFd;
use tokio::net::UnixStream;
use tokio::task::{AbortHandle, spawn_local};

use crate::channel;
use crate::line::{Full, Line};
use crate::link::Link;

/// All of them.
pub(crate) struct Workers {
    line: Rc<Line<Rc<Worker>>>,
    known: RefCell<HashMap<u64, Rc<Worker>>>,
    next_link: Cell<u64>,
}

/// One of them.
pub(crate) struct Worker {
    id: u64,
    door: Rc<AsyncFd<Channel>>,
    listener: RefCell<Option<AbortHandle>>,
    /// While nobody uses it.
    link: RefCell<Option<Link>>,
    state: Cell<State>,
    /// It has said that the request of this link has ended, before we had read its response to the end.
    ended: Cell<Option<u64>>,
    /// It gets no further request.
    retired: Cell<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Idle,
    Leased,
    /// Its response has come; its request goes on.
    Ending {
        link: u64,
    },
    /// Its request was broken off.
    Closing {
        link: u64,
    },
    Gone,
}

/// A worker that is ours for one request. Dropping it before [`Lease::finish`] breaks the request off.
pub(crate) struct Lease {
    workers: Rc<Workers>,
    pub(crate) worker: Rc<Worker>,
    pub(crate) link: Option<Link>,
}

impl Workers {
    pub(crate) fn new(queue: usize) -> Rc<Workers> {
        Rc::new(Workers {
            line: Line::new(queue),
            known: RefCell::default(),
            // Two fronts never use the same number: what was said to one may be read by the next.
            next_link: Cell::new(u64::from(std::process::id()) << 32),
        })
    }

    pub(crate) fn set_queue(&self, limit: usize) {
        self.line.set_limit(limit);
    }

    /// A new one, idle.
    pub(crate) fn add(self: &Rc<Self>, id: u64, door: Channel) -> std::io::Result<()> {
        let worker = Rc::new(Worker {
            id,
            door: Rc::new(channel::watch(door)?),
            listener: RefCell::default(),
            link: RefCell::default(),
            state: Cell::new(State::Leased),
            ended: Cell::new(None),
            retired: Cell::new(false),
        });
        let listener = spawn_local(listen(Rc::clone(self), Rc::clone(&worker)));
        worker.listener.replace(Some(listener.abort_handle()));
        self.known.borrow_mut().insert(id, Rc::clone(&worker));
        self.release(worker);
        Ok(())
    }

    /// No more requests for this one.
    pub(crate) fn retire(&self, id: u64) {
        let worker = self.known.borrow().get(&id).cloned();
        if let Some(worker) = worker {
            worker.retired.set(true);
            if worker.state.get() == State::Idle {
                self.forget(&worker);
            }
        }
    }

    /// An idle worker, at once.
    pub(crate) fn take(self: &Rc<Self>) -> Option<Lease> {
        self.line.take().map(|worker| self.lease(worker))
    }

    /// The next worker that is idle; `first` before all others who wait.
    pub(crate) fn wait(self: &Rc<Self>, first: bool) -> Result<impl Future<Output = Lease>, Full> {
        let turn = self.line.line_up(first)?;
        let workers = Rc::clone(self);
        Ok(async move {
            let worker = turn.await;
            workers.lease(worker)
        })
    }

    fn lease(self: &Rc<Self>, worker: Rc<Worker>) -> Lease {
        worker.state.set(State::Leased);
        worker.ended.set(None);
        Lease {
            workers: Rc::clone(self),
            link: worker.link.take(),
            worker,
        }
    }

    /// It has nothing to do.
    fn release(&self, worker: Rc<Worker>) {
        if worker.retired.get() || worker.state.get() == State::Gone {
            return self.forget(&worker);
        }
        worker.state.set(State::Idle);
        self.line.put(worker);
    }

    /// Close its door.
    fn forget(&self, worker: &Rc<Worker>) {
        worker.state.set(State::Gone);
        worker.link.take();
        self.known.borrow_mut().remove(&worker.id);
        self.line.retain(|other| !Rc::ptr_eq(other, worker));
        if let Some(listener) = worker.listener.take() {
            listener.abort();
        }
    }

    fn heard(&self, worker: &Rc<Worker>, said: FromDoor) {
        if let FromDoor::Ended { leaves: true, .. } = said {
            worker.retired.set(true);
        }
        let free = match (said, worker.state.get()) {
            (FromDoor::Ended { connection, .. }, State::Ending { link })
            | (FromDoor::Closed { connection }, State::Ending { link } | State::Closing { link }) => {
                connection == link
            }
            (FromDoor::Ended { connection, .. }, State::Leased) => {
                worker.ended.set(Some(connection));
                false
            }
            _ => false,
        };
        if free {
            self.release(Rc::clone(worker));
        }
    }
}

/// Hear what a worker says through its door, until it is gone.
async fn listen(workers: Rc<Workers>, worker: Rc<Worker>) {
    let door = Rc::clone(&worker.door);
    while let Ok(Some((said, _))) = channel::receive::<FromDoor>(&door).await {
        workers.heard(&worker, said);
    }
    // Who has it at the moment finds that out by himself.
    if worker.state.get() == State::Leased {
        worker.retired.set(true);
    } else {
        workers.forget(&worker);
    }
}

impl Lease {
    /// The connection to it, made if there is none. An error: the worker is gone.
    pub(crate) async fn link(&mut self) -> Result<&mut Link, Gone> {
        if self.link.is_none() {
            let number = self.workers.next_link.get() + 1;
            self.workers.next_link.set(number);
            let opened = match self.worker.connect(number) {
                Ok(stream) => Link::open(number, stream).await.ok(),
                Err(_) => None,
            };
            if opened.is_none() {
                self.worker.retired.set(true);
            }
            self.link = opened;
        }
        self.link.as_mut().ok_or(Gone)
    }

    /// Its response has come whole. `more`: its request goes on; `leaves`: it wants no further one.
    pub(crate) fn finish(mut self, more: bool, leaves: bool) {
        let Some(mut link) = self.link.take() else {
            return;
        };
        let number = link.number;
        if leaves {
            self.worker.retired.set(true);
        }
        let reusable = link.is_reusable();
        if reusable {
            self.worker.link.replace(Some(link));
        }
        if more && self.worker.ended.get() != Some(number) {
            self.worker.state.set(State::Ending { link: number });
        } else {
            self.workers.release(Rc::clone(&self.worker));
        }
    }
}

/// A worker that cannot be reached.
#[derive(Debug)]
pub(crate) struct Gone;

impl Drop for Lease {
    fn drop(&mut self) {
        match self.link.take() {
            // Closing it breaks the request off; the worker says when it has ended.
            Some(link) => self.worker.state.set(State::Closing { link: link.number }),
            None if self.worker.state.get() == State::Leased => {
                self.workers.release(Rc::clone(&self.worker))
            }
            None => {}
        }
        if self
            .worker
            .listener
            .borrow()
            .as_ref()
            .is_none_or(AbortHandle::is_finished)
        {
            self.workers.forget(&self.worker);
        }
    }
}

impl Worker {
    /// Send it one end of a new connection.
    fn connect(&self, number: u64) -> std::io::Result<UnixStream> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        let connect = ToDoor::Connect { connection: number };
        self.door.get_ref().try_send(&connect, &[theirs.as_fd()])?;
        UnixStream::from_std(OwnedFd::into(ours))
    }
}
