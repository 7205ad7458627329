//! The published figures of the five write-ups that the experiments repeat.

use crate::{Cell, Column, Scenario};
use serde::Deserialize;
use std::sync::LazyLock;

/// The write-ups: file name, and title for readers.
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

/// A measurement of a write-up. Rates are requests per second.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// File name of the write-up.
    pub seed: String,
    /// The scenario that repeats the measurement.
    pub scenario: String,
    /// The variant of the scenario's cell.
    #[serde(default)]
    pub variant: String,
    /// Family of the runtime, such as `swoole`.
    pub runtime: String,
    /// The server as the write-up names it.
    pub label: String,
    /// Connections, if the write-up gives them.
    pub connections: Option<u32>,
    /// Whether connections were kept, if the write-up tells.
    pub keep_alive: Option<bool>,
    /// All responses per second.
    pub rate: f64,
    /// Good responses per second.
    pub good: f64,
    /// Lower end, if the write-up gives a range.
    pub low: Option<f64>,
    /// Upper end, if the write-up gives a range.
    pub high: Option<f64>,
    /// Requests in all.
    pub requests: Option<u64>,
    /// Failed requests.
    #[serde(default)]
    pub failed: u64,
    /// Median latency, in milliseconds.
    pub p50_ms: Option<f64>,
    /// 98th percentile, in milliseconds.
    pub p98_ms: Option<f64>,
    /// 99th percentile, in milliseconds.
    pub p99_ms: Option<f64>,
    /// Longest request, in milliseconds.
    pub max_ms: Option<f64>,
    /// Mean latency, in milliseconds.
    pub mean_ms: Option<f64>,
    /// Length of the measurement, in seconds.
    pub measured_s: Option<f64>,
    /// The load generator of the write-up.
    pub tool: String,
}

#[derive(Deserialize)]
struct File {
    figure: Vec<Figure>,
}

static FIGURES: LazyLock<Vec<Figure>> = LazyLock::new(|| {
    // The file is compiled into the program, and a test parses it.
    toml::from_str(include_str!("../data/figures.toml")).map_or_else(
        |error| unreachable!("figures.toml: {error}"),
        |file: File| file.figure,
    )
});

/// Returns all figures of the write-ups.
#[must_use]
pub fn figures() -> &'static [Figure] {
    &FIGURES
}

/// Returns the figures that the cells of a scenario repeat.
pub(crate) fn of_scenario(scenario: &Scenario) -> impl Iterator<Item = &'static Figure> {
    figures()
        .iter()
        .filter(move |figure| figure.scenario == scenario.name)
}

/// Returns the figure that is shown beside a cell: the same scenario, variant and kind of runtime, and the same number of
/// connections if the cell repeats the write-up's own set-up.
#[must_use]
pub fn beside(scenario: &Scenario, cell: &Cell) -> Option<&'static Figure> {
    of_scenario(scenario).find(|figure| {
        figure.variant == cell.variant
            && figure.stands_beside(&cell.runtime)
            && (cell.column == Column::Fair && figure.connections.is_none_or(|one| one <= 100)
                || figure.connections.is_none_or(|one| one == cell.connections))
    })
}

/// Returns whether a figure of a write-up is shown beside at least one cell.
#[must_use]
pub(crate) fn any_beside(scenario: &Scenario) -> bool {
    scenario
        .cells
        .iter()
        .any(|cell| cell.has_figures() && beside(scenario, cell).is_some())
}

impl Figure {
    /// Returns whether the write-up's runtime is of the same kind as `runtime`.
    #[must_use]
    fn stands_beside(&self, runtime: &str) -> bool {
        runtime.split('-').next() == Some(self.runtime.as_str())
    }
}

/// Returns the title of a write-up, for display.
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
        assert_eq!((pool.failed, pool.requests), (1736, Some(4280)));
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
