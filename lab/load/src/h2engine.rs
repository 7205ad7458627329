//! The HTTP/2 engine: one tokio thread, connections that carry several streams each.
//!
//! It counts into the same recorder as the HTTP/1 engine; only the way a request travels differs.

mod exchange;
mod timer;

use crate::clock::{Nanos, nanos, thread_cpu};
use crate::control::{Control, Message, Phase, ThreadResult};
use crate::engine::Share;
use crate::mix::Picker;
use crate::plan::{Plan, Think};
use crate::procfs;
use crate::record::{Answer, ClosedBy, Recorder, SLICE, Times};
use crate::schedule::Schedule;
use bytes::Bytes;
use h2::client::SendRequest;
use measure::ErrorClass;
use rand::Rng;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;
use timer::Timer;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Mutex, Notify, oneshot};
use tokio::task::{LocalSet, spawn_local};

trait Io: AsyncRead + AsyncWrite + Unpin {}
impl<T: AsyncRead + AsyncWrite + Unpin> Io for T {}

/// How a request failed.
struct Failure {
    class: ErrorClass,
    text: String,
    /// True if the connection is lost with it.
    fatal: bool,
    /// Which one.
    generation: u64,
}

/// A connection and what it carries.
#[derive(Default)]
struct Connection {
    /// Counts the connections made, so that a stale failure does not drop a new one.
    generation: Cell<u64>,
    handle: Mutex<Option<SendRequest<Bytes>>>,
    served: Cell<u64>,
    failures: Cell<u32>,
}

/// What all tasks of the thread share.
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
    deadline: Cell<Nanos>,
    in_flight: Cell<usize>,
    exhausted: Cell<bool>,
    /// Open loop: what is still to be handed out.
    schedule: RefCell<Option<Schedule>>,
    connections: Vec<Connection>,
    answered: RefCell<Vec<u64>>,
    longest: RefCell<Vec<Nanos>>,
    /// The request of each worker: planned and actual start.
    active: RefCell<Vec<Option<(Nanos, Nanos)>>>,
    waiting: RefCell<VecDeque<oneshot::Sender<Nanos>>>,
    someone_waits: Notify,
}

/// Works until the run is over.
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

