//! A run with everything that a report has to show, the same each time: figures that differ, that do not, that fail, that are missing.

use std::sync::LazyLock;

use measure::{Distribution, ErrorClass, Point};
use report::{
    Advice, Cell, CellKey, Column, Effort, Host, Noise, Plan, Repeat, Role, Run, Runtime,
    RuntimeKind, SCHEMA, Scenario, Setting, Status, Use,
};

/// What one cell is made of.
pub(crate) struct Is {
    pub(crate) runtime: &'static str,
    pub(crate) variant: &'static str,
    pub(crate) column: Column,
    pub(crate) x: Option<f64>,
    pub(crate) connections: u32,
    pub(crate) rate: f64,
    pub(crate) failed: u64,
    pub(crate) cpu_us: f64,
    pub(crate) limit: &'static str,
}

impl Default for Is {
    fn default() -> Self {
        Self {
            runtime: "hearth",
            variant: "",
            column: Column::Fair,
            x: None,
            connections: 100,
            rate: 40_000.0,
            failed: 0,
            cpu_us: 22.0,
            limit: "the servers' processor is full",
        }
    }
}

/// Made once: many tests look at it.
pub(crate) fn run() -> Run {
    static RUN: LazyLock<Run> = LazyLock::new(made);
    RUN.clone()
}

fn made() -> Run {
    Run {
        schema: SCHEMA.to_owned(),
        version: "0.1.0".to_owned(),
        started_unix_s: 1_795_500_000.0,
        elapsed_s: 812.0,
        command: vec![
            "--full".to_owned(),
            "--html".to_owned(),
            "report.html".to_owned(),
        ],
        effort: Effort::Full,
        plan: Plan {
            rounds: 6,
            seconds: 10.0,
            warmup_s: 2.0,
            seed: 42,
            pinned: Some("load on cpu 1, servers and databases on cpu 0".to_owned()),
        },
        host: host(),
        noise: Noise {
            others_before: 0.012,
            psi_some_before: Some(0.004),
            steal: 0.002,
            load_average: 0.3,
            aa_floor: Some(0.018),
            client_ceiling: Some(118_000.0),
            notes: Vec::new(),
        },
        runtimes: runtimes(),
        scenarios: vec![
            class_load(),
            basic(),
            cached(),
            orm(),
            pool(),
            preload(),
            workers(),
            shop(),
        ],
        advice: advice(),
        ..Run::default()
    }
}

fn host() -> Host {
    Host {
        name: "lab".to_owned(),
        kernel: "Linux 6.12.41, Debian 13".to_owned(),
        processor: "AMD EPYC 9B14".to_owned(),
        processors: 2,
        memory_bytes: 25_200_000_000,
        governor: None,
        virtual_machine: Some("kvm".to_owned()),
        php: "8.2.36 (Debian)".to_owned(),
    }
}

fn here(id: &str, name: &str, kind: RuntimeKind, version: &str, path: &str) -> Runtime {
    Runtime {
        id: id.to_owned(),
        name: name.to_owned(),
        kind,
        version: Some(version.to_owned()),
        path: Some(path.to_owned()),
        ..Runtime::default()
    }
}

fn runtimes() -> Vec<Runtime> {
    let server = RuntimeKind::Server;
    vec![
        here("hearth", "Hearth", server, "0.1.0", "/usr/bin/hearth"),
        here(
            "hearth-one",
            "Hearth, one at a time",
            server,
            "0.1.0",
            "/usr/bin/hearth",
        ),
        here(
            "hearth-classic",
            "Hearth classic",
            server,
            "0.1.0",
            "/usr/bin/hearth",
        ),
        here(
            "apache",
            "Apache/mod_php",
            server,
            "2.4.66",
            "/usr/sbin/apache2",
        ),
        here(
            "fpm",
            "nginx + php-fpm",
            server,
            "8.2.36",
            "/usr/sbin/php-fpm8.2",
        ),
        here("gin", "Gin", server, "1.10", "/usr/bin/go"),
        Runtime {
            id: "swoole-process".to_owned(),
            name: "Swoole, process mode".to_owned(),
            missing: Some("no extension swoole in php 8.2.36".to_owned()),
            how: Some("pecl install swoole, or --with swoole=/path/to/swoole.so".to_owned()),
            ..Runtime::default()
        },
        here(
            "mariadb",
            "MariaDB",
            RuntimeKind::Database,
            "10.11.14",
            "/usr/sbin/mariadbd",
        ),
        here(
            "nginx",
            "nginx",
            RuntimeKind::Proxy,
            "1.22.1",
            "/usr/sbin/nginx",
        ),
    ]
}

/// A value near 1, the same for the same words.
fn wobble(words: &str, block: u32) -> f64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in words.bytes().chain(block.to_le_bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    }
    0.985 + 0.03 * (hash >> 40) as f64 / f64::from(1_u32 << 24)
}

