//! The status for Prometheus (text format 0.0.4).

mod cache;
mod latencies;
mod pools;

use std::fmt::{Display, Write};

use config::MOST_WORKERS;
use shm::Counter;

use crate::status::{ElasticStatus, FrontStatus, Status, WorkerStatus};
use crate::worker::State;

/// The page `/metrics`.
pub(crate) fn page(status: &Status) -> String {
    let mut page = Page(String::new());
    whole(&mut page, status);
    page.head(
        "hearth_responses_total",
        "counter",
        "Responses by class of their status.",
    );
    for (class, counter) in CLASSES {
        page.line(
            "hearth_responses_total",
            &format!("class=\"{class}\""),
            status.total(*counter),
        );
    }
    latencies::latencies(&mut page, &status.latencies);
    for (counter, help) in COUNTERS {
        let name = format!("hearth_{}_total", counter.name());
        page.one(&name, "counter", help, status.total(*counter));
    }
    if let Some(front) = &status.front {
        the_front(&mut page, front);
    }
    per_worker(&mut page, status);
    if let Some(figures) = &status.cache {
        cache::cache(&mut page, figures);
    }
    if let Some(redis) = &status.redis {
        cache::redis(&mut page, redis);
    }
    pools::pools(&mut page, &status.pools);
    page.0
}

/// Metrics of the server as a whole.
fn whole(page: &mut Page, status: &Status) {
    let healthy = u8::from(status.healthy);
    page.one(
        "hearth_uptime_seconds",
        "gauge",
        "Time since the server started.",
        status.uptime_seconds,
    );
    page.one(
        "hearth_healthy",
        "gauge",
        "1 if every slot has a worker that accepts.",
        healthy,
    );
    page.one(
        "hearth_generation",
        "gauge",
        "Boots of the app so far.",
        status.generation,
    );
    page.one(
        "hearth_reloads_total",
        "counter",
        "Reloads that succeeded.",
        status.reloads,
    );
    let help = "Workers replaced outside of reloads.";
    page.one(
        "hearth_worker_restarts_total",
        "counter",
        help,
        status.restarts,
    );
    let help = "Workers replaced because of workers.max_requests or workers.max_memory.";
    page.one(
        "hearth_workers_recycled_total",
        "counter",
        help,
        status.recycled,
    );
    preload(page, status);
    if let Some(elastic) = &status.elastic {
        the_number(page, elastic);
    }
    let begun = status.total(Counter::Tasks);
    let tasks = begun.saturating_sub(status.total(Counter::TasksFinished));
    page.one(
        "hearth_tasks",
        "gauge",
        "Running tasks other than those of the requests themselves.",
        tasks,
    );
}

/// Metrics of the preload list; all are 0 without one.
fn preload(page: &mut Page, status: &Status) {
    let (files, left_out) = status.preload.as_ref().map_or((0, 0), |list| {
        (list.files.unwrap_or_default(), list.left_out)
    });
    page.one(
        "hearth_preload_files",
        "gauge",
        "Files of the preload list that are preloaded.",
        files,
    );
    page.one(
        "hearth_preload_left_out",
        "gauge",
        "Files of the preload list that are not preloaded, because they have changed or break something.",
        left_out,
    );
}

/// Metrics of the number of workers, if that follows the load.
fn the_number(page: &mut Page, elastic: &ElasticStatus) {
    let help = "The least number of workers.";
    page.one("hearth_workers_min", "gauge", help, elastic.min);
    let help = "The greatest number of workers; memory may limit it further.";
    let max = elastic.max.unwrap_or(MOST_WORKERS);
    page.one("hearth_workers_max", "gauge", help, max);
    let help = "Workers forked because requests waited.";
    page.one("hearth_workers_added_total", "counter", help, elastic.added);
    let help = "Workers that left because they were idle.";
    let name = "hearth_workers_retired_total";
    page.one(name, "counter", help, elastic.retired);
    let help =
        "Memory that a worker takes, its share of shared memory included; 0: not measured yet.";
    let cost = elastic.worker_bytes.unwrap_or(0);
    page.one("hearth_worker_cost_bytes", "gauge", help, cost);
}

/// Metrics of the front; only with balanced dispatch.
fn the_front(page: &mut Page, front: &FrontStatus) {
    let ready = u8::from(front.state == "ready");
    page.one(
        "hearth_front_ready",
        "gauge",
        "1 if the front accepts.",
        ready,
    );
    let help = "Requests that wait for a worker.";
    page.one("hearth_queue_length", "gauge", help, front.waiting);
    let help = "Open connections of clients.";
    page.one("hearth_front_connections", "gauge", help, front.connections);
    let (name, help) = (
        "hearth_front_cpu_seconds_total",
        "Processor time of each thread of the front.",
    );
    page.head(name, "counter", help);
    for (thread, seconds) in front.cpu_seconds.iter().enumerate() {
        page.line(name, &format!("thread=\"{thread}\""), seconds);
    }
    let help = "Resident memory of the front.";
    page.one(
        "hearth_front_resident_bytes",
        "gauge",
        help,
        front.resident_bytes,
    );
    let help = "Fronts that ended unexpectedly and were replaced.";
    page.one(
        "hearth_front_restarts_total",
        "counter",
        help,
        front.restarts,
    );
}

const CLASSES: &[(&str, Counter)] = &[
    ("1xx", Counter::Responses1xx),
    ("2xx", Counter::Responses2xx),
    ("3xx", Counter::Responses3xx),
    ("4xx", Counter::Responses4xx),
    ("5xx", Counter::Responses5xx),
];

