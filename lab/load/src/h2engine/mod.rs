//! The HTTP/2 engine: one tokio thread with connections that carry several streams each.
//!
//! Both engines count into the same recorder; only the transport of a request differs.

mod exchange;
mod streams;
mod timer;

use crate::clock::{Nanos, nanos, thread_cpu};
use crate::control::{Control, Message, Phase, ThreadResult};
use crate::engine::Share;
use crate::mix::Picker;
use crate::plan::Plan;
use crate::procfs;
use crate::record::{Recorder, SLICE};
use crate::schedule::Schedule;
use bytes::Bytes;
use h2::client::SendRequest;
use measure::ErrorClass;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Mutex, Notify, oneshot};
use tokio::task::{LocalSet, spawn_local};

trait Io: AsyncRead + AsyncWrite + Unpin {}
impl<T: AsyncRead + AsyncWrite + Unpin> Io for T {}

/// How a request failed.
struct Failure {
    class: ErrorClass,
    text: String,
    /// Whether the connection is lost too.
    fatal: bool,
    /// The generation of that connection.
    generation: u64,
}

/// A connection and its counts.
#[derive(Default)]
struct Connection {
    /// The number of connections made so far, so that a stale failure does not drop a newer connection.
    generation: Cell<u64>,
    handle: Mutex<Option<SendRequest<Bytes>>>,
    served: Cell<u64>,
    failures: Cell<u32>,
}

/// The state that all tasks of the thread share.
struct Engine {
    plan: Arc<Plan>,
    control: Arc<Control>,
    share: Share,
    seen_head: Cell<bool>,
    cpu_before: Cell<Duration>,
    waited_before: Cell<Duration>,
    recorder: RefCell<Recorder>,
    picker: RefCell<Picker>,
    phase: Cell<Phase>,
    began: Cell<Nanos>,
    /// When this thread learned of the measurement: requests that began before are of the warm-up.
    counted_from: Cell<Nanos>,
    deadline: Cell<Nanos>,
    in_flight: Cell<usize>,
    exhausted: Cell<bool>,
    /// Open loop: the requests that are still to be assigned to streams.
    schedule: RefCell<Option<Schedule>>,
    connections: Vec<Connection>,
    answered: RefCell<Vec<u64>>,
    longest: RefCell<Vec<Nanos>>,
    /// Planned and actual start of each stream's request in flight.
    active: RefCell<Vec<Option<(Nanos, Nanos)>>>,
    waiting: RefCell<VecDeque<oneshot::Sender<Nanos>>>,
    stream_waits: Notify,
}

/// Runs the tasks until the run is over, then sends the thread's result.
pub(crate) fn run(plan: Arc<Plan>, share: Share, control: Arc<Control>, out: &Sender<Message>) {
    control.gate.wait();
    let engine = Rc::new(Engine::new(plan, share, control));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let error = match runtime {
        Ok(runtime) => {
            runtime.block_on(LocalSet::new().run_until(work(Rc::clone(&engine), out)));
            None
        }
        Err(error) => Some(format!("HTTP/2 engine: {error}")),
    };
    let _ = out.send(Message::Done(Box::new(engine.result(error))));
}

/// Starts the tasks that send requests.
fn start(engine: &Rc<Engine>) {
    let streams = engine.plan.streams;
    for index in 0..engine.share.slots {
        for stream in 0..streams {
            let number = index * streams + stream;
            spawn_local(streams::run(Rc::clone(engine), index, number));
        }
    }
    if engine.plan.is_open() {
        spawn_local(streams::dispatch(Rc::clone(engine)));
    }
}

async fn work(engine: Rc<Engine>, out: &Sender<Message>) {
    engine.begin();
    start(&engine);
    let mut ticks = tokio::time::interval(Duration::from_millis(5));
    let mut next_slice = engine.began.get() + SLICE;
    let mut drain_until = u64::MAX;
    loop {
        ticks.tick().await;
        let now = engine.now();
        match engine.control.phase() {
            Phase::Abort => break,
            Phase::Measure if engine.phase.get() == Phase::Warm => {
                engine.hand_over(out);
                engine.begin();
                next_slice = engine.began.get() + SLICE;
            }
            _ => {}
        }
        if now >= next_slice {
            engine.hand_over(out);
            next_slice = now + SLICE - (now - next_slice).min(SLICE / 2);
        }
        if now >= engine.deadline.get() && drain_until == u64::MAX {
            drain_until = now + nanos(engine.plan.drain);
        }
        let ended = engine.exhausted.get() || now >= engine.deadline.get();
        if now >= drain_until
            || ended && engine.in_flight.get() == 0 && engine.phase.get() == Phase::Measure
        {
            break;
        }
    }
    engine.abandon();
    engine.hand_over(out);
}

