//! The workers and what they are asked: requests go to the dispatcher, answers come from it.
//!
//! Nothing is given to a certain worker: an idle worker claims what was posted first (the crate `relay`). What is
//! decided here is which worker to wake ([`wakeup`]).

mod queue;
mod shortage;
mod wakeup;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::{Rc, Weak};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use config::Settings;
use http1::Spool;
use ipc::{Channel, FrontToWorker};
use relay::{Completion, Dispatcher, Priority, RequestKey, Reserved};
use rustix::event::{EventfdFlags, eventfd};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::time::{TimerfdClockId, TimerfdFlags, timerfd_create};
use server::access::Spent;
use server::queue::{QueueLimits, count_wait};
use server::{WaitQueue, channel};
use shm::{Counter, Writer};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::net::UnixStream;
use tokio::task::{AbortHandle, spawn_local};

use crate::buffers::Buffer;
use crate::pending::PendingRequest;
use crate::response_spool::Broken;
use crate::shared::Thread;
use crate::stream_reader;

use self::queue::Queue;
pub(crate) use self::queue::run as watch_queue;
use self::shortage::Shortage;
pub(crate) use self::shortage::ask_for_more;

/// Requests are posted, and answers left where they are, so often at most before both are looked at.
const IN_A_ROW: u32 = 16;

/// Bytes of memory that answers share. A response that is not read at once is copied out of it.
const ANSWERS: usize = 32 << 10;

/// All of them.
pub(crate) struct Workers {
    dispatcher: Dispatcher,
    memory: OwnedFd,
    /// Workers wake this thread with it. No task waits for it: it only has to end a sleep, because the thread looks at
    /// everything before the next one ([`Workers::park`]). It is not read: each write is an event of its own.
    eventfd: AsyncFd<OwnedFd>,
    /// The same, for when workers that were woken are slow.
    timer: AsyncFd<OwnedFd>,
    /// When it was set, and for how long.
    timed: Cell<Option<(Instant, Duration)>>,
    /// How often in a row the timer has fired in vain.
    escalation: Cell<u32>,
    /// Requests that run at the same time.
    parallel: usize,
    posted: Cell<u32>,
    /// Since when, after the last sleep or [`Workers::poll_if_due`], something goes on.
    busy: Cell<Option<Instant>>,
    known: RefCell<HashMap<u64, Rc<Worker>>>,
    consumers: RefCell<Vec<Option<Rc<Worker>>>>,
    pending_requests: RefCell<Vec<Option<Rc<PendingRequest>>>>,
    /// Where answers lie until they are sent; used again when all in it are.
    answers: RefCell<BytesMut>,
    /// Posted and not claimed.
    unclaimed: Cell<usize>,
    /// Those of them that are not counted as waiting: a worker was idle.
    uncounted: Cell<usize>,
    /// The requests that wait for a slot.
    slots: Rc<WaitQueue<Reserved>>,
    queue: Queue,
    shortage: Shortage,
    pub(crate) board: Rc<Writer>,
    thread: Thread,
    /// Workers say where the time of requests goes.
    measures: Cell<bool>,
}

/// One of them.
pub(crate) struct Worker {
    id: u64,
    pub(crate) consumer: u16,
    /// `None`: it gets no further request.
    front_channel: RefCell<Option<Channel>>,
    eventfd: OwnedFd,
    pub(crate) stream: UnixStream,
    listener: RefCell<Option<AbortHandle>>,
}

impl Workers {
    pub(crate) fn new(board: Rc<Writer>, thread: Thread) -> io::Result<Rc<Workers>> {
        let (dispatcher, memory) = Dispatcher::open()?;
        let eventfd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        Ok(Rc::new(Workers {
            dispatcher,
            memory,
            eventfd: channel::watch(eventfd, Interest::READABLE)?,
            timer: channel::watch(timer, Interest::READABLE)?,
            timed: Cell::new(None),
            escalation: Cell::new(0),
            parallel: std::thread::available_parallelism().map_or(1, Into::into),
            posted: Cell::new(0),
            busy: Cell::new(None),
            known: RefCell::default(),
            consumers: RefCell::default(),
            pending_requests: RefCell::default(),
            answers: RefCell::new(BytesMut::with_capacity(ANSWERS)),
            unclaimed: Cell::new(0),
            uncounted: Cell::new(0),
            slots: WaitQueue::new([]),
            queue: Queue::new(thread.clone()),
            shortage: Shortage::default(),
            board,
            thread,
            measures: Cell::new(false),
        }))
    }

    pub(crate) fn change(&self, settings: &Settings) {
        let limits = QueueLimits::new(settings.queue, settings.queue_timeout);
        self.queue.limits.set(limits);
        self.shortage.set_elastic(settings.is_elastic());
    }

    pub(crate) fn measure(&self, measures: bool) {
        self.measures.set(measures);
    }

    // ---- requests ----

    fn slot(&self) -> Option<Reserved> {
        if self.slots.has_waiters() {
            return None;
        }
        self.slots
            .try_acquire()
            .or_else(|| self.dispatcher.reserve())
    }

