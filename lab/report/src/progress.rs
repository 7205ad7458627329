//! The progress line of a run.

use crate::terminal::{Style, clip};

const BAR: usize = 20;

/// The progress of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress<'a> {
    /// Measurements taken.
    pub done: u32,
    /// Measurements planned.
    pub total: u32,
    /// Seconds since the start.
    pub elapsed_s: f64,
    /// Seconds to go, if known; otherwise they are estimated.
    pub left_s: Option<f64>,
    /// The current measurement, such as `basic apache, round 2 of 3`.
    pub doing: &'a str,
}

/// Renders one line, never wider than the terminal: a bar, the time left and the current measurement.
#[must_use]
pub fn line(progress: &Progress<'_>, style: Style) -> String {
    let left = left(progress).map_or_else(String::new, |left| format!("  {} left", time(left)));
    let counted = format!("{}/{}", progress.done, progress.total);
    let head = format!("{counted}  ▕{}▏{left}  ", bar(progress));
    let room = style.width.saturating_sub(head.chars().count() + 1);
    format!("{head}{}", style.dim(&clip(progress.doing, room)))
}

fn bar(progress: &Progress<'_>) -> String {
    let share = f64::from(progress.done) / f64::from(progress.total.max(1));
    let full = (share.clamp(0.0, 1.0) * BAR as f64).round() as usize;
    "█".repeat(full) + &" ".repeat(BAR - full)
}

/// Returns the seconds that are left, estimated from the measurements so far if not known.
fn left(progress: &Progress<'_>) -> Option<f64> {
    if progress.left_s.is_some() {
        return progress.left_s;
    }
    let to_do = f64::from(progress.total.saturating_sub(progress.done));
    (progress.done > 0).then(|| progress.elapsed_s / f64::from(progress.done) * to_do)
}

/// Formats a duration: `3m12s`, `45s`.
#[must_use]
pub fn time(seconds: f64) -> String {
    let seconds = seconds.clamp(0.0, 1e9).round() as u64;
    if seconds >= 60 {
        format!("{}m{:02}s", seconds / 60, seconds % 60)
    } else {
        format!("{seconds}s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_how_much_is_left_and_fits() {
        let progress = Progress {
            done: 30,
            total: 60,
            elapsed_s: 192.0,
            left_s: None,
            doing: "basic_query_with_pool_and_caching apache, round 2 of 3",
        };
        let style = Style {
            width: 60,
            colours: false,
        };
        let shown = line(&progress, style);
        assert!(
            shown.starts_with("30/60  ▕██████████          ▏  3m12s left  basic_query"),
            "{shown}"
        );
        assert!(shown.chars().count() <= 60, "{shown}");
        let start = Progress {
            done: 0,
            ..progress
        };
        assert!(
            !line(&start, style).contains("left"),
            "nothing to estimate from"
        );
        assert_eq!(time(59.6), "1m00s");
    }
}
