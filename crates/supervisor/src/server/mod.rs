//! The server: all state, and what each event does to it.
//!
//! One generation is `current` and serves; one may be `next`: it boots, forks and becomes current when every slot
//! has a worker that accepts. All others are being retired: their workers leave, then their zygotes.

mod elastic;
mod front;
mod generations;
pub(crate) mod main_loop;
mod pools;
mod saturation;
mod stopping;
mod workers;

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Instant;

use cache::Cache;
use config::{Dispatch, Settings};
use ipc::{FromWorker, FromZygote};
use shm::{Budgets, Latencies, Quarantine, Snapshot};

use crate::backoff::Backoff;
use crate::balancing::Balancing;
use crate::cache::CacheQuestion;
use crate::error::Error;
use crate::event::{Command, Event, Events, ReplyTo, Timer};
use crate::front::Front;
use crate::generation::Generation;
use crate::latency;
use crate::link::Received;
use crate::pool::Pools;
use crate::server::main_loop::ReloadSettings;
use crate::signal::Signal;
use crate::sockets::Sockets;
use crate::status::{Status, WorkerStatus, totals};
use crate::worker::{State, Worker, WorkerId};

use self::elastic::Elastic;

pub(crate) struct Server {
    /// Of the current generation; the next one has its own.
    settings: Arc<Settings>,
    reload_settings: ReloadSettings,
    /// The build id of this program.
    build: &'static str,
    /// Closed when the server stops.
    sockets: Option<Sockets>,
    /// With direct dispatch to several slots.
    balancing: Option<Balancing>,
    /// As clients would write them.
    addresses: Vec<String>,
    /// Lines to print when everything serves for the first time.
    announcements: Vec<String>,
    slots: BTreeSet<u32>,
    /// With `workers.min` and `workers.max`.
    elastic: Option<Elastic>,
    /// Decided when the app is up for the first time.
    dispatch: Option<Dispatch>,
    front: Option<Front>,
    front_restarts: u64,
    front_deaths: Backoff,
    events: Events,
    phase: Phase,
    generations: BTreeMap<u32, Generation>,
    workers: BTreeMap<WorkerId, Worker>,
    current: Option<u32>,
    next: Option<u32>,
    /// The callers that wait for the next generation.
    waiting: Vec<ReplyTo>,
    /// Who asked for a reload while one was under way: they get the next, all the same one.
    queued: Option<Vec<ReplyTo>>,
    stopped: Vec<ReplyTo>,
    /// Counters of workers that are gone.
    retired: Snapshot,
    /// Their histograms.
    retired_latencies: Latencies,
    /// Restarts by slot.
    restarts: Vec<u64>,
    reloads: u64,
    /// Workers replaced because they had served enough.
    recycled: u64,
    /// Of zygotes that were lost.
    reboots: Backoff,
    /// Why it never served.
    failure: Option<Error>,
    last_generation: u32,
    last_worker: WorkerId,
    /// What the workers of all generations share, such as how many database connections they may have together.
    budgets: SharedBudgets,
    quarantine: SharedQuarantine,
    cache: Option<SharedCache>,
    pools: pools::PoolReports,
    saturation: saturation::Watch,
    started: Instant,
    ended: Option<Result<(), Error>>,
}

/// The table of budgets, and the descriptor that zygotes get of it.
struct SharedBudgets {
    fd: OwnedFd,
    table: Budgets,
}

impl SharedBudgets {
    fn new() -> io::Result<SharedBudgets> {
        let fd = Budgets::create()?;
        let table = Budgets::map(&fd)?;
        Ok(SharedBudgets { fd, table })
    }
}

/// The cache of all workers, and the descriptor that zygotes get of it.
struct SharedCache {
    fd: OwnedFd,
    cache: &'static Cache,
}

impl SharedCache {
    /// `None` for no bytes. On the thread that lives as long as the server.
    fn new(bytes: u64) -> io::Result<Option<SharedCache>> {
        if bytes == 0 {
            return Ok(None);
        }
        let fd = Cache::create(bytes).map_err(|error| {
            let what = format!("cannot have a cache of {bytes} bytes (cache.size): {error}");
            io::Error::new(error.kind(), what)
        })?;
        let cache: &'static Cache = Box::leak(Box::new(Cache::map(&fd)?));
        // Scripts that have it see by this that the server has ended.
        cache.serve();
        Ok(Some(SharedCache { fd, cache }))
    }

    fn figures(&self) -> BTreeMap<String, u64> {
        let figures = self.cache.stats().figures();
        figures
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    }
}

/// What all workers share.
struct Shared {
    budgets: SharedBudgets,
    quarantine: SharedQuarantine,
    cache: Option<SharedCache>,
}

impl Shared {
    fn new(settings: &Settings) -> io::Result<Shared> {
        Ok(Shared {
            budgets: SharedBudgets::new()?,
            quarantine: SharedQuarantine::new()?,
            cache: SharedCache::new(settings.cache_size)?,
        })
    }
}

/// Which requests killed workers, and the descriptor that workers get of it.
struct SharedQuarantine {
    fd: OwnedFd,
    table: Quarantine,
}

