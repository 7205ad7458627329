//! Forks of workers: what a zygote needs for one, and its answers.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use ipc::{BootFailure, Channel, FromWorker, ToZygote};
use shm::Scoreboard;

use super::Server;
use crate::event::{Event, Timer};
use crate::link::{Link, Received};
use crate::worker::Worker;

/// The pause before another try, after the supervisor or the kernel failed to fork.
const AGAIN: Duration = Duration::from_secs(1);

impl Server {
    /// Requests a worker in this slot from a generation's zygote.
    pub(super) fn fork(&mut self, number: u32, slot: u32) {
        if !self.can_fork(number) {
            return;
        }
        match self.prepare(number, slot) {
            Ok((worker, fds, balancing)) => self.request_fork(worker, fds, balancing),
            Err(e) => {
                logging::error!("cannot prepare a worker slot={slot} generation={number}: {e}");
                self.fork_later(number, slot, AGAIN);
            }
        }
    }

    fn request_fork(&mut self, worker: Worker, fds: Vec<OwnedFd>, balancing: u32) {
        let (generation, slot) = (worker.generation, worker.slot);
        let Some(of) = self.generations.get_mut(generation) else {
            return;
        };
        let zygote = of.zygote.as_ref();
        let Some(link) = zygote.and_then(|zygote| zygote.link.as_ref()) else {
            return;
        };
        let fork = ToZygote::Fork {
            slot,
            generation,
            has_front: worker.front_channel.is_some(),
            balancing,
        };
        link.send(fork, fds);
        self.last_worker += 1;
        let id = self.last_worker;
        of.forking.push_back(id);
        of.slots[slot as usize].worker = Some(id);
        self.workers.insert(id, worker);
    }

    pub(super) fn fork_later(&self, generation: u32, slot: u32, pause: Duration) {
        self.events.later(pause, Timer::Fork { generation, slot });
    }

    /// The number of requests that each worker of a generation handles at a time.
    pub(super) fn concurrency(&self, generation: u32) -> u32 {
        let generation = self.generations.get(generation);
        let booted = generation.and_then(|generation| generation.booted.as_ref());
        booted.map_or(1, |booted| booted.concurrency)
    }

    /// Returns the supervisor's side of a worker, the descriptors of the worker's side, and how many of these are for
    /// handing connections over.
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
        let link = Link::open(ours, move |received: Received<FromWorker>| {
            events.send(Event::Worker(id, received))
        })?;
        let worker = Worker::new(generation, slot, board, link, front_channel);
        Ok((worker, fds, number))
    }

    pub(super) fn fork_if_empty(&mut self, number: u32, slot: u32) {
        let serves = self.generations.is_active(number);
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

    /// Handles a fork that the kernel refused, because no process or no memory is left.
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
        self.fork_later(number, slot, AGAIN);
        self.reap_generations();
    }
}
