//! The run in a terminal: method first, then a table per scenario, then the claims.

mod advice;
mod claims;
mod table;
mod text;

use crate::cell::Metric;
use crate::words::value;
use crate::{Run, caveats};
pub use advice::advice;
pub use claims::claims;
use std::io::IsTerminal as _;
pub use table::table;
pub(crate) use text::clip;
use text::wrapped;

/// The style of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns of the terminal.
    pub width: usize,
    /// Whether escape sequences for colours may be used.
    pub colours: bool,
}

impl Style {
    /// Detects the style for standard output: a terminal's own width, and colours unless `NO_COLOR` is set; 120 columns
    /// without colours for a file or a pipe.
    #[must_use]
    pub fn detect() -> Self {
        let terminal = std::io::stdout().is_terminal();
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let width = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        Self {
            width: width.filter(|_| terminal).unwrap_or(120).max(40),
            colours: terminal && !plain,
        }
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.colours {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    pub(crate) fn good(self, text: &str) -> String {
        self.paint("32", text)
    }

    pub(crate) fn bad(self, text: &str) -> String {
        self.paint("31", text)
    }

    pub(crate) fn open(self, text: &str) -> String {
        self.paint("33", text)
    }
}

/// Renders how the run was taken, and the cautions about it.
#[must_use]
pub fn method(run: &Run, style: Style) -> String {
    let mut out = String::new();
    for (name, words) in caveats::method(run) {
        out += &wrapped(&format!("{name:<15}"), &words, style.width);
    }
    for caution in caveats::cautions(run) {
        out += &wrapped(&style.open("! "), &caution, style.width);
    }
    out
}

/// Renders the whole run: its method, every scenario's table, and the claims that were measured.
#[must_use]
pub fn summary(run: &Run, style: Style) -> String {
    let mut out = method(run, style);
    for scenario in &run.scenarios {
        out.push('\n');
        out += &table(run, scenario, style);
    }
    out += &claims(run, style);
    out
}

/// Formats a figure for a line of its own, such as in a comparison.
pub(crate) fn figure(metric: &Metric, found: f64) -> String {
    value(metric, found)
}
