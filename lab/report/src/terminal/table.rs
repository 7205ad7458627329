//! A scenario as a table: a line per cell, measured or not, and the recommendation of its sweep.

use super::Style;
use super::text::{clean, clip, pad, wrapped};
use crate::cell::Metric;
use crate::stats::{Change, Estimate};
use crate::words::{cell_name, ends, percentile, runtime_name, times};
use crate::{Cell, Run, Scenario, sweep};
use measure::text::{bytes, count, duration, rate};
use std::fmt::Write as _;
use unicode_width::UnicodeWidthStr as _;

const BETWEEN: &str = "  ";

/// Renders one scenario: a line per cell, measured or not, and the recommendation of its sweep.
#[must_use]
pub fn table(run: &Run, scenario: &Scenario, style: Style) -> String {
    let mut out = format!(
        "{}  {}\n",
        style.bold(&clean(&scenario.name)),
        style.dim(&clip(
            &scenario.shows,
            style.width.saturating_sub(scenario.name.width() + 2)
        ))
    );
    for note in &scenario.notes {
        out += &wrapped("  ", note, style.width);
    }
    let rows: Vec<Row> = scenario
        .cells
        .iter()
        .map(|cell| Row::new(run, scenario, cell, style.width))
        .collect();
    let columns = fitting(&rows, style.width);
    out += &head(&rows, &columns, style);
    for row in &rows {
        out += &row.line(&rows, &columns, style);
    }
    for curve in sweep::curves(run, scenario) {
        if let Some(best) = curve.recommended {
            let axis = scenario.axis.as_deref().unwrap_or("x");
            let name = [runtime_name(run, &curve.runtime), &curve.variant].join(" ");
            let words = format!("  {}: {best} {axis} are enough", name.trim());
            let _ = writeln!(out, "{}", clip(&words, style.width));
        }
    }
    out
}

/// The columns in the order in which they are shown; below them, the order in which they are left out on a narrow
/// terminal.
const COLUMNS: [&str; 8] = [
    "", "good/s", "against", "p50", "p99", "CPU/req", "memory", "failed",
];
const GIVEN_UP: [usize; 5] = [6, 3, 5, 2, 4];

/// A cell's line before it is aligned.
struct Row {
    name: String,
    /// One text per column after the name; none if there are no figures.
    figures: Option<[String; 7]>,
    change: Option<Change>,
    failing: bool,
    /// Why there are no figures, or the doubts about them.
    remark: String,
    why: Option<String>,
}

impl Row {
    fn new(run: &Run, scenario: &Scenario, cell: &Cell, width: usize) -> Self {
        let mut name = cell_name(run, cell);
        if cell.column == crate::Column::AsSeed || !cell.keep_alive {
            let _ = write!(name, ", {} conn", cell.connections);
        }
        let (against, change) = against(run, scenario, cell);
        Self {
            name: clip(&name, width * 2 / 5),
            figures: cell.has_figures().then(|| figures(cell, against)),
            change,
            failing: cell.failing(),
            remark: clean(&remark(cell)),
            why: cell.limit.clone().filter(|_| cell.has_figures()),
        }
    }

    fn text(&self, column: usize) -> &str {
        match (column, &self.figures) {
            (0, _) => &self.name,
            (_, Some(figures)) => &figures[column - 1],
            (_, None) => "",
        }
    }

    fn line(&self, rows: &[Self], columns: &[usize], style: Style) -> String {
        if self.figures.is_none() {
            let name = pad(&self.name, width_of(rows, 0), false);
            let room = style.width.saturating_sub(name.width() + 2);
            if self.remark.width() <= room {
                return format!("{name}{BETWEEN}{}\n", style.open(&self.remark));
            }
            // The end of a reason matters as much as its beginning, so it is wrapped and not clipped.
            return format!(
                "{}\n{}",
                self.name,
                wrapped("    ", &self.remark, style.width)
            );
        }
        let mut line = String::new();
        for column in columns {
            if *column > 0 {
                line += BETWEEN;
            }
            let text = pad(self.text(*column), width_of(rows, *column), *column > 0);
            line += &self.painted(*column, &text, style);
        }
        if !self.remark.is_empty() {
            let _ = write!(line, "{BETWEEN}{}", style.open(&self.remark));
        }
        let mut line = line.trim_end().to_owned() + "\n";
        if let Some(why) = &self.why {
            let room = style.width.saturating_sub(4 + "why not double? ".len());
            line += &style.dim(&format!("    why not double? {}", clip(why, room)));
            line.push('\n');
        }
        line
    }

