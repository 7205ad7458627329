//! The figures of the five write-ups that the experiments repeat, as they printed them.

use crate::{Cell, Column, Scenario};
use serde::Deserialize;
use std::sync::LazyLock;

/// The write-ups: file name, and what readers call them.
pub const WRITE_UPS: [(&str, &str); 5] = [
    (
        "swoole-basic-class-load.txt",
        "Swoole and Apache: class loading",
    ),
    ("swoole-cached-query.txt", "Swoole and Apache: cached query"),
    ("webman-load-testing.txt", "webman: load testing"),
    ("php74-preloading.txt", "Preloading in PHP 7.4"),
    ("connection-pool-benchmarks.txt", "Swoole: connection pool"),
];

/// One measurement of a write-up. Rates are requests per second.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// File name of the write-up.
    pub seed: String,
    /// The scenario that repeats it.
    pub scenario: String,
    /// The cell's variant.
    #[serde(default)]
    pub variant: String,
    /// Family of the runtime, such as `swoole`.
    pub runtime: String,
    /// What they ran, for people.
    pub label: String,
    /// Their connections, if they say.
    pub connections: Option<u32>,
    /// Whether they kept connections, if they say.
    pub keep_alive: Option<bool>,
    /// All responses per second.
    pub rate: f64,
    /// Good responses per second.
    pub good: f64,
    /// Lower end, where they give a range.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Requests in all.
    pub requests: Option<u64>,
    /// Failed requests.
    #[serde(default)]
    pub failed: u64,
    /// Median latency.
    pub p50_ms: Option<f64>,
    /// 98th percentile.
    pub p98_ms: Option<f64>,
    /// 99th percentile.
    pub p99_ms: Option<f64>,
    /// Longest request.
    pub max_ms: Option<f64>,
    /// Mean latency.
    pub mean_ms: Option<f64>,
    /// How long they measured.
    pub measured_s: Option<f64>,
    /// What they measured with.
    pub tool: String,
}

#[derive(Deserialize)]
struct File {
    figure: Vec<Figure>,
}

static FIGURES: LazyLock<Vec<Figure>> = LazyLock::new(|| {
    // The file is part of this program; a test reads it.
    toml::from_str(include_str!("../data/figures.toml")).map_or_else(
        |error| unreachable!("figures.toml: {error}"),
        |file: File| file.figure,
    )
});

/// All figures of the write-ups.
#[must_use]
pub fn figures() -> &'static [Figure] {
    &FIGURES
}

/// The figures that the cells of a scenario repeat.
pub fn of_scenario(scenario: &Scenario) -> impl Iterator<Item = &'static Figure> {
    figures()
        .iter()
        .filter(move |figure| figure.scenario == scenario.name)
}

/// The figure that stands beside a cell: the same scenario, variant and kind of runtime, on as many connections if the cell
/// repeats the write-up's own set-up.
#[must_use]
pub fn beside(scenario: &Scenario, cell: &Cell) -> Option<&'static Figure> {
    of_scenario(scenario).find(|figure| {
        figure.variant == cell.variant
            && figure.stands_beside(&cell.runtime)
            && (cell.column == Column::Fair && figure.connections.is_none_or(|one| one <= 100)
                || figure.connections.is_none_or(|one| one == cell.connections))
    })
}

/// True if a figure of a write-up stands beside at least one cell.
#[must_use]
pub fn any_beside(scenario: &Scenario) -> bool {
    scenario
        .cells
        .iter()
        .any(|cell| cell.has_figures() && beside(scenario, cell).is_some())
}

impl Figure {
    /// True if the write-up's runtime is of the same kind as `runtime`.
    #[must_use]
    pub fn stands_beside(&self, runtime: &str) -> bool {
        runtime.split('-').next() == Some(self.runtime.as_str())
    }

    /// Share of requests that failed.
    #[must_use]
    pub fn failed_share(&self) -> f64 {
        self.requests
            .map_or(0.0, |all| self.failed as f64 / all.max(1) as f64)
    }
}

/// The name of a write-up for people.
#[must_use]
pub fn title(seed: &str) -> &str {
    WRITE_UPS
        .iter()
        .find(|(file, _)| *file == seed)
        .map_or(seed, |(_, title)| title)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_are_those_of_the_write_ups() {
        let all = figures();
        assert_eq!(all.len(), 25);
        let apache = all
            .iter()
            .find(|one| one.runtime == "apache" && one.connections == Some(500))
            .unwrap();
        assert_eq!((apache.rate, apache.failed), (1706.33, 144));
        assert!((apache.good - 1681.76).abs() < 0.01);
        let pool = all
            .iter()
            .find(|one| one.variant == "group 1 pool off")
            .unwrap();
        assert!((pool.failed_share() - 0.406).abs() < 0.001);
        assert!((pool.good - 253.77).abs() < 0.1, "{}", pool.good);
    }

    #[test]
    fn each_is_of_a_known_write_up_and_plausible() {
        for figure in figures() {
            assert_ne!(title(&figure.seed), figure.seed, "{figure:?}");
            assert!(
                figure.good <= figure.rate && figure.good > 0.0,
                "{figure:?}"
            );
            if let (Some(requests), Some(seconds)) = (figure.requests, figure.measured_s) {
                let rate = requests as f64 / seconds;
                assert!((rate / figure.rate - 1.0).abs() < 0.01, "{figure:?}");
            }
        }
    }

    #[test]
    fn a_figure_stands_beside_its_own_kind() {
        let scenario = Scenario {
            name: "basic_class_load".to_owned(),
            ..Scenario::default()
        };
        let mut cell = Cell {
            runtime: "swoole-process".to_owned(),
            connections: 100,
            ..Cell::default()
        };
        assert_eq!(beside(&scenario, &cell).unwrap().rate, 52451.86);
        cell.runtime = "apache".to_owned();
        cell.column = Column::AsSeed;
        cell.connections = 500;
        assert_eq!(beside(&scenario, &cell).unwrap().rate, 1706.33);
        cell.runtime = "gin".to_owned();
        assert!(beside(&scenario, &cell).is_none());
    }
}
