//! Compares two runs. Only cells that are alike are compared; the others are listed with the reason.

mod text;

use crate::cell::Metric;
use crate::stats::{Change, Estimate};
use crate::words::cell_name;
use crate::{Cell, Run, Scenario};

/// The figures of a cell that are compared.
const METRICS: [Metric; 4] = [Metric::Goodput, Metric::P99, Metric::Cpu, Metric::Memory];
/// Prefixes of settings whose difference makes two cells different experiments.
const DECISIVE: [&str; 5] = [
    "opcache.",
    "xdebug.",
    "zend.assertions",
    "pcov.",
    "display_errors",
];

/// The options of a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Gate {
    /// Whether to compare although the machines differ.
    pub across_machines: bool,
    /// The share by which a rate may certainly fall before the comparison fails.
    pub max_regress: Option<f64>,
}

/// A figure of a cell in both runs.
#[derive(Clone, Debug)]
pub struct Row {
    /// Names of scenario and cell.
    pub name: String,
    /// The figure that is compared.
    pub metric: Metric,
    /// Value before.
    pub a: f64,
    /// Value after.
    pub b: f64,
    /// Value after over value before.
    pub ratio: Estimate,
    /// The conclusion that the ratio allows.
    pub change: Change,
}

/// The comparison of two runs.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// The reason why nothing is compared.
    pub refused: Option<String>,
    /// The figures that were compared.
    pub rows: Vec<Row>,
    /// Cells that are not compared, with the reason.
    pub skipped: Vec<(String, String)>,
    /// Reasons to be careful with the comparison.
    pub cautions: Vec<String>,
    gate: Gate,
}

/// Compares the cells of `b` (after) with those of `a` (before).
#[must_use]
pub fn compare(a: &Run, b: &Run, gate: Gate) -> Comparison {
    let mut found = Comparison {
        gate,
        ..Comparison::default()
    };
    if let Some(why) = machines(a, b) {
        if !gate.across_machines {
            found.refused = Some(why);
            return found;
        }
        found.cautions.push(why);
    }
    for after in &b.scenarios {
        match a.scenario(&after.name) {
            Some(before) => scenarios(&mut found, (a, before), (b, after)),
            None => found
                .skipped
                .push((after.name.clone(), "not in the first run".to_owned())),
        }
    }
    for before in a
        .scenarios
        .iter()
        .filter(|one| b.scenario(&one.name).is_none())
    {
        found
            .skipped
            .push((before.name.clone(), "not in the second run".to_owned()));
    }
    found.cautions.extend(cautions(a, b, found.rows.len()));
    found
}

/// Returns how the machines differ, if they do.
fn machines(a: &Run, b: &Run) -> Option<String> {
    let (x, y) = (&a.host, &b.host);
    let differ = |what: &str, x: &str, y: &str| (x != y).then(|| format!("{what}: {x} and {y}"));
    let found: Vec<String> = [
        differ("processor", &x.processor, &y.processor),
        differ(
            "processors",
            &x.processors.to_string(),
            &y.processors.to_string(),
        ),
        differ("machine", &x.name, &y.name),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!found.is_empty()).then(|| format!("the machines differ ({})", found.join("; ")))
}

/// Returns what differs between two scenarios, so that their figures cannot be compared.
fn difference(
    (a, before): (&Run, &Scenario),
    (b, after): (&Run, &Scenario),
) -> Option<&'static str> {
    if before.body_sha256 != after.body_sha256 {
        Some("the bodies")
    } else if before.requests != after.requests {
        Some("the requests")
    } else if let (Some(x), Some(y)) = (&before.database, &after.database)
        && x != y
    {
        Some("the databases")
    } else if a.plan.pinned != b.plan.pinned {
        Some("the processors given to load and servers")
    } else {
        None
    }
}

fn scenarios(
    found: &mut Comparison,
    (a, before): (&Run, &Scenario),
    (b, after): (&Run, &Scenario),
) {
    if let Some(what) = difference((a, before), (b, after)) {
        found
            .skipped
            .push((after.name.clone(), format!("{what} differ")));
        return;
    }
    let floor = a
        .noise
        .aa_floor
        .unwrap_or(0.0)
        .max(b.noise.aa_floor.unwrap_or(0.0));
    for cell in &after.cells {
        let name = format!("{}: {}", after.name, cell_name(b, cell));
        match before.cell(&cell.key()) {
            None => found
                .skipped
                .push((name, "not in the first run".to_owned())),
            Some(old) => match unlike_cells(old, cell) {
                Some(why) => found.skipped.push((name, why)),
                None => found.rows.extend(rows(&name, old, cell, floor)),
            },
        }
    }
}