    fn painted(&self, column: usize, text: &str, style: Style) -> String {
        match (column, self.change) {
            (1, _) => style.bold(text),
            (2, Some(Change::More)) => style.good(text),
            (2, Some(Change::Less)) => style.bad(text),
            (2, Some(Change::NotShown)) => style.dim(text),
            (7, _) if self.failing => style.bad(text),
            _ => text.to_owned(),
        }
    }
}

fn figures(cell: &Cell, against: String) -> [String; 7] {
    let latency = cell.latency();
    let used = |what: fn(&crate::Use) -> f64| cell.serving(what);
    let none = || "–".to_owned();
    [
        cell.figure(&Metric::Goodput)
            .map_or_else(none, |found| rate_words(&found)),
        against,
        percentile(&latency, 50.0),
        percentile(&latency, 99.0),
        used(|one| one.cpu_us_per_request).map_or_else(none, |us| duration(us * 1e3)),
        used(|one| one.pss_bytes as f64).map_or_else(none, bytes),
        count(cell.failures().0),
    ]
}

fn rate_words(found: &Estimate) -> String {
    if found.low < found.high {
        format!("{} [{}]", rate(found.value), ends(&Metric::Goodput, found))
    } else {
        rate(found.value)
    }
}

fn against(run: &Run, scenario: &Scenario, cell: &Cell) -> (String, Option<Change>) {
    let Some(base) = scenario.base_of(cell).filter(|_| cell.has_figures()) else {
        return (String::new(), None);
    };
    if cell.unlike(base).is_some() {
        return ("not alike".to_owned(), None);
    }
    cell.ratio_to(base, &Metric::Goodput, true).map_or_else(
        || (String::new(), None),
        |ratio| {
            let change = Change::of(&ratio, run.noise.aa_floor.unwrap_or(0.0));
            let words = match change {
                Change::NotShown if ratio.samples > 1 => "no difference shown".to_owned(),
                _ => times(&ratio),
            };
            (words, Some(change))
        },
    )
}

fn remark(cell: &Cell) -> String {
    let mut words: Vec<String> = cell.doubts().iter().map(|doubt| doubt.id.clone()).collect();
    if cell.noisy() > 0 {
        words.push(format!("{} noisy", cell.noisy()));
    }
    if let Some(why) = cell.status.why() {
        words.push(format!("{}: {why}", cell.status.name()));
    }
    words.join(" ")
}

/// Returns the columns that fit into `width`.
fn fitting(rows: &[Row], width: usize) -> Vec<usize> {
    let mut columns: Vec<usize> = (0..COLUMNS.len()).collect();
    for given_up in GIVEN_UP {
        let needed: usize = columns
            .iter()
            .map(|column| width_of(rows, *column) + BETWEEN.len())
            .sum();
        if needed <= width + BETWEEN.len() {
            break;
        }
        columns.retain(|column| *column != given_up);
    }
    columns
}

fn width_of(rows: &[Row], column: usize) -> usize {
    let texts = rows.iter().map(|row| row.text(column).width());
    texts.max().unwrap_or(0).max(COLUMNS[column].width())
}

fn head(rows: &[Row], columns: &[usize], style: Style) -> String {
    if rows.iter().all(|row| row.figures.is_none()) {
        return String::new();
    }
    let names: Vec<String> = columns
        .iter()
        .map(|column| pad(COLUMNS[*column], width_of(rows, *column), *column > 0))
        .collect();
    style.dim(names.join(BETWEEN).trim_end()) + "\n"
}
