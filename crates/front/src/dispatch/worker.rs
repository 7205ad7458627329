//! A worker as the front knows it, from its attachment to the queue until it has exited.

use std::cell::RefCell;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::{Rc, Weak};

use http1::Spool;
use ipc::{Channel, FrontToWorker};
use relay::Completion;
use rustix::event::{EventfdFlags, eventfd};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use tokio::net::UnixStream;
use tokio::task::{AbortHandle, spawn_local};

use super::Workers;
use crate::response_spool::Broken;
use crate::stream_reader;

/// One worker that claims requests of this thread.
pub(crate) struct Worker {
    id: u64,
    pub(crate) consumer: u16,
    /// `None` once the worker is to get no further request.
    front_channel: RefCell<Option<Channel>>,
    pub(super) eventfd: OwnedFd,
    pub(crate) stream: UnixStream,
    listener: RefCell<Option<AbortHandle>>,
}

impl Workers {
    /// Adds a worker, and sends it what it needs to claim requests.
    pub(crate) fn add(self: &Rc<Self>, id: u64, front_channel: Channel) -> io::Result<()> {
        let consumer = self.dispatcher.add_consumer();
        let consumer =
            consumer.ok_or_else(|| io::Error::other("more workers than there are consumers"))?;
        let worker = attach_worker(self, id, consumer, front_channel);
        let worker = Rc::new(worker.inspect_err(|_| self.dispatcher.remove_consumer(consumer))?);
        self.enlist(&worker);
        let weak: Weak<Workers> = Rc::downgrade(self);
        let listener = spawn_local(stream_reader::take(weak, Rc::clone(&worker)));
        worker.listener.replace(Some(listener.abort_handle()));
        self.shortage.over();
        Ok(())
    }

    fn enlist(&self, worker: &Rc<Worker>) {
        let mut consumers = self.consumers.borrow_mut();
        let at = usize::from(worker.consumer);
        if consumers.len() <= at {
            consumers.resize(at + 1, None);
        }
        consumers[at] = Some(Rc::clone(worker));
        self.known.borrow_mut().insert(worker.id, Rc::clone(worker));
    }

    /// Gives this worker no more requests; the worker exits when it has answered those that it has.
    pub(crate) fn retire(&self, id: u64) {
        let worker = self.known.borrow().get(&id).cloned();
        if let Some(worker) = worker {
            self.dispatcher.close(worker.consumer);
            worker.front_channel.take();
            self.poll_completions();
        }
    }

    /// Removes a worker that has died or exited. The requests that it had claimed are lost.
    pub(crate) fn gone(&self, worker: &Rc<Worker>) {
        self.poll_completions();
        for completion in self.dispatcher.claimed_by(worker.consumer) {
            self.lose(completion);
        }
        self.dispatcher.remove_consumer(worker.consumer);
        self.consumers.borrow_mut()[usize::from(worker.consumer)] = None;
        self.known.borrow_mut().remove(&worker.id);
        worker.front_channel.take();
        if let Some(listener) = worker.listener.take() {
            listener.abort();
        }
        self.poll_completions();
    }

    /// Ends a request whose worker has exited, as lost.
    fn lose(&self, completion: Completion) {
        let after = self.dispatcher.claimed_for(completion.key);
        let pending = self.pending(completion.key);
        let lost = Completion {
            ended: true,
            ..completion
        };
        self.on_completion(lost, after);
        if let Some(pending) = pending {
            pending.end_stream(Err(Broken));
            self.finish(&pending, after);
        }
    }

    /// Returns the files with the parts of this request that did not fit in its slot; none if the request is not pending.
    pub(crate) fn files(&self, worker: &Worker, number: u32) -> Vec<Rc<Spool>> {
        let pending = self.streaming(worker, number);
        pending
            .map(|pending| pending.files.clone())
            .unwrap_or_default()
    }
}

/// Sends a worker the descriptors that it needs as `consumer`.
fn attach_worker(
    workers: &Workers,
    id: u64,
    consumer: u16,
    front_channel: Channel,
) -> io::Result<Worker> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    let eventfd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
    let fds = [
        workers.memory.as_fd(),
        theirs.as_fd(),
        eventfd.as_fd(),
        workers.eventfd.get_ref().as_fd(),
    ];
    front_channel.try_send(&FrontToWorker::Attach { consumer }, &fds)?;
    Ok(Worker {
        id,
        consumer,
        front_channel: RefCell::new(Some(front_channel)),
        eventfd,
        stream: UnixStream::from_std(ours.into())?,
        listener: RefCell::default(),
    })
}
