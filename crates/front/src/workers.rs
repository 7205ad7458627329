//! The workers and what they are asked: requests go to the desk, answers come from it.
//!
//! Nothing is given to a certain worker: whoever is idle claims what was posted first (the crate `relay`). What is
//! decided here is whom to wake ([`waking`]).

mod queue;
mod shortage;
mod waking;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::{Rc, Weak};
use std::time::{Duration, Instant};

use http1::Spool;
use ipc::{Channel, FrontSettings, ToDoor};
use relay::{Desk, Lane, News, Order, Reserved};
use rustix::event::{EventfdFlags, eventfd};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::time::{TimerfdClockId, TimerfdFlags, timerfd_create};
use scoreboard::{Counter, Writer};
use tokio::io::unix::AsyncFd;
use tokio::net::UnixStream;
use tokio::task::{AbortHandle, spawn_local};

use crate::channel;
use crate::flight::Flight;
use crate::line::Line;
use crate::shared::Thread;
use crate::store::Broken;
use crate::streamed;

use self::queue::{Queue, waited};
pub(crate) use self::queue::{Refused, run as watch_queue};
use self::shortage::Shortage;
pub(crate) use self::shortage::ask_for_more;

/// Requests are posted, and answers left where they are, so often at most before both are looked at.
const IN_A_ROW: u32 = 32;

/// All of them.
pub(crate) struct Workers {
    desk: Desk,
    memory: OwnedFd,
    /// What workers wake us with. Nobody waits for it: that it ends a sleep is enough, because before the next one
    /// everything is looked at ([`Workers::park`]). It is not read: each ring is an event of its own.
    bell: AsyncFd<OwnedFd>,
    /// The same, for when patience is over.
    timer: AsyncFd<OwnedFd>,
    timed: Cell<Option<Instant>>,
    /// How often in a row it has rung in vain.
    rings: Cell<u32>,
    /// Requests that run at the same time.
    parallel: usize,
    posted: Cell<u32>,
    /// Since when, after the last sleep or [`Workers::glance`], something goes on.
    busy: Cell<Option<Instant>>,
    known: RefCell<HashMap<u64, Rc<Worker>>>,
    seats: RefCell<Vec<Option<Rc<Worker>>>>,
    flights: RefCell<Vec<Option<Rc<Flight>>>>,
    /// Posted and not claimed.
    unclaimed: Cell<usize>,
    /// Who waits for a slot.
    line: Rc<Line<Reserved>>,
    queue: Queue,
    shortage: Shortage,
    pub(crate) board: Rc<Writer>,
    thread: Thread,
}

/// One of them.
pub(crate) struct Worker {
    id: u64,
    pub(crate) seat: u16,
    /// `None`: it gets no further request.
    door: RefCell<Option<Channel>>,
    bell: OwnedFd,
    pub(crate) stream: UnixStream,
    listener: RefCell<Option<AbortHandle>>,
}

impl Workers {
    pub(crate) fn new(board: Rc<Writer>, thread: Thread) -> io::Result<Rc<Workers>> {
        let (desk, memory) = Desk::open()?;
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        Ok(Rc::new(Workers {
            desk,
            memory,
            bell: channel::watch(bell)?,
            timer: channel::watch(timer)?,
            timed: Cell::new(None),
            rings: Cell::new(0),
            parallel: std::thread::available_parallelism().map_or(1, Into::into),
            posted: Cell::new(0),
            busy: Cell::new(None),
            known: RefCell::default(),
            seats: RefCell::default(),
            flights: RefCell::default(),
            unclaimed: Cell::new(0),
            line: Line::new(),
            queue: Queue::new(thread.clone()),
            shortage: Shortage::default(),
            board,
            thread,
        }))
    }

    pub(crate) fn change(&self, settings: &FrontSettings) {
        let timeout = Duration::try_from_secs_f64(settings.queue_timeout);
        let timeout = timeout.unwrap_or(Duration::ZERO);
        self.queue.set_limits(settings.queue as usize, timeout);
        self.shortage.set_elastic(settings.is_elastic);
    }

    // ---- requests ----

    fn slot(&self) -> Option<Reserved> {
        if self.line.is_waited_for() {
            return None;
        }
        self.line.take().or_else(|| self.desk.reserve())
    }

    /// Slots for those who wait for one, as far as there are any.
    fn serve_line(&self) {
        while self.line.is_waited_for() {
            let Some(slot) = self.desk.reserve() else {
                return;
            };
            self.line.put(slot);
        }
    }

