//! Metrics of the connection pools.
//!
//! Labelled by slot rather than by process, so that the series do not multiply with every reload; the counts of workers that
//! are gone stay in their slot's sum.

use std::collections::BTreeMap;

use super::Page;
use crate::pool::{Counts, Pool, Pools, Times};

type Key<'a> = (&'a str, u32);

pub(super) fn pools(page: &mut Page, pools: &Pools) {
    let mut now: BTreeMap<Key<'_>, Pool> = BTreeMap::new();
    let mut counts: BTreeMap<Key<'_>, Counts> = BTreeMap::new();
    for retired in &pools.retired {
        let key = (retired.name.as_str(), retired.slot);
        counts.entry(key).or_default().add(&retired.counts);
    }
    for worker in &pools.workers {
        for pool in &worker.pools {
            let key = (pool.name.as_str(), worker.slot);
            counts.entry(key).or_default().add(&pool.counts);
            match now.get_mut(&key) {
                Some(same) => same.add(pool.clone()),
                None => drop(now.insert(key, pool.clone())),
            }
        }
    }
    if counts.is_empty() {
        return;
    }
    gauges(page, &now);
    budgets(page, pools);
    counters(page, &counts);
    for (name, help, times) in HISTOGRAMS {
        histogram(page, name, help, &counts, *times);
    }
}

fn labels((pool, slot): Key<'_>) -> String {
    format!("pool=\"{}\",slot=\"{slot}\"", escaped(pool))
}

/// Escapes a label value for the text format.
fn escaped(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

type State = (&'static str, fn(&Pool) -> u64);

/// The states of a connection; each is in exactly one.
const STATES: &[State] = &[
    ("idle", |pool| pool.idle),
    ("active", |pool| pool.active),
    ("connecting", |pool| pool.connecting),
    ("lingering", |pool| pool.lingering),
    ("busy", |pool| {
        let others = pool.idle + pool.active + pool.connecting + pool.lingering;
        pool.total.saturating_sub(others)
    }),
];

type Gauge = (&'static str, &'static str, fn(&Pool) -> f64);

fn gauges(page: &mut Page, now: &BTreeMap<Key<'_>, Pool>) {
    let name = "hearth_pool_connections";
    let help = "Connections of a pool by state; busy: being reset, checked or kept alive.";
    page.head(name, "gauge", help);
    for (key, pool) in now {
        for (state, value) in STATES {
            let labels = format!("{},state=\"{state}\"", labels(*key));
            page.line(name, &labels, value(pool));
        }
    }
    let gauges: [Gauge; 3] = [
        (
            "hearth_pool_size",
            "Most connections that a worker may have.",
            |pool| pool.size as f64,
        ),
        (
            "hearth_pool_waiting",
            "Tasks that wait for a connection.",
            |pool| pool.waiting as f64,
        ),
        (
            "hearth_pool_oldest_wait_seconds",
            "Time that the first waiting task has waited.",
            |pool| pool.oldest_wait_seconds,
        ),
    ];
    for (name, help, value) in gauges {
        page.head(name, "gauge", help);
        for (key, pool) in now {
            page.line(name, &labels(*key), value(pool));
        }
    }
}

fn budgets(page: &mut Page, pools: &Pools) {
    if pools.budgets.is_empty() {
        return;
    }
    let name = "hearth_pool_budget_connections";
    page.head(
        name,
        "gauge",
        "Connections that all workers together have of a pool with a total.",
    );
    for budget in &pools.budgets {
        page.line(
            name,
            &format!("pool=\"{}\"", escaped(&budget.name)),
            budget.used,
        );
    }
    let name = "hearth_pool_budget_limit";
    page.head(
        name,
        "gauge",
        "Most connections that all workers together may have (total).",
    );
    for budget in &pools.budgets {
        page.line(
            name,
            &format!("pool=\"{}\"", escaped(&budget.name)),
            budget.total,
        );
    }
}

type Count = (&'static str, &'static str, fn(&Counts) -> u64);

const COUNTERS: &[Count] = &[
    ("borrowed", "Leases.", |c| c.borrowed),
    ("waited", "Leases for which a task had to wait.", |c| {
        c.waited
    }),
    (
        "borrow_timeouts",
        "Tasks that waited longer than borrowTimeout.",
        |c| c.timeouts,
    ),
    ("connections_created", "Connections made.", |c| c.created),
    (
        "connect_failures",
        "Attempts to connect that failed.",
        |c| c.failed_connects,
    ),
    (
        "check_failures",
        "Connections found broken before they were lent.",
        |c| c.failed_checks,
    ),
    ("resets", "Sessions reset after a lease.", |c| c.resets),
    (
        "rollbacks",
        "Transactions left open and rolled back.",
        |c| c.rollbacks,
    ),
    (
        "stale_returns",
        "Connections given back by a task that did not have them.",
        |c| c.stale_returns,
    ),
    ("leaks", "Leases longer than leakThreshold.", |c| c.leaks),
];

fn counters(page: &mut Page, all: &BTreeMap<Key<'_>, Counts>) {
    for (name, help, value) in COUNTERS {
        let name = format!("hearth_pool_{name}_total");
        page.head(&name, "counter", help);
        for (key, counts) in all {
            page.line(&name, &labels(*key), value(counts));
        }
    }
    let name = "hearth_pool_connections_destroyed_total";
    page.head(name, "counter", "Connections closed, by reason.");
    for (key, counts) in all {
        for (reason, count) in &counts.destroyed {
            let labels = format!("{},reason=\"{}\"", labels(*key), escaped(reason));
            page.line(name, &labels, count);
        }
    }
}

type Histogram = (&'static str, &'static str, fn(&Counts) -> &Times);

const HISTOGRAMS: &[Histogram] = &[
    (
        "hearth_pool_borrow_seconds",
        "Time until a connection was lent.",
        |c| &c.borrow_time,
    ),
    ("hearth_pool_use_seconds", "Length of leases.", |c| {
        &c.use_time
    }),
    (
        "hearth_pool_connect_seconds",
        "Time to make a connection.",
        |c| &c.connect_time,
    ),
];

fn histogram(
    page: &mut Page,
    name: &str,
    help: &str,
    all: &BTreeMap<Key<'_>, Counts>,
    times: fn(&Counts) -> &Times,
) {
    page.head(name, "histogram", help);
    for (key, counts) in all {
        let (times, labels) = (times(counts), labels(*key));
        let mut below = 0;
        let bounds = times.bounds.iter().map(f64::to_string);
        for (count, bound) in times.counts.iter().zip(bounds.chain(["+Inf".into()])) {
            below += count;
            page.line(
                &format!("{name}_bucket"),
                &format!("{labels},le=\"{bound}\""),
                below,
            );
        }
        page.line(&format!("{name}_sum"), &labels, times.sum);
        page.line(&format!("{name}_count"), &labels, times.count());
    }
}