async fn work(engine: Rc<Engine>, out: &Sender<Message>) {
    engine.begin();
    for index in 0..engine.share.slots {
        for stream in 0..engine.plan.streams {
            spawn_local(worker(
                Rc::clone(&engine),
                index,
                index * engine.plan.streams + stream,
            ));
        }
    }
    if engine.plan.is_open() {
        spawn_local(dispatch(Rc::clone(&engine)));
    }
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

/// One stream of one connection: a request after the other.
async fn worker(engine: Rc<Engine>, index: usize, number: usize) {
    engine.ramp(index).await;
    loop {
        let planned = if engine.plan.is_open() {
            let (sender, receiver) = oneshot::channel();
            engine.waiting.borrow_mut().push_back(sender);
            engine.someone_waits.notify_one();
            let Ok(planned) = receiver.await else { return };
            planned
        } else {
            if !engine.may_start() {
                return;
            }
            engine.now()
        };
        let failures = engine.request(index, number, planned).await;
        if failures > 0 && !engine.plan.is_open() {
            tokio::time::sleep(Duration::from_millis(1 << failures.min(7))).await;
        } else if let Some(think) = engine.plan.think {
            tokio::time::sleep(engine.pause(think)).await;
        }
    }
}

/// Open loop: hands every request that is due to a worker that waits.
async fn dispatch(engine: Rc<Engine>) {
    let Ok(timer) = Timer::new() else { return };
    while let Some(due) = engine.next_due() {
        if timer.until(due, engine.now()).await.is_err() {
            return;
        }
        let was_free = !engine.waiting.borrow().is_empty();
        while engine.waiting.borrow().is_empty() {
            engine.someone_waits.notified().await;
        }
        // The measurement may have begun in the meantime, with a plan of its own.
        if engine.next_due() != Some(due) {
            continue;
        }
        engine
            .schedule
            .borrow_mut()
            .as_mut()
            .into_iter()
            .for_each(Schedule::advance);
        let sender = engine.waiting.borrow_mut().pop_front();
        if was_free {
            engine
                .recorder
                .borrow_mut()
                .tally
                .send_delay
                .record(engine.now().saturating_sub(due));
        }
        if let Some(sender) = sender {
            let _ = sender.send(due);
        }
        // Lets the request out before the next one is looked at.
        tokio::task::yield_now().await;
    }
    engine.exhausted.set(true);
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
            deadline: Cell::new(u64::MAX),
            in_flight: Cell::new(0),
            exhausted: Cell::new(false),
            schedule: RefCell::new(None),
            connections: (0..share.slots).map(|_| Connection::default()).collect(),
            answered: RefCell::new(vec![0; share.slots * plan.streams]),
            longest: RefCell::new(vec![0; share.slots * plan.streams]),
            active: RefCell::new(vec![None; share.slots * plan.streams]),
            waiting: RefCell::default(),
            someone_waits: Notify::new(),
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

    /// Begins the phase that is ordered.
    fn begin(&self) {
        self.phase.set(self.control.phase());
        if self.phase.get() == Phase::Warm {
            self.began.set(self.now());
            self.begin_schedule();
            return;
        }
        let from = self.control.measure_from();
        self.began.set(from);
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

    fn next_due(&self) -> Option<Nanos> {
        self.schedule
            .borrow()
            .as_ref()
            .and_then(Schedule::peek)
            .filter(|due| *due < self.deadline.get())
    }

    fn begin_schedule(&self) {
        let mut schedule =
            crate::engine::schedule(&self.plan, self.share, self.phase.get() == Phase::Warm);
        if let Some(schedule) = &mut schedule {
            schedule.start_at(self.began.get());
        }
        *self.schedule.borrow_mut() = schedule;
    }

    async fn ramp(&self, index: usize) {
        let order = (self.share.first_slot + index) as u32;
        let total = u32::try_from(self.plan.connections.max(1)).unwrap_or(u32::MAX);
        if !self.plan.ramp.is_zero() {
            tokio::time::sleep(self.plan.ramp * order / total).await;
        }
    }

    /// Closed loop: one more request?
    fn may_start(&self) -> bool {
        if self.phase.get() == Phase::Warm {
            return true;
        }
        let more = self.now() < self.deadline.get() && self.control.claim(1) > 0;
        self.exhausted.set(self.exhausted.get() || !more);
        more
    }

    fn pause(&self, think: Think) -> Duration {
        match think {
            Think::Fixed(pause) => pause,
            Think::Exponential(mean) => {
                mean.mul_f64(-(1.0 - self.picker.borrow_mut().rng.random::<f64>()).ln())
            }
        }
    }

    /// One request from start to end; the number of connects that failed in a row.
    async fn request(&self, index: usize, number: usize, planned: Nanos) -> u32 {
        let started = self.now();
        let mut times = Times {
            planned,
            started,
            sent: started,
            first: 0,
            end: 0,
        };
        self.in_flight.set(self.in_flight.get() + 1);
        self.active.borrow_mut()[number] = Some((planned, started));
        let request = self.picker.borrow_mut().pick();
        let exchange = self.exchange(index, request, &mut times);
        let outcome = tokio::time::timeout(self.plan.timeout, exchange)
            .await
            .unwrap_or_else(|_| {
                let text = format!(
                    "no whole answer within {} s",
                    self.plan.timeout.as_secs_f64()
                );
                Err(Failure {
                    class: ErrorClass::Timeout,
                    text,
                    fatal: false,
                    generation: 0,
                })
            });
        times.end = self.now();
        self.in_flight.set(self.in_flight.get() - 1);
        self.active.borrow_mut()[number] = None;
        if let Err(failure) = &outcome
            && failure.fatal
        {
            self.drop_connection(index, failure.generation, ClosedBy::Error)
                .await;
        }
        if started >= self.began.get() {
            self.record(number, times, outcome);
        }
        self.connections[index].failures.get()
    }

    fn record(&self, number: usize, times: Times, outcome: Result<(Answer, Vec<u8>), Failure>) {
        let longest = &mut self.longest.borrow_mut()[number];
        *longest = (*longest).max(times.end - times.started);
        let mut recorder = self.recorder.borrow_mut();
        match outcome {
            Ok((answer, body)) => {
                self.answered.borrow_mut()[number] += 1;
                match self
                    .plan
                    .expect
                    .judge_parts(answer.status, answer.body_bytes, &body)
                {
                    None => recorder.good(times, answer),
                    Some(class) => recorder.unexpected(class, times, answer, &body),
                }
            }
            Err(failure) => recorder.lost(failure.class, times, false, &failure.text),
        }
    }

    fn hand_over(&self, out: &Sender<Message>) {
        let now = self.now().saturating_sub(self.began.get());
        let slice = self
            .recorder
            .borrow_mut()
            .take_slice(now, self.phase.get() == Phase::Warm);
        let _ = out.send(Message::Slice(Box::new(slice)));
    }

    /// Whatever is in flight was never answered.
    fn abandon(&self) {
        let now = self.now();
        for (number, active) in self.active.borrow().iter().enumerate() {
            if let Some((planned, started)) = active
                && *started >= self.began.get()
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
