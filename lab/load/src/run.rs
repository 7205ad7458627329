//! Coordinates a run: starts the threads, ends the warm-up, collects their counts, and builds the result.

use crate::clock::{Nanos, nanos, process_cpu};
use crate::collect::Collector;
use crate::control::{Control, Message, Phase, ThreadResult};
use crate::engine::{self, Share, Worker};
use crate::h2engine;
use crate::plan::{Http, Plan, Warmup, Watch};
use crate::procfs::{self, Server, Threads};
use crate::result;
use crate::target::Address;
use measure::procfs::Machine;
use measure::{Kernel, Place, Run, StoppedBy, stats};
use mio::Waker;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Longest automatic warm-up, in seconds.
const WARMUP_MOST: f64 = 30.0;

/// The progress of a run, observed once a second.
#[derive(Clone, Copy, Debug)]
pub struct Live {
    /// Whether the warm-up is still running.
    pub warming: bool,
    /// Time since the phase began.
    pub elapsed_s: f64,
    /// Responses in the last second.
    pub rate: f64,
    /// Median latency of the last second, in nanoseconds.
    pub p50: u64,
    /// p99 of the latency of the last second, in nanoseconds.
    pub p99: u64,
    /// Longest latency of the last second, in nanoseconds.
    pub max: u64,
    /// Mean number of requests in flight in the last second.
    pub in_flight: f64,
    /// Failures so far.
    pub failed: u64,
    /// Responses so far.
    pub responses: u64,
}

/// Readings of processor time and kernel counters, taken before and after a run.
#[derive(Debug)]
pub(crate) struct Around {
    pub(crate) cpu: Duration,
    pub(crate) machine: Machine,
    pub(crate) kernel: Kernel,
    pub(crate) server: Option<Threads>,
    pub(crate) at: Nanos,
}

/// The input of a result.
#[derive(Debug)]
pub(crate) struct Outcome<'p> {
    pub(crate) plan: &'p Plan,
    pub(crate) threads: Vec<ThreadResult>,
    pub(crate) collector: Collector,
    pub(crate) before: Around,
    pub(crate) after: Around,
    pub(crate) server: Option<Server>,
    pub(crate) warmup: Option<measure::Warmup>,
    pub(crate) started_unix_s: f64,
    pub(crate) stopped_by: StoppedBy,
    pub(crate) measure_from: Nanos,
}

/// Runs `plan`; `stop` ends the run early, `observe` gets its progress once a second.
///
/// # Errors
/// If the threads could not be set up or none of them could work.
pub fn execute(
    plan: &Plan,
    stop: &AtomicBool,
    observe: &mut dyn FnMut(Live),
) -> Result<Run, String> {
    procfs::allow_files(plan.connections as u64 + 64);
    let warm = plan.warmup != Warmup::None;
    let shares = shares(plan);
    let control = Arc::new(Control::new(
        if warm { Phase::Warm } else { Phase::Measure },
        plan.request_limit,
        shares.len(),
    ));
    let (out, messages) = channel();
    let mut conductor = Conductor {
        plan,
        control: &control,
        wakers: Vec::new(),
        stop,
        interrupted: false,
        collector: Collector::new(plan.is_open()),
        warm: Collector::new(plan.is_open()),
        server: find_server(plan),
    };
    let mut workers = Vec::new();
    if plan.http != Http::V2 {
        for share in &shares {
            let (worker, waker) = Worker::new(plan, *share, &control, out.clone())
                .map_err(|error| format!("event loop: {error}"))?;
            workers.push(worker);
            conductor.wakers.push(waker);
        }
    }
    std::thread::scope(|scope| {
        for worker in workers {
            scope.spawn(move || worker.run());
        }
        for share in shares.iter().filter(|_| plan.http == Http::V2) {
            let (out, control, plan) = (out.clone(), Arc::clone(&control), Arc::new(plan.clone()));
            scope.spawn(move || h2engine::run(plan, *share, control, &out));
        }
        drop(out);
        let start = (!warm).then(|| conductor.begin_measure());
        control.gate.wait();
        conductor
            .conduct(start, &messages, shares.len(), observe)
            .map(result::build)
    })
}