impl SharedQuarantine {
    fn new() -> io::Result<SharedQuarantine> {
        let random = |n: u32| RandomState::new().hash_one(n);
        let fd = Quarantine::create([random(0), random(1)])?;
        let table = Quarantine::map(&fd)?;
        Ok(SharedQuarantine { fd, table })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Starting,
    Running,
    Stopping,
}

impl Server {
    fn new(
        settings: Settings,
        reload_settings: ReloadSettings,
        build: &'static str,
        sockets: Sockets,
        slots: u32,
        events: Events,
        shared: Shared,
    ) -> Server {
        let elastic = Elastic::of(settings.workers);
        Server {
            settings: Arc::new(settings),
            reload_settings,
            build,
            addresses: sockets.addresses(),
            sockets: Some(sockets),
            balancing: None,
            announcements: Vec::new(),
            elastic,
            slots: (0..slots).collect(),
            dispatch: None,
            front: None,
            front_restarts: 0,
            front_deaths: Backoff::default(),
            events,
            phase: Phase::Starting,
            generations: BTreeMap::new(),
            workers: BTreeMap::new(),
            current: None,
            next: None,
            waiting: Vec::new(),
            queued: None,
            stopped: Vec::new(),
            retired: Snapshot::default(),
            retired_latencies: Latencies::default(),
            restarts: vec![0; slots as usize],
            reloads: 0,
            recycled: 0,
            reboots: Backoff::default(),
            failure: None,
            last_generation: 0,
            last_worker: 0,
            budgets: shared.budgets,
            quarantine: shared.quarantine,
            cache: shared.cache,
            pools: pools::PoolReports::default(),
            saturation: saturation::Watch::default(),
            started: Instant::now(),
            ended: None,
        }
    }

    /// One thing happened.
    fn handle(&mut self, event: Event) {
        match event {
            Event::Zygote(generation, said) => self.zygote_message(generation, said),
            Event::Worker(id, said) => self.worker_message(id, said),
            Event::Front(pid, said) => self.front_message(pid, said),
            Event::Gone(id) => self.worker_ended(id, None),
            Event::Reaped { pid, status } => self.reaped(pid, status),
            Event::Signal(Signal::Stop) | Event::Command(Command::Stop(None)) => self.stop(None),
            Event::Signal(Signal::Reload) => self.reload(None),
            Event::Signal(Signal::ReopenLogs) => self.reopen_logs(),
            Event::Command(Command::Stop(done)) => self.stop(done),
            Event::Command(Command::Reload(done)) => self.reload(done),
            Event::Command(Command::Status(reply)) => drop(reply.send(self.status())),
            Event::Command(Command::StatusWithPools(reply)) => self.status_with_pools(reply),
            Event::Command(Command::Cache(question, reply)) => {
                let _ = reply.send(self.ask_cache(&question));
            }
            Event::Command(Command::CacheMemory(build, reply)) => {
                let _ = reply.send(self.cache_memory(&build));
            }
            Event::Timer(timer) => self.timer(timer),
        }
    }

    fn zygote_message(&mut self, generation: u32, said: Received<FromZygote>) {
        match said {
            Received::Message(FromZygote::Forked { slot, pid }, fds) => {
                self.forked(generation, slot, pid, fds.into_iter().next())
            }
            Received::Message(FromZygote::ForkFailed { slot, message }, _) => {
                self.fork_failed(generation, slot, &message)
            }
            Received::Message(FromZygote::Exited { pid, status }, _) => {
                self.process_ended(pid, status)
            }
            Received::Message(answer, _) => self.booted(generation, answer),
            Received::Closed(mistake) => self.zygote_closed(generation, mistake),
        }
    }

    fn worker_message(&mut self, id: WorkerId, said: Received<FromWorker>) {
        match said {
            Received::Message(FromWorker::Ready, _) => self.ready(id),
            Received::Message(FromWorker::Leaving { reason }, _) => self.leaving(id, &reason),
            Received::Message(FromWorker::WantsRecycle { reason, broken }, _) => {
                self.wants_recycle(id, &reason, broken)
            }
            Received::Message(FromWorker::Pools { report }, _) => self.pools_reported(id, &report),
            Received::Message(FromWorker::Failed { message }, _) => self.failed(id, message),
            Received::Closed(mistake) => self.worker_closed(id, mistake),
        }
    }

    fn timer(&mut self, timer: Timer) {
        match timer {
            Timer::Fork { generation, slot } => self.fork_if_empty(generation, slot),
            Timer::BootDeadline(generation) => self.boot_deadline(generation),
            Timer::CutOff(id) => self.cut_off(id),
            Timer::Kill(id) => self.kill_late(id),
            Timer::KillZygote(generation) => self.kill_zygote(generation),
            Timer::Idle => self.retire_idle(),
            Timer::Saturation => self.look_at_saturation(),
            Timer::Front => self.start_front(),
            Timer::KillFront(pid) => self.kill_front(pid),
            Timer::Reboot => self.reboot(),
            Timer::Pools(round) => self.pools_late(round),
            Timer::StopDeadline => self.stop_deadline(),
            Timer::Watchdog => self.watchdog(),
        }
    }

