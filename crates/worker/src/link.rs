//! Serving a front: claim the next request at its desk, answer it, and sleep when there is none.
//!
//! One request after the other, each to its end, what it does after its response included: this worker is claimed for
//! nothing else meanwhile, because it is it who claims.

mod answer;

use std::cell::{Cell, RefCell};
use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http1::{Limits, RequestHead, Version};
use ipc::Ends;
use ipc::frame::{Asked, Part, Piece};
use php::{BodyFault, BodySource, Client};
use relay::{Order, Seat, Then};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::net::UnixStream;
use tokio::task::JoinHandle;

use crate::answer::Answer;
use crate::connection::tcp_client;
use crate::handler::{Answering, refused};
use crate::upload::Upload;
use crate::worker::Worker;
use crate::{descriptors, log};
use http1::now_ms;

/// After so many requests in a row, whatever else this thread has to do has its turn.
const IN_A_ROW: u32 = 32;

/// What ties us to one front.
pub(crate) struct Link {
    seat: Seat,
    /// Ends with the front; what does not fit in a slot goes through it.
    stream: UnixStream,
    /// What wakes us, and the front.
    bell: AsyncFd<OwnedFd>,
    front: OwnedFd,
    /// What came last of files, and for which request.
    files: RefCell<Option<(u32, Vec<OwnedFd>)>>,
    /// The client of the request before, which is likely the same.
    client: RefCell<Option<(String, Rc<Client>)>>,
    buffer: RefCell<Vec<u8>>,
    answer: RefCell<(Vec<u8>, Vec<u8>)>,
}

/// Between a request and who waits for its end.
#[derive(Default)]
pub(crate) struct Passage {
    goes_on: Cell<bool>,
    /// A worker has died with it.
    pub(crate) again: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

impl Passage {
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
        std::future::poll_fn(|context| {
            if !self.goes_on.get() {
                return Poll::Ready(());
            }
            self.waker.replace(Some(context.waker().clone()));
            Poll::Pending
        })
        .await;
    }
}

/// Serve the front until it is gone, or wants no more of us.
pub(crate) async fn serve(worker: Rc<Worker>, link: Link, before: Option<JoinHandle<()>>) {
    if let Some(before) = before {
        let _ = before.await;
    }
    let (mut in_a_row, mut began) = (0, now_ms());
    while let Some(order) = link.next(&worker).await {
        worker.serves(true);
        link.serve(&worker, order).await;
        worker.serves(false);
        in_a_row += 1;
        if in_a_row >= IN_A_ROW || now_ms() != began {
            tokio::task::yield_now().await;
            if link.is_gone().await {
                return;
            }
            (in_a_row, began) = (0, now_ms());
        }
    }
}

impl Link {
    /// `files`: those of [`ipc::ToDoor::Serve`].
    pub(crate) fn new(seat: u16, files: Vec<OwnedFd>) -> io::Result<Link> {
        let Ok([memory, stream, bell, front]) = <[OwnedFd; 4]>::try_from(files) else {
            return Err(io::Error::other("a seat came without its descriptors"));
        };
        Ok(Link {
            seat: Seat::take(&memory, seat)?,
            stream: UnixStream::from_std(stream.into())?,
            bell: descriptors::watch(bell, Interest::READABLE)?,
            front,
            files: RefCell::default(),
            client: RefCell::default(),
            buffer: RefCell::default(),
            answer: RefCell::default(),
        })
    }

    /// The next request; `None` when there will be none.
    async fn next(&self, worker: &Worker) -> Option<Order> {
        loop {
            if worker.host.is_leaving() {
                self.gone().await;
                return None;
            }
            if let Some(order) = self.seat.claim() {
                return Some(order);
            }
            if !self.seat.sleep() {
                continue;
            }
            let woken = std::future::poll_fn(|context| {
                if self.poll_gone(context).is_ready() {
                    return Poll::Ready(false);
                }
                self.poll_bell(context).map(|()| true)
            });
            let woken = woken.await;
            self.seat.rise();
            if !woken {
                return None;
            }
        }
    }

    // ---- the front ----

    async fn gone(&self) {
        std::future::poll_fn(|context| self.poll_gone(context)).await;
    }

    /// Nobody waits for what is still in its queue, and whoever asks for it again asks another front. Known only after the
    /// runtime has looked at its descriptors.
    async fn is_gone(&self) -> bool {
        std::future::poll_fn(|context| Poll::Ready(self.poll_gone(context).is_ready())).await
    }

    /// Ready when the front is gone. What it sends before are files.
    fn poll_gone(&self, context: &mut Context<'_>) -> Poll<()> {
        while self.stream.poll_read_ready(context).is_ready() {
            let received = self
                .stream
                .try_io(Interest::READABLE, || ipc::recv_files(&self.stream));
            match received {
                Ok(Some(files)) => self.keep(files),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Ok(None) | Err(_) => return Poll::Ready(()),
            }
        }
        Poll::Pending
    }

    /// Without its files a request is given back, unanswered.
    fn keep(&self, (number, files): ipc::Received) {
        let files = files.unwrap_or_else(|error| {
            log::error(format_args!(
                "cannot take a request's files from the front: {error}; it is given back"
            ));
            Vec::new()
        });
        self.files.replace(Some((number, files)));
    }

