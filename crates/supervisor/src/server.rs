//! The server: all state, and how each event changes it.
//!
//! One generation is `current` and serves; another may be `next`: it boots, forks and becomes current when every slot has a
//! worker that accepts. All others are retiring: their workers leave, then their zygotes.

mod booting;
mod cache;
mod elastic;
mod forking;
mod front;
mod generations;
pub(crate) mod main_loop;
mod pools;
mod preloaded_files;
mod reloads;
mod saturation;
mod shared;
mod status;
mod stopping;
mod worker_exits;
mod workers;
mod zygotes;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use config::{Dispatch, Settings};
use ipc::{FromWorker, FromZygote};
use shm::{Latencies, Snapshot};

use crate::balancing::Balancing;
use crate::error::Error;
use crate::event::{Command, Event, Events, ReplyTo, Timer};
use crate::link::Received;
use crate::process_exit::{LAST_MESSAGES, ProcessExit};
use crate::server::main_loop::ReloadSettings;
use crate::signal::Signal;
use crate::sockets::Sockets;
use crate::worker::{Worker, WorkerId};

use self::elastic::Elastic;
use self::front::FrontControl;
use self::generations::Generations;
use self::reloads::Reloads;
use self::shared::Shared;

pub(crate) struct Server {
    /// The settings of the current generation; the next one has its own.
    settings: Arc<Settings>,
    reload_settings: ReloadSettings,
    /// The build id of this program.
    build: &'static str,
    /// Closed when the server stops.
    sockets: Option<Sockets>,
    /// Present with direct dispatch to several slots.
    balancing: Option<Balancing>,
    /// The listening addresses, as clients would write them.
    addresses: Vec<String>,
    /// Lines to print when the server is ready for the first time.
    announcements: Vec<String>,
    slots: BTreeSet<u32>,
    /// Present with `workers.min` and `workers.max`.
    elastic: Option<Elastic>,
    /// Decided by the first generation that boots.
    dispatch: Option<Dispatch>,
    front: FrontControl,
    events: Events,
    phase: Phase,
    generations: Generations,
    reloads: Reloads,
    workers: BTreeMap<WorkerId, Worker>,
    last_worker: WorkerId,
    /// The number of restarts of each slot.
    restarts: Vec<u64>,
    /// Workers replaced because of workers.max_requests or workers.max_memory.
    recycled: u64,
    ended_processes: EndedProcesses,
    shared: Shared,
    pools: pools::PoolReports,
    saturation: saturation::Watch,
    started: Instant,
    /// The callers that wait for the end of the server.
    stopped: Vec<ReplyTo>,
    /// Why the server never served.
    failure: Option<Error>,
    ended: Option<Result<(), Error>>,
}

/// The counts of workers and fronts that are gone.
#[derive(Default)]
struct EndedProcesses {
    counters: Snapshot,
    latencies: Latencies,
}

