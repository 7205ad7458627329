//! The worker's connection to the front: claims the next request while this thread is idle, answers it, and sleeps when
//! there is none. Each thread of the front has a dispatcher, and so a queue, of its own.
//!
//! The worker has up to `workers.concurrency` requests at a time. A request counts until its end, including work after its
//! response.

pub(crate) mod attach;
mod claimers;
mod deliver;
mod request;

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use php::{Client, Timings};
use relay::{Consumer, Notify, Queues, RequestKey};
use server::channel;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::net::UnixStream;
use tokio::sync::Mutex;
use tokio::task::{spawn_local, yield_now};

use self::claimers::{Claimer, Claimers};
use self::request::Received;
use crate::host::ProcessHost;
use crate::request::{RequestFuture, refused};
use crate::response::HttpResponse;
use crate::worker::Worker;

/// How long after the last poll of descriptors they are polled again before the next claim, so that tasks which become ready
/// go first. The longer time is enough while this worker has no request.
const POLL_INTERVAL: Duration = Duration::from_micros(100);
const POLL_INTERVAL_ALONE: Duration = Duration::from_millis(1);

/// The worker's side of balanced dispatch: a link to each thread of the front, and the tasks that serve all of them.
pub(crate) struct Links {
    host: &'static ProcessHost,
    queues: Queues<FrontLink>,
    claimers: Claimers,
    /// The waker of the leader while there is nothing to claim.
    waiting: RefCell<Option<Waker>>,
    /// Whether the requests that still run are cancelled, because the worker's time to finish is over.
    is_cut_off: Cell<bool>,
    /// Whether the queues show that this worker sleeps.
    is_asleep: Cell<bool>,
    /// When the runtime last polled its descriptors.
    last_poll: Cell<Instant>,
    /// The client of the previous request, which is likely that of the next.
    client: RefCell<Option<Rc<Client>>>,
    buffer: RefCell<Vec<u8>>,
    answer: RefCell<(Vec<u8>, Vec<u8>)>,
}

/// The worker's link to one thread of the front.
pub(crate) struct FrontLink {
    all: Rc<Links>,
    consumer: Consumer,
    /// The stream socket for what does not fit in a slot, in frames. EOF means that the front has exited.
    stream: UnixStream,
    writing: Mutex<()>,
    /// The eventfd by which the front wakes this worker, and the one by which this worker wakes the front.
    eventfd: AsyncFd<OwnedFd>,
    front: OwnedFd,
    is_gone: Cell<bool>,
    /// [`Consumer::signals`] as of the last check.
    signals: Cell<u64>,
}

impl AsRef<Consumer> for FrontLink {
    fn as_ref(&self) -> &Consumer {
        &self.consumer
    }
}

/// Tells the claimer of a request when the request has ended.
#[derive(Default)]
pub(crate) struct EndSignal {
    goes_on: Cell<bool>,
    /// Whether a worker has died with the request.
    pub(crate) again: Cell<bool>,
    waker: RefCell<Option<Waker>>,
    /// Where the request's time goes, if the front wants to know.
    timings: Option<Rc<Timings>>,
}

impl EndSignal {
    /// Notes that the request goes on after its response.
    pub(crate) fn goes_on(&self) {
        self.goes_on.set(true);
    }

    /// Notes that the request has ended.
    pub(crate) fn ended(&self) {
        self.goes_on.set(false);
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    async fn until_ended(&self) {
        poll_fn(|context| {
            if !self.goes_on.get() {
                return Poll::Ready(());
            }
            self.waker.replace(Some(context.waker().clone()));
            Poll::Pending
        })
        .await;
    }
}

thread_local! {
    /// This worker's links, for the runtime's park and unpark hooks.
    static LINKS: RefCell<Option<Rc<Links>>> = const { RefCell::new(None) };
}

fn with_links(action: impl Fn(&Links)) {
    LINKS.with_borrow(|links| links.as_deref().map(action));
}

/// Publishes that this thread is about to sleep.
pub(crate) fn park() {
    with_links(Links::park);
}

/// Publishes that this thread has woken up.
pub(crate) fn unpark() {
    with_links(Links::unpark);
}

/// Cancels the requests from the front that still run. They are not given back: the front takes them as those of a worker that
/// dies, because they have run in part.
pub(crate) fn cut_off() {
    with_links(|links| {
        links.is_cut_off.set(true);
        links.claimers.wake_all();
    });
}

impl Links {
    /// Makes the state without a link, and starts the first claimer.
    pub(crate) fn open(worker: &Rc<Worker>) -> Rc<Links> {
        let links = Rc::new(Links {
            host: worker.host,
            queues: Queues::default(),
            claimers: Claimers::new(worker.concurrency),
            waiting: RefCell::default(),
            is_cut_off: Cell::new(false),
            is_asleep: Cell::new(false),
            last_poll: Cell::new(Instant::now()),
            client: RefCell::default(),
            buffer: RefCell::default(),
            answer: RefCell::default(),
        });
        LINKS.set(Some(Rc::clone(&links)));
        claimers::promote(&links, worker);
        links
    }