    /// A child of ours ended: a zygote, the front, or a worker whose zygote is gone. Others are strangers that the app left.
    fn reaped(&mut self, pid: u32, status: i32) {
        if self.front_ended(pid, status) {
            return;
        }
        let of = |generation: &Generation| {
            generation
                .zygote
                .as_ref()
                .is_some_and(|zygote| zygote.pid == pid)
        };
        match self
            .generations
            .iter()
            .find(|(_, generation)| of(generation))
            .map(|(number, _)| *number)
        {
            Some(generation) => self.zygote_ended(generation, status),
            None => self.process_ended(pid, status),
        }
    }

    fn process_ended(&mut self, pid: u32, status: i32) {
        let found = self
            .workers
            .iter()
            .find(|(_, worker)| worker.pid == Some(pid));
        if let Some(id) = found.map(|(id, _)| *id) {
            self.worker_ended(id, Some(status));
        }
    }

    /// What rotates logs has renamed them.
    fn reopen_logs(&self) {
        if let Some(front) = &self.front {
            front.reopen_logs();
        }
        self.workers.values().for_each(Worker::reopen_logs);
    }

    fn stopping(&self) -> bool {
        self.phase == Phase::Stopping
    }

    fn status(&self) -> Status {
        let current = self
            .current
            .or(self.next)
            .and_then(|number| self.generations.get(&number));
        let booted = current.and_then(|generation| generation.booted.as_ref());
        let sum = self.sum();
        let workers = self.workers.values();
        let workers = workers.map(|worker| self.worker_status(worker)).collect();
        let number = self.current.or(self.next).unwrap_or_default();
        let filled = self
            .slots
            .iter()
            .filter(|slot| self.is_served(number, **slot))
            .count();
        let front = self.front_status();
        let reachable = front.as_ref().is_none_or(|front| front.state == "ready");
        Status {
            version: env!("CARGO_PKG_VERSION").into(),
            pid: std::process::id(),
            app: self.settings.app.display().to_string(),
            listen: self.addresses.clone(),
            state: self.state().into(),
            healthy: filled == self.slots.len() && reachable && !self.stopping(),
            ready: filled > 0 && reachable && !self.stopping() && self.phase != Phase::Starting,
            uptime_seconds: self.started.elapsed().as_secs_f64(),
            generation: number,
            php: booted.map(|booted| booted.php.clone()).unwrap_or_default(),
            cold: booted.and_then(|booted| booted.cold.clone()),
            slots: self.slots.len() as u32,
            elastic: self.elastic_status(),
            reloads: self.reloads,
            restarts: self.restarts.iter().sum(),
            recycled: self.recycled,
            totals: totals(&sum),
            latencies: latency::all(&self.latencies(), &self.settings.metrics_routes),
            front,
            workers,
            cache: self.cache.as_ref().map(SharedCache::figures),
            pools: Pools::default(),
        }
    }

    fn latencies(&self) -> Latencies {
        let mut sum = self.retired_latencies.clone();
        let workers = self.workers.values();
        workers.for_each(|worker| sum.add(&worker.board.latencies()));
        if let Some(front) = &self.front {
            sum.add(&front.latencies());
        }
        sum
    }

    fn ask_cache(&self, question: &CacheQuestion) -> Result<String, String> {
        let shared = self.cache.as_ref();
        let shared = shared.ok_or("this server has no cache: cache.size is 0")?;
        crate::cache::answer(shared.cache, question)
    }

    fn cache_memory(&self, build: &str) -> Option<OwnedFd> {
        let cache = self.cache.as_ref().filter(|_| build == self.build)?;
        cache.fd.try_clone().ok()
    }

    fn worker_status(&self, worker: &Worker) -> WorkerStatus {
        let snapshot = worker.board.snapshot();
        WorkerStatus {
            pid: worker.pid,
            slot: worker.slot,
            generation: worker.generation,
            state: worker.state(),
            uptime_seconds: worker.since.elapsed().as_secs_f64(),
            requests: snapshot.get(shm::Counter::Requests),
            in_flight: snapshot.in_flight(),
            connections: snapshot.connections(),
            resident_bytes: worker.resident(),
            restarts: self.restarts[worker.slot as usize],
        }
    }

    /// Whether a worker of this generation serves in this slot: its own, or the one that it replaces.
    fn is_served(&self, number: u32, slot: u32) -> bool {
        self.workers.values().any(|worker| {
            worker.generation == number
                && worker.slot == slot
                && matches!(worker.state(), State::Ready | State::Recycling)
        })
    }

    fn state(&self) -> &'static str {
        match (self.phase, self.next) {
            (Phase::Starting, _) => "starting",
            (Phase::Running, None) => "running",
            (Phase::Running, Some(_)) => "reloading",
            (Phase::Stopping, _) => "stopping",
        }
    }

    fn end(&mut self, result: Result<(), Error>) {
        if self.ended.is_none() {
            logging::debug!("ending");
            self.ended = Some(result);
        }
    }
}