/// Splits slots and requests over the threads, remainders included.
fn shares(plan: &Plan) -> Vec<Share> {
    let threads = plan.threads.clamp(1, plan.connections.max(1));
    let mut first_slot = 0;
    (0..threads)
        .map(|thread| {
            let part = |whole: usize| whole / threads + usize::from(thread < whole % threads);
            let limit = plan.request_limit.map_or(u64::MAX, |limit| {
                limit / threads as u64 + u64::from((thread as u64) < limit % threads as u64)
            });
            let share = Share {
                thread,
                threads,
                slots: part(plan.connections),
                first_slot,
                limit,
            };
            first_slot += share.slots;
            share
        })
        .collect()
}

fn find_server(plan: &Plan) -> Option<Server> {
    match (&plan.watch, &plan.target.address) {
        (Watch::Pids(pids), _) => Some(Server::of_pids(pids)),
        (Watch::Off, _) => None,
        (Watch::Listener, Address::Unix(path)) => Server::of_unix(&path.to_string_lossy()),
        (Watch::Listener, Address::Tcp(address)) if plan.target.place != Place::Remote => {
            Server::of_port(address.port())
        }
        (Watch::Listener, Address::Tcp(_)) => None,
    }
}

/// The beginning of a measurement, with the readings before it.
struct Start {
    around: Around,
    unix_s: f64,
    from: Nanos,
}

/// The state of the coordinating thread.
struct Conductor<'p, 'c> {
    plan: &'p Plan,
    control: &'c Control,
    wakers: Vec<Waker>,
    stop: &'c AtomicBool,
    interrupted: bool,
    collector: Collector,
    warm: Collector,
    server: Option<Server>,
}

