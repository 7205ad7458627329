//! Generations: boot, rise, replace the one before, retire.

use std::collections::{BTreeMap, VecDeque};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use config::Settings;
use ipc::{BootFailure, FromZygote};

use super::{Phase, Server};
use crate::backoff::Backoff;
use crate::boot;
use crate::ending::Ending;
use crate::error::Error;
use crate::event::{Event, Timer};
use crate::generation::{Generation, Slot, Zygote};
use crate::link::{Link, Received};
use crate::preload::{PreloadStatus, PreloadedFiles};
use crate::program::Program;
use crate::signal::describe;
use crate::worker::{State, WorkerId};

/// How long a zygote may take to leave once it was told to.
const ZYGOTE_LEAVES: Duration = Duration::from_secs(2);

/// All that there are, and which of them counts.
#[derive(Default)]
pub(super) struct Generations {
    known: BTreeMap<u32, Generation>,
    pub(super) current: Option<u32>,
    pub(super) next: Option<u32>,
    last: u32,
    /// Of zygotes that were lost.
    reboots: Backoff,
}

impl Generations {
    pub(super) fn get(&self, number: u32) -> Option<&Generation> {
        self.known.get(&number)
    }

    pub(super) fn get_mut(&mut self, number: u32) -> Option<&mut Generation> {
        self.known.get_mut(&number)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Generation> {
        self.known.values()
    }

    pub(super) fn all_mut(&mut self) -> impl Iterator<Item = &mut Generation> {
        self.known.values_mut()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// The number of the one that serves, or before the first does, of the one that is to.
    pub(super) fn newest_number(&self) -> Option<u32> {
        self.current.or(self.next)
    }

    pub(super) fn newest(&self) -> Option<&Generation> {
        self.newest_number().and_then(|number| self.get(number))
    }

    /// It serves, or is to.
    pub(super) fn is_wanted(&self, number: u32) -> bool {
        [self.current, self.next].contains(&Some(number))
    }

    pub(super) fn zygote_mut(&mut self, pid: u32) -> Option<&mut Zygote> {
        let zygotes = self.known.values_mut();
        let mut zygotes = zygotes.filter_map(|generation| generation.zygote.as_mut());
        zygotes.find(|zygote| zygote.pid == pid)
    }

    pub(super) fn of_zygote(&self, pid: u32) -> Option<u32> {
        let is_it = |generation: &Generation| {
            let zygote = generation.zygote.as_ref();
            zygote.is_some_and(|zygote| zygote.pid == pid)
        };
        let mut known = self.known.iter();
        known.find(|(_, it)| is_it(it)).map(|(number, _)| *number)
    }
}

impl Server {
    /// The first generation.
    pub(super) fn start(&mut self) -> Result<(), Error> {
        self.start_generation(Arc::clone(&self.settings))
            .inspect_err(|_| self.generations.next = None)
    }

    /// Start a zygote and tell it to boot.
    pub(super) fn start_generation(&mut self, settings: Arc<Settings>) -> Result<(), Error> {
        let program = Program::find(settings.php.as_deref())?;
        let preload = PreloadStatus::of(&settings);
        let preloaded_files = PreloadedFiles::of(&settings);
        let (child, channel) = program.start_zygote(true, Stdio::inherit(), &settings.env)?;
        self.generations.last += 1;
        let number = self.generations.last;
        let events = self.events.clone();
        let link = Link::open(channel, move |said: Received<FromZygote>| {
            events.send(Event::Zygote(number, said))
        })?;
        let mut shared = vec![self.shared.budgets.fd.try_clone()?];
        if let Some(cache) = &self.shared.cache {
            shared.extend(cache.fds()?);
        }
        link.send(boot::message(&settings, self.build), shared);
        if !settings.boot_timeout.is_zero() {
            self.events
                .later(settings.boot_timeout, Timer::BootDeadline(number));
        }
        logging::info!(
            "booting app={} generation={number} zygote={}",
            settings.app.display(),
            child.id()
        );
        let generation = Generation {
            program,
            settings,
            began: Instant::now(),
            zygote: Some(Zygote {
                pid: child.id(),
                link: Some(link),
                ending: Ending::default(),
            }),
            booted: None,
            preload,
            preloaded_files,
            slots: vec![Slot::default(); self.restarts.len()],
            forking: VecDeque::new(),
        };
        self.generations.known.insert(number, generation);
        self.generations.next = Some(number);
        Ok(())
    }

    /// Its first answer.
    pub(super) fn booted(&mut self, number: u32, answer: FromZygote) {
        if self.generations.next != Some(number) {
            return;
        }
        let Some(generation) = self.generations.get_mut(number) else {
            return;
        };
        let booted = match boot::handshake(
            &generation.program,
            &generation.settings,
            self.build,
            answer,
        ) {
            Ok(booted) => booted,
            Err(why) => return self.abort_generation(number, why),
        };
        if let Some(reason) = &booted.cold {
            logging::warning!(
                "the app left {reason} open, so each worker boots it for itself (slower, more memory): open it in the handler, or use Hearth\\Pool generation={number}"
            );
        }
        let took = generation.began.elapsed().as_millis();
        logging::info!(
            "booted generation={number} php={} handler={} concurrency={} ms={took}",
            booted.php,
            match booted.handler.as_str() {
                "" => "classic",
                kind => kind,
            },
            booted.concurrency
        );
        if let (1, None, Some(what)) = (
            booted.concurrency,
            generation.settings.concurrency,
            booted.described(),
        ) {
            logging::info!(
                "one request at a time per worker, because the app is {what} (to change that, set workers.concurrency)"
            );
        }
        if let Some(root) = &booted.root {
            logging::info!("files are sent without PHP root={}", root.display());
        }
        let concurrency = booted.concurrency;
        generation.preload = generation
            .preload
            .take()
            .map(|list| list.for_php(&booted.php));
        generation.booted = Some(booted);
        self.decide_dispatch(number, concurrency);
        for slot in self.slots.clone() {
            self.fork(number, slot);
        }
    }

    /// If every slot of the next generation has a worker that accepts, it takes over.
    pub(super) fn promote(&mut self, number: u32) {
        let Some(generation) = self
            .generations
            .get(number)
            .filter(|_| self.generations.next == Some(number))
        else {
            return;
        };
        if !self.slots.iter().all(|slot| self.is_served(number, *slot)) {
            return;
        }
        let took = generation.began.elapsed().as_millis();
        self.settings = Arc::clone(&generation.settings);
        let first = self.generations.current.is_none();
        self.generations.current = Some(number);
        self.generations.next = None;
        self.tell_front();
        self.hand_over_all();
        logging::info!(
            "serving generation={number} workers={} ms={took}",
            self.slots.len()
        );
        if first {
            self.phase = Phase::Running;
            self.announce();
        } else {
            self.reloads.done += 1;
            self.shared.quarantine.table.clear();
            self.retire_others(number);
            self.tell_serving();
        }
        self.watch_preloaded_files(number);
        self.reloaded(&Ok(format!(
            "generation {number} serves, booted in {took} ms"
        )));
    }

    fn retire_others(&mut self, current: u32) {
        let deadline = self.settings.reload_timeout;
        let old: Vec<WorkerId> = self
            .workers
            .iter()
            .filter(|(_, worker)| worker.generation != current && worker.state() != State::Leaving)
            .map(|(id, _)| *id)
            .collect();
        for id in old {
            self.drain(id, true, deadline);
        }
        self.reap_generations();
    }

    /// The next generation will not do: away with it. The current one, if there is one, does not notice.
    pub(super) fn abort_generation(&mut self, number: u32, why: BootFailure) {
        if self.generations.next != Some(number) {
            return;
        }
        self.generations.next = None;
        self.discard(number);
        if self.generations.current.is_none() && self.start_without_preload(number, &why) {
            return;
        }
        if self.generations.current.is_none() {
            // It ends when nothing of it is left.
            self.failure = Some(Error::Boot(why));
            self.phase = Phase::Stopping;
            self.stop_front(Duration::ZERO);
            return self.reap_generations();
        }
        logging::error!("generation {number} failed and changes nothing: {why}");
        self.tell_serving();
        let current = self.generations.current;
        let lost = current.is_some_and(|current| !self.can_fork(current));
        self.reloaded(&Err(why.to_string()));
        if lost && self.generations.next.is_none() {
            self.reboot_later(Duration::ZERO);
        }
    }

    /// The first start does not fail because of a preload list. Whether it was the list shows when the app boots without.
    fn start_without_preload(&mut self, number: u32, why: &BootFailure) -> bool {
        let BootFailure::Failed(why) = why else {
            return false;
        };
        let Some(generation) = self.generations.get_mut(number) else {
            return false;
        };
        let Some(list) = generation
            .preload
            .take()
            .filter(|_| generation.settings.preload.is_some())
        else {
            return false;
        };
        let settings = Settings {
            preload: None,
            ..(*generation.settings).clone()
        };
        logging::error!(
            "the app does not boot with the preload list, and is booted without it: {why}"
        );
        if let Err(error) = self.start_generation(Arc::new(settings)) {
            logging::error!("cannot boot the app without the preload list: {error}");
            return false;
        }
        let list = list.without(&format!("the app does not boot with it: {why}"));
        let next = self.generations.next;
        let next = next.and_then(|next| self.generations.get_mut(next));
        if let Some(next) = next {
            next.preload = Some(list);
        }
        true
    }

    /// Kill what there is of a generation that never served.
    pub(super) fn discard(&mut self, number: u32) {
        for worker in self
            .workers
            .values_mut()
            .filter(|worker| worker.generation == number)
        {
            worker.advance(State::Leaving);
            worker.kill();
        }
        if let Some(generation) = self.generations.get_mut(number) {
            if let Some(zygote) = &mut generation.zygote {
                zygote.dismiss();
                zygote.kill_group();
            }
            // Those that were asked for and have no process never will.
            for id in std::mem::take(&mut generation.forking) {
                self.workers.remove(&id);
            }
        }
    }

    pub(super) fn boot_deadline(&mut self, number: u32) {
        if let Some(generation) = self.generations.get(number) {
            let why = boot::too_slow(&generation.settings);
            self.abort_generation(number, why);
        }
    }

    /// Its end of the channel is closed. Unless it was told to leave, it is ending, or it has lost its mind.
    pub(super) fn zygote_closed(&mut self, number: u32, mistake: Option<String>) {
        if let Some(mistake) = mistake {
            logging::alert!(
                "generation {number}: the zygote said something we do not understand: {mistake}"
            );
        }
        self.events.later(ZYGOTE_LEAVES, Timer::KillZygote(number));
        let generation = self.generations.get_mut(number);
        if let Some(zygote) = generation.and_then(|generation| generation.zygote.as_mut())
            && let Some(status) = zygote.ending.close()
        {
            self.zygote_ended(number, status);
        }
    }

    pub(super) fn kill_zygote(&mut self, number: u32) {
        if let Some(zygote) = self
            .generations
            .get(number)
            .and_then(|generation| generation.zygote.as_ref())
        {
            logging::warning!(
                "killing a zygote that does not leave generation={number} pid={}",
                zygote.pid
            );
            let pid = i32::try_from(zygote.pid)
                .ok()
                .and_then(rustix::process::Pid::from_raw);
            // Not reaped yet: the number is its own.
            let _ =
                pid.map(|pid| rustix::process::kill_process(pid, rustix::process::Signal::KILL));
        }
    }

    pub(super) fn zygote_ended(&mut self, number: u32, status: i32) {
        let Some(generation) = self.generations.get_mut(number) else {
            return;
        };
        let life = generation.began.elapsed();
        let told = generation
            .zygote
            .take()
            .is_some_and(|zygote| zygote.link.is_none());
        let ended = match generation.booted {
            None => boot::ended(&generation.program, status),
            Some(_) => BootFailure::Failed(format!("the zygote {}", describe(status))),
        };
        // Workers it was asked for and did not fork never come.
        for id in std::mem::take(&mut generation.forking) {
            self.workers.remove(&id);
        }
        if self.generations.next == Some(number) {
            self.abort_generation(number, ended);
        } else if self.generations.current == Some(number) && !told && !self.stopping() {
            logging::error!(
                "{ended}; its workers go on, and the app is booted again generation={number}"
            );
            self.reboot_later(life);
        }
        self.reap_generations();
    }

    /// After a zygote that lived so long.
    fn reboot_later(&mut self, life: Duration) {
        let pause = self.generations.reboots.after(life, false);
        self.events.later(pause, Timer::Reboot);
    }

    /// A new zygote in place of one that was lost.
    pub(super) fn reboot(&mut self) {
        let lost = self
            .generations
            .current
            .is_some_and(|current| !self.can_fork(current));
        if !lost || self.generations.next.is_some() || self.stopping() {
            return;
        }
        if let Err(e) = self.start_generation(Arc::clone(&self.settings)) {
            logging::error!("cannot boot the app again: {e}");
            self.reboot_later(Duration::ZERO);
        }
    }

    pub(super) fn can_fork(&self, number: u32) -> bool {
        let zygote = self
            .generations
            .get(number)
            .and_then(|generation| generation.zygote.as_ref());
        zygote.is_some_and(|zygote| zygote.link.is_some())
    }

    /// Zygotes without purpose leave; generations of which nothing is left are forgotten.
    pub(super) fn reap_generations(&mut self) {
        let (current, next) = (self.generations.current, self.generations.next);
        let mut told = Vec::new();
        let workers = &self.workers;
        let stopping = self.phase == Phase::Stopping;
        self.generations.known.retain(|number, generation| {
            let wanted = !stopping && (current == Some(*number) || next == Some(*number));
            if wanted || workers.values().any(|worker| worker.generation == *number) {
                return true;
            }
            let zygote = generation.zygote.as_mut();
            if zygote.is_some_and(|zygote| zygote.dismiss()) {
                told.push(*number);
            }
            generation.zygote.is_some()
        });
        for number in told {
            self.events.later(ZYGOTE_LEAVES, Timer::KillZygote(number));
        }
        self.finish_if_empty();
    }
}
