//! The figures of a cell, from its repeats: medians with intervals, merged latencies, cost, and doubts.

pub use crate::metric::Metric;
use crate::stats::{self, Estimate};
use crate::{Cell, Repeat, Role, Status, Use};
use measure::Distribution;
use measure::diagnose::{Verdict, Weight};
use std::collections::BTreeSet;

/// The share of failures above which a rate is that of a failing server.
const FAILING: f64 = 0.001;

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
    /// Returns the processor time per request of all processes of a role, in microseconds; none if they were not
    /// observed.
    #[must_use]
    pub fn cpu_us(&self, role: Role) -> Option<f64> {
        sum(self, role, |used| used.cpu_us_per_request)
    }

    /// Returns what the server used, including the proxy in front of it: php-fpm serves nothing without nginx. None if
    /// the server was not observed.
    #[must_use]
    pub fn serving(&self, what: impl Fn(&Use) -> f64) -> Option<f64> {
        let server = sum(self, Role::Server, &what)?;
        Some(server + sum(self, Role::Proxy, &what).unwrap_or(0.0))
    }
}

impl Cell {
    /// Returns whether at least one repeat has a figure.
    #[must_use]
    pub fn has_figures(&self) -> bool {
        self.repeats.iter().any(|repeat| repeat.load.finished() > 0)
    }

    /// Returns the figure of each repeat that has it, with the repeat's block.
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

    /// Returns the median over the repeats, with its interval.
    #[must_use]
    pub fn figure(&self, metric: &Metric) -> Option<Estimate> {
        let samples: Vec<f64> = self
            .samples(metric)
            .into_iter()
            .map(|(_, value)| value)
            .collect();
        stats::estimate(&samples)
    }

    /// Returns this cell's figure over that of `base`, in pairs of the same block; unpaired if they have no block in
    /// common or `paired` is false.
    #[must_use]
    pub(crate) fn ratio_to(&self, base: &Self, metric: &Metric, paired: bool) -> Option<Estimate> {
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

    /// Returns the latencies of all repeats, merged: percentiles are never averaged.
    #[must_use]
    pub fn latency(&self) -> Distribution {
        let mut all = Distribution::new();
        for repeat in &self.repeats {
            all.merge(repeat.load.headline_latency());
        }
        all
    }

    /// Returns the numbers of failed and of finished requests.
    #[must_use]
    pub fn failures(&self) -> (u64, u64) {
        self.repeats.iter().fold((0, 0), |(failed, all), repeat| {
            let load = &repeat.load;
            (failed + load.counts.failed, all + load.finished())
        })
    }

    /// Returns whether too many requests failed: then the rate is that of a failing server.
    #[must_use]
    pub fn failing(&self) -> bool {
        let (failed, all) = self.failures();
        failed as f64 > all as f64 * FAILING
    }

    /// Returns the median of what a role used, by the given figure.
    #[must_use]
    pub fn used(&self, role: Role, what: impl Fn(&Use) -> f64) -> Option<f64> {
        let samples: Vec<f64> = self
            .repeats
            .iter()
            .filter_map(|repeat| sum(repeat, role, &what))
            .collect();
        (!samples.is_empty()).then(|| measure::stats::median(&samples))
    }

    /// Returns the median of what the server used, including the proxy in front of it.
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

    /// Returns each doubt about the figures once, the most important first.
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

    /// Returns the number of repeats in which another process needed the processors.
    #[must_use]
    pub fn noisy(&self) -> usize {
        self.repeats
            .iter()
            .filter(|repeat| repeat.noisy.is_some())
            .count()
    }

    /// Returns whether the load was an open loop, whose rate does not depend on responses.
    #[must_use]
    pub fn is_open(&self) -> bool {
        let mut loads = self.repeats.iter().map(|repeat| &repeat.load);
        loads.any(|load| load.setup.model == measure::LoopModel::Open)
    }
}

impl Status {
    /// Returns whether the cell could have figures: whether its runtime is installed and can take part.
    #[must_use]
    pub(crate) fn was_tried(&self) -> bool {
        !matches!(self, Self::NotInstalled { .. } | Self::NotApplicable { .. })
    }
}
