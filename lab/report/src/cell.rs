//! What the repeats of a cell say: medians with intervals, merged latencies, cost, and what is doubtful.

use crate::stats::{self, Estimate};
use crate::{Cell, Repeat, Role, Scenario, Status, Use};
use measure::Distribution;
use measure::diagnose::{Verdict, Weight};
use std::collections::BTreeSet;

/// More failures than this, and a rate is that of a failing server.
pub const FAILING: f64 = 0.001;

/// A figure of a cell that can be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Metric {
    /// Good responses per second.
    Goodput,
    /// Good responses per second and processor that the server used.
    PerCore,
    /// Processor time of the server's processes per request, µs.
    Cpu,
    /// Median latency, ms.
    P50,
    /// 99th percentile, ms.
    P99,
    /// Shortest good request, ms.
    Fastest,
    /// Longest good request, ms.
    Longest,
    /// Share of requests that failed, 0 to 1.
    Failed,
    /// Memory of the server's processes, bytes.
    Memory,
    /// A figure that was read back from the server.
    Observed(String),
}

impl Metric {
    /// By the name that `claims.toml` uses.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "goodput" => Self::Goodput,
            "per-core" => Self::PerCore,
            "cpu" => Self::Cpu,
            "p50" => Self::P50,
            "p99" => Self::P99,
            "fastest" => Self::Fastest,
            "longest" => Self::Longest,
            "failed" => Self::Failed,
            "memory" => Self::Memory,
            other => Self::Observed(other.strip_prefix("observed:")?.to_owned()),
        })
    }

    /// True if more of it is better.
    #[must_use]
    pub fn more_is_better(&self) -> bool {
        matches!(self, Self::Goodput | Self::PerCore)
    }

    /// What it is, for people.
    #[must_use]
    pub fn label(&self) -> &str {
        match self {
            Self::Goodput => "good responses per second",
            Self::PerCore => "good responses per second and processor",
            Self::Cpu => "server CPU per request",
            Self::P50 => "median latency",
            Self::P99 => "99th percentile",
            Self::Fastest => "fastest request",
            Self::Longest => "longest request",
            Self::Failed => "failed requests",
            Self::Memory => "memory of the server",
            Self::Observed(name) => name,
        }
    }

    fn of(&self, repeat: &Repeat) -> Option<f64> {
        let load = &repeat.load;
        let latency = load.headline_latency();
        let ms = |nanos: u64| (!latency.is_empty()).then_some(nanos as f64 / 1e6);
        match self {
            Self::Goodput => Some(load.rates.goodput),
            Self::PerCore => {
                let cores = repeat.serving(|used| used.cores)?;
                (cores > 0.0).then(|| load.rates.goodput / cores)
            }
            Self::Cpu => repeat.serving(|used| used.cpu_us_per_request),
            Self::P50 => ms(latency.percentile(50.0)),
            Self::P99 => ms(latency.percentile(99.0)),
            Self::Fastest => ms(latency.min()),
            Self::Longest => ms(latency.max()),
            Self::Failed => {
                let finished = load.finished();
                (finished > 0).then(|| load.counts.failed as f64 / finished as f64)
            }
            Self::Memory => {
                let bytes = repeat.serving(|used| used.pss_bytes as f64)?;
                (bytes > 0.0).then_some(bytes)
            }
            Self::Observed(_) => None,
        }
    }
}

fn sum(repeat: &Repeat, role: Role, what: impl Fn(&Use) -> f64) -> Option<f64> {
    let mut parts = repeat
        .cpu
        .iter()
        .filter(|used| used.role == role)
        .peekable();
    parts.peek()?;
    Some(parts.map(what).sum())
}

impl Repeat {
    /// Processor time per request of all processes of a role; none if they were not watched.
    #[must_use]
    pub fn cpu_us(&self, role: Role) -> Option<f64> {
        sum(self, role, |used| used.cpu_us_per_request)
    }

    /// What the server used, with the proxy in front of it: php-fpm serves nothing without nginx. None if it was not watched.
    #[must_use]
    pub fn serving(&self, what: impl Fn(&Use) -> f64) -> Option<f64> {
        let server = sum(self, Role::Server, &what)?;
        Some(server + sum(self, Role::Proxy, &what).unwrap_or(0.0))
    }
}

impl Cell {
    /// True if there is at least one repeat with a figure.
    #[must_use]
    pub fn has_figures(&self) -> bool {
        self.repeats.iter().any(|repeat| repeat.load.finished() > 0)
    }

    /// The figure of each repeat that has it, with the repeat's block.
    #[must_use]
    pub fn samples(&self, metric: &Metric) -> Vec<(u32, f64)> {
        if let Metric::Observed(name) = metric {
            let mut read_back = self.observed.iter().chain(&self.config);
            let found = read_back.find(|one| one.name == *name);
            let value = found.and_then(|one| one.value.split_whitespace().next()?.parse().ok());
            return value.map(|value| (0, value)).into_iter().collect();
        }
        self.repeats
            .iter()
            .filter(|repeat| repeat.load.finished() > 0)
            .filter_map(|repeat| Some((repeat.block, metric.of(repeat)?)))
            .collect()
    }

