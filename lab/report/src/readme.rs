//! The performance section of README.md, made from a run: nothing in it is written by hand.

use crate::cell::Metric;
use crate::claims::{Answer, lines};
use crate::markdown::escape;
use crate::words::{interval, runtime_name, verdict};
use crate::{Cell, Column, Role, Run, Scenario, caveats};
use measure::text::duration;
use std::fmt::Write as _;

/// The section stands between these two lines.
pub const BEGIN: &str = "<!-- bench: made by `hearth bench readme`, do not edit -->";
/// The other one.
pub const END: &str = "<!-- /bench -->";

/// The section: how it was taken, and a table of each scenario's fairly configured servers.
#[must_use]
pub fn section(run: &Run) -> String {
    let mut out = format!(
        "On {}, {}: ",
        caveats::began(run),
        escape(&caveats::machine(run))
    );
    let _ = writeln!(
        out,
        "{} repeats of {} s for each cell, taken in turn; the median of the good responses per second with its 95 % interval.",
        run.plan.rounds, run.plan.seconds
    );
    let _ = writeln!(
        out,
        "\n```\nhearth bench {}\n```",
        plain(&run.command.join(" "))
    );
    for caution in caveats::cautions(run) {
        let _ = writeln!(out, "\n- {}", escape(&caution));
    }
    for scenario in run
        .scenarios
        .iter()
        .filter(|one| one.axis.is_none() && !one.app)
    {
        out += &table(run, scenario);
    }
    out + &claims(run)
}

fn table(run: &Run, scenario: &Scenario) -> String {
    let cells: Vec<&Cell> = scenario
        .cells
        .iter()
        .filter(|cell| cell.column == Column::Fair && cell.has_figures())
        .collect();
    if cells.is_empty() {
        return String::new();
    }
    let mut out = format!(
        "\n**{}** (`{}`): {}\n\n| | req/s | | CPU per request |\n|---|---|---|---|\n",
        escape(&scenario.title),
        plain(&scenario.name),
        escape(&scenario.shows)
    );
    for cell in cells {
        let variant = if cell.variant.is_empty() {
            String::new()
        } else {
            format!(", {}", cell.variant)
        };
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} |",
            escape(&format!("{}{variant}", runtime_name(run, &cell.runtime))),
            cell.figure(&Metric::Goodput)
                .map_or_else(String::new, |found| interval(&Metric::Goodput, &found)),
            against(run, scenario, cell),
            cell.used(Role::Server, |one| one.cpu_us_per_request)
                .map_or_else(|| "–".to_owned(), |us| duration(us * 1e3)),
        );
    }
    out
}

fn against(run: &Run, scenario: &Scenario, cell: &Cell) -> String {
    let floor = run.noise.aa_floor.unwrap_or(0.0);
    scenario
        .base_of(cell)
        .filter(|base| cell.unlike(base).is_none())
        .and_then(|base| cell.ratio_to(base, &Metric::Goodput, true))
        .map_or_else(String::new, |ratio| verdict(&ratio, floor))
}

fn claims(run: &Run) -> String {
    let lines = lines(run);
    let of = |answer: Answer| lines.iter().filter(|line| line.answer == answer).count();
    format!(
        "\nOf {} claims of the five write-ups that the project began with, this run agrees with {}, differs from {}, leaves {} open and does not measure {}.\n",
        lines.len(),
        of(Answer::Agrees),
        of(Answer::Differs),
        of(Answer::NotShown),
        of(Answer::NotMeasured)
    )
}

/// Text that ends no code span or fence, and is no tag.
fn plain(text: &str) -> String {
    let ends = |letter: char| letter.is_control() || matches!(letter, '`' | '<' | '>');
    let plain: String = text.chars().filter(|letter| !ends(*letter)).collect();
    plain.trim().to_owned()
}

/// `text` with the section between the markers replaced.
///
/// # Errors
/// If a marker is missing, or they are in the wrong order.
pub fn replace(text: &str, section: &str) -> Result<String, String> {
    let begin = text.find(BEGIN).ok_or_else(|| {
        format!("no line {BEGIN:?}: put it where the section belongs, and {END:?} after it")
    })?;
    let end = text
        .find(END)
        .filter(|end| *end > begin)
        .ok_or_else(|| format!("no line {END:?} after {BEGIN:?}"))?;
    Ok(format!(
        "{}{BEGIN}\n{}\n{}",
        &text[..begin],
        section.trim_end(),
        &text[end..]
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_between_the_markers_is_replaced() {
        let text = format!("# A\n\n{BEGIN}\nold\n{END}\n\n## B\n");
        let new = replace(&text, "new\n").unwrap();
        assert_eq!(new, format!("# A\n\n{BEGIN}\nnew\n{END}\n\n## B\n"));
        assert_eq!(replace(&new, "new").unwrap(), new, "the same again");
        assert!(replace("# A", "new").unwrap_err().contains("no line"));
        assert!(replace(&format!("{END}\n{BEGIN}\n"), "x").is_err());
    }
}
