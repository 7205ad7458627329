//! The method of a run and the cautions about it, which are printed before every figure.

use crate::cell::Metric;
use crate::stats::ENOUGH;
use crate::{Effort, Run, Scenario, StoppedBy};
use measure::text::{bytes, count, percent, rate};

/// The share of the machine used by other processes above which it is mentioned.
const BUSY: f64 = 0.05;
/// The share taken by the hypervisor above which it is mentioned.
const STOLEN: f64 = 0.01;

/// The number of ratios from which one probably looks like a difference by chance.
const MANY: u64 = 20;

/// Returns how the run was taken: names and values.
pub(crate) fn method(run: &Run) -> Vec<(&'static str, String)> {
    let plan = &run.plan;
    let ((fewest, _), _) = run.repeats();
    let mut rows = vec![
        (
            "Command",
            format!("hearth bench {}", run.command.join(" "))
                .trim()
                .to_owned(),
        ),
        ("Machine", machine(run)),
        ("System", system(run)),
        (
            "Repeats",
            format!(
                "{} after {} s of warm-up; cells take turns in a random order (seed {}), each repeat with a server started for it",
                repeats_words(run),
                plan.warmup_s,
                plan.seed
            ),
        ),
        (
            "Processors",
            plan.pinned
                .clone()
                .unwrap_or_else(|| "load and servers share all of them".to_owned()),
        ),
        ("Figures", figures(fewest)),
    ];
    if let Some(floor) = run.noise.aa_floor {
        rows.push((
            "Noise floor",
            format!(
                "±{}: how much the same server differed from itself",
                percent(floor)
            ),
        ));
    }
    if let Some(ceiling) = run.noise.client_ceiling {
        rows.push((
            "Load generator",
            format!("{} req/s at most on this machine", rate(ceiling)),
        ));
    }
    rows
}

/// Returns text such as `2 to 3 repeats of each cell, as many as fitted into the time, of 0.5 to 0.8 s each`.
pub(crate) fn repeats_words(run: &Run) -> String {
    let ((fewest, most), (shortest, longest)) = run.repeats();
    let span = |low: String, high: String| match low == high {
        true => low,
        false => format!("{low} to {high}"),
    };
    let rounds = span(fewest.to_string(), most.to_string());
    let seconds = span(short(shortest), short(longest));
    let fitted = if fewest == most {
        ""
    } else {
        ", as many as fitted into the time"
    };
    let plural = if most == 1 { "" } else { "s" };
    format!("{rounds} repeat{plural} of each cell{fitted}, of {seconds} s each")
}

/// Formats seconds with one decimal at most.
fn short(seconds: f64) -> String {
    let rounded = (seconds * 10.0).round() / 10.0;
    rounded.to_string()
}

/// Returns system and PHP in one line.
pub(crate) fn system(run: &Run) -> String {
    let php = run.host.php.trim_start_matches("PHP ");
    format!("{}, PHP {php}", run.host.kernel)
}

/// Returns the machine in one line.
pub(crate) fn machine(run: &Run) -> String {
    let host = &run.host;
    let mut text = format!(
        "{} × {}, {} of memory",
        host.processors,
        host.processor,
        bytes(host.memory_bytes as f64)
    );
    if let Some(kind) = &host.virtual_machine {
        text += &match kind.as_str() {
            "yes" => ", virtual".to_owned(),
            kind => format!(", virtual ({kind})"),
        };
    }
    if let Some(governor) = &host.governor {
        text += &format!(", governor {governor}");
    }
    text
}

fn figures(rounds: u32) -> String {
    let basis = if rounds as usize >= ENOUGH {
        "from order statistics, without assumptions"
    } else {
        "from Student's t on logarithms, because fewer than six repeats allow no other: indicative"
    };
    format!(
        "rates are good responses only; the median of the repeats with its 95 % interval ({basis}); ratios are medians of pairs taken one after the other; percentiles are those of all repeats together"
    )
}

