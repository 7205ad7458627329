//! A preloaded file that changes under a classic site: PHP never looks at it again, so the server starts PHP anew.

use std::time::Duration;

use super::Server;
use crate::event::Timer;

/// A look costs about a microsecond per file of the list; `opcache.revalidate_freq` is two seconds.
const PAUSE: Duration = Duration::from_secs(2);

impl Server {
    /// From now on, while this generation serves and where PHP would look at its files if they were not preloaded.
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

    pub(super) fn look_at_preloaded_files(&mut self, number: u32) {
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
