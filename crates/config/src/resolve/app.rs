//! The app, its mode, and the number of workers.

use std::path::{Path, PathBuf};

use super::Resolver;
use crate::problem::Problem;
use crate::settings::{Dispatch, Mode, Workers, cpus};
use crate::value;

impl Resolver<'_> {
    pub(super) fn app(&mut self) -> Option<PathBuf> {
        let given = self
            .raw
            .winner("app")
            .filter(|given| !given.text.is_empty());
        if let Some(given) = given {
            return Some(self.base(&given.source).join(&given.text));
        }
        if self.raw.is_unread {
            // The app may be named in the file that cannot be read.
            return None;
        }
        let what = "no app given: name a script (`hearth serve app.php`) or a folder (`hearth serve .`), or set `app` in hearth.toml";
        self.problems.push(Problem {
            place: "APP".into(),
            what: what.into(),
        });
        None
    }

    /// Returns the mode. A directory cannot be resident: it has no script that returns a handler.
    pub(super) fn mode(&mut self, app: Option<&Path>) -> Mode {
        let given = self.raw.winner("mode");
        let is_folder = app.is_some_and(Path::is_dir);
        let Some(given) = given else {
            return if is_folder {
                Mode::Classic
            } else {
                Mode::Resident
            };
        };
        let mode = self.choice("mode").map(|word| value::mode(&word));
        if let (Some(Mode::Resident), true, Some(app)) = (mode, is_folder, app) {
            self.problems.push(Problem {
                place: given.source.to_string(),
                what: format!(
                    "{} is a directory; resident mode needs the script that returns a handler",
                    app.display()
                ),
            });
        }
        mode.unwrap_or(Mode::Resident)
    }

    pub(super) fn concurrency(&mut self, mode: Mode) -> Option<u32> {
        let given = self.raw.winner("workers.concurrency");
        let number = given.map(|_| self.count("workers.concurrency"));
        if let (Mode::Classic, Some(2..), Some(given)) = (mode, number, given) {
            self.problems.push(Problem {
                place: given.source.to_string(),
                what: "classic mode serves one request at a time in each worker; raise workers.count instead".into(),
            });
        }
        match mode {
            Mode::Classic => Some(1),
            Mode::Resident => number,
        }
    }

    /// Returns the number of workers: fixed, or a range.
    pub(super) fn workers(&mut self) -> Workers {
        let count = self
            .one("workers.count", value::workers)
            .unwrap_or(Workers::Auto);
        let least = self.raw.winner("workers.min").cloned();
        let most = self.raw.winner("workers.max").cloned();
        let Some(given) = most.as_ref().or(least.as_ref()) else {
            return count;
        };
        let place = given.source.to_string();
        if let Workers::Count(n) = count {
            let what = format!(
                "workers.count = {n} is a fixed number; leave it out where workers.min and workers.max are given"
            );
            self.problems.push(Problem { place, what });
            return count;
        }
        let most = match self.one("workers.max", value::workers) {
            Some(Workers::Count(n)) => Some(n),
            _ => None,
        };
        let least = match least {
            Some(_) => self.count("workers.min"),
            None => cpus().min(most.unwrap_or(u32::MAX)),
        };
        if let Some(what) = self.contradiction(least, most) {
            self.problems.push(Problem { place, what });
        }
        match most {
            Some(most) if most <= least => Workers::Count(least),
            _ => Workers::Between { least, most },
        }
    }

    fn contradiction(&self, least: u32, most: Option<u32>) -> Option<String> {
        let dispatch = self.raw.winner("workers.dispatch");
        match most {
            Some(most) if most < least => Some(format!(
                "workers.min = {least} is more than workers.max = {most}"
            )),
            Some(most) if most == least => None,
            _ if dispatch.is_some_and(|given| given.text == "direct") => Some(
                "with direct dispatch the number of workers is fixed; set workers.count, or workers.dispatch = \"balanced\"".into(),
            ),
            _ => None,
        }
    }

    pub(super) fn dispatch(&mut self) -> Option<Dispatch> {
        self.raw.winner("workers.dispatch")?;
        self.choice("workers.dispatch")
            .map(|word| value::dispatch(&word))
    }
}
