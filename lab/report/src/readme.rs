//! The performance section of README.md, generated from a run: no part of it is written by hand.

use crate::cell::Metric;
use crate::claims::{Answer, Line, lines};
use crate::markdown::escape;
use crate::seeds::WRITE_UPS;
use crate::words::{percentile, runtime_name, verdict};
use crate::{Cell, Column, Run, Scenario, caveats};
use measure::text::duration;
use std::fmt::Write as _;

/// The marker line before the section.
pub const BEGIN: &str = "<!-- bench: made by `hearth bench readme`, do not edit -->";
/// The marker line after the section.
pub const END: &str = "<!-- /bench -->";

/// Renders the section: how the run was taken, each server under the same work in one table, the effect of techniques,
/// and the claims of the write-ups.
#[must_use]
pub fn section(run: &Run) -> String {
    let mut out = format!(
        "On {}: {}, {}. {}, taken in turn. Of each server and work: good responses per second, and the server's processor time per request.\n",
        caveats::began(run),
        escape(&caveats::machine(run)),
        escape(&caveats::system(run)),
        caveats::repeats_words(run)
    );
    let _ = writeln!(out, "\n```\n{}\n```", plain(&command(run)));
    let _ = writeln!(out, "\n{}", versions(run));
    out += &servers(run);
    out += &folded("What ways of doing something are worth", &techniques(run));
    out.push('\n');
    for caution in caveats::cautions(run) {
        let _ = writeln!(out, "- {}", escape(&without_paths(&caution)));
    }
    out + &claims(run)
}

/// Returns the command as the user typed it.
fn command(run: &Run) -> String {
    without_paths(&format!("hearth bench {}", run.command.join(" ")))
        .trim()
        .to_owned()
}

/// Returns the versions of the servers that have figures.
fn versions(run: &Run) -> String {
    let measured = |id: &str| {
        let mut cells = run.scenarios.iter().flat_map(|one| &one.cells);
        cells.any(|cell| cell.runtime == id && cell.has_figures())
    };
    let mut all: Vec<String> = Vec::new();
    for one in run.runtimes.iter().filter(|one| measured(&one.id)) {
        let version = short_version(one.version.as_deref().unwrap_or(&one.name));
        if !all.contains(&version) {
            all.push(version);
        }
    }
    format!("Measured: {}.", escape(&all.join("; ")))
}

/// Shortens a version, such as `nginx version: nginx/1.22.1 (Debian)` to `nginx/1.22.1`.
fn short_version(version: &str) -> String {
    let (mut out, mut depth) = (String::new(), 0_u32);
    for letter in version.chars() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 => out.push(letter),
            _ => {}
        }
    }
    let words: Vec<&str> = out.split_whitespace().collect();
    let text = words.join(" ").replace(" ,", ",");
    let begins = text
        .rfind("version: ")
        .map_or(0, |at| at + "version: ".len());
    without_paths(&text[begins..])
}

/// Renders a table that the reader can expand.
fn folded(title: &str, table: &str) -> String {
    if table.is_empty() {
        return String::new();
    }
    format!("\n<details><summary>{title}</summary>\n{table}\n</details>\n")
}

/// Returns the fairly configured cells with figures; sweeps and the user's own site are not included.
fn cells(scenario: &Scenario) -> Vec<&Cell> {
    if scenario.axis.is_some() || scenario.app {
        return Vec::new();
    }
    scenario
        .cells
        .iter()
        .filter(|cell| cell.column == Column::Fair && cell.has_figures())
        .collect()
}

/// Returns the servers that have a column: a server in only one of several scenarios has none.
fn with_columns<'r>(run: &'r Run, scenarios: &[(&Scenario, Vec<&Cell>)]) -> Vec<&'r str> {
    let is_there = |id: &&str| {
        let has = |cells: &[&Cell]| cells.iter().any(|one| is_plain(one, id));
        let count = scenarios.iter().filter(|(_, cells)| has(cells)).count();
        count > 1 || count == scenarios.len()
    };
    let ids = run.runtimes.iter().map(|one| one.id.as_str());
    ids.filter(is_there).collect()
}

