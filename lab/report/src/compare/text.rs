//! A comparison as text: for a terminal, and as Markdown.

use std::fmt::Write as _;

use super::{Comparison, Row};
use crate::cell::Metric;
use crate::markdown::escape;
use crate::stats::Change;
use crate::terminal::{Style, clip, figure};
use crate::words::signed;

impl Row {
    fn interval(&self) -> String {
        if self.ratio.samples < 2 {
            return "one repeat".to_owned();
        }
        format!("{} to {}", signed(self.ratio.low), signed(self.ratio.high))
    }
}

impl Comparison {
    /// Renders the comparison for a terminal.
    #[must_use]
    pub fn text(&self, style: Style) -> String {
        let mut out = String::new();
        if let Some(why) = &self.refused {
            let _ = writeln!(
                out,
                "not compared: {why}\nhint: measure both on the same machine, or allow it with --across-machines"
            );
            return out;
        }
        for caution in &self.cautions {
            let _ = writeln!(out, "{}{caution}", style.open("! "));
        }
        let mut name = "";
        for row in &self.rows {
            if row.name != name {
                name = &row.name;
                let _ = writeln!(out, "{}", style.bold(&clip(name, style.width)));
            }
            let words = match row.words() {
                "better" => style.good("better"),
                "worse" => style.bad("worse"),
                other => style.dim(other),
            };
            let _ = writeln!(
                out,
                "  {:<24} {:>12} → {:>12}  {:>8}  {:<20} {words}",
                short(&row.metric),
                figure(&row.metric, row.a),
                figure(&row.metric, row.b),
                signed(row.ratio.value),
                row.interval(),
            );
        }
        for (name, why) in &self.skipped {
            let _ = writeln!(
                out,
                "{}",
                style.dim(&clip(&format!("not compared: {name}: {why}"), style.width))
            );
        }
        self.verdict(&mut out);
        out
    }

    fn verdict(&self, out: &mut String) {
        for row in self.regressions() {
            let _ = writeln!(
                out,
                "regression: {}: {} by more than {:.1} % at 95 %",
                row.name,
                signed(row.ratio.value),
                self.gate.max_regress.unwrap_or(0.0) * 100.0
            );
        }
        if self.rows.is_empty() {
            let _ = writeln!(
                out,
                "the runs have no cell in common, so nothing is compared"
            );
        }
    }

    /// Renders the comparison as Markdown, for a pull request.
    #[must_use]
    pub fn markdown(&self) -> String {
        if let Some(why) = &self.refused {
            return format!("Not compared: {}.\n", escape(why));
        }
        let mut out = String::new();
        for caution in &self.cautions {
            let _ = writeln!(out, "> ⚠ {}\n>", escape(caution));
        }
        out +=
            "\n| | | before | after | change | 95 % interval | |\n|---|---|---|---|---|---|---|\n";
        for row in &self.rows {
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} | {} | {} | {} |",
                escape(&row.name),
                short(&row.metric),
                figure(&row.metric, row.a),
                figure(&row.metric, row.b),
                signed(row.ratio.value),
                row.interval(),
                if row.change == Change::NotShown {
                    row.words().to_owned()
                } else {
                    format!("**{}**", row.words())
                },
            );
        }
        if !self.skipped.is_empty() {
            out += "\nNot compared:\n\n";
            for (name, why) in &self.skipped {
                let _ = writeln!(out, "- {}: {}", escape(name), escape(why));
            }
        }
        self.verdict(&mut out);
        out
    }
}

fn short(metric: &Metric) -> &str {
    match metric {
        Metric::Goodput => "good req/s",
        Metric::P99 => "p99",
        Metric::Cpu => "CPU/request",
        Metric::Memory => "memory",
        other => other.label(),
    }
}