impl<'p> Conductor<'p, '_> {
    /// Begins the measurement: takes the readings, then orders the threads to measure.
    fn begin_measure(&self) -> Start {
        let around = self.around();
        let unix_s = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .as_secs_f64();
        let from = self.control.clock.now();
        self.control.begin_measure(from);
        self.wake();
        Start {
            around,
            unix_s,
            from,
        }
    }

    fn conduct(
        &mut self,
        start: Option<Start>,
        messages: &Receiver<Message>,
        count: usize,
        observe: &mut dyn FnMut(Live),
    ) -> Result<Outcome<'p>, String> {
        let mut done: Vec<ThreadResult> = Vec::new();
        let (start, warmup) = match start {
            Some(start) => (start, None),
            None => {
                let warmup = self.warm_up(messages, &mut done, observe);
                (self.begin_measure(), warmup)
            }
        };
        let from = start.from;
        self.collect(from, messages, &mut done, count, observe);
        let after = self.around();
        if let Some(error) = done.iter_mut().find_map(|thread| thread.error.take()) {
            return Err(error);
        }
        Ok(Outcome {
            plan: self.plan,
            threads: done,
            collector: std::mem::replace(&mut self.collector, Collector::new(false)),
            before: start.around,
            warmup,
            server: self.server.take(),
            started_unix_s: start.unix_s,
            stopped_by: self.stopped_by(from, after.at),
            after,
            measure_from: from,
        })
    }

    /// Receives until all threads are done.
    fn collect(
        &mut self,
        from: Nanos,
        messages: &Receiver<Message>,
        done: &mut Vec<ThreadResult>,
        count: usize,
        observe: &mut dyn FnMut(Live),
    ) {
        let mut next_sample = from + 1_000_000_000;
        while done.len() < count && self.take(messages, done) {
            let now = self.control.clock.now();
            if now >= next_sample && done.len() < count {
                next_sample += 1_000_000_000;
                observe(live(&self.collector, now.saturating_sub(from), false));
            }
        }
    }

    fn stopped_by(&self, from: Nanos, now: Nanos) -> StoppedBy {
        let over = |length| now >= from.saturating_add(nanos(length));
        if self.interrupted {
            StoppedBy::Interrupt
        } else if self.plan.duration.is_some_and(over) {
            StoppedBy::Duration
        } else {
            StoppedBy::Requests
        }
    }

    /// Receives one message or times out; returns false if all threads have exited.
    fn take(&mut self, messages: &Receiver<Message>, done: &mut Vec<ThreadResult>) -> bool {
        if self.stop.load(Ordering::Relaxed) && !self.interrupted {
            self.interrupted = true;
            self.control.advance(Phase::Abort);
            self.wake();
        }
        match messages.recv_timeout(Duration::from_millis(20)) {
            Ok(Message::Slice(slice)) if slice.warm => self.warm.add(&slice),
            Ok(Message::Slice(slice)) => self.collector.add(&slice),
            Ok(Message::Done(result)) => done.push(*result),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return false,
        }
        true
    }

    fn warm_up(
        &mut self,
        messages: &Receiver<Message>,
        done: &mut Vec<ThreadResult>,
        observe: &mut dyn FnMut(Live),
    ) -> Option<measure::Warmup> {
        let limit = match self.plan.warmup {
            Warmup::None => return None,
            Warmup::For(length) => length.as_secs_f64(),
            Warmup::UntilSteady => WARMUP_MOST,
        };
        let began = self.control.clock.now();
        let (mut seen, mut steady) = (0, false);
        loop {
            let elapsed = self.control.clock.now() - began;
            // A second counts once the slices of all threads have had time to arrive (250 ms).
            let seconds = elapsed.saturating_sub(250_000_000) / 1_000_000_000;
            if seconds > seen {
                seen = seconds;
                observe(live(&self.warm, elapsed, true));
                steady = stats::steady(&self.warm.rates(seconds * 1_000_000_000));
            }
            let enough = self.plan.warmup == Warmup::UntilSteady && steady;
            if enough
                || elapsed as f64 / 1e9 >= limit
                || self.interrupted
                || !self.take(messages, done)
                || !done.is_empty()
            {
                let (failed, responses) = self.warm.totals();
                return Some(measure::Warmup {
                    seconds: elapsed as f64 / 1e9,
                    steady,
                    requests: responses,
                    failed,
                    longest_us: self.warm.service.max() as f64 / 1e3,
                    rates: self.warm.rates(seconds * 1_000_000_000),
                });
            }
        }
    }

    fn wake(&self) {
        for waker in &self.wakers {
            let _ = waker.wake();
        }
    }

    fn around(&self) -> Around {
        Around {
            cpu: process_cpu(),
            machine: Machine::now(),
            kernel: procfs::kernel(),
            server: self.server.as_ref().map(Server::threads),
            at: self.control.clock.now(),
        }
    }
}

fn live(collector: &Collector, elapsed: Nanos, warming: bool) -> Live {
    let last = collector.last_second(elapsed);
    let (failed, responses) = collector.totals();
    let length = ((last.end.saturating_sub(last.start)) as f64 / 1e9).max(0.1);
    Live {
        warming,
        elapsed_s: elapsed as f64 / 1e9,
        rate: last.responses as f64 / length,
        p50: last.latency.percentile(50.0),
        p99: last.latency.percentile(99.0),
        max: last.latency.max(),
        in_flight: last.busy as f64 / 1e9 / length,
        failed,
        responses,
    }
}

/// Returns the number of loopback source addresses that a plan's connections come from.
pub(crate) fn source_addresses(plan: &Plan) -> u64 {
    let loopback = matches!(&plan.target.address, Address::Tcp(address) if address.is_ipv4() && address.ip().is_loopback());
    if loopback && plan.keep_alive != measure::KeepAlive::On && plan.http != Http::V2 {
        engine::SOURCES as u64
    } else {
        1
    }
}