/// Renders one line per scenario that compares servers, with one column per server.
fn servers(run: &Run) -> String {
    let scenarios: Vec<(&Scenario, Vec<&Cell>)> = run
        .scenarios
        .iter()
        .filter(|one| !one.compares_variants())
        .map(|one| (one, cells(one)))
        .filter(|(_, cells)| cells.iter().any(|cell| cell.variant.is_empty()))
        .collect();
    let columns_of = with_columns(run, &scenarios);
    if columns_of.is_empty() {
        return String::new();
    }
    let names: String = columns_of
        .iter()
        .map(|id| format!(" {} |", escape(runtime_name(run, id))))
        .collect();
    let mut out = format!(
        "\n| the same work |{names}\n|---|{}\n",
        "---|".repeat(columns_of.len())
    );
    let mut notes: Vec<String> = Vec::new();
    for (scenario, cells) in &scenarios {
        out.push_str(&row(scenario, cells, &columns_of));
        let beside = cells.iter().filter(|cell| cell.variant.is_empty());
        let beside = beside.filter(|cell| !columns_of.contains(&cell.runtime.as_str()));
        notes.extend(beside.map(|cell| {
            let name = escape(runtime_name(run, &cell.runtime));
            format!("{name} (`{}`): {}", plain(&scenario.name), figures(cell))
        }));
    }
    if !notes.is_empty() {
        let _ = writeln!(out, "\nBeside them {}.", notes.join("; "));
    }
    out
}

fn row(scenario: &Scenario, cells: &[&Cell], columns: &[&str]) -> String {
    let of = |id: &&str| {
        let own = cells.iter().find(|cell| is_plain(cell, id));
        own.map_or_else(|| " – |".to_owned(), |cell| format!(" {} |", figures(cell)))
    };
    let columns: String = columns.iter().map(of).collect();
    let (title, name) = (escape(&scenario.title), plain(&scenario.name));
    format!("| {title} (`{name}`) |{columns}\n")
}

/// Returns whether the cell is the server's own, without a variant.
fn is_plain(cell: &Cell, runtime: &str) -> bool {
    cell.runtime == runtime && cell.variant.is_empty()
}

fn figures(cell: &Cell) -> String {
    let rate = cell
        .figure(&Metric::Goodput)
        .map_or_else(String::new, |found| measure::text::rate(found.value));
    let failed = if cell.failing() {
        ", requests failed"
    } else {
        ""
    };
    match cell.serving(|one| one.cpu_us_per_request) {
        Some(us) => format!("{rate}/s, {}{failed}", duration(us * 1e3)),
        None => format!("{rate}/s{failed}"),
    }
}

/// Renders one line per server of the scenarios that compare techniques.
fn techniques(run: &Run) -> String {
    let mut out = String::new();
    for scenario in run.scenarios.iter().filter(|one| one.compares_variants()) {
        let cells = cells(scenario);
        let mut runtimes: Vec<&str> = Vec::new();
        for cell in &cells {
            if !runtimes.contains(&cell.runtime.as_str()) {
                runtimes.push(&cell.runtime);
            }
        }
        for runtime in runtimes {
            let own = cells.iter().filter(|cell| cell.runtime == runtime);
            let words: Vec<String> = own.map(|cell| technique(run, scenario, cell)).collect();
            let _ = writeln!(
                out,
                "| {} (`{}`) | {} | {} |",
                escape(&scenario.title),
                plain(&scenario.name),
                escape(runtime_name(run, runtime)),
                words.join("; ")
            );
        }
    }
    if out.is_empty() {
        return out;
    }
    format!("\n| what it is worth | on | |\n|---|---|---|\n{out}")
}

