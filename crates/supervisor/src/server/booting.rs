//! The boot of a generation: its zygote starts, boots the app, and forks the workers.

use std::collections::VecDeque;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Instant;

use config::Settings;
use ipc::{BootFailure, Booted, FromZygote};

use super::Server;
use crate::boot;
use crate::error::Error;
use crate::event::{Event, Timer};
use crate::generation::{Generation, Slot, Zygote};
use crate::link::{Link, Received};
use crate::preload::{PreloadStatus, PreloadedFiles};
use crate::process_exit::ProcessExit;
use crate::program::Program;

impl Server {
    /// Starts the first generation.
    pub(super) fn start(&mut self) -> Result<(), Error> {
        self.start_generation(Arc::clone(&self.settings))
            .inspect_err(|_| self.generations.next = None)
    }

    /// Starts a zygote, and tells it to boot the app with these settings.
    pub(super) fn start_generation(&mut self, settings: Arc<Settings>) -> Result<(), Error> {
        let program = Program::find(settings.php.as_deref())?;
        let preload = PreloadStatus::of(&settings);
        let preloaded_files = PreloadedFiles::of(&settings);
        self.generations.last += 1;
        let number = self.generations.last;
        let zygote = self.start_zygote(number, &program, &settings)?;
        logging::info!(
            "booting app={} generation={number} zygote={}",
            settings.app.display(),
            zygote.pid
        );
        let generation = Generation {
            program,
            settings,
            began: Instant::now(),
            zygote: Some(zygote),
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

    fn start_zygote(
        &self,
        number: u32,
        program: &Program,
        settings: &Settings,
    ) -> Result<Zygote, Error> {
        let (child, channel) = program.start_zygote(true, Stdio::inherit(), &settings.env)?;
        let events = self.events.clone();
        let link = Link::open(channel, move |received: Received<FromZygote>| {
            events.send(Event::Zygote(number, received))
        })?;
        let mut shared = vec![self.shared.budgets.fd.try_clone()?];
        if let Some(cache) = &self.shared.cache {
            shared.extend(cache.fds()?);
        }
        link.send(boot::message(settings, self.build), shared);
        if !settings.boot_timeout.is_zero() {
            self.events
                .later(settings.boot_timeout, Timer::BootDeadline(number));
        }
        Ok(Zygote {
            pid: child.id(),
            link: Some(link),
            exit: ProcessExit::default(),
        })
    }

    /// Handles the first answer of a zygote: the app has booted, or has failed to.
    pub(super) fn booted(&mut self, number: u32, answer: FromZygote) {
        if self.generations.next != Some(number) {
            return;
        }
        let Some(generation) = self.generations.get_mut(number) else {
            return;
        };
        let (program, settings) = (&generation.program, &generation.settings);
        let booted = match boot::handshake(program, settings, self.build, answer) {
            Ok(booted) => booted,
            Err(why) => return self.abort_generation(number, why),
        };
        log_boot(number, generation, &booted);
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

    /// Gives up a generation that is not up in time.
    pub(super) fn boot_deadline(&mut self, number: u32) {
        if let Some(generation) = self.generations.get(number) {
            let why = boot::too_slow(&generation.settings);
            self.abort_generation(number, why);
        }
    }

    /// Boots the app without its preload list, so that a list never makes the first start fail. Whether the list was the
    /// cause shows when the app boots now.
    pub(super) fn start_without_preload(&mut self, number: u32, why: &BootFailure) -> bool {
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
}

fn log_boot(number: u32, generation: &Generation, booted: &Booted) {
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
    let chosen = generation.settings.concurrency;
    if let (1, None, Some(what)) = (booted.concurrency, chosen, booted.described()) {
        logging::info!(
            "one request at a time per worker, because the app is {what} (to change that, set workers.concurrency)"
        );
    }
    if let Some(root) = &booted.root {
        logging::info!("files are sent without PHP root={}", root.display());
    }
}
