//! The claims of the five write-ups, each held against a run: what they saw, what this machine says, agree or not and why.

use crate::cell::Metric;
use crate::stats::{Basis, Estimate};
use crate::words::{interval, times, value};
use crate::{Cell, Column, Run, Scenario, Status, usl};
use serde::Deserialize;
use std::sync::LazyLock;

/// A claim and the check that belongs to it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Its number in the order of the write-ups.
    pub id: String,
    /// File name of the write-up.
    pub seed: String,
    /// What it says.
    pub said: String,
    /// The figures it rests on.
    pub saw: String,
    agrees: String,
    differs: String,
    not_here: Option<String>,
    compare: Option<Compare>,
    figure: Option<Absolute>,
    sweep: Option<Bounds>,
    limit: Option<Limit>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Compare {
    metric: String,
    base: Selector,
    with: Selector,
    min: Option<f64>,
    max: Option<f64>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Absolute {
    metric: String,
    of: Selector,
    min: Option<f64>,
    max: Option<f64>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Bounds {
    of: Selector,
    min: Option<f64>,
    max: Option<f64>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Limit {
    of: Selector,
    holds: String,
}

/// Picks a cell: the first scenario and runtime of the lists that have figures.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Selector {
    scenarios: Vec<String>,
    runtimes: Vec<String>,
    #[serde(default)]
    variant: String,
    #[serde(default)]
    column: Column,
    connections: Option<u32>,
}

/// What a run says to a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The same.
    Agrees,
    /// Something else.
    Differs,
    /// The interval allows both.
    NotShown,
    /// Not measured in this run, or never.
    NotMeasured,
}

/// One line of the table of claims.
#[derive(Clone, Debug)]
pub struct Line {
    /// The claim.
    pub claim: &'static Claim,
    /// What this machine says, in figures.
    pub here: String,
    /// Whether that is the same.
    pub answer: Answer,
    /// Why it is or is not.
    pub why: String,
}

impl Answer {
    /// In a word or two.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Differs => "differs",
            Self::NotShown => "not decided",
            Self::NotMeasured => "not measured",
        }
    }
}

#[derive(Deserialize)]
struct File {
    claim: Vec<Claim>,
}

static CLAIMS: LazyLock<Vec<Claim>> = LazyLock::new(|| {
    // The file is part of this program; a test reads it.
    toml::from_str(include_str!("../data/claims.toml")).map_or_else(
        |error| unreachable!("claims.toml: {error}"),
        |file: File| file.claim,
    )
});

/// True if a claim is held against that server's figures in that scenario.
#[must_use]
pub fn rest_on(scenario: &str, runtime: &str) -> bool {
    let has = |names: &[String], wanted: &str| names.iter().any(|name| name == wanted);
    CLAIMS
        .iter()
        .flat_map(Claim::selectors)
        .any(|one| has(&one.scenarios, scenario) && has(&one.runtimes, runtime))
}

/// Holds every claim against the run.
#[must_use]
pub fn lines(run: &Run) -> Vec<Line> {
    CLAIMS.iter().map(|claim| line(run, claim)).collect()
}

impl Claim {
    /// The cells that it looks at.
    fn selectors(&self) -> impl Iterator<Item = &Selector> {
        let compared = self.compare.iter().flat_map(|one| [&one.base, &one.with]);
        compared
            .chain(self.figure.iter().map(|one| &one.of))
            .chain(self.sweep.iter().map(|one| &one.of))
            .chain(self.limit.iter().map(|one| &one.of))
    }
}

fn line(run: &Run, claim: &'static Claim) -> Line {
    let (here, answer) = answer(run, claim);
    let why = match answer {
        Answer::Agrees => claim.agrees.clone(),
        Answer::Differs => claim.differs.clone(),
        Answer::NotShown => {
            "The interval holds both answers: more repeats would decide (--full).".to_owned()
        }
        Answer::NotMeasured => claim.not_here.clone().unwrap_or_default(),
    };
    Line {
        claim,
        here,
        answer,
        why,
    }
}

fn answer(run: &Run, claim: &Claim) -> (String, Answer) {
    let found = if let Some(check) = &claim.compare {
        compare(run, check)
    } else if let Some(check) = &claim.figure {
        figure(run, check)
    } else if let Some(check) = &claim.sweep {
        sweep(run, check)
    } else if let Some(check) = &claim.limit {
        limit(run, check)
    } else {
        Err("not measured by this program".to_owned())
    };
    found.unwrap_or_else(|why| (why, Answer::NotMeasured))
}

fn compare(run: &Run, check: &Compare) -> Result<(String, Answer), String> {
    let metric = Metric::named(&check.metric).ok_or("unknown metric")?;
    let (scenario, base) = check.base.cell(run)?;
    let (other, with) = check.with.cell(run)?;
    let paired = scenario.name == other.name;
    let figure = |cell: &Cell| cell.figure(&metric).ok_or_else(|| missing(run, cell));
    let (low, high) = (figure(base)?, figure(with)?);
    let ratio = with
        .ratio_to(base, &metric, paired)
        .ok_or_else(|| missing(run, with))?;
    let text = format!(
        "{}: {} {}, {}: {} ({})",
        place(run, scenario, base),
        value(&metric, low.value),
        failures(base),
        place(run, other, with),
        value(&metric, high.value),
        times(&ratio),
    );
    // What was read back is exact: it needs no repeats.
    let answer = match metric {
        Metric::Observed(_) => within(&ratio, check.min, check.max),
        _ => ratio_answer(&ratio, check.min, check.max),
    };
    Ok((tidy(&text), answer))
}