/// Renders a variant by its figures if it is the first, else by its ratio to the first.
fn technique(run: &Run, scenario: &Scenario, cell: &Cell) -> String {
    let against = against(run, scenario, cell);
    let worth = if cell.is_open() {
        let latency = cell.latency();
        let [half, most] = [50.0, 99.0].map(|percent| percentile(&latency, percent));
        format!("half within {half}, 99 % within {most}")
    } else if against.is_empty() {
        figures(cell)
    } else {
        against
    };
    format!("{}: {worth}", escape(&cell.variant))
}

fn against(run: &Run, scenario: &Scenario, cell: &Cell) -> String {
    let floor = run.noise.aa_floor.unwrap_or(0.0);
    scenario
        .base_of(cell)
        .filter(|base| cell.unlike(base).is_none())
        .and_then(|base| cell.ratio_to(base, &Metric::Goodput, true))
        .map_or_else(String::new, |ratio| verdict(&ratio, floor))
}

/// Renders how many claims hold on this machine, and each claim with the write-up's figures and this run's.
fn claims(run: &Run) -> String {
    let lines = lines(run);
    let of = |answer: Answer| lines.iter().filter(|line| line.answer == answer).count();
    let mut out = format!(
        "\nOf {} claims of the five write-ups that the project began with, this run agrees with {}, differs from {}, leaves {} open and does not measure {}:\n",
        lines.len(),
        of(Answer::Agrees),
        of(Answer::Differs),
        of(Answer::NotShown),
        of(Answer::NotMeasured)
    );
    for (file, title) in WRITE_UPS {
        let mut table = String::from("\n| claim | they saw | here | |\n|---|---|---|---|\n");
        let own: Vec<&Line> = lines.iter().filter(|one| one.claim.seed == file).collect();
        for line in &own {
            let texts = [&line.claim.said, &line.claim.saw, &line.here, &line.why];
            let [said, saw, here, why] = texts.map(|text| escape(&without_paths(text)));
            let answer = line.answer.words();
            let _ = writeln!(table, "| {said} | {saw} | {here} | **{answer}** {why} |");
        }
        let agree = own.iter().filter(|one| one.answer == Answer::Agrees);
        let title = format!("{title}: {} of {} claims agree", agree.count(), own.len());
        out += &folded(&title, &table);
    }
    out
}

/// Replaces each path of the machine that measured by its file name.
fn without_paths(text: &str) -> String {
    let begins =
        |before: Option<char>| before.is_none_or(|c| c.is_whitespace() || "=(\"'`:,".contains(c));
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('/') {
        let end = rest[at..].find(|c: char| c.is_whitespace() || "()\"'`,;".contains(c));
        let end = end.map_or(rest.len(), |end| at + end);
        let path = &rest[at..end];
        out += &rest[..at];
        let is_path =
            begins(out.chars().next_back()) && path[1..].contains('/') && !path.starts_with("//");
        out += match is_path {
            true => path
                .trim_end_matches('/')
                .rsplit('/')
                .next()
                .unwrap_or_default(),
            false => path,
        };
        rest = &rest[end..];
    }
    out + rest
}

/// Removes characters that would end a code span or a fence, or begin a tag.
fn plain(text: &str) -> String {
    let ends = |letter: char| letter.is_control() || matches!(letter, '`' | '<' | '>');
    let plain: String = text.chars().filter(|letter| !ends(*letter)).collect();
    plain.trim().to_owned()
}

/// Replaces the section of `text` between the markers.
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
    fn paths_of_the_machine_are_left_out() {
        for (text, shown) in [
            (
                "--with swoole=/home/ada/swoole.so x",
                "--with swoole=swoole.so x",
            ),
            (
                "GET http://127.0.0.1:80/a/b, 5/s",
                "GET http://127.0.0.1:80/a/b, 5/s",
            ),
            (
                "no such file (/tmp/x/conf): 3 req/s",
                "no such file (conf): 3 req/s",
            ),
            ("+3 % req/s and/or /", "+3 % req/s and/or /"),
        ] {
            assert_eq!(without_paths(text), shown);
        }
    }

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
