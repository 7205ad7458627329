//! Watches the preloaded files of a classic site: PHP never checks them again, so the server restarts PHP after a change.

use std::time::Duration;

use super::Server;
use crate::event::Timer;

/// The pause between two checks. A check takes about a microsecond per file; `opcache.revalidate_freq` is two seconds.
const PAUSE: Duration = Duration::from_secs(2);

impl Server {
    /// Schedules the next check, while this generation serves, if PHP would check its files if they were not preloaded.
    pub(super) fn watch_preloaded_files(&self, number: u32) {
        let generation = self.generations.get(number);
        let is_watched = generation.is_some_and(|generation| {
            let booted = generation.booted.as_ref();
            !generation.preloaded_files.is_empty()
                && booted.is_some_and(|booted| booted.revalidates)
        });
        if is_watched {
            self.events.later(PAUSE, Timer::PreloadedFiles(number));
        }
    }

    pub(super) fn check_preloaded_files(&mut self, number: u32) {
        if self.generations.current != Some(number) || self.stopping() {
            return;
        }
        self.watch_preloaded_files(number);
        if self.generations.next.is_some() {
            return;
        }
        let generation = self.generations.get_mut(number);
        let Some(files) = generation.map(|generation| &mut generation.preloaded_files) else {
            return;
        };
        if let Some(changed) = files.settled_change() {
            logging::warning!(
                "a preloaded file has changed, and PHP is started anew; build the preload list again file={}",
                changed.display()
            );
            self.reload(None);
        }
    }
}