impl EndedProcesses {
    fn add(&mut self, counters: &Snapshot, latencies: &Latencies) {
        self.counters.add(counters);
        self.latencies.add(latencies);
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
            front: FrontControl::default(),
            events,
            phase: Phase::Starting,
            generations: Generations::default(),
            reloads: Reloads::default(),
            workers: BTreeMap::new(),
            last_worker: 0,
            restarts: vec![0; slots as usize],
            recycled: 0,
            ended_processes: EndedProcesses::default(),
            shared,
            pools: pools::PoolReports::default(),
            saturation: saturation::Watch::default(),
            started: Instant::now(),
            stopped: Vec::new(),
            failure: None,
            ended: None,
        }
    }

    /// Handles an event.
    fn handle(&mut self, event: Event) {
        match event {
            Event::Zygote(generation, received) => self.zygote_message(generation, received),
            Event::Worker(id, received) => self.worker_message(id, received),
            Event::Front(pid, received) => self.front_message(pid, received),
            Event::Gone(id) => self.worker_gone(id),
            Event::Reaped { pid, status } => self.exited(pid, status),
            Event::Signal(Signal::Stop) | Event::Command(Command::Stop(None)) => self.stop(None),
            Event::Signal(Signal::Reload) => self.reload(None),
            Event::Signal(Signal::ReopenLogs) => self.reopen_logs(),
            Event::Command(Command::Stop(done)) => self.stop(done),
            Event::Command(Command::Reload(done)) => self.reload(done),
            Event::Command(Command::Status(reply)) => drop(reply.send(self.status())),
            Event::Command(Command::StatusWithPools(reply)) => self.status_with_pools(reply),
            Event::Command(Command::Cache(question, reply)) => {
                self.query_cache(question, reply);
            }
            Event::Command(Command::CacheMemory(build, reply)) => {
                let _ = reply.send(self.cache_memory(&build));
            }
            Event::Timer(timer) => self.timer(timer),
        }
    }

    fn zygote_message(&mut self, generation: u32, received: Received<FromZygote>) {
        match received {
            Received::Message(FromZygote::Forked { slot, pid }, fds) => {
                self.forked(generation, slot, pid, fds.into_iter().next())
            }
            Received::Message(FromZygote::ForkFailed { slot, message }, _) => {
                self.fork_failed(generation, slot, &message)
            }
            Received::Message(FromZygote::Exited { pid, status }, _) => self.exited(pid, status),
            Received::Message(answer, _) => self.booted(generation, answer),
            Received::Closed(mistake) => self.zygote_closed(generation, mistake),
        }
    }

    fn worker_message(&mut self, id: WorkerId, received: Received<FromWorker>) {
        match received {
            Received::Message(FromWorker::Ready, _) => self.ready(id),
            Received::Message(FromWorker::Draining { reason }, _) => self.draining(id, &reason),
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
            Timer::Ended { pid, status } => self.ended(pid, status),
            Timer::Idle => self.retire_idle(),
            Timer::Saturation => self.check_saturation(),
            Timer::Front => self.start_front(),
            Timer::KillFront(pid) => self.kill_front(pid),
            Timer::PreloadedFiles(generation) => self.check_preloaded_files(generation),
            Timer::Reboot => self.reboot(),
            Timer::Pools(round) => self.pools_late(round),
            Timer::StopDeadline => self.stop_deadline(),
            Timer::Watchdog => self.watchdog(),
        }
    }

    /// Handles the exit of a child of this process or of a zygote: it counts as ended once its last message is read.
    fn exited(&mut self, pid: u32, status: i32) {
        if self.ending_of(pid).is_none_or(|it| it.exit(status)) {
            self.ended(pid, status);
        } else {
            self.events
                .later(LAST_MESSAGES, Timer::Ended { pid, status });
        }
    }

    fn ending_of(&mut self, pid: u32) -> Option<&mut ProcessExit> {
        let front = self.front.process.as_mut();
        if let Some(front) = front.filter(|front| front.pid == pid) {
            return Some(&mut front.exit);
        }
        if let Some(zygote) = self.generations.zygote_mut(pid) {
            return Some(&mut zygote.exit);
        }
        let mut workers = self.workers.values_mut();
        let worker = workers.find(|worker| worker.pid == Some(pid))?;
        Some(&mut worker.exit)
    }

    /// Handles the end of a zygote, the front or a worker. Any other process is one that the app left behind.
    fn ended(&mut self, pid: u32, status: i32) {
        if self.front_ended(pid, status) {
            return;
        }
        match self.generations.of_zygote(pid) {
            Some(generation) => self.zygote_ended(generation, status),
            None => self.worker_exited(pid, status),
        }
    }

    fn worker_exited(&mut self, pid: u32, status: i32) {
        let found = self
            .workers
            .iter()
            .find(|(_, worker)| worker.pid == Some(pid));
        if let Some(id) = found.map(|(id, _)| *id) {
            self.worker_ended(id, Some(status));
        }
    }

    /// Handles the end of a worker's process. Its parent may not have reported how it ended.
    fn worker_gone(&mut self, id: WorkerId) {
        let worker = self.workers.get(&id);
        let status = worker.and_then(|worker| worker.exit.status());
        self.worker_ended(id, status);
    }

    /// Makes every process open its log files again, after they were rotated.
    fn reopen_logs(&self) {
        if let Some(front) = &self.front.process {
            front.reopen_logs();
        }
        self.workers.values().for_each(Worker::reopen_logs);
    }

    fn stopping(&self) -> bool {
        self.phase == Phase::Stopping
    }

    fn end(&mut self, result: Result<(), Error>) {
        if self.ended.is_none() {
            logging::debug!("ending");
            self.ended = Some(result);
        }
    }
}