    /// The median over the repeats, with its interval.
    #[must_use]
    pub fn figure(&self, metric: &Metric) -> Option<Estimate> {
        let samples: Vec<f64> = self
            .samples(metric)
            .into_iter()
            .map(|(_, value)| value)
            .collect();
        stats::estimate(&samples)
    }

    /// This cell's figure over that of `base`, in pairs of the same block; unpaired if they share none or `paired` is false.
    #[must_use]
    pub fn ratio_to(&self, base: &Self, metric: &Metric, paired: bool) -> Option<Estimate> {
        let (base, own) = (base.samples(metric), self.samples(metric));
        let pairs: Vec<(f64, f64)> = own
            .iter()
            .filter_map(|(block, value)| {
                let partner = base.iter().find(|(other, _)| other == block)?;
                Some((partner.1, *value))
            })
            .collect();
        if paired && !pairs.is_empty() {
            return stats::ratio(&pairs);
        }
        let values = |side: &[(u32, f64)]| side.iter().map(|(_, value)| *value).collect::<Vec<_>>();
        stats::unpaired(&values(&base), &values(&own))
    }

    /// The latencies of all repeats in one: percentiles are never averaged.
    #[must_use]
    pub fn latency(&self) -> Distribution {
        let mut all = Distribution::new();
        for repeat in &self.repeats {
            all.merge(repeat.load.headline_latency());
        }
        all
    }

    /// Failed requests and all that finished.
    #[must_use]
    pub fn failures(&self) -> (u64, u64) {
        self.repeats.iter().fold((0, 0), |(failed, all), repeat| {
            let load = &repeat.load;
            (failed + load.counts.failed, all + load.finished())
        })
    }

    /// Whether the rate is that of a failing server, because too many requests failed.
    #[must_use]
    pub fn failing(&self) -> bool {
        let (failed, all) = self.failures();
        failed as f64 > all as f64 * FAILING
    }

    /// The median of what a role used, by the given figure.
    #[must_use]
    pub fn used(&self, role: Role, what: impl Fn(&Use) -> f64) -> Option<f64> {
        let samples: Vec<f64> = self
            .repeats
            .iter()
            .filter_map(|repeat| sum(repeat, role, &what))
            .collect();
        (!samples.is_empty()).then(|| measure::stats::median(&samples))
    }

    /// The median of what the server used, with the proxy in front of it.
    #[must_use]
    pub fn serving(&self, what: impl Fn(&Use) -> f64) -> Option<f64> {
        let samples: Vec<f64> = self
            .repeats
            .iter()
            .filter_map(|repeat| repeat.serving(&what))
            .filter(|used| *used > 0.0)
            .collect();
        (!samples.is_empty()).then(|| measure::stats::median(&samples))
    }

    /// Each doubt about the figures, once, the heaviest first.
    #[must_use]
    pub fn doubts(&self) -> Vec<&Verdict> {
        let mut seen = BTreeSet::new();
        let mut doubts: Vec<&Verdict> = self
            .repeats
            .iter()
            .flat_map(|repeat| &repeat.load.verdicts)
            .filter(|verdict| verdict.weight > Weight::Note)
            .filter(|verdict| seen.insert(verdict.id.as_str()))
            .collect();
        doubts.sort_by_key(|verdict| std::cmp::Reverse(verdict.weight));
        doubts
    }

    /// Repeats in which another process needed the processors.
    #[must_use]
    pub fn noisy(&self) -> usize {
        self.repeats
            .iter()
            .filter(|repeat| repeat.noisy.is_some())
            .count()
    }

    /// True if requests came at a rate of their own, however long answers took.
    #[must_use]
    pub fn is_open(&self) -> bool {
        let mut loads = self.repeats.iter().map(|repeat| &repeat.load);
        loads.any(|load| load.setup.model == measure::LoopModel::Open)
    }

    /// Why a rate of this cell may not stand beside one of `base`; none if it may.
    #[must_use]
    pub fn unlike(&self, base: &Self) -> Option<String> {
        let deliberate = self.runtime == base.runtime && self.variant != base.variant;
        if self.connections != base.connections {
            return Some(format!(
                "{} and {} connections",
                base.connections, self.connections
            ));
        }
        if self.keep_alive != base.keep_alive && !deliberate {
            return Some("one keeps connections, the other does not".to_owned());
        }
        if self.is_open() != base.is_open() {
            return Some(
                "one has requests come at a rate of their own, the other as answers do".to_owned(),
            );
        }
        if self.column != base.column {
            return Some("one is configured as in the write-up, the other as advised".to_owned());
        }
        [base, self]
            .into_iter()
            .find(|cell| cell.failing())
            .map(|cell| {
                let (failed, all) = cell.failures();
                format!(
                    "{} of {} requests failed on {}",
                    measure::text::count(failed),
                    measure::text::count(all),
                    cell.runtime
                )
            })
    }
}

