//! Balanced dispatch: posts requests to the queue that workers claim from, and takes their responses from it.
//!
//! The front assigns no request to a worker: an idle worker claims the oldest request (the crate `relay`). The front decides
//! how many workers to wake ([`wakeup`]).

mod completions;
mod queue;
mod requests;
mod shortage;
mod wakeup;
mod worker;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use config::Settings;
use relay::{Dispatcher, Reserved};
use rustix::event::{EventfdFlags, eventfd};
use rustix::time::{TimerfdClockId, TimerfdFlags, timerfd_create};
use server::queue::QueueLimits;
use server::{WaitQueue, channel};
use shm::Writer;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::pending::PendingRequest;
use crate::shared::Thread;

use self::queue::Queue;
pub(crate) use self::queue::run as watch_queue;
use self::shortage::Shortage;
pub(crate) use self::shortage::report_shortages;
pub(crate) use self::worker::Worker;

/// Bytes of memory that responses share. A response that its client does not read at once is copied out of it.
const ANSWERS: usize = 32 << 10;

/// The workers of one thread of the front, and the requests that it has posted for them.
pub(crate) struct Workers {
    dispatcher: Dispatcher,
    memory: OwnedFd,
    /// Workers wake this thread with it. No task waits for it: a write ends the thread's sleep, and the thread polls
    /// everything before the next sleep ([`Workers::park`]). Nothing reads it: each write is an event of its own.
    eventfd: AsyncFd<OwnedFd>,
    /// Wakes this thread when workers that it woke have not claimed their requests soon.
    timer: AsyncFd<OwnedFd>,
    /// When the timer was set, and for how long.
    timed: Cell<Option<(Instant, Duration)>>,
    /// How often in a row the timer has fired while requests were still unclaimed.
    escalation: Cell<u32>,
    /// Processors of this machine: so many workers can compute at the same time.
    parallel: usize,
    /// Requests posted since the last poll of completions.
    posted: Cell<u32>,
    /// When the first work after the last sleep or [`Workers::poll_if_due`] began.
    busy: Cell<Option<Instant>>,
    /// Workers by the number that the supervisor gave them.
    known: RefCell<HashMap<u64, Rc<Worker>>>,
    /// The same workers by their consumer.
    consumers: RefCell<Vec<Option<Rc<Worker>>>>,
    /// Pending requests by slot.
    pending_requests: RefCell<Vec<Option<Rc<PendingRequest>>>>,
    /// Holds responses until they are sent.
    answers: RefCell<BytesMut>,
    /// Requests that are posted and not claimed.
    unclaimed: Cell<usize>,
    /// Unclaimed requests that do not count as waiting, because a worker was idle when they were posted.
    uncounted: Cell<usize>,
    /// Requests that wait for a slot.
    slots: Rc<WaitQueue<Reserved>>,
    queue: Queue,
    shortage: Shortage,
    pub(crate) board: Rc<Writer>,
    thread: Thread,
    /// Whether the access log shows how long each request waited and computed.
    measures: Cell<bool>,
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
}