    /// Adds a link: this worker claims requests as this consumer too. `files`: the descriptors of
    /// [`ipc::FrontToWorker::Attach`].
    pub(crate) fn add(self: &Rc<Self>, consumer: u16, files: Vec<OwnedFd>) -> io::Result<()> {
        let link = Rc::new(FrontLink::new(self, consumer, files)?);
        self.queues.add(Rc::clone(&link), self.claimers.room());
        spawn_local(Rc::clone(self).serve(link));
        Ok(())
    }

    /// Watches a link until the front has exited; from then on, the front's requests are not wanted any more.
    async fn serve(self: Rc<Self>, link: Rc<FrontLink>) {
        poll_fn(|context| link.poll_front(context)).await;
        link.is_gone.set(true);
        self.queues.remove(&link);
        self.claimers.wake_all();
    }

    // ---- the next request ----

    /// Waits for the next request and claims it, for the leader.
    async fn next(&self) -> (Rc<FrontLink>, RequestKey) {
        loop {
            self.give_way().await;
            if let Some(found) = self.claim() {
                return found;
            }
            self.until_needed().await;
        }
    }

    fn claim(&self) -> Option<(Rc<FrontLink>, RequestKey)> {
        match self.host.is_leaving() {
            true => None,
            false => self.queues.claim(),
        }
    }

    /// Lets tasks that are ready, or become ready by a poll of the descriptors, run before a new request is claimed.
    async fn give_way(&self) {
        let seldom = match self.claimers.is_serving() {
            true => POLL_INTERVAL,
            false => POLL_INTERVAL_ALONE,
        };
        if self.last_poll.get().elapsed() >= seldom {
            yield_now().await;
            self.last_poll.set(Instant::now());
        }
    }

    async fn until_needed(&self) {
        let mut waits = false;
        poll_fn(|context| {
            if waits && self.waiting.borrow().is_none() {
                return Poll::Ready(());
            }
            waits = true;
            self.waiting.replace(Some(context.waker().clone()));
            Poll::Pending
        })
        .await;
    }

    fn wake_leader(&self) {
        if let Some(waker) = self.waiting.take() {
            waker.wake();
        }
    }

    fn park(&self) {
        self.queues.set_running(false);
        let claims = self.waiting.borrow().is_some() && !self.host.is_leaving();
        if !claims {
            return;
        }
        if self.queues.sleep() {
            self.is_asleep.set(true);
        } else {
            self.wake_leader();
        }
    }

    fn unpark(&self) {
        self.queues.set_running(true);
        if self.is_asleep.replace(false) {
            self.queues.mark_awake();
        }
        self.last_poll.set(Instant::now());
    }
}

impl FrontLink {
    fn new(all: &Rc<Links>, consumer: u16, files: Vec<OwnedFd>) -> io::Result<FrontLink> {
        let Ok([memory, stream, eventfd, front]) = <[OwnedFd; 4]>::try_from(files) else {
            return Err(io::Error::other("a consumer came without its descriptors"));
        };
        Ok(FrontLink {
            all: Rc::clone(all),
            consumer: Consumer::take(&memory, consumer)?,
            stream: UnixStream::from_std(stream.into())?,
            writing: Mutex::new(()),
            eventfd: channel::watch(eventfd, Interest::READABLE)?,
            front,
            is_gone: Cell::new(false),
            signals: Cell::new(0),
        })
    }

    // ---- the front ----