    /// How many requests wait for a worker, those of other threads included.
    fn waiting(&self) -> usize {
        self.publish_waiting() + self.thread.waiting_elsewhere()
    }

    fn publish_waiting(&self) -> usize {
        let here = self.unclaimed.get() + self.line.waiting();
        self.thread.set_waiting(here);
        here
    }

    /// Post what is asked. What becomes of it is told to the flight.
    pub(crate) fn post(
        &self,
        slot: Reserved,
        asked: &[u8],
        files: &[Rc<Spool>],
        again: bool,
    ) -> Rc<Flight> {
        let waits = self.unclaimed.get() + self.thread.waiting_elsewhere() >= self.desk.room();
        self.desk.write(&slot, asked);
        let order = self.desk.post(slot, lane(again));
        let flight = Rc::new(Flight::new(order, waits, files.to_vec()));
        self.unclaimed.set(self.unclaimed.get() + 1);
        self.queue.enter(flight.posted, self.unclaimed.get());
        if waits {
            self.board.count(Counter::Queued, 1);
        }
        self.publish_waiting();
        self.enter(Rc::clone(&flight));
        self.posted.set(self.posted.get() + 1);
        if self.posted.get() >= IN_A_ROW || self.is_late(flight.posted) {
            self.turn();
        }
        flight
    }

    fn enter(&self, flight: Rc<Flight>) {
        let mut flights = self.flights.borrow_mut();
        let at = usize::from(flight.order.slot);
        if flights.len() <= at {
            flights.resize(at + 1, None);
        }
        flights[at] = Some(flight);
    }

    fn flight(&self, order: Order) -> Option<Rc<Flight>> {
        let flights = self.flights.borrow();
        let flight = flights.get(usize::from(order.slot))?.as_ref()?;
        (flight.order == order).then(|| Rc::clone(flight))
    }

    /// Nobody waits for it any more.
    pub(crate) fn abandon(&self, flight: &Rc<Flight>) {
        if self.flight(flight.order).is_none() {
            return;
        }
        if self.desk.take_back(flight.order) {
            self.claimed(flight);
            self.forget(flight);
        } else if let Some(seat) = self.desk.cancel(flight.order) {
            self.ring(seat);
        }
    }

    /// A worker has it, or had it.
    pub(crate) fn is_claimed(&self, flight: &Flight) -> bool {
        self.flight(flight.order).is_none() || self.desk.holder(flight.order).is_some()
    }

    /// Its client has left; only if it is claimed.
    pub(crate) fn cancel(&self, flight: &Flight) {
        if self.flight(flight.order).is_some()
            && let Some(seat) = self.desk.cancel(flight.order)
        {
            self.ring(seat);
        }
    }

    /// So much of its answer was not read yet that its worker is to wait; false if it was told so before, or has ended.
    pub(crate) fn hold(&self, flight: &Flight) -> bool {
        let is_known = self.flight(flight.order).is_some();
        is_known && self.desk.hold(flight.order, true).is_some()
    }

    /// Its worker may go on.
    pub(crate) fn release(&self, flight: &Flight) {
        if self.flight(flight.order).is_some()
            && let Some(seat) = self.desk.hold(flight.order, false)
        {
            self.ring(seat);
        }
    }

    /// It has left the queue.
    fn claimed(&self, flight: &Flight) {
        if flight.claim() {
            self.unclaimed.set(self.unclaimed.get() - 1);
            if let Some(time) = flight.waited() {
                waited(&self.board, time);
            }
        }
    }

    /// A worker has taken it.
    fn taken(&self, flight: &Flight) {
        self.claimed(flight);
        if self.unclaimed.get() == 0 {
            self.queue.emptied();
        }
    }

    /// Its slot is free.
    fn forget(&self, flight: &Flight) {
        self.flights.borrow_mut()[usize::from(flight.order.slot)] = None;
        self.serve_line();
    }

    // ---- what becomes of them ----

    /// Look at what workers have done, and wake those that are needed.
    pub(crate) fn turn(&self) {
        self.posted.set(0);
        self.desk.passed(|order| {
            if let Some(flight) = self.flight(order) {
                self.taken(&flight);
            }
        });
        self.desk.news(|news| self.heard(news, Duration::ZERO));
        // Room in the rings, too, is what they may wait for.
        self.serve_line();
        self.publish_waiting();
        self.wake();
    }

