//! The advice for the user's own app, in a terminal.

use super::Style;
use super::text::{pad, wrapped};
use crate::Run;
use crate::advice::{Worth, gains};
use crate::words::{times, verdict};
use std::fmt::Write as _;

/// Renders the gain of each change to the user's own app, with its interval; changes that help come first.
#[must_use]
pub fn advice(run: &Run, style: Style) -> String {
    if run.advice.is_empty() {
        return String::new();
    }
    let mut out = format!(
        "\n{}\n",
        style.bold("What would help your app, in good answers per second")
    );
    let floor = run.noise.aa_floor.unwrap_or(0.0);
    for (one, gain) in gains(run) {
        let worth = Worth::of(gain.as_ref(), floor);
        let words = pad(worth.words(), 14, false);
        let words = match worth {
            Worth::Helps => style.good(&words),
            Worth::Costs => style.bad(&words),
            Worth::NotShown | Worth::NotMeasured => style.open(&words),
        };
        let ratio = gain.as_ref().map_or_else(String::new, |gain| match worth {
            Worth::Helps | Worth::Costs => times(&gain.ratio),
            _ => verdict(&gain.ratio, floor),
        });
        let _ = writeln!(out, "{words}{}", style.bold(&one.title));
        let text = [ratio, one.change.clone()];
        let text: Vec<String> = text.into_iter().filter(|text| !text.is_empty()).collect();
        out += &wrapped(&" ".repeat(14), &text.join(": "), style.width);
    }
    out
}