    /// Give free slots to those that wait for one.
    fn serve_slot_waiters(&self) {
        while self.slots.has_waiters() {
            let Some(slot) = self.dispatcher.reserve() else {
                return;
            };
            self.slots.release(slot);
        }
    }

    /// How many requests wait for a worker, those of other threads included.
    fn waiting(&self) -> usize {
        self.publish_waiting() + self.thread.waiting_elsewhere()
    }

    fn publish_waiting(&self) -> usize {
        let here = self.unclaimed.get() + self.slots.waiting();
        self.thread.set_waiting(here);
        here
    }

    /// Post what is asked. The result goes to the [`PendingRequest`].
    pub(crate) fn post(
        &self,
        slot: Reserved,
        asked: &[u8],
        files: &[Rc<Spool>],
        again: bool,
    ) -> Rc<PendingRequest> {
        let waits = self.unclaimed.get() + self.thread.waiting_elsewhere()
            >= self.dispatcher.idle_capacity();
        self.dispatcher.write(&slot, asked);
        let key = self.dispatcher.post(slot, priority(again));
        let pending = Rc::new(PendingRequest::new(key, waits, files.to_vec()));
        self.unclaimed.set(self.unclaimed.get() + 1);
        self.queue.enter(pending.posted, self.unclaimed.get());
        match waits {
            true => self.board.count(Counter::Queued, 1),
            false => self.uncounted.set(self.uncounted.get() + 1),
        }
        self.publish_waiting();
        self.enter(Rc::clone(&pending));
        self.posted.set(self.posted.get() + 1);
        if self.posted.get() >= IN_A_ROW {
            self.poll_completions();
        }
        pending
    }

    fn enter(&self, pending: Rc<PendingRequest>) {
        let mut pending_requests = self.pending_requests.borrow_mut();
        let at = usize::from(pending.key.slot);
        if pending_requests.len() <= at {
            pending_requests.resize(at + 1, None);
        }
        pending_requests[at] = Some(pending);
    }

    fn pending(&self, key: RequestKey) -> Option<Rc<PendingRequest>> {
        let pending_requests = self.pending_requests.borrow();
        let pending = pending_requests.get(usize::from(key.slot))?.as_ref()?;
        (pending.key == key).then(|| Rc::clone(pending))
    }

    /// The client no longer waits for the response.
    pub(crate) fn abandon(&self, pending: &Rc<PendingRequest>) {
        if self.pending(pending.key).is_none() {
            return;
        }
        if self.dispatcher.try_withdraw(pending.key) {
            pending.has_only_waited();
            self.claimed(pending);
            self.forget(pending);
            return;
        }
        self.note_spent(pending);
        if let Some(consumer) = self.dispatcher.cancel(pending.key) {
            self.notify(consumer);
        }
    }

    /// A worker has it, or had it.
    pub(crate) fn is_claimed(&self, pending: &PendingRequest) -> bool {
        self.pending(pending.key).is_none() || self.dispatcher.owner_of(pending.key).is_some()
    }

    /// Its client has left; only if it is claimed.
    pub(crate) fn cancel(&self, pending: &PendingRequest) {
        if self.pending(pending.key).is_some()
            && let Some(consumer) = self.dispatcher.cancel(pending.key)
        {
            self.notify(consumer);
        }
    }

    /// Its worker is to wait, because too much of its answer is not read yet; false if the worker knows, or has ended.
    pub(crate) fn hold(&self, pending: &PendingRequest) -> bool {
        let is_known = self.pending(pending.key).is_some();
        is_known && self.dispatcher.hold(pending.key, true).is_some()
    }

    /// Its worker may go on.
    pub(crate) fn release(&self, pending: &PendingRequest) {
        if self.pending(pending.key).is_some()
            && let Some(consumer) = self.dispatcher.hold(pending.key, false)
        {
            self.notify(consumer);
        }
    }

    /// It has left the queue.
    fn claimed(&self, pending: &PendingRequest) {
        if pending.claim() {
            self.unclaimed.set(self.unclaimed.get() - 1);
            match pending.waited() {
                Some(time) => count_wait(&self.board, time),
                None => self.uncounted.set(self.uncounted.get() - 1),
            }
        }
    }

    /// A worker has taken it.
    fn taken(&self, pending: &PendingRequest) {
        self.claimed(pending);
        if self.unclaimed.get() == 0 {
            self.queue.emptied();
        }
    }

    /// Its slot is free.
    fn forget(&self, pending: &PendingRequest) {
        self.pending_requests.borrow_mut()[usize::from(pending.key.slot)] = None;
        self.serve_slot_waiters();
    }

    // ---- what becomes of them ----

    /// Look at what workers have done, and wake those that are needed.
    pub(crate) fn poll_completions(&self) {
        self.posted.set(0);
        self.dispatcher.drain_dequeued(|key| {
            if let Some(pending) = self.pending(key) {
                self.taken(&pending);
            }
        });
        self.dispatcher
            .drain_completions(|completion| self.on_completion(completion, Duration::ZERO));
        // They may wait for room in the rings, too.
        self.serve_slot_waiters();
        self.publish_waiting();
        self.wake();
    }

