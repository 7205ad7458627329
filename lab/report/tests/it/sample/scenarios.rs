//! The sample's scenarios, and what would help its app.

use super::{Is, cell, scenario, setting};
use report::{Advice, Cell, CellKey, Column, Scenario, Status};

fn absent(runtime: &str) -> Cell {
    Cell {
        runtime: runtime.to_owned(),
        connections: 100,
        keep_alive: true,
        status: Status::NotInstalled {
            why: "no extension swoole in php 8.2.36".to_owned(),
            how: "pecl install swoole".to_owned(),
        },
        ..Cell::default()
    }
}

pub(super) fn class_load() -> Scenario {
    let servers = [
        ("hearth", 41_200.0, 22.0),
        ("hearth-one", 38_900.0, 23.5),
        ("hearth-classic", 9_870.0, 96.0),
        ("apache", 10_950.0, 88.0),
        ("fpm", 8_320.0, 104.0),
    ];
    let mut cells: Vec<Cell> = servers
        .map(|(runtime, rate, cpu_us)| {
            cell(&Is {
                runtime,
                rate,
                cpu_us,
                ..Is::default()
            })
        })
        .into();
    for (connections, rate, failed) in [(100, 10_400.0, 0), (500, 930.0, 189)] {
        cells.push(cell(&Is {
            runtime: "apache",
            column: Column::AsSeed,
            connections,
            rate,
            failed,
            cpu_us: 88.0,
            limit: "350 of 500 connections waited for a process, the longest 5.1 s: the server keeps one per connection",
            ..Is::default()
        }));
    }
    cells.push(absent("swoole-process"));
    scenario(
        "basic_class_load",
        "Two files required",
        "what loading two files costs by request against once",
        cells,
    )
}

pub(super) fn basic() -> Scenario {
    let servers = [
        ("hearth", 41_900.0, 21.0),
        ("apache", 12_300.0, 79.0),
        ("fpm", 9_100.0, 93.0),
        ("gin", 66_000.0, 13.0),
    ];
    let mut cells: Vec<Cell> = servers
        .map(|(runtime, rate, cpu_us)| {
            cell(&Is {
                runtime,
                rate,
                cpu_us,
                ..Is::default()
            })
        })
        .into();
    cells.push(Cell {
        runtime: "hearth-classic".to_owned(),
        connections: 100,
        keep_alive: true,
        status: Status::Failed {
            why: "killed in mid-run: it ended with signal 9 after 2 of 6 repeats".to_owned(),
        },
        ..Cell::default()
    });
    scenario(
        "basic",
        "Hello world",
        "what a request costs before the application does anything",
        cells,
    )
}

pub(super) fn cached() -> Scenario {
    let servers = [
        ("hearth", 39_800.0, 23.0),
        ("hearth-classic", 9_100.0, 104.0),
        ("apache", 9_700.0, 99.0),
    ];
    let cells = servers.map(|(runtime, rate, cpu_us)| {
        cell(&Is {
            runtime,
            rate,
            cpu_us,
            ..Is::default()
        })
    });
    scenario(
        "basic_query_with_pool_and_caching",
        "Cached rows",
        "reading the rows from memory of the process, or from APCu",
        cells.into(),
    )
}

pub(super) fn orm() -> Scenario {
    let variants = [
        ("pdo", 17_100.0, 41.0),
        ("builder", 9_900.0, 83.0),
        ("eloquent", 7_700.0, 112.0),
    ];
    let mut cells: Vec<Cell> = variants
        .map(|(variant, rate, cpu_us)| {
            cell(&Is {
                variant,
                rate,
                cpu_us,
                ..Is::default()
            })
        })
        .into();
    cells.extend(variants.map(|(variant, rate, cpu_us)| {
        cell(&Is {
            runtime: "fpm",
            variant,
            rate: rate / 4.0,
            cpu_us: cpu_us * 3.5,
            ..Is::default()
        })
    }));
    scenario(
        "orm",
        "PDO, query builder, Eloquent",
        "what each layer above PDO costs",
        cells,
    )
}

