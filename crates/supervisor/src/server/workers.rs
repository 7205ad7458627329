//! Workers: fork, ready, leave, die, and the successor of each.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use ipc::{BootFailure, Channel, FromWorker, ToZygote};
use shm::{Counter, Scoreboard, Snapshot};

use super::Server;
use super::stopping::KILL_GRACE;
use crate::event::{Event, Timer};
use crate::link::{Link, Received};
use crate::signal::{deadly, describe};
use crate::worker::{State, Worker, WorkerId, list};

/// After a failure of our own to start a worker, not of the worker.
const AGAIN: Duration = Duration::from_secs(1);

impl Server {
    /// Ask a generation's zygote for a worker in this slot.
    pub(super) fn fork(&mut self, number: u32, slot: u32) {
        let made = self.prepare(number, slot);
        let Some(generation) = self.generations.get_mut(number) else {
            return;
        };
        let Some(link) = generation
            .zygote
            .as_ref()
            .and_then(|zygote| zygote.link.as_ref())
        else {
            return;
        };
        match made {
            Ok((worker, fds, balancing)) => {
                self.last_worker += 1;
                let id = self.last_worker;
                link.send(
                    ToZygote::Fork {
                        slot,
                        generation: number,
                        has_front: worker.front_channel.is_some(),
                        balancing,
                    },
                    fds,
                );
                generation.forking.push_back(id);
                generation.slots[slot as usize].worker = Some(id);
                self.workers.insert(id, worker);
            }
            Err(e) => {
                logging::error!("cannot prepare a worker slot={slot} generation={number}: {e}");
                self.events.later(
                    AGAIN,
                    Timer::Fork {
                        generation: number,
                        slot,
                    },
                );
            }
        }
    }

    /// How many requests each worker of a generation has at a time.
    pub(super) fn concurrency(&self, generation: u32) -> u32 {
        let generation = self.generations.get(generation);
        let booted = generation.and_then(|generation| generation.booted.as_ref());
        booted.map_or(1, |booted| booted.concurrency)
    }

    /// Our side of a worker, and the descriptors of its side; how many of them are for handing connections over.
    fn prepare(&self, generation: u32, slot: u32) -> std::io::Result<(Worker, Vec<OwnedFd>, u32)> {
        let (ours, theirs) = Channel::pair()?;
        let board = Scoreboard::create(self.concurrency(generation))?;
        let mut fds = vec![
            OwnedFd::from(theirs),
            board.as_fd().try_clone_to_owned()?,
            self.shared.quarantine.fd.try_clone()?,
        ];
        let mut front_channel = None;
        if self.is_balanced() {
            let (front, worker) = Channel::pair()?;
            front_channel = Some(OwnedFd::from(front));
            fds.push(worker.into());
        } else if let Some(sockets) = &self.sockets {
            fds.extend(sockets.for_slot(slot)?);
        }
        let balancing = self
            .balancing
            .as_ref()
            .map(|balancing| balancing.for_slot(slot));
        let balancing = balancing.transpose()?.unwrap_or_default();
        let number = balancing.len() as u32;
        fds.extend(balancing);
        let (events, id) = (self.events.clone(), self.last_worker + 1);
        let link = Link::open(ours, move |said: Received<FromWorker>| {
            events.send(Event::Worker(id, said))
        })?;
        let worker = Worker::new(generation, slot, board, link, front_channel);
        Ok((worker, fds, number))
    }

    pub(super) fn fork_if_empty(&mut self, number: u32, slot: u32) {
        let serves = self.generations.is_wanted(number);
        let empty = self
            .generations
            .get(number)
            .is_some_and(|g| g.slots[slot as usize].worker.is_none());
        if serves && empty && self.slots.contains(&slot) && !self.stopping() {
            self.fork(number, slot);
        }
    }

    pub(super) fn forked(&mut self, number: u32, slot: u32, pid: u32, handle: Option<OwnedFd>) {
        let Some(id) = self
            .generations
            .get_mut(number)
            .and_then(|g| g.forking.pop_front())
        else {
            return;
        };
        let Some(worker) = self.workers.get_mut(&id) else {
            return;
        };
        if worker.slot != slot {
            logging::alert!(
                "a worker was forked for slot {slot}, asked for was {}",
                worker.slot
            );
        }
        worker.forked(id, pid, handle, &self.events);
        logging::debug!(
            "forked worker pid={pid} slot={} generation={number}",
            worker.slot
        );
    }