impl Scenario {
    /// True if its cells compare ways of doing something on each runtime, rather than runtimes: most of them have several
    /// variants.
    #[must_use]
    pub fn compares_variants(&self) -> bool {
        let tried = self.cells.iter().filter(|cell| cell.status.was_tried());
        let runtimes: BTreeSet<&str> = tried.map(|cell| cell.runtime.as_str()).collect();
        let varied = runtimes.iter().filter(|runtime| {
            let mut own = self.cells.iter().filter(|cell| cell.runtime == **runtime);
            own.clone()
                .any(|cell| own.any(|other| cell.is_variant_of(other)))
        });
        varied.count() * 2 > runtimes.len()
    }

    /// The cell that another is compared with: in a sweep the same server's smallest number, else the same runtime's first
    /// variant, else the first runtime in the same place. None for the reference itself.
    #[must_use]
    pub fn base_of(&self, cell: &Cell) -> Option<&Cell> {
        let variants = self.compares_variants();
        let own = |other: &Cell| other.runtime == cell.runtime && other.column == cell.column;
        let beside = |other: &Cell| {
            other.column == cell.column
                && other.x == cell.x
                && other.variant == cell.variant
                && other.connections == cell.connections
        };
        let mut figures = self.cells.iter().filter(|other| other.has_figures());
        let base = if self.axis.is_some() {
            figures
                .filter(|other| own(other) && other.variant == cell.variant)
                .min_by(|a, b| a.x.unwrap_or(0.0).total_cmp(&b.x.unwrap_or(0.0)))
        } else if variants {
            let wanted = |other: &Cell| {
                let against = cell.against.as_ref();
                against.is_none_or(|variant| *variant == other.variant)
            };
            figures.find(|other| own(other) && other.x == cell.x && wanted(other))
        } else {
            // The same server a second time stands beside its first.
            let first = figures.clone().find(|other| beside(other));
            let alone =
                first.is_none_or(|first| first.key() == cell.key()) && !cell.variant.is_empty();
            if alone {
                figures.find(|other| own(other))
            } else {
                first
            }
        }?;
        (base.key() != cell.key()).then_some(base)
    }
}

impl Cell {
    fn is_variant_of(&self, other: &Self) -> bool {
        self.runtime == other.runtime
            && self.variant != other.variant
            && self.x == other.x
            && self.column == other.column
    }
}

impl Status {
    /// True if the cell could have figures: neither missing nor meaningless.
    #[must_use]
    pub fn was_tried(&self) -> bool {
        !matches!(self, Self::NotInstalled { .. } | Self::NotApplicable { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(runtime: &str, variant: &str) -> Cell {
        let mut repeat = Repeat::default();
        repeat.load.counts.good = 10;
        Cell {
            runtime: runtime.to_owned(),
            variant: variant.to_owned(),
            repeats: vec![repeat],
            ..Cell::default()
        }
    }

    fn bases(cells: &[(&str, &str)]) -> Vec<Option<String>> {
        let scenario = Scenario {
            cells: cells
                .iter()
                .map(|(runtime, variant)| cell(runtime, variant))
                .collect(),
            ..Scenario::default()
        };
        let name = |base: &Cell| {
            format!("{} {}", base.runtime, base.variant)
                .trim()
                .to_owned()
        };
        scenario
            .cells
            .iter()
            .map(|cell| scenario.base_of(cell).map(name))
            .collect()
    }

    #[test]
    fn servers_are_compared_with_the_first_and_one_taken_twice_with_itself() {
        let found = bases(&[
            ("hearth", ""),
            ("apache", ""),
            ("fpm", ""),
            ("hearth", "again"),
        ]);
        let hearth = Some("hearth".to_owned());
        assert_eq!(found, [None, hearth.clone(), hearth.clone(), hearth]);
    }

    #[test]
    fn variants_are_compared_with_the_same_servers_first() {
        let found = bases(&[
            ("hearth", "pdo"),
            ("hearth", "builder"),
            ("fpm", "pdo"),
            ("fpm", "builder"),
            ("gin", "pdo"),
        ]);
        let of = |name: &str| Some(name.to_owned());
        assert_eq!(found, [None, of("hearth pdo"), None, of("fpm pdo"), None]);
    }

    #[test]
    fn a_variant_may_name_the_one_that_it_is_compared_with() {
        let mut cells = ["1 off", "1 on", "2 off", "2 on"].map(|variant| cell("hearth", variant));
        cells[2].against = Some("2 off".to_owned());
        cells[3].against = Some("2 off".to_owned());
        let scenario = Scenario {
            cells: cells.to_vec(),
            ..Scenario::default()
        };
        let bases = scenario.cells.iter().map(|cell| scenario.base_of(cell));
        let names: Vec<_> = bases
            .map(|base| base.map(|base| base.variant.as_str()))
            .collect();
        assert_eq!(names, [None, Some("1 off"), None, Some("2 off")]);
    }
}