    /// Ready when the front has rung since the last look.
    fn poll_bell(&self, context: &mut Context<'_>) -> Poll<()> {
        self.bell.poll_read_ready(context).map(|ready| {
            if let Ok(mut ready) = ready {
                // It is not read: each ring is an event of its own.
                ready.clear_ready();
            }
        })
    }

    /// Ready when nobody waits for the answer any more.
    fn poll_unwanted(&self, order: Order, context: &mut Context<'_>) -> Poll<()> {
        while self.poll_bell(context).is_ready() {}
        if self.seat.is_cancelled(order) {
            return Poll::Ready(());
        }
        self.poll_gone(context)
    }

    fn ring(&self) {
        // A full counter has rung already.
        let _ = rustix::io::write(&self.front, &1u64.to_ne_bytes());
    }

    fn tell(&self, then: Then) {
        match then {
            Then::Nothing => {}
            Then::Wake => self.ring(),
        }
    }

    // ---- a request ----

    async fn serve(&self, worker: &Rc<Worker>, order: Order) {
        let mut bytes = self.buffer.take();
        bytes.clear();
        self.seat.read(order, &mut bytes);
        let request = self.request(order, &bytes).await;
        self.buffer.replace(bytes);
        let Some((id, client, head, body, again)) = request else {
            self.tell(self.seat.end(order));
            return;
        };
        let passage = Rc::new(Passage::default());
        passage.again.set(again);
        let is_head = head.is_head();
        let answer = match refused(worker, &client, &head) {
            Some(answer) => Some(answer),
            None => {
                let (worker, passage) = (Rc::clone(worker), Rc::clone(&passage));
                let answering = Answering::new(worker, client, id, head, body, Some(passage));
                self.run(order, answering).await
            }
        };
        let ended = match answer {
            Some(answer) => self.deliver(order, answer, is_head, &passage).await,
            None => false,
        };
        if !ended {
            passage.until_ended().await;
            self.tell(self.seat.end(order));
        }
    }

    /// Id, client, head and body of what the front wrote, and whether a worker has died with it; `None` if nobody waits for
    /// it any more.
    async fn request(
        &self,
        order: Order,
        bytes: &[u8],
    ) -> Option<(
        u64,
        Rc<Client>,
        RequestHead,
        Option<Box<dyn BodySource>>,
        bool,
    )> {
        let Some(asked) = Asked::parse(bytes) else {
            log::alert("the front asked for something we do not understand");
            return None;
        };
        let in_files = [asked.head, asked.body].map(|part| matches!(part, Part::File(_)));
        let mut files = match in_files {
            [false, false] => Vec::new(),
            _ => self.files(order).await?,
        }
        .into_iter();
        let limits = Limits {
            head: usize::MAX,
            target: usize::MAX,
            fields: 128,
        };
        let parsed = match asked.head {
            Part::Here(text) => RequestHead::parse(text, limits),
            Part::None | Part::File(_) => {
                let text = Upload::new(files.next()?).read_all().ok()?;
                RequestHead::parse(&text, limits)
            }
        };
        let Ok(Some((mut head, _))) = parsed else {
            log::alert("the front sent a head that is none");
            return None;
        };
        if asked.is_http10 {
            head.version = Version::Http10;
        }
        let body: Option<Box<dyn BodySource>> = match asked.body {
            Part::None => None,
            Part::Here(bytes) => Some(Box::new(Whole(Bytes::copy_from_slice(bytes)))),
            Part::File(_) => Some(Box::new(Upload::new(files.next()?))),
        };
        Some((
            asked.id,
            self.client(asked.ends)?,
            head,
            body,
            asked.is_again,
        ))
    }

    /// Files of a request; `None` if nobody waits for it any more.
    async fn files(&self, order: Order) -> Option<Vec<OwnedFd>> {
        self.send_mark(order, Piece::Files).await.ok()?;
        std::future::poll_fn(|context| {
            let unwanted = self.poll_unwanted(order, context).is_ready();
            match self.files.take() {
                Some((number, files)) if number == order.number => Poll::Ready(Some(files)),
                _ if unwanted => Poll::Ready(None),
                _ => Poll::Pending,
            }
        })
        .await
    }

    fn client(&self, ends: &str) -> Option<Rc<Client>> {
        if let Some((text, client)) = &*self.client.borrow()
            && text == ends
        {
            return Some(Rc::clone(client));
        }
        let parsed = Ends::parse(ends)?;
        let client = match (parsed.peer, parsed.local) {
            (Some(peer), Some(local)) => tcp_client(peer, local),
            _ => Client::default(),
        };
        let client = Rc::new(Client {
            secure: parsed.secure,
            ..client
        });
        let known = (ends.to_owned(), Rc::clone(&client));
        self.client.replace(Some(known));
        Some(client)
    }

    /// Until it is answered; `None` if nobody waits for it any more.
    async fn run(&self, order: Order, mut answering: Answering) -> Option<Answer> {
        std::future::poll_fn(|context| {
            if let Poll::Ready(answer) = Pin::new(&mut answering).poll(context) {
                return Poll::Ready(Some(answer));
            }
            self.poll_unwanted(order, context).map(|()| None)
        })
        .await
    }
}

/// A body that came with the request.
struct Whole(Bytes);

impl BodySource for Whole {
    fn poll_piece(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyFault>>> {
        let bytes = std::mem::take(&mut self.0);
        Poll::Ready((!bytes.is_empty()).then_some(Ok(bytes)))
    }
}
