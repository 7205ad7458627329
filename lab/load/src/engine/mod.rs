//! The HTTP/1 engine: one thread, one epoll, many slots.
//!
//! Reading, parsing and recording a response, and writing the next request, all happen in the handler of one event: two
//! system calls per request and a share of one epoll_wait.

pub(crate) use connect::{SOURCES, connect_class};

mod connect;
mod exchange;
mod outcome;
mod pace;
mod slot;
mod timer;

use crate::clock::{Nanos, nanos, thread_cpu};
use crate::control::{Control, Message, Phase, ThreadResult};
use crate::http1::{HeadCache, Keep};
use crate::mix::Picker;
use crate::plan::{Pace, Plan};
use crate::procfs;
use crate::record::{Recorder, SLICE};
use crate::schedule::{Schedule, Stage};
use mio::{Events, Poll, Token, Waker};
use slot::{Slot, State};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::sync::mpsc::Sender;
use std::time::Duration;
use timer::Timer;

const TIMER: Token = Token(usize::MAX - 1);
const WAKER: Token = Token(usize::MAX - 2);
/// Size of the buffers that all slots of a thread share.
const BUFFER: usize = 64 * 1024;

/// The share of the plan that one client thread runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    /// Number of this thread.
    pub(crate) thread: usize,
    /// Number of threads.
    pub(crate) threads: usize,
    /// Slots of this thread.
    pub(crate) slots: usize,
    /// Slots of the threads before it.
    pub(crate) first_slot: usize,
    /// Requests of this thread in an open loop.
    pub(crate) limit: u64,
}

/// One client thread.
#[derive(Debug)]
pub(crate) struct Worker<'p> {
    plan: &'p Plan,
    share: Share,
    control: &'p Control,
    out: Sender<Message>,
    poll: Poll,
    timer: Timer,
    slots: Vec<Slot>,
    /// Open loop: connected slots without a request, longest idle first.
    idle: VecDeque<usize>,
    /// Open loop: slots without a connection.
    closed: Vec<usize>,
    /// Slots that start, or retry, at a given time.
    later: BinaryHeap<Reverse<(Nanos, usize)>>,
    schedule: Option<Schedule>,
    picker: Picker,
    recorder: Recorder,
    cache: HeadCache,
    keep: Keep,
    /// Whether the first response head has been examined already.
    seen_head: bool,
    /// Length of the first body, where all bodies must have the same.
    first_length: Option<u64>,
    buffer: Vec<u8>,
    raw: Vec<u8>,
    in_flight: usize,
    /// Requests claimed from the common budget and not yet begun.
    claimed: u64,
    phase: Phase,
    began: Nanos,
    /// When this thread learned of the measurement: requests that began before are of the warm-up.
    counted_from: Nanos,
    deadline: Nanos,
    drain_until: Nanos,
    next_tick: Nanos,
    next_source: usize,
    cpu_before: Duration,
    waited_before: Duration,
}

impl<'p> Worker<'p> {
    /// Prepares the thread; the returned waker interrupts its wait for events.
    pub(crate) fn new(
        plan: &'p Plan,
        share: Share,
        control: &'p Control,
        out: Sender<Message>,
    ) -> io::Result<(Self, Waker)> {
        let poll = Poll::new()?;
        let waker = Waker::new(poll.registry(), WAKER)?;
        let timer = Timer::new(poll.registry(), TIMER)?;
        let mut keep = plan.expect.keep();
        keep.head = plan.cookie_jar;
        let schedule = schedule(plan, share, true);
        let worker = Self {
            picker: Picker::new(&plan.requests, plan.order, plan.seed, share.thread),
            recorder: Recorder::new(schedule.is_some()),
            slots: (0..share.slots).map(|_| Slot::default()).collect(),
            plan,
            share,
            control,
            out,
            poll,
            timer,
            schedule,
            keep,
            seen_head: false,
            first_length: None,
            idle: VecDeque::new(),
            closed: Vec::new(),
            later: BinaryHeap::new(),
            cache: HeadCache::default(),
            buffer: vec![0; BUFFER],
            raw: vec![0; BUFFER],
            in_flight: 0,
            claimed: 0,
            phase: Phase::Warm,
            began: 0,
            counted_from: 0,
            deadline: u64::MAX,
            drain_until: u64::MAX,
            next_tick: 0,
            next_source: share.first_slot,
            cpu_before: Duration::ZERO,
            waited_before: Duration::ZERO,
        };
        Ok((worker, waker))
    }

    /// Runs the event loop until the run is over, then sends the thread's result.
    pub(crate) fn run(mut self) {
        self.control.gate.wait();
        let error = self
            .work()
            .err()
            .map(|error| format!("client thread {}: {error}", self.share.thread));
        let now = self.now();
        for index in 0..self.slots.len() {
            self.abandon(index, now);
        }
        if let Some(schedule) = &mut self.schedule {
            schedule.drain_before(now.min(self.deadline), |due| self.recorder.unsent(due, now));
        }
        let slice = self
            .recorder
            .take_slice(now.saturating_sub(self.began), self.phase == Phase::Warm);
        let _ = self.out.send(Message::Slice(Box::new(slice)));
        let result = ThreadResult {
            answered: self.slots.iter().map(|slot| slot.answered).collect(),
            longest: self.slots.iter().map(|slot| slot.longest).collect(),
            cpu: thread_cpu().saturating_sub(self.cpu_before),
            waited: procfs::thread_waited().saturating_sub(self.waited_before),
            elapsed: now.saturating_sub(self.began),
            tally: self.recorder.tally,
            error,
        };
        let _ = self.out.send(Message::Done(Box::new(result)));
    }

    #[inline]
    fn now(&self) -> Nanos {
        self.control.clock.now()
    }