    /// `after`: how long after the claim, if its worker is dead.
    fn on_completion(&self, completion: Completion, after: Duration) {
        let Some(pending) = self.pending(completion.key) else {
            // No such request is pending: a worker writes where it should not.
            return;
        };
        self.taken(&pending);
        self.note_spent(&pending);
        if completion.answered && pending.is_open() {
            pending.answered(self.read(completion.key));
        }
        if completion.ended {
            pending.has_ended.set(true);
            self.finish(&pending, after);
        }
    }

    /// Its answer, in a part of memory that it shares with others.
    fn read(&self, key: RequestKey) -> Bytes {
        let mut bytes = Buffer::new();
        self.dispatcher.read(key, &mut bytes);
        let mut answers = self.answers.borrow_mut();
        answers.extend_from_slice(&bytes);
        answers.split().freeze()
    }

    /// Where its time went, as far as its worker has said.
    pub(crate) fn note_spent(&self, pending: &PendingRequest) {
        if self.measures.get() && self.pending(pending.key).is_some() {
            let (php, cpu) = self.dispatcher.spent(pending.key);
            let since_claim = self.dispatcher.claimed_for(pending.key);
            let queue = match pending.spent.get().queue {
                Duration::ZERO => pending.posted.elapsed().saturating_sub(since_claim),
                known => known,
            };
            pending.spent.set(Spent { queue, php, cpu });
        }
    }

    /// Its slot is free when its worker has done with it and all that came through the stream was taken.
    pub(crate) fn finish(&self, pending: &Rc<PendingRequest>, after: Duration) {
        let is_over = pending.has_ended.get() && !pending.is_streaming();
        if is_over && self.pending(pending.key).is_some() {
            pending.lost(after);
            self.dispatcher.free(pending.key);
            self.forget(pending);
        }
    }

    /// The request whose answer comes through this worker's stream.
    pub(crate) fn streaming(&self, worker: &Worker, number: u32) -> Option<Rc<PendingRequest>> {
        let find = || {
            let pending_requests = self.pending_requests.borrow();
            let mut pending_requests = pending_requests.iter().flatten();
            let pending = pending_requests.find(|pending| pending.key.seq == number)?;
            (self.dispatcher.owner_of(pending.key) == Some(worker.consumer))
                .then(|| Rc::clone(pending))
        };
        let pending = find()?;
        if pending.is_open() {
            // Its head is in the slot, and was not looked at yet.
            self.poll_completions();
        }
        Some(pending)
    }

    // ---- workers ----

    /// A new one.
    pub(crate) fn add(self: &Rc<Self>, id: u64, front_channel: Channel) -> io::Result<()> {
        let consumer = self.dispatcher.add_consumer();
        let consumer =
            consumer.ok_or_else(|| io::Error::other("more workers than there are consumers"))?;
        let worker = attach_worker(self, id, consumer, front_channel);
        let worker = Rc::new(worker.inspect_err(|_| self.dispatcher.remove_consumer(consumer))?);
        let mut consumers = self.consumers.borrow_mut();
        if consumers.len() <= usize::from(consumer) {
            consumers.resize(usize::from(consumer) + 1, None);
        }
        consumers[usize::from(consumer)] = Some(Rc::clone(&worker));
        self.known.borrow_mut().insert(id, Rc::clone(&worker));
        let weak: Weak<Workers> = Rc::downgrade(self);
        let listener = spawn_local(stream_reader::take(weak, Rc::clone(&worker)));
        worker.listener.replace(Some(listener.abort_handle()));
        self.shortage.over();
        Ok(())
    }

    /// No more requests for this one: it leaves when it has answered what it has.
    pub(crate) fn retire(&self, id: u64) {
        let worker = self.known.borrow().get(&id).cloned();
        if let Some(worker) = worker {
            self.dispatcher.close(worker.consumer);
            worker.front_channel.take();
            self.poll_completions();
        }
    }

    /// It is dead, or has left. What it had is lost.
    pub(crate) fn gone(&self, worker: &Rc<Worker>) {
        self.poll_completions();
        for completion in self.dispatcher.claimed_by(worker.consumer) {
            let after = self.dispatcher.claimed_for(completion.key);
            let pending = self.pending(completion.key);
            let ended = true;
            self.on_completion(
                Completion {
                    ended,
                    ..completion
                },
                after,
            );
            if let Some(pending) = pending {
                pending.end_stream(Err(Broken));
                self.finish(&pending, after);
            }
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

    /// What of this request is in files; nothing if the request is cancelled.
    pub(crate) fn files(&self, worker: &Worker, number: u32) -> Vec<Rc<Spool>> {
        let pending = self.streaming(worker, number);
        pending
            .map(|pending| pending.files.clone())
            .unwrap_or_default()
    }
}

fn priority(again: bool) -> Priority {
    if again {
        Priority::Retry
    } else {
        Priority::Normal
    }
}

/// Attach a worker to `consumer`.
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