    /// Handles wake-ups and data from the front; ready when the front has exited.
    fn poll_front(&self, context: &mut Context<'_>) -> Poll<()> {
        if self.poll_eventfd(context) {
            self.all.wake_leader();
            self.check_signals();
        }
        self.poll_gone(context)
    }

    fn check_signals(&self) {
        let signals = self.consumer.signals();
        if self.signals.replace(signals) != signals {
            self.all.claimers.wake_all();
        }
    }

    /// Receives files from the front; ready when the front has exited.
    fn poll_gone(&self, context: &mut Context<'_>) -> Poll<()> {
        while self.stream.poll_read_ready(context).is_ready() {
            let received = self
                .stream
                .try_io(Interest::READABLE, || relay::recv_files(&self.stream));
            match received {
                Ok(Some(files)) => self.keep(files),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Ok(None) | Err(_) => return Poll::Ready(()),
            }
        }
        Poll::Pending
    }

    /// Keeps the files of a request for its claimer. A request whose files cannot be received is ended unanswered.
    fn keep(&self, (number, files): relay::Received) {
        let files = files.unwrap_or_else(|error| {
            logging::error!(
                "cannot take a request's files from the front: {error}; the request is given back"
            );
            Vec::new()
        });
        self.all.claimers.give_files(self, number, files);
    }

    /// Whether the front has written to the eventfd since the last check.
    fn poll_eventfd(&self, context: &mut Context<'_>) -> bool {
        let mut notified = false;
        while let Poll::Ready(ready) = self.eventfd.poll_read_ready(context) {
            notified = true;
            if let Ok(mut ready) = ready {
                // The counter is not read: each write is an event of its own.
                ready.clear_ready();
            }
        }
        notified
    }

    /// Whether no client waits for the response any more, or the worker does not finish it.
    fn is_cancelled(&self, key: RequestKey) -> bool {
        self.is_gone.get() || self.all.is_cut_off.get() || self.consumer.is_cancelled(key)
    }

    fn write_eventfd(&self) {
        // The write fails only if the eventfd's counter is full: the front is notified already.
        let _ = rustix::io::write(&self.front, &1u64.to_ne_bytes());
    }

    /// Publishes the request's times. To be called before the front gets a completion or a frame of the request.
    fn publish_times(&self, key: RequestKey, end_signal: &EndSignal) {
        if let Some(timings) = &end_signal.timings {
            self.consumer
                .publish_times(key, timings.php(), timings.cpu());
        }
    }

    fn notify(&self, then: Notify) {
        match then {
            Notify::No => {}
            Notify::Yes => self.write_eventfd(),
        }
    }

    // ---- a request ----

    async fn serve(&self, worker: &Rc<Worker>, claimer: &Claimer, key: RequestKey) {
        let Some(received) = self.receive(claimer, key).await else {
            self.notify(self.consumer.end(key));
            return;
        };
        let Received {
            id,
            client,
            head,
            body,
            is_retry,
        } = received;
        let timings = worker.timings();
        let end_signal = Rc::new(EndSignal {
            again: Cell::new(is_retry),
            timings: timings.clone(),
            ..EndSignal::default()
        });
        let is_head = head.is_head();
        let answer = match refused(worker, &client, &head) {
            Some(answer) => Some(answer),
            None => {
                let (worker, end_signal) = (Rc::clone(worker), Rc::clone(&end_signal));
                let answering =
                    RequestFuture::new(worker, client, id, head, body, Some(end_signal), timings);
                self.run(key, answering).await
            }
        };
        let ended = match answer {
            Some(answer) => self.deliver(key, answer, is_head, &end_signal).await,
            None => false,
        };
        if !ended {
            end_signal.until_ended().await;
            if !self.all.is_cut_off.get() {
                self.notify(self.consumer.end(key));
            }
        }
    }

    /// Runs the request until it is answered; returns `None` if the client has left.
    async fn run(&self, key: RequestKey, mut answering: RequestFuture) -> Option<HttpResponse> {
        poll_fn(|context| {
            if let Poll::Ready(answer) = Pin::new(&mut answering).poll(context) {
                return Poll::Ready(Some(answer));
            }
            match self.is_cancelled(key) {
                true => Poll::Ready(None),
                false => Poll::Pending,
            }
        })
        .await
    }
}
