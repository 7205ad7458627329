//! A run with everything that a report has to show, the same each time: figures that differ, that do not, that fail, that are missing.

mod scenarios;

use std::sync::LazyLock;

use measure::{Distribution, ErrorClass, Point};
use report::{
    Cell, Column, Effort, Host, Noise, Plan, Repeat, Role, Run, Runtime, RuntimeKind, SCHEMA,
    Scenario, Setting, Status, Use,
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
            scenarios::class_load(),
            scenarios::basic(),
            scenarios::cached(),
            scenarios::orm(),
            scenarios::pool(),
            scenarios::preload(),
            scenarios::workers(),
            scenarios::shop(),
        ],
        advice: scenarios::advice(),
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
        calibration: None,
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
