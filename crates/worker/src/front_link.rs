//! Serving the front: claim the next request at its desks while this thread is idle, answer it, and sleep when there is none.
//! Each thread of the front has a dispatcher of its own.
//!
//! As many requests at a time as `workers.concurrency` says, each to its end, what it does after its response included.

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

/// After so long without a look at the descriptors they are looked at before the next request is claimed: what becomes
/// ready goes first. Where all requests wait for something of the front's only, seldom is enough.
const LOOK: Duration = Duration::from_micros(100);
const LOOK_ALONE: Duration = Duration::from_millis(1);

/// What ties this worker to the front: one link to each of its threads, and what serves them all.
pub(crate) struct Links {
    host: &'static ProcessHost,
    queues: Queues<FrontLink>,
    claimers: Claimers,
    /// The leader, while there is nothing to claim.
    waiting: RefCell<Option<Waker>>,
    /// The front knows that we sleep.
    is_asleep: Cell<bool>,
    /// When the runtime has last looked at its descriptors.
    looked: Cell<Instant>,
    /// The client of the request before, which is likely the same.
    client: RefCell<Option<Rc<Client>>>,
    buffer: RefCell<Vec<u8>>,
    answer: RefCell<(Vec<u8>, Vec<u8>)>,
}

/// What ties this worker to one thread of the front.
pub(crate) struct FrontLink {
    all: Rc<Links>,
    consumer: Consumer,
    /// Ends with the front; what does not fit in a slot goes through it, a piece at a time.
    stream: UnixStream,
    writing: Mutex<()>,
    /// What wakes us, and the front.
    eventfd: AsyncFd<OwnedFd>,
    front: OwnedFd,
    is_gone: Cell<bool>,
    /// [`Consumer::signals`] of the last look.
    signals: Cell<u64>,
}

impl AsRef<Consumer> for FrontLink {
    fn as_ref(&self) -> &Consumer {
        &self.consumer
    }
}

/// Between a request and what waits for its end.
#[derive(Default)]
pub(crate) struct EndSignal {
    goes_on: Cell<bool>,
    /// A worker has died with it.
    pub(crate) again: Cell<bool>,
    waker: RefCell<Option<Waker>>,
    /// If the front wants to know.
    timings: Option<Rc<Timings>>,
}

impl EndSignal {
    /// The request goes on without its response.
    pub(crate) fn goes_on(&self) {
        self.goes_on.set(true);
    }

    /// It has ended.
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
    /// For what happens before and after this thread sleeps.
    static LINKS: RefCell<Option<Rc<Links>>> = const { RefCell::new(None) };
}

fn with_links(look: impl Fn(&Links)) {
    LINKS.with_borrow(|links| links.as_deref().map(look));
}

/// This thread is about to sleep.
pub(crate) fn park() {
    with_links(Links::park);
}

/// It has slept.
pub(crate) fn unpark() {
    with_links(Links::unpark);
}

impl Links {
    /// None yet.
    pub(crate) fn open(worker: &Rc<Worker>) -> Rc<Links> {
        let links = Rc::new(Links {
            host: worker.host,
            queues: Queues::default(),
            claimers: Claimers::new(worker.concurrency),
            waiting: RefCell::default(),
            is_asleep: Cell::new(false),
            looked: Cell::new(Instant::now()),
            client: RefCell::default(),
            buffer: RefCell::default(),
            answer: RefCell::default(),
        });
        LINKS.set(Some(Rc::clone(&links)));
        claimers::promote(&links, worker);
        links
    }

    /// Claim requests as this consumer too. `files`: those of [`ipc::FrontToWorker::Attach`].
    pub(crate) fn add(self: &Rc<Self>, consumer: u16, files: Vec<OwnedFd>) -> io::Result<()> {
        let link = Rc::new(FrontLink::new(self, consumer, files)?);
        self.queues.add(Rc::clone(&link), self.claimers.room());
        spawn_local(Rc::clone(self).serve(link));
        Ok(())
    }

    /// Until the front is gone. What it has asked for is not wanted any more then.
    async fn serve(self: Rc<Self>, link: Rc<FrontLink>) {
        poll_fn(|context| link.poll_front(context)).await;
        link.is_gone.set(true);
        self.queues.remove(&link);
        self.claimers.wake_all();
    }

    // ---- the next request ----

    /// The leader's next request.
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

    /// What is ready, or becomes so by a look at the descriptors, has its turn before anything new is claimed.
    async fn give_way(&self) {
        let seldom = match self.claimers.is_serving() {
            true => LOOK,
            false => LOOK_ALONE,
        };
        if self.looked.get().elapsed() >= seldom {
            yield_now().await;
            self.looked.set(Instant::now());
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
        self.looked.set(Instant::now());
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

    /// Ready when the front is gone.
    fn poll_front(&self, context: &mut Context<'_>) -> Poll<()> {
        if self.poll_eventfd(context) {
            self.all.wake_leader();
            self.look_at_signals();
        }
        self.poll_gone(context)
    }

    fn look_at_signals(&self) {
        let signals = self.consumer.signals();
        if self.signals.replace(signals) != signals {
            self.all.claimers.wake_all();
        }
    }

    /// Ready when the front is gone. What it sends before are files.
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

    /// Without its files a request is given back, unanswered.
    fn keep(&self, (number, files): relay::Received) {
        let files = files.unwrap_or_else(|error| {
            logging::error!(
                "cannot take a request's files from the front: {error}; it is given back"
            );
            Vec::new()
        });
        self.all.claimers.give_files(self, number, files);
    }

    /// Whether the front has rung since the last look.
    fn poll_eventfd(&self, context: &mut Context<'_>) -> bool {
        let mut rang = false;
        while let Poll::Ready(ready) = self.eventfd.poll_read_ready(context) {
            rang = true;
            if let Ok(mut ready) = ready {
                // It is not read: each ring is an event of its own.
                ready.clear_ready();
            }
        }
        rang
    }

    /// No client waits for the answer any more.
    fn is_unwanted(&self, key: RequestKey) -> bool {
        self.is_gone.get() || self.consumer.is_cancelled(key)
    }

    fn ring(&self) {
        // A full counter has rung already.
        let _ = rustix::io::write(&self.front, &1u64.to_ne_bytes());
    }

    /// Before the front hears something else of the request.
    fn tell_times(&self, key: RequestKey, end_signal: &EndSignal) {
        if let Some(timings) = &end_signal.timings {
            self.consumer.spends(key, timings.php(), timings.cpu());
        }
    }

    fn tell(&self, then: Notify) {
        match then {
            Notify::No => {}
            Notify::Yes => self.ring(),
        }
    }

    // ---- a request ----

    async fn serve(&self, worker: &Rc<Worker>, claimer: &Claimer, key: RequestKey) {
        let Some(received) = self.receive(claimer, key).await else {
            self.tell(self.consumer.end(key));
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
            self.tell(self.consumer.end(key));
        }
    }

    /// Until it is answered; `None` if its client has left.
    async fn run(&self, key: RequestKey, mut answering: RequestFuture) -> Option<HttpResponse> {
        poll_fn(|context| {
            if let Poll::Ready(answer) = Pin::new(&mut answering).poll(context) {
                return Poll::Ready(Some(answer));
            }
            match self.is_unwanted(key) {
                true => Poll::Ready(None),
                false => Poll::Pending,
            }
        })
        .await
    }
}