/// Returns the cautions about this run, the most important first.
pub(crate) fn cautions(run: &Run) -> Vec<String> {
    let mut out = Vec::new();
    match run.stopped_by {
        StoppedBy::Done => {}
        StoppedBy::Interrupt => out.push("The run was interrupted: some cells have fewer repeats, or none.".to_owned()),
        StoppedBy::Budget => out.push("The time was over before everything was measured: some cells have fewer repeats, or none.".to_owned()),
    }
    let ((rounds, _), _) = run.repeats();
    if run.effort == Effort::Quick {
        out.push(
            "A quick run: it shows that things work and roughly how fast; quote no figure of it."
                .to_owned(),
        );
    } else if (rounds as usize) < ENOUGH {
        out.push(format!(
            "{} are indicative; a distribution-free interval needs {ENOUGH} (--full). A cell with one repeat has no interval, and no ratio of it counts as a difference.",
            repeats_words(run)
        ));
    }
    out.extend(noise(run));
    let ratios = judged(run);
    if ratios >= MANY {
        out.push(format!(
            "{} ratios have a 95 % interval: about {} of them look like a difference by chance alone.",
            count(ratios),
            count(ratios / 20)
        ));
    }
    if run.host.processors == 1 {
        out.push("One processor: the load generator takes it from the servers, so no absolute rate means anything.".to_owned());
    } else if run.plan.pinned.is_none() {
        out.push("Load and servers share the processors: a server that uses less leaves more to the client.".to_owned());
    }
    out.push("Loopback: no network, no packet loss, no distance. Rates of other machines are not comparable with these, their order and shape are.".to_owned());
    out
}

/// Returns the number of ratios that are judged by an interval of their own.
fn judged(run: &Run) -> u64 {
    let of = |scenario: &Scenario| {
        let ratios = scenario.cells.iter().filter_map(|cell| {
            let base = scenario
                .base_of(cell)
                .filter(|base| cell.unlike(base).is_none())?;
            cell.ratio_to(base, &Metric::Goodput, true)
        });
        ratios.filter(|ratio| ratio.samples > 1).count() as u64
    };
    run.scenarios.iter().map(of).sum()
}

fn noise(run: &Run) -> Vec<String> {
    let noise = &run.noise;
    let mut out = Vec::new();
    let (noisy, all) = repeats(run);
    if noisy > 0 {
        out.push(format!(
            "In {} of {} repeats other processes needed the processors; they are marked and counted.",
            count(noisy),
            count(all)
        ));
    }
    if noise.others_before > BUSY && noise.notes.is_empty() {
        out.push(format!(
            "The machine was not quiet: other processes used {} of it before the run.",
            percent(noise.others_before)
        ));
    }
    if noise.steal > STOLEN {
        out.push(format!(
            "The hypervisor took {} of the processors' time away.",
            percent(noise.steal)
        ));
    }
    out.extend(noise.notes.iter().cloned());
    out.extend(run.notes.iter().cloned());
    out
}

/// Returns the numbers of noisy repeats and of all repeats.
fn repeats(run: &Run) -> (u64, u64) {
    let cells = run.scenarios.iter().flat_map(|scenario| &scenario.cells);
    cells.fold((0, 0), |(noisy, all), cell| {
        (noisy + cell.noisy() as u64, all + cell.repeats.len() as u64)
    })
}

/// Returns the numbers of cells with figures, of cells that were tried but have none, and of cells that cannot be
/// measured here.
pub(crate) fn tally(run: &Run) -> (usize, usize, usize) {
    let cells = run.scenarios.iter().flat_map(|scenario| &scenario.cells);
    cells.fold((0, 0, 0), |(good, bad, absent), cell| {
        match (cell.has_figures(), cell.status.was_tried()) {
            (true, _) => (good + 1, bad, absent),
            (false, true) => (good, bad + 1, absent),
            (false, false) => (good, bad, absent + 1),
        }
    })
}

/// Returns the day and time at which a run began, UTC.
pub(crate) fn began(run: &Run) -> String {
    let seconds = run.started_unix_s.clamp(0.0, 1e11) as i64;
    jiff::Timestamp::from_second(seconds).map_or_else(
        |_| String::new(),
        |at| at.strftime("%Y-%m-%d %H:%M UTC").to_string(),
    )
}