pub(crate) fn load(is: &Is, block: u32) -> measure::Run {
    let rate = is.rate * wobble(is.runtime, block) * wobble(is.variant, block);
    let finished = (rate * 10.0) as u64;
    let mut run = measure::Run::default();
    run.counts.good = finished.saturating_sub(is.failed);
    run.counts.failed = is.failed;
    run.counts.started = finished;
    run.counts.responses = run.counts.good;
    run.elapsed_s = 10.0;
    run.rates.goodput = run.counts.good as f64 / 10.0;
    run.rates.responses = rate;
    if is.failed > 0 {
        run.errors.insert(ErrorClass::EarlyEof, is.failed);
    }
    run.setup.connections = is.connections as usize;
    run.cpu.client_us_per_request = 8.1;
    run.connections.fairness = 0.99;
    run.concurrency.configured = f64::from(is.connections);
    run.latency.service = latencies(is, rate, finished);
    run.concurrency.achieved = run.latency.service.mean() * rate / 1e9;
    run.series = (0..10_u32)
        .map(|second| Point {
            at_s: f64::from(second),
            length_s: 1.0,
            rate,
            goodput: rate * wobble(is.runtime, block * 100 + second),
            in_flight: f64::from(is.connections),
            ..Point::default()
        })
        .collect();
    run.verdicts = measure::diagnose::diagnose(&run);
    run.verdicts
        .retain(|verdict| ["D11", "D13"].contains(&verdict.id.as_str()));
    run
}

/// Little's law for the middle, a tail of a factor of twenty, and five seconds where connections starve.
fn latencies(is: &Is, rate: f64, finished: u64) -> Distribution {
    let middle = f64::from(is.connections) / rate * 1e9;
    let mut all = Distribution::new();
    for step in 0..200_u64 {
        let share = (step as f64 + 0.5) / 200.0;
        let tail = 0.6 + 0.8 * share + 0.05 / (1.0 - share);
        all.record_n((middle * tail) as u64, (finished / 200).max(1));
    }
    all.record_n((middle * 22.0) as u64, (finished / 2000).max(1));
    if is.failed > 0 {
        all.record_n(5_080_000_000, (finished / 50).max(1));
    }
    all
}

pub(crate) fn cell(is: &Is) -> Cell {
    cell_of(is, 6)
}

pub(crate) fn cell_of(is: &Is, rounds: u32) -> Cell {
    Cell {
        runtime: is.runtime.to_owned(),
        variant: is.variant.to_owned(),
        column: is.column,
        x: is.x,
        connections: is.connections,
        workers: Some(if is.runtime == "apache" { 150 } else { 2 }),
        keep_alive: true,
        status: Status::Measured,
        config: vec![
            setting("opcache.enable", "1"),
            setting("MaxRequestWorkers", "150"),
        ],
        repeats: (0..rounds).map(|block| repeat(is, block)).collect(),
        limit: Some(is.limit.to_owned()),
        ..Cell::default()
    }
}

fn repeat(is: &Is, block: u32) -> Repeat {
    let using = |role, name: &str, us: f64, user: f64, memory: u64| Use {
        role,
        name: name.to_owned(),
        processes: 4,
        cpu_us_per_request: us * wobble(name, block),
        user_share: user,
        switches_per_request: 0.4,
        involuntary_per_request: 0.02,
        pss_bytes: memory,
        cores: is.rate * us / 1e6,
    };
    let mut cpu = vec![using(Role::Server, is.runtime, is.cpu_us, 0.55, 41_000_000)];
    if is.runtime == "fpm" {
        cpu.push(using(Role::Proxy, "nginx", 14.0, 0.3, 12_000_000));
    }
    if ["pdo", "builder", "eloquent"].contains(&is.variant) {
        cpu.push(using(Role::Database, "mariadbd", 31.0, 0.7, 220_000_000));
    }
    Repeat {
        block,
        order: block,
        load: load(is, block),
        cpu,
        noisy: (block == 4 && is.runtime == "gin").then(|| "rustc used 31 % of cpu 0".to_owned()),
    }
}

pub(crate) fn setting(name: &str, value: &str) -> Setting {
    Setting {
        name: name.to_owned(),
        value: value.to_owned(),
    }
}

pub(crate) fn scenario(name: &str, title: &str, shows: &str, cells: Vec<Cell>) -> Scenario {
    Scenario {
        name: name.to_owned(),
        title: title.to_owned(),
        shows: shows.to_owned(),
        seed: Some("swoole-basic-class-load.txt".to_owned()),
        body_sha256: Some(
            "2689367b205c16ce32ed4200942b8b8b1e262dfc70d9bc9fbc77c49699a4f1df".to_owned(),
        ),
        body_bytes: 2,
        requests: vec!["GET /".to_owned()],
        loops: "closed loop, 100 connections".to_owned(),
        cells,
        ..Scenario::default()
    }
}

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

fn class_load() -> Scenario {
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

fn basic() -> Scenario {
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

fn cached() -> Scenario {
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

fn orm() -> Scenario {
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

fn pool() -> Scenario {
    let variants = [
        ("group 1 pool off", 700.0, 90),
        ("group 1 pool on", 5_100.0, 0),
        ("group 3 pool on", 21_000.0, 0),
    ];
    let cells = variants.map(|(variant, rate, failed)| {
        cell(&Is {
            variant,
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

fn preload() -> Scenario {
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

fn workers() -> Scenario {
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

fn shop() -> Scenario {
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

fn advice() -> Vec<Advice> {
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