const COUNTERS: &[(Counter, &str)] = &[
    (Counter::Requests, "Requests begun."),
    (
        Counter::Aborted,
        "Requests that ended without a response because the client had disconnected.",
    ),
    (Counter::ConnectionsOpened, "Connections accepted."),
    (Counter::BytesIn, "Body bytes received."),
    (Counter::BytesOut, "Body bytes sent."),
    (
        Counter::Tasks,
        "Tasks started other than those of the requests themselves.",
    ),
    (Counter::Timeouts, "Requests that ran into the time limit."),
    (Counter::Exceptions, "Uncaught exceptions."),
    (Counter::Fatal, "Fatal PHP errors."),
    (Counter::Queued, "Requests that had to wait for a worker."),
    (
        Counter::QueuedMicroseconds,
        "Time that requests have waited for a worker.",
    ),
    (
        Counter::BadGateway,
        "Requests answered 502: their worker died.",
    ),
    (
        Counter::Unavailable,
        "Requests answered 503: the queue was full, or they had waited too long.",
    ),
    (
        Counter::QueueTimeouts,
        "Requests answered 503: they had waited for workers.queue_timeout.",
    ),
    (
        Counter::Retries,
        "Requests given to a second worker because the first had died.",
    ),
    (
        Counter::Slow,
        "Requests that ran for longer than log.slow_after.",
    ),
    (
        Counter::Quarantined,
        "Requests answered 503: they had killed two workers.",
    ),
];

type Gauge = (&'static str, &'static str, fn(&WorkerStatus) -> u64);

fn per_worker(page: &mut Page, status: &Status) {
    let gauges: [Gauge; 3] = [
        (
            "hearth_requests_in_flight",
            "Requests begun and not ended.",
            |w| w.in_flight,
        ),
        ("hearth_connections", "Open connections.", |w| w.connections),
        ("hearth_worker_resident_bytes", "Resident memory.", |w| {
            w.resident_bytes
        }),
    ];
    for (name, help, value) in gauges {
        page.head(name, "gauge", help);
        for worker in status.workers.iter().filter(|worker| worker.pid.is_some()) {
            let pid = worker.pid.unwrap_or_default();
            let labels = format!(
                "slot=\"{}\",generation=\"{}\",pid=\"{pid}\"",
                worker.slot, worker.generation
            );
            page.line(name, &labels, value(worker));
        }
    }
    page.head("hearth_workers", "gauge", "Workers by state.");
    for state in State::ALL {
        let count = status
            .workers
            .iter()
            .filter(|worker| worker.state == state)
            .count();
        page.line("hearth_workers", &format!("state=\"{state}\""), count);
    }
}

struct Page(String);

impl Page {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn line(&mut self, name: &str, labels: &str, value: impl Display) {
        let _ = writeln!(self.0, "{name}{{{labels}}} {value}");
    }

    fn one(&mut self, name: &str, kind: &str, help: &str, value: impl Display) {
        self.head(name, kind, help);
        let _ = writeln!(self.0, "{name} {value}");
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_line_is_a_metric_that_was_described_once() {
        let mut status = crate::status::tests::sample();
        for state in State::ALL {
            let worker = status.workers[0].clone();
            status.workers.push(WorkerStatus { state, ..worker });
        }
        status.pools = crate::pool::tests::sample("a \"b\"\\\n");
        let page = page(&status);
        let mut described = HashSet::new();
        for line in page.lines() {
            if let Some(rest) = line.strip_prefix("# TYPE ") {
                assert!(
                    described.insert(rest.split(' ').next().unwrap().to_owned()),
                    "twice: {line}"
                );
            } else if !line.starts_with('#') {
                let name = line.split(['{', ' ']).next().unwrap();
                let of = ["_bucket", "_sum", "_count"]
                    .into_iter()
                    .find_map(|part| name.strip_suffix(part).filter(|of| described.contains(*of)));
                assert!(described.contains(of.unwrap_or(name)), "{line}");
                line.rsplit(' ').next().unwrap().parse::<f64>().unwrap();
            }
        }
        assert!(page.contains("hearth_responses_total{class=\"5xx\"} 8\n"));
        assert!(
            page.contains(
                "hearth_requests_in_flight{slot=\"0\",generation=\"3\",pid=\"4711\"} 1\n"
            )
        );
        // The two workers of the sample, and one of each state.
        for line in [
            "forking\"} 2",
            "starting\"} 1",
            "ready\"} 2",
            "recycling\"} 1",
            "draining\"} 1",
        ] {
            let line = format!("hearth_workers{{state=\"{line}\n");
            assert!(page.contains(&line), "{line} not in {page}");
        }
        let pool = r#"pool="a \"b\"\\\n""#;
        for line in [
            format!("hearth_pool_connections{{{pool},slot=\"0\",state=\"busy\"}} 1\n"),
            format!("hearth_pool_borrowed_total{{{pool},slot=\"0\"}} 10\n"),
            // Includes the counts of a worker that is gone.
            format!("hearth_pool_borrowed_total{{{pool},slot=\"1\"}} 20\n"),
            format!("hearth_pool_borrow_seconds_bucket{{{pool},slot=\"0\",le=\"0.1\"}} 9\n"),
            format!("hearth_pool_borrow_seconds_bucket{{{pool},slot=\"1\",le=\"+Inf\"}} 20\n"),
            format!("hearth_pool_borrow_seconds_count{{{pool},slot=\"0\"}} 10\n"),
            format!(
                "hearth_pool_connections_destroyed_total{{{pool},slot=\"1\",reason=\"idle\"}} 2\n"
            ),
            format!("hearth_pool_budget_connections{{{pool}}} 10\n"),
        ] {
            assert!(page.contains(&line), "{line} not in {page}");
        }
    }
}