    /// The kernel would not let the zygote fork: out of processes or memory.
    pub(super) fn fork_failed(&mut self, number: u32, slot: u32, message: &str) {
        let Some(generation) = self.generations.get_mut(number) else {
            return;
        };
        let id = generation.forking.pop_front();
        generation.slots[slot as usize].worker = None;
        if let Some(id) = id {
            self.workers.remove(&id);
        }
        let why = format!("cannot fork a worker for slot {slot}: {message}");
        if self.generations.next == Some(number) {
            return self.abort_generation(number, BootFailure::Failed(why));
        }
        logging::error!("{why} generation={number}");
        self.events.later(
            AGAIN,
            Timer::Fork {
                generation: number,
                slot,
            },
        );
        self.reap_generations();
    }

    pub(super) fn ready(&mut self, id: WorkerId) {
        let Some(worker) = self.workers.get_mut(&id) else {
            return;
        };
        let (number, slot, took) = (worker.generation, worker.slot, worker.since.elapsed());
        let pid = worker.pid.unwrap_or_default();
        if !worker.advance(State::Ready) {
            return;
        }
        logging::debug!(
            "ready worker pid={pid} slot={slot} generation={number} ms={:.1}",
            took.as_secs_f64() * 1e3
        );
        self.hand_over(id);
        self.drain_recycled(number, slot);
        self.promote(number);
    }

    /// It has served enough, or a fatal error in PHP broke it: its successor starts, and it serves until that one does.
    pub(super) fn wants_recycle(&mut self, id: WorkerId, reason: &str, broken: bool) {
        let Some(worker) = self
            .workers
            .get_mut(&id)
            .filter(|worker| worker.state() == State::Ready)
        else {
            return;
        };
        worker.advance(State::Recycling);
        let (number, slot, pid) = (
            worker.generation,
            worker.slot,
            worker.pid.unwrap_or_default(),
        );
        if broken {
            logging::warning!(
                "worker is replaced: {reason} pid={pid} slot={slot} generation={number}"
            );
            return self.replace(id);
        }
        logging::info!("worker is replaced: {reason} pid={pid} slot={slot} generation={number}");
        self.recycled += 1;
        let place = self
            .generations
            .get_mut(number)
            .map(|g| &mut g.slots[slot as usize].worker);
        if let Some(place) = place.filter(|place| **place == Some(id)) {
            *place = None;
            self.fork_if_empty(number, slot);
        }
    }

    /// A successor serves.
    fn drain_recycled(&mut self, number: u32, slot: u32) {
        let deadline = self.settings.reload_timeout;
        let wants_recycle = |worker: &Worker| {
            worker.state() == State::Recycling && worker.generation == number && worker.slot == slot
        };
        let recycled: Vec<WorkerId> = self
            .workers
            .iter()
            .filter(|(_, worker)| wants_recycle(worker))
            .map(|(id, _)| *id)
            .collect();
        for id in recycled {
            self.drain(id, true, deadline);
        }
    }

    /// It leaves of itself: its successor starts while it finishes what it has.
    pub(super) fn leaving(&mut self, id: WorkerId, reason: &str) {
        let deadline = self.settings.reload_timeout;
        let Some(worker) = self.workers.get_mut(&id) else {
            return;
        };
        if !worker.advance(State::Leaving) {
            return;
        }
        let pid = worker.pid.unwrap_or_default();
        logging::warning!(
            "worker leaves: {reason} pid={pid} slot={} generation={}",
            worker.slot,
            worker.generation
        );
        self.events.later(deadline + KILL_GRACE, Timer::Kill(id));
        self.retire_from_front(id);
        self.replace(id);
    }

    /// It could not boot the app (which every worker boots for itself in a cold generation).
    pub(super) fn failed(&mut self, id: WorkerId, message: String) {
        let Some(worker) = self.workers.get(&id) else {
            return;
        };
        if self.generations.next == Some(worker.generation) {
            self.abort_generation(worker.generation, BootFailure::Failed(message));
        } else {
            let pid = worker.pid.unwrap_or_default();
            logging::error!(
                "worker cannot boot the app: {message} pid={pid} slot={}",
                worker.slot
            );
        }
    }

    /// It closed its channel, so it is ending; if it is not, no message reaches it any more.
    pub(super) fn worker_closed(&mut self, id: WorkerId, mistake: Option<String>) {
        if let Some(mistake) = mistake {
            logging::alert!("a worker said something we do not understand: {mistake}");
        }
        self.events.later(KILL_GRACE, Timer::Kill(id));
        if let Some(status) = self.workers.get_mut(&id).and_then(|it| it.ending.close()) {
            self.worker_ended(id, Some(status));
        }
    }

