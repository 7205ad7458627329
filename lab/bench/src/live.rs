//! What the terminal shows while a run goes: where it is, and how long it still takes.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// A line that is written over itself; nothing where standard error is no terminal.
#[derive(Debug)]
pub(crate) struct Live {
    is_terminal: bool,
    began: Instant,
    done: u32,
    all: u32,
}

impl Live {
    pub(crate) fn new(all: u32, quiet: bool) -> Self {
        Self {
            is_terminal: !quiet && std::io::stderr().is_terminal(),
            began: Instant::now(),
            done: 0,
            all,
        }
    }

    /// The next measurement begins.
    pub(crate) fn step(&mut self, scenario: &str, runtime: &str, round: u32, rounds: u32) {
        let left = self.left();
        self.done += 1;
        if self.is_terminal {
            let line = format!(
                "[{}/{}] {scenario}: {runtime}, round {round} of {rounds}{left}",
                self.done.min(self.all),
                self.all
            );
            let _ = write!(std::io::stderr(), "\r\x1b[K{line}");
        }
    }

    fn left(&self) -> String {
        if self.done < 3 {
            return String::new();
        }
        let each = self.began.elapsed() / self.done;
        let left = each * self.all.saturating_sub(self.done);
        format!(", {} left", minutes(left))
    }

    /// Makes room for lines on the terminal.
    pub(crate) fn clear(&self) {
        if self.is_terminal {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

/// `1:05 min`.
fn minutes(time: Duration) -> String {
    format!("{}:{:02} min", time.as_secs() / 60, time.as_secs() % 60)
}