pub(super) fn pool() -> Scenario {
    let variants = [
        ("group 1 pool off", Column::AsSeed, 700.0, 90),
        ("group 1 pool off", Column::Fair, 900.0, 0),
        ("group 1 pool on", Column::Fair, 5_100.0, 0),
        ("group 3 pool on", Column::Fair, 21_000.0, 0),
    ];
    let cells = variants.map(|(variant, column, rate, failed)| {
        cell(&Is {
            variant,
            column,
            rate,
            failed,
            connections: 64,
            cpu_us: 160.0,
            ..Is::default()
        })
    });
    scenario(
        "pool",
        "The connection pool",
        "three groups of the pool's own experiments",
        cells.into(),
    )
}

pub(super) fn preload() -> Scenario {
    let variants = [
        ("none", 410.0, "0"),
        ("naive", 412.0, "17430000"),
        ("optimised", 415.0, "11760000"),
        ("traffic", 414.0, "12100000"),
    ];
    let cells = variants.map(|(variant, rate, memory)| {
        let mut cell = cell(&Is {
            runtime: "fpm",
            variant,
            rate,
            connections: 50,
            cpu_us: 2_300.0,
            ..Is::default()
        });
        cell.observed = vec![setting("preload_memory_bytes", memory)];
        cell
    });
    scenario(
        "preload",
        "Preloading",
        "none, naive, optimised, from traffic",
        cells.into(),
    )
}

pub(super) fn workers() -> Scenario {
    let curve =
        |runtime: &'static str, variant: &'static str, lambda: f64, sigma: f64, kappa: f64| {
            [1.0, 2.0, 4.0, 6.0, 8.0, 12.0, 16.0].map(|n| {
                let rate = lambda * n / (1.0 + sigma * (n - 1.0) + kappa * n * (n - 1.0));
                cell(&Is {
                    runtime,
                    variant,
                    x: Some(n),
                    rate,
                    ..Is::default()
                })
            })
        };
    let cells = [
        curve("hearth", "", 30_000.0, 0.6, 0.02),
        curve("fpm", "", 6_000.0, 0.55, 0.01),
        curve("hearth", "query", 4_000.0, 0.4, 0.001),
        curve("fpm", "query", 250.0, 0.05, 0.002),
    ];
    Scenario {
        axis: Some("workers".to_owned()),
        ..scenario(
            "worker_sweep",
            "How many workers",
            "the rate by the number of worker processes",
            cells.into_iter().flatten().collect(),
        )
    }
}

pub(super) fn shop() -> Scenario {
    let variants = [
        ("fpm", "as found", 210.0),
        ("hearth-classic", "as found", 215.0),
        ("hearth-one", "resident", 1_240.0),
    ];
    let cells = variants.map(|(runtime, variant, rate)| {
        cell(&Is {
            runtime,
            variant,
            rate,
            connections: 16,
            cpu_us: 1e6 / rate,
            ..Is::default()
        })
    });
    Scenario {
        app: true,
        ..scenario(
            "app",
            "Your app",
            "the site under each server and mode",
            cells.into(),
        )
    }
}

pub(super) fn advice() -> Vec<Advice> {
    let key = |runtime: &str, variant: &str| CellKey {
        runtime: runtime.to_owned(),
        variant: variant.to_owned(),
        connections: 16,
        ..CellKey::default()
    };
    vec![
        Advice {
            scenario: "app".to_owned(),
            title: "Keep the app in memory".to_owned(),
            change: "hearth serve app.php --mode resident".to_owned(),
            base: key("fpm", "as found"),
            with: key("hearth-one", "resident"),
        },
        Advice {
            scenario: "app".to_owned(),
            title: "Change nothing but the server".to_owned(),
            change: "hearth serve public/".to_owned(),
            base: key("fpm", "as found"),
            with: key("hearth-classic", "as found"),
        },
    ]
}