    pub(super) fn kill_late(&mut self, id: WorkerId) {
        let Some(worker) = self.workers.get(&id) else {
            return;
        };
        let requests = worker.board.in_flight();
        logging::warning!(
            "killing a worker that has not left in time pid={} slot={} requests=[{}]",
            worker.pid.unwrap_or_default(),
            worker.slot,
            list(&requests)
        );
        worker.kill();
    }

    /// Its process is gone. `status` is unknown if its parent died first.
    pub(super) fn worker_ended(&mut self, id: WorkerId, status: Option<i32>) {
        let Some(worker) = self.workers.get(&id) else {
            return;
        };
        let (number, state) = (worker.generation, worker.state());
        if let Some(pid) = worker.pid {
            self.shared.budgets.table.reap(pid);
            if let Some(balancing) = &self.balancing {
                balancing.left(worker.slot, pid);
            }
        }
        let ended = status.map_or("ended".into(), describe);
        report(worker, status, &ended);
        self.blame(worker, status);
        let latencies = worker.board.latencies();
        self.ended_processes
            .add(&ended_counters(worker), &latencies);
        if self.generations.next == Some(number)
            && matches!(state, State::Forking | State::Starting)
        {
            self.workers.remove(&id);
            return self.abort_generation(
                number,
                BootFailure::Failed(format!(
                    "a worker {ended} before it was ready; what it said is above"
                )),
            );
        }
        if state != State::Leaving {
            self.replace(id);
        }
        self.workers.remove(&id);
        self.pools_left(id);
        self.reap_generations();
    }

    /// It may have died of the request that computed: one that two workers died of is not run again for a while.
    fn blame(&self, worker: &Worker, status: Option<i32>) {
        let Some(signal) = status
            .and_then(deadly)
            .filter(|_| worker.has_served() && !worker.is_killed())
        else {
            return;
        };
        let Some(request) = worker.board.computing() else {
            return;
        };
        let quarantine = &self.shared.quarantine.table;
        if quarantine.blame(request.suspect, signal.is_sent()) {
            logging::error!(
                "request is refused for 60 s: it has killed two workers method={} route={} hash={:016x} signal={}",
                request.method,
                request.route(),
                request.suspect.fingerprint,
                signal.name()
            );
        }
    }

    /// Start the successor of a worker that dies or breaks: at once if it has begun a request, which says that workers do
    /// start; else after a pause, if its predecessors died quickly too.
    fn replace(&mut self, id: WorkerId) {
        let Some(worker) = self.workers.get(&id) else {
            return;
        };
        let (number, slot) = (worker.generation, worker.slot);
        let has_served = worker.has_served();
        let life = worker.since.elapsed();
        let Some(generation) = self.generations.get_mut(number) else {
            return;
        };
        let place = &mut generation.slots[slot as usize];
        if place.worker != Some(id) {
            return;
        }
        self.restarts[slot as usize] += 1;
        place.worker = None;
        match place.backoff.after(life, has_served) {
            Duration::ZERO => self.fork_if_empty(number, slot),
            pause => {
                logging::error!(
                    "workers keep dying before they serve anything; the next starts in {} ms slot={slot}",
                    pause.as_millis()
                );
                self.events.later(
                    pause,
                    Timer::Fork {
                        generation: number,
                        slot,
                    },
                );
            }
        }
    }
}

/// Counters of a worker that is gone: what was in flight has ended, and its connections are closed.
fn ended_counters(worker: &Worker) -> Snapshot {
    let mut snapshot = worker.board.snapshot();
    settle(&mut snapshot);
    snapshot
}

pub(super) fn settle(snapshot: &mut Snapshot) {
    for (begun, ended) in [
        (Counter::Requests, Counter::Finished),
        (Counter::ConnectionsOpened, Counter::ConnectionsClosed),
        (Counter::Tasks, Counter::TasksFinished),
        (Counter::Queued, Counter::Unqueued),
    ] {
        snapshot.settle(begun, ended);
    }
}

/// An unrequested death is an error, with the requests it took along.
fn report(worker: &Worker, status: Option<i32>, ended: &str) {
    let (pid, slot, number) = (
        worker.pid.unwrap_or_default(),
        worker.slot,
        worker.generation,
    );
    let requests = worker.board.in_flight();
    let computing = worker.board.computing();
    let computing = computing.map_or(String::new(), |request| {
        format!(" computing={:016x}", request.id)
    });
    let clean = status == Some(0) || (worker.state() == State::Leaving && status.is_none());
    if worker.state() == State::Leaving && clean && requests.is_empty() {
        logging::debug!("worker has left pid={pid} slot={slot} generation={number}");
    } else {
        let requests = list(&requests);
        logging::error!(
            "worker {ended} pid={pid} slot={slot} generation={number}{computing} requests=[{requests}]"
        );
    }
}
