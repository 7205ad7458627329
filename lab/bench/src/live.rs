//! The progress line on the terminal: the current step, and the time that is left.

use report::progress::{self, Progress};
use report::terminal::Style;
use std::io::{IsTerminal, Write};
use std::time::Instant;

/// A line that overwrites itself; prints nothing if standard error is no terminal.
#[derive(Debug)]
pub(crate) struct Live {
    is_terminal: bool,
    began: Instant,
    done: u32,
}

impl Live {
    pub(crate) fn new(quiet: bool) -> Self {
        Self {
            is_terminal: !quiet && std::io::stderr().is_terminal(),
            began: Instant::now(),
            done: 0,
        }
    }

    /// Begins the step of the next server; shows how many steps are to come, and how many seconds are left.
    pub(crate) fn step(&mut self, doing: &str, to_come: u32, left_s: f64) {
        let progress = Progress {
            done: self.done,
            total: self.done + to_come,
            elapsed_s: self.began.elapsed().as_secs_f64(),
            left_s: Some(left_s),
            doing,
        };
        self.done += 1;
        if self.is_terminal {
            let _ = write!(
                std::io::stderr(),
                "\r\x1b[K{}",
                progress::line(&progress, Style::detect())
            );
        }
    }

    /// Clears the line, so that other lines can be printed.
    pub(crate) fn clear(&self) {
        if self.is_terminal {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
