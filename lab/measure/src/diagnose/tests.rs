//! Each rule fires on the run that it was made for, and none fires on a healthy one.

use super::*;
use crate::run::{ErrorClass, Kernel, Point, ServerCpu};
use crate::{Distribution, Run};

fn healthy() -> Run {
    let mut run = Run {
        elapsed_s: 10.0,
        ..Run::default()
    };
    run.setup.connections = 10;
    run.concurrency.configured = 10.0;
    run.concurrency.achieved = 10.0;
    run.counts.good = 100_000;
    run.counts.responses = 100_000;
    run.rates.goodput = 10_000.0;
    run.rates.responses = 10_000.0;
    run.latency.service.record_n(1_000_000, 100_000);
    run.connections.fairness = 1.0;
    run.cpu.processors = 4;
    run.series = (0..10)
        .map(|at| Point {
            at_s: f64::from(at),
            length_s: 1.0,
            rate: 10_000.0,
            ..Point::default()
        })
        .collect();
    run
}

fn ids(run: &Run) -> Vec<String> {
    diagnose(run)
        .into_iter()
        .map(|verdict| verdict.id)
        .collect()
}

fn fires(id: &str, change: impl FnOnce(&mut Run)) {
    let mut run = healthy();
    change(&mut run);
    assert!(
        ids(&run).iter().any(|found| found == id),
        "{id} not in {:?}",
        diagnose(&run)
    );
}

#[test]
fn a_healthy_run_has_nothing_to_say() {
    assert_eq!(diagnose(&healthy()), vec![]);
}

#[test]
fn too_short() {
    fires("D01", |run| run.elapsed_s = 0.19);
}

#[test]
fn the_seed_with_forty_percent_errors() {
    fires("D11", |run| {
        run.counts.good = 2_544;
        run.counts.failed = 1_736;
    });
}

#[test]
fn redirects_are_no_pages() {
    let redirects = |run: &mut Run| {
        run.statuses = [(200, 1), (302, run.counts.responses - 1)].into();
    };
    fires("D39", redirects);
    let mut meant = healthy();
    redirects(&mut meant);
    meant.setup.expect = vec!["status=3xx".into()];
    assert_eq!(diagnose(&meant), vec![]);
}

#[test]
fn client_bound() {
    fires("D02", |run| run.cpu.client_thread_busy = 0.97);
    fires("D02", |run| {
        run.cpu.client_thread_busy = 0.5;
        run.cpu.client_thread_waiting = 0.48;
    });
}

#[test]
fn server_states() {
    let server = |cores: f64, thread: f64| {
        Some(ServerCpu {
            cores,
            busiest_thread: thread,
            ..ServerCpu::default()
        })
    };
    fires("D03", |run| run.cpu.server = server(3.95, 0.99));
    fires("D04", |run| run.cpu.server = server(1.0, 0.99));
    fires("D04", |run| run.cpu.server = server(0.2, 0.2));
}

#[test]
fn apache_starvation() {
    fires("D08", |run| {
        run.latency.service.record_n(5_076_000_000, 1_000);
        run.connections.starved = 350;
        run.connections.longest_wait_us = 5_076_000.0;
    });
}

#[test]
fn ports() {
    fires("D14", |run| {
        run.kernel = Kernel {
            local_ports: 28_232,
            source_addresses: 1,
            ..Kernel::default()
        };
        run.connections.opened = 28_000;
    });
}

#[test]
fn files_and_accept_queue() {
    fires("D38", |run| run.kernel.open_files = 16);
    fires("D15", |run| run.kernel.listen_overflows = 3);
}

#[test]
fn littles_law() {
    fires("D10", |run| run.rates.goodput = 5_000.0);
}

#[test]
fn two_states_and_unsteady() {
    let rates = [
        1_900.0, 9_500.0, 1_950.0, 9_600.0, 9_400.0, 1_920.0, 9_550.0, 1_880.0,
    ];
    fires("D09", |run| {
        run.series = rates
            .iter()
            .map(|rate| Point {
                rate: *rate,
                length_s: 1.0,
                ..Point::default()
            })
            .collect()
    });
    fires("D34", |run| {
        for (at, point) in run.series.iter_mut().enumerate() {
            point.rate = 5_000.0 + 500.0 * at as f64;
        }
    });
}

#[test]
fn nagle() {
    fires("D16", |run| {
        run.latency.service = Distribution::new();
        run.latency.service.record_n(41_000_000, 100_000);
    });
}

#[test]
fn servers_cap() {
    fires("D07", |run| {
        run.connections.closed_by_server = 1_000;
        run.connections.requests_per_connection = [(100, 1_000)].into();
    });
    fires("D06", |run| {
        run.connections.closed_by_server = 1_000;
        run.connections.requests_per_connection = [(1, 1_000)].into();
    });
}

#[test]
fn overload_of_an_open_loop() {
    fires("D05", |run| {
        run.setup.model = LoopModel::Open;
        run.counts.started = 1_000;
        run.counts.unsent = 1_000;
    });
}

#[test]
fn unfair_service_and_lost_answers() {
    fires("D37", |run| run.connections.fairness = 0.4);
    fires("D08", |run| run.counts.unfinished = 3);
    fires("D13", |run| {
        run.errors.insert(ErrorClass::EarlyEof, 5);
    });
}