impl Engine {
    fn new(plan: Arc<Plan>, share: Share, control: Arc<Control>) -> Self {
        Self {
            recorder: RefCell::new(Recorder::new(plan.is_open())),
            picker: RefCell::new(Picker::new(
                &plan.requests,
                plan.order,
                plan.seed,
                share.thread,
            )),
            phase: Cell::new(control.phase()),
            began: Cell::new(0),
            counted_from: Cell::new(0),
            deadline: Cell::new(u64::MAX),
            in_flight: Cell::new(0),
            exhausted: Cell::new(false),
            schedule: RefCell::new(None),
            connections: (0..share.slots).map(|_| Connection::default()).collect(),
            answered: RefCell::new(vec![0; share.slots * plan.streams]),
            longest: RefCell::new(vec![0; share.slots * plan.streams]),
            active: RefCell::new(vec![None; share.slots * plan.streams]),
            waiting: RefCell::default(),
            stream_waits: Notify::new(),
            seen_head: Cell::new(false),
            cpu_before: Cell::default(),
            waited_before: Cell::default(),
            plan,
            control,
            share,
        }
    }

    fn now(&self) -> Nanos {
        self.control.clock.now()
    }

    /// Begins the phase that the coordinating thread has ordered.
    fn begin(&self) {
        self.phase.set(self.control.phase());
        if self.phase.get() == Phase::Warm {
            self.began.set(self.now());
            self.begin_schedule();
            return;
        }
        let from = self.control.measure_from();
        self.began.set(from);
        self.counted_from.set(self.now());
        self.begin_schedule();
        self.recorder.borrow_mut().restart();
        self.answered.borrow_mut().fill(0);
        self.longest.borrow_mut().fill(0);
        self.deadline.set(
            self.plan
                .duration
                .map_or(u64::MAX, |length| from.saturating_add(nanos(length))),
        );
        self.cpu_before.set(thread_cpu());
        self.waited_before.set(procfs::thread_waited());
    }

    fn begin_schedule(&self) {
        let mut schedule =
            crate::engine::schedule(&self.plan, self.share, self.phase.get() == Phase::Warm);
        if let Some(schedule) = &mut schedule {
            schedule.start_at(self.began.get());
        }
        *self.schedule.borrow_mut() = schedule;
    }

    fn hand_over(&self, out: &Sender<Message>) {
        let now = self.now().saturating_sub(self.began.get());
        let slice = self
            .recorder
            .borrow_mut()
            .take_slice(now, self.phase.get() == Phase::Warm);
        let _ = out.send(Message::Slice(Box::new(slice)));
    }

    /// Counts the requests that are still in flight as unfinished, and those never sent as unsent.
    fn abandon(&self) {
        let now = self.now();
        for (number, active) in self.active.borrow().iter().enumerate() {
            if let Some((planned, started)) = active
                && *started >= self.counted_from.get()
            {
                let longest = &mut self.longest.borrow_mut()[number];
                *longest = (*longest).max(now - started);
                self.recorder
                    .borrow_mut()
                    .unfinished(*planned, *started, now);
            }
        }
        let due = now.min(self.deadline.get());
        let mut recorder = self.recorder.borrow_mut();
        if let Some(schedule) = self.schedule.borrow_mut().as_mut() {
            schedule.drain_before(due, |due| recorder.unsent(due, now));
        }
    }

    fn result(&self, error: Option<String>) -> ThreadResult {
        ThreadResult {
            tally: std::mem::take(&mut self.recorder.borrow_mut().tally),
            answered: self.answered.borrow().clone(),
            longest: self.longest.borrow().clone(),
            cpu: thread_cpu().saturating_sub(self.cpu_before.get()),
            waited: procfs::thread_waited().saturating_sub(self.waited_before.get()),
            elapsed: self.now().saturating_sub(self.began.get()),
            error,
        }
    }
}
