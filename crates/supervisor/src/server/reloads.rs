//! Reloads: read the settings again, start a generation with them, and answer the callers.

use std::sync::Arc;

use config::{CacheSettings, Settings};

use super::{Server, main_loop};
use crate::event::ReplyTo;
use crate::systemd;

/// Reloads, and the callers that wait for them.
#[derive(Default)]
pub(super) struct Reloads {
    pub(super) done: u64,
    /// Callers that wait for the next generation.
    waiting: Vec<ReplyTo>,
    /// Callers that requested a reload during another one; they wait for one more reload.
    queued: Option<Vec<ReplyTo>>,
    /// Settings that have changed but need a restart.
    fixed: Vec<&'static str>,
}

impl Reloads {
    /// Takes all callers that wait, because there are no more reloads.
    pub(super) fn take_callers(&mut self) -> impl Iterator<Item = ReplyTo> {
        let queued = self.queued.take().unwrap_or_default();
        std::mem::take(&mut self.waiting).into_iter().chain(queued)
    }
}

impl Server {
    /// Reloads after `hearth reload`, SIGHUP, or a change that the watcher saw.
    pub(super) fn reload(&mut self, done: Option<ReplyTo>) {
        if self.stopping() {
            if let Some(done) = done {
                let _ = done.send(Err("the server is stopping".into()));
            }
        } else if self.generations.next.is_some() {
            if self.reloads.queued.is_none() {
                logging::info!("a reload is under way; another reload follows");
            }
            self.reloads.queued.get_or_insert_default().extend(done);
        } else {
            self.reload_now(done.into_iter().collect());
        }
    }

    /// Answers the callers when the next generation has taken over or has failed, and starts the reload of those that asked
    /// meanwhile.
    pub(super) fn reloaded(&mut self, outcome: &Result<String, String>) {
        let outcome = match (outcome, self.reloads.fixed.join(", ")) {
            (Ok(text), fixed) if !fixed.is_empty() => Ok(format!(
                "{text}; changed, but only a restart changes it: {fixed}"
            )),
            (outcome, _) => outcome.clone(),
        };
        for done in self.reloads.waiting.drain(..) {
            let _ = done.send(outcome.clone());
        }
        if let Some(done) = self.reloads.queued.take() {
            self.reload_now(done);
        }
    }

    fn reload_now(&mut self, done: Vec<ReplyTo>) {
        systemd::reloading();
        let raised = self.refreshed().and_then(|settings| {
            self.start_generation(Arc::new(settings))
                .map_err(|e| e.to_string())
        });
        match raised {
            Ok(()) => self.reloads.waiting = done,
            Err(why) => {
                logging::error!("reload failed and changes nothing: {why}");
                self.notify_service_manager();
                for done in done {
                    let _ = done.send(Err(why.clone()));
                }
            }
        }
    }

    /// Reads the settings again. Those that are fixed once the sockets are open keep their values.
    fn refreshed(&mut self) -> Result<Settings, String> {
        let new = (self.reload_settings)()?;
        self.reloads.fixed = changed(&self.settings, &new);
        for key in &self.reloads.fixed {
            logging::warning!("{key} has changed; that takes a restart");
        }
        main_loop::check_logs(&new).map_err(|error| error.to_string())?;
        logging::set_level(new.log_level);
        Ok(with_fixed(&self.settings, new))
    }
}

/// Returns the fixed settings that have changed.
fn changed(old: &Settings, new: &Settings) -> Vec<&'static str> {
    let fixed = [
        ("listen", new.listen != old.listen),
        ("socket.mode, owner or group", new.socket != old.socket),
        ("workers.count, min or max", new.workers != old.workers),
        ("workers.dispatch", new.dispatch != old.dispatch),
        ("front.threads", new.front_threads != old.front_threads),
        ("mode", new.mode != old.mode),
        ("admin", new.admin != old.admin),
        ("metrics.routes", new.metrics_routes != old.metrics_routes),
        ("control", new.control != old.control),
        ("watch", new.watch != old.watch),
        ("app", new.app != old.app),
        ("cache.size", new.cache.size != old.cache.size),
        (
            "cache.redis, redis_prefix or redis_timeout",
            new.cache.redis != old.cache.redis,
        ),
    ];
    let changed = fixed.into_iter().filter(|(_, changed)| *changed);
    changed.map(|(key, _)| key).collect()
}

/// Returns the new settings, with the fixed ones of the old.
fn with_fixed(old: &Settings, new: Settings) -> Settings {
    Settings {
        listen: old.listen.clone(),
        workers: old.workers,
        dispatch: old.dispatch,
        front_threads: old.front_threads,
        mode: old.mode,
        admin: old.admin,
        metrics_routes: old.metrics_routes.clone(),
        control: old.control.clone(),
        watch: old.watch,
        app: old.app.clone(),
        cache: CacheSettings {
            copies: new.cache.copies,
            ..old.cache.clone()
        },
        ..new
    }
}