    /// `after`: how long after the claim, if its worker is dead.
    fn heard(&self, news: News, after: Duration) {
        let Some(flight) = self.flight(news.order) else {
            // Nobody asked for it: a worker writes where it should not.
            return;
        };
        self.taken(&flight);
        if news.answered && flight.is_open() {
            let mut bytes = Vec::new();
            self.desk.read(news.order, &mut bytes);
            flight.answered(bytes);
        }
        if news.ended {
            flight.has_ended.set(true);
            self.finish(&flight, after);
        }
    }

    /// Its slot is free when its worker has done with it and all that came through the stream was taken.
    pub(crate) fn finish(&self, flight: &Rc<Flight>, after: Duration) {
        let is_over = flight.has_ended.get() && !flight.is_streaming();
        if is_over && self.flight(flight.order).is_some() {
            flight.lost(after);
            self.desk.free(flight.order);
            self.forget(flight);
        }
    }

    /// Whose answer comes through this worker's stream.
    pub(crate) fn streaming(&self, worker: &Worker, number: u32) -> Option<Rc<Flight>> {
        let find = || {
            let flights = self.flights.borrow();
            let mut flights = flights.iter().flatten();
            let flight = flights.find(|flight| flight.order.number == number)?;
            (self.desk.holder(flight.order) == Some(worker.seat)).then(|| Rc::clone(flight))
        };
        let flight = find()?;
        if flight.is_open() {
            // Its head is in the slot, and was not looked at yet.
            self.turn();
        }
        Some(flight)
    }

    // ---- workers ----

    /// A new one.
    pub(crate) fn add(self: &Rc<Self>, id: u64, door: Channel) -> io::Result<()> {
        let seat = self.desk.seat();
        let seat = seat.ok_or_else(|| io::Error::other("more workers than there are seats"))?;
        let worker = introduce(self, id, seat, door);
        let worker = Rc::new(worker.inspect_err(|_| self.desk.leave(seat))?);
        let mut seats = self.seats.borrow_mut();
        if seats.len() <= usize::from(seat) {
            seats.resize(usize::from(seat) + 1, None);
        }
        seats[usize::from(seat)] = Some(Rc::clone(&worker));
        self.known.borrow_mut().insert(id, Rc::clone(&worker));
        let weak: Weak<Workers> = Rc::downgrade(self);
        let listener = spawn_local(streamed::take(weak, Rc::clone(&worker)));
        worker.listener.replace(Some(listener.abort_handle()));
        Ok(())
    }

    /// No more requests for this one: it leaves when it has answered what it has.
    pub(crate) fn retire(&self, id: u64) {
        let worker = self.known.borrow().get(&id).cloned();
        if let Some(worker) = worker {
            self.desk.close(worker.seat);
            worker.door.take();
            self.turn();
        }
    }

    /// It is dead, or has left. What it had is lost.
    pub(crate) fn gone(&self, worker: &Rc<Worker>) {
        self.turn();
        for news in self.desk.held_by(worker.seat) {
            let after = self.desk.claimed_for(news.order);
            let flight = self.flight(news.order);
            let ended = true;
            self.heard(News { ended, ..news }, after);
            if let Some(flight) = flight {
                flight.end_stream(Err(Broken));
                self.finish(&flight, after);
            }
        }
        self.desk.leave(worker.seat);
        self.seats.borrow_mut()[usize::from(worker.seat)] = None;
        self.known.borrow_mut().remove(&worker.id);
        worker.door.take();
        if let Some(listener) = worker.listener.take() {
            listener.abort();
        }
        self.turn();
    }

    /// What of this request is in files; nothing if nobody waits for it any more.
    pub(crate) fn files(&self, worker: &Worker, number: u32) -> Vec<Rc<Spool>> {
        let flight = self.streaming(worker, number);
        flight
            .map(|flight| flight.files.clone())
            .unwrap_or_default()
    }
}

fn lane(again: bool) -> Lane {
    if again { Lane::First } else { Lane::Usual }
}

/// Give a worker its seat.
fn introduce(workers: &Workers, id: u64, seat: u16, door: Channel) -> io::Result<Worker> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
    let fds = [
        workers.memory.as_fd(),
        theirs.as_fd(),
        bell.as_fd(),
        workers.bell.get_ref().as_fd(),
    ];
    door.try_send(&ToDoor::Serve { seat }, &fds)?;
    Ok(Worker {
        id,
        seat,
        door: RefCell::new(Some(door)),
        bell,
        stream: UnixStream::from_std(ours.into())?,
        listener: RefCell::default(),
    })
}
