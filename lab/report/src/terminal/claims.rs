//! The write-ups' claims in a terminal.

use super::Style;
use super::text::{clip, pad, wrapped};
use crate::Run;
use crate::claims::{Answer, Line, lines};
use std::fmt::Write as _;

/// Renders the claims that this run measures, and the number of those that it does not.
#[must_use]
pub fn claims(run: &Run, style: Style) -> String {
    let lines = lines(run);
    let (measured, open): (Vec<&Line>, Vec<&Line>) = lines
        .iter()
        .partition(|line| line.answer != Answer::NotMeasured);
    if measured.is_empty() {
        return String::new();
    }
    let mut out = format!(
        "\n{}\n",
        style.bold("The write-ups' claims on this machine")
    );
    for line in measured {
        let answer = pad(line.answer.words(), 12, false);
        let answer = match line.answer {
            Answer::Agrees => style.good(&answer),
            Answer::Differs => style.bad(&answer),
            _ => style.open(&answer),
        };
        let _ = writeln!(
            out,
            "{answer}{}",
            clip(&line.claim.said, style.width.saturating_sub(12))
        );
        for text in [
            format!("they saw {}", line.claim.saw),
            format!("here: {}", line.here),
            line.why.clone(),
        ] {
            out += &wrapped(&" ".repeat(12), &text, style.width);
        }
    }
    let _ = writeln!(
        out,
        "{} of {} claims are not measured in this run",
        open.len(),
        lines.len()
    );
    out
}