/// Returns why the cells of two runs are not the same experiment, or have no figures.
fn unlike_cells(a: &Cell, b: &Cell) -> Option<String> {
    for (side, cell) in [("first", a), ("second", b)] {
        if !cell.has_figures() {
            let why = cell.status.why().unwrap_or("no figures");
            return Some(format!("{side} run: {}: {why}", cell.status.name()));
        }
    }
    if a.keep_alive != b.keep_alive {
        return Some("one keeps connections, the other does not".to_owned());
    }
    let value = |cell: &Cell, name: &str| {
        let found = cell.config.iter().find(|one| one.name == name);
        // The path of a file in a run's own folder differs from run to run.
        let file = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        found.map_or_else(|| "not set".to_owned(), |one| file(&one.value))
    };
    let names = a.config.iter().chain(&b.config).map(|one| &one.name);
    for name in names.filter(|name| DECISIVE.iter().any(|start| name.starts_with(start))) {
        let (x, y) = (value(a, name), value(b, name));
        if x != y {
            return Some(format!("{name} was {x}, now {y}"));
        }
    }
    b.unlike(a)
}

fn rows(name: &str, a: &Cell, b: &Cell, floor: f64) -> Vec<Row> {
    METRICS
        .iter()
        .filter_map(|metric| {
            let ratio = b.ratio_to(a, metric, false)?;
            Some(Row {
                name: name.to_owned(),
                metric: metric.clone(),
                a: a.figure(metric)?.value,
                b: b.figure(metric)?.value,
                change: Change::of(&ratio, floor),
                ratio,
            })
        })
        .collect()
}

/// Returns the fewest repeats of a run, and the length of the shortest in seconds.
fn pace(run: &Run) -> (u32, f64) {
    let ((rounds, _), (seconds, _)) = run.repeats();
    (rounds, seconds)
}

fn cautions(a: &Run, b: &Run, rows: usize) -> Vec<String> {
    let mut out = Vec::new();
    if a.host.php != b.host.php {
        out.push(format!("PHP differs: {} and {}", a.host.php, b.host.php));
    }
    if a.host.kernel != b.host.kernel {
        out.push(format!(
            "the system differs: {} and {}",
            a.host.kernel, b.host.kernel
        ));
    }
    let ((fewer, of_a), (fewer_after, of_b)) = (pace(a), pace(b));
    if (of_a - of_b).abs() > 0.5 {
        out.push(format!("repeats of {of_a:.1} s and of {of_b:.1} s"));
    }
    for (side, rounds) in [("first", fewer), ("second", fewer_after)] {
        if rounds < 4 {
            out.push(format!("the {side} run has {rounds} repeats: indicative, 4 or more allow intervals without assumptions"));
        }
    }
    if rows > 20 {
        out.push(format!(
            "{rows} figures are compared: at 95 % about {} of them change by chance alone",
            rows / 20
        ));
    }
    out
}

impl Row {
    /// Returns whether the rate is certainly lower by more than `share`.
    #[must_use]
    pub fn regressed(&self, share: f64) -> bool {
        self.metric == Metric::Goodput && self.ratio.excludes(1.0) && self.ratio.high < 1.0 - share
    }

    /// Returns the conclusion as text.
    #[must_use]
    pub fn words(&self) -> &'static str {
        match (self.change, self.metric.more_is_better()) {
            (Change::NotShown, _) => "no change that can be shown",
            (Change::More, true) | (Change::Less, false) => "better",
            (Change::More, false) | (Change::Less, true) => "worse",
        }
    }
}

impl Comparison {
    /// Returns the rates that have fallen by more than the gate allows.
    #[must_use]
    pub(crate) fn regressions(&self) -> Vec<&Row> {
        let share = self.gate.max_regress;
        self.rows
            .iter()
            .filter(|row| share.is_some_and(|share| row.regressed(share)))
            .collect()
    }

    /// Returns 0 if no rate has fallen by more than allowed, 1 if one has, and 2 if nothing could be compared.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        if self.rows.is_empty() {
            2
        } else {
            u8::from(!self.regressions().is_empty())
        }
    }
}