fn figure(run: &Run, check: &Absolute) -> Result<(String, Answer), String> {
    let metric = Metric::named(&check.metric).ok_or("unknown metric")?;
    let (scenario, cell) = check.of.cell(run)?;
    let found = cell.figure(&metric).ok_or_else(|| missing(run, cell))?;
    let text = format!(
        "{}: {}, {}",
        place(run, scenario, cell),
        metric.label(),
        interval(&metric, &found),
    );
    Ok((text, within(&found, check.min, check.max)))
}

fn sweep(run: &Run, check: &Bounds) -> Result<(String, Answer), String> {
    let (scenario, cell) = check.of.cell(run)?;
    let points = crate::sweep::points(scenario, &cell.runtime, &cell.variant);
    let floor = run.noise.aa_floor.unwrap_or(0.0);
    let best = usl::recommended(&points, floor).ok_or_else(|| missing(run, cell))?;
    let share = best / run.host.processors.max(1) as f64;
    let measured: Vec<String> = points.iter().map(|(x, _)| format!("{x}")).collect();
    let text = format!(
        "{}: {best} of {} are enough, on {} processors",
        place(run, scenario, cell),
        measured.join(", "),
        run.host.processors
    );
    let holds =
        check.min.is_none_or(|min| share >= min) && check.max.is_none_or(|max| share <= max);
    let enough = points.len() >= 3;
    Ok((
        text,
        match (enough, holds) {
            (false, _) => Answer::NotShown,
            (true, true) => Answer::Agrees,
            (true, false) => Answer::Differs,
        },
    ))
}

fn limit(run: &Run, check: &Limit) -> Result<(String, Answer), String> {
    let (scenario, cell) = check.of.cell(run)?;
    let limit = cell.limit.as_deref().ok_or_else(|| missing(run, cell))?;
    let answer = if limit.contains(&check.holds) && !limit.contains("load generator") {
        Answer::Agrees
    } else {
        Answer::Differs
    };
    Ok((format!("{}: {limit}", place(run, scenario, cell)), answer))
}

/// An interval that lies on one side of a bound decides; one without repeats decides nothing about a ratio.
fn ratio_answer(ratio: &Estimate, min: Option<f64>, max: Option<f64>) -> Answer {
    if ratio.basis == Basis::Single {
        Answer::NotShown
    } else {
        within(ratio, min, max)
    }
}

fn within(found: &Estimate, min: Option<f64>, max: Option<f64>) -> Answer {
    let (min, max) = (min.unwrap_or(f64::MIN), max.unwrap_or(f64::MAX));
    if found.low >= min && found.high <= max {
        Answer::Agrees
    } else if found.high < min || found.low > max {
        Answer::Differs
    } else {
        Answer::NotShown
    }
}

impl Selector {
    /// The cell, or why there is none with figures.
    fn cell<'run>(&self, run: &'run Run) -> Result<(&'run Scenario, &'run Cell), String> {
        let mut why = None;
        for name in &self.scenarios {
            let Some(scenario) = run.scenario(name) else {
                continue;
            };
            for runtime in &self.runtimes {
                for cell in scenario
                    .cells
                    .iter()
                    .filter(|cell| self.fits(cell, runtime))
                {
                    if cell.has_figures() {
                        return Ok((scenario, cell));
                    }
                    if cell.status.was_tried() || why.is_none() {
                        why = Some(missing(run, cell));
                    }
                }
            }
        }
        Err(why.unwrap_or_else(|| format!("not part of this run: {}", self.words())))
    }

    fn fits(&self, cell: &Cell, runtime: &str) -> bool {
        cell.runtime == *runtime
            && cell.variant == self.variant
            && cell.column == self.column
            && self.connections.is_none_or(|one| one == cell.connections)
    }

    fn words(&self) -> String {
        let mut words = self.scenarios.first().cloned().unwrap_or_default();
        if !self.variant.is_empty() {
            words += &format!(", {}", self.variant);
        }
        if let Some(connections) = self.connections {
            words += &format!(", {connections} connections");
        }
        words
    }
}

fn missing(run: &Run, cell: &Cell) -> String {
    let name = run
        .runtime(&cell.runtime)
        .map_or(&cell.runtime, |one| &one.name);
    match &cell.status {
        Status::Measured => format!("{name}: no such figure"),
        status => format!(
            "{name}: {}: {}",
            status.name(),
            status.why().unwrap_or_default()
        ),
    }
}

/// Where a figure is from: runtime, variant and scenario.
fn place(run: &Run, scenario: &Scenario, cell: &Cell) -> String {
    let mut text = run
        .runtime(&cell.runtime)
        .map_or(cell.runtime.clone(), |one| one.name.clone());
    if !cell.variant.is_empty() {
        text += &format!(", {}", cell.variant);
    }
    if cell.column == Column::AsSeed {
        text += &format!(", as in the write-up, {} connections", cell.connections);
    }
    format!("{text} ({})", scenario.name)
}

fn failures(cell: &Cell) -> String {
    let (failed, all) = cell.failures();
    if failed == 0 {
        return String::new();
    }
    format!(
        "with {} of {} failed",
        measure::text::count(failed),
        measure::text::count(all)
    )
}

fn tidy(text: &str) -> String {
    text.replace(" ,", ",")
}