    fn work(&mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(1024);
        self.begin()?;
        loop {
            let now = self.now();
            if now >= self.next_tick && self.tick(now) {
                return Ok(());
            }
            self.start_due(now);
            if self.is_done(now) {
                return Ok(());
            }
            self.wait(&mut events)?;
            for event in &events {
                match event.token() {
                    WAKER => {
                        let now = self.now();
                        if self.tick(now) {
                            return Ok(());
                        }
                    }
                    TIMER => {}
                    Token(index) => self.on_event(
                        index,
                        event.is_writable() || event.is_error(),
                        event.is_read_closed(),
                    ),
                }
            }
        }
    }

    /// Waits until an event arrives or something is due.
    fn wait(&mut self, events: &mut Events) -> io::Result<()> {
        let now = self.now();
        let due = self.next_due();
        let timeout = if due <= now {
            Duration::ZERO
        } else {
            self.timer.arm(due, now)?;
            Duration::from_nanos(self.next_tick.saturating_sub(now).max(1))
        };
        match self.poll.poll(events, Some(timeout)) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            other => other,
        }
    }

    /// Returns the next time at which this thread has something to do without an event.
    fn next_due(&self) -> Nanos {
        let later = self
            .later
            .peek()
            .map_or(u64::MAX, |Reverse((when, _))| *when);
        let able = !self.idle.is_empty() || !self.closed.is_empty();
        let planned = match &self.schedule {
            Some(schedule) if able && self.phase <= Phase::Measure => schedule
                .peek()
                .filter(|due| *due < self.deadline)
                .unwrap_or(u64::MAX),
            _ => u64::MAX,
        };
        let end = if self.phase == Phase::Measure {
            self.deadline
        } else {
            self.drain_until
        };
        later.min(planned).min(end)
    }

    fn begin(&mut self) -> io::Result<()> {
        self.phase = self.control.phase();
        let now = self.now();
        if self.phase == Phase::Measure {
            self.begin_measure();
        } else {
            self.restart_clock(now);
        }
        if self.schedule.is_some() {
            self.closed = (0..self.slots.len()).rev().collect();
            return Ok(());
        }
        let total = (self.plan.connections.max(1)) as u64;
        for index in 0..self.slots.len() {
            let order = (self.share.first_slot + index) as u64;
            self.later.push(Reverse((
                self.began + nanos(self.plan.ramp) * order / total,
                index,
            )));
        }
        Ok(())
    }

    fn begin_measure(&mut self) {
        let from = self.control.measure_from();
        self.recorder.restart();
        self.slots.iter_mut().for_each(Slot::restart);
        self.schedule = schedule(self.plan, self.share, false);
        self.restart_clock(from);
        self.counted_from = self.now();
        self.deadline = self
            .plan
            .duration
            .map_or(u64::MAX, |length| from.saturating_add(nanos(length)));
        self.cpu_before = thread_cpu();
        self.waited_before = procfs::thread_waited();
    }

    fn restart_clock(&mut self, from: Nanos) {
        self.began = from;
        self.next_tick = from + SLICE;
        if let Some(schedule) = &mut self.schedule {
            schedule.start_at(from);
        }
    }

    /// Follows orders; every tenth of a second, hands over the slice and expires requests. Returns true to end at once.
    fn tick(&mut self, now: Nanos) -> bool {
        let ordered = self.control.phase();
        if ordered == Phase::Measure && self.phase == Phase::Warm {
            self.hand_over(now, true);
            self.phase = Phase::Measure;
            self.begin_measure();
        }
        if ordered == Phase::Abort {
            return true;
        }
        if ordered == Phase::Drain && self.phase != Phase::Drain {
            self.start_drain(now);
        }
        if now >= self.next_tick {
            self.hand_over(now, self.phase == Phase::Warm);
            self.next_tick = now + SLICE - (now - self.next_tick).min(SLICE / 2);
            self.expire(now);
        }
        false
    }

    fn hand_over(&mut self, now: Nanos, warm: bool) {
        let slice = self
            .recorder
            .take_slice(now.saturating_sub(self.began), warm);
        let _ = self.out.send(Message::Slice(Box::new(slice)));
    }

    fn start_drain(&mut self, now: Nanos) {
        self.phase = Phase::Drain;
        self.deadline = self.deadline.min(now);
        self.drain_until = now.saturating_add(nanos(self.plan.drain));
        self.later
            .retain(|Reverse((_, index))| self.slots[*index].state == State::Retry);
    }

    fn is_done(&mut self, now: Nanos) -> bool {
        if self.phase == Phase::Measure && now >= self.deadline {
            self.start_drain(now);
            // Requests that were due by the deadline are still sent while the drain lasts.
        }
        let planned = match &self.schedule {
            Some(schedule) => schedule.peek().is_some_and(|due| due < self.deadline),
            None => self.phase <= Phase::Measure && !self.later.is_empty(),
        };
        now >= self.drain_until || self.in_flight == 0 && !planned && self.phase != Phase::Warm
    }
}

/// Returns the thread's part of the plan's schedule; the warm-up keeps the rate that the plan begins with.
pub(crate) fn schedule(plan: &Plan, share: Share, warm: bool) -> Option<Schedule> {
    let Pace::Open { stages, spacing } = &plan.pace else {
        return None;
    };
    let first = stages[0];
    let rate = if first.from > 0.0 {
        first.from
    } else {
        first.to
    };
    let level = [Stage {
        length: Duration::ZERO,
        from: rate,
        to: rate,
    }];
    let (stages, limit) = if warm {
        (&level[..], u64::MAX)
    } else {
        (stages.as_slice(), share.limit)
    };
    Some(Schedule::new(
        stages,
        *spacing,
        plan.seed,
        share.thread,
        share.threads,
        limit,
    ))
}
