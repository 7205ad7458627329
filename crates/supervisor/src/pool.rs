//! The connection pools of the app, as its workers report them.
//!
//! A worker answers with one JSON text (`reportPools()` in `php/src/Internal/PoolReports.php`), which is parsed here. Names
//! come from the app, so there may be many: pools beyond the first [`MOST_NAMES`] names are shown as one pool, [`OTHER`].

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

/// The most names that are shown: each is some hundred lines of metrics.
const MOST_NAMES: usize = 32;
/// Characters of the longest name.
const LONGEST_NAME: usize = 64;
/// The name of all pools beyond [`MOST_NAMES`] names.
const OTHER: &str = "other";

/// The pools of all workers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Pools {
    pub workers: Vec<WorkerPools>,
    /// The counts of workers that are gone, by slot.
    pub retired: Vec<RetiredPool>,
    pub budgets: Vec<Budget>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkerPools {
    pub pid: Option<u32>,
    pub slot: u32,
    /// The age of the report in seconds: a worker that computes answers later.
    pub age_seconds: f64,
    pub pools: Vec<Pool>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RetiredPool {
    pub slot: u32,
    pub name: String,
    pub counts: Counts,
}

/// The limit of one pool's connections over all workers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Budget {
    pub name: String,
    pub total: u64,
    pub used: u64,
}

/// A pool of a worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pool {
    pub name: String,
    pub size: u64,
    pub minimum_idle: u64,
    /// The limit of its budget, if it has one.
    pub budget: Option<u64>,
    /// All connections that count against the size.
    pub total: u64,
    pub idle: u64,
    pub active: u64,
    pub connecting: u64,
    /// Closed, but still held by some code.
    pub lingering: u64,
    pub waiting: u64,
    pub oldest_wait_seconds: f64,
    #[serde(flatten)]
    pub counts: Counts,
    pub leases: Vec<Lease>,
}

/// Counters of a pool, which only rise.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    pub borrowed: u64,
    pub waited: u64,
    pub timeouts: u64,
    pub created: u64,
    pub failed_connects: u64,
    pub failed_checks: u64,
    pub resets: u64,
    pub rollbacks: u64,
    pub stale_returns: u64,
    pub leaks: u64,
    pub destroyed: BTreeMap<String, u64>,
    pub borrow_time: Times,
    pub use_time: Times,
    pub connect_time: Times,
}

/// A histogram of durations: `counts` of ranges whose upper bounds are `bounds`, in seconds; the last range has no bound.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Times {
    pub bounds: Vec<f64>,
    pub counts: Vec<u64>,
    pub sum: f64,
    pub max: f64,
}

/// A borrowed connection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Lease {
    pub task: u64,
    /// The id of the request; empty outside of requests.
    pub request: String,
    pub seconds: f64,
    /// The place in the code that borrowed it, if the pool has a `leakThreshold`.
    pub place: Option<String>,
    /// Method and target of the request.
    #[serde(default)]
    pub target: Option<String>,
}

/// Parses a worker's report; an invalid one has no pools. `known` are the names that are shown separately so far.
pub(crate) fn parse(report: &str, known: &mut BTreeSet<String>) -> Vec<Pool> {
    let pools: Vec<Pool> = serde_json::from_str(report).unwrap_or_default();
    let mut merged: Vec<Pool> = Vec::new();
    for mut pool in pools {
        pool.name = pool.name.chars().take(LONGEST_NAME).collect();
        if !known.contains(&pool.name) && known.len() >= MOST_NAMES {
            pool.name = OTHER.into();
        }
        known.insert(pool.name.clone());
        match merged.iter_mut().find(|other| other.name == pool.name) {
            Some(same) => same.add(pool),
            None => merged.push(pool),
        }
    }
    merged
}

impl Pool {
    /// Adds another pool of the same name: a worker may have several.
    pub(crate) fn add(&mut self, other: Pool) {
        self.size += other.size;
        self.minimum_idle += other.minimum_idle;
        self.budget = self.budget.max(other.budget);
        self.total += other.total;
        self.idle += other.idle;
        self.active += other.active;
        self.connecting += other.connecting;
        self.lingering += other.lingering;
        self.waiting += other.waiting;
        self.oldest_wait_seconds = self.oldest_wait_seconds.max(other.oldest_wait_seconds);
        self.counts.add(&other.counts);
        self.leases.extend(other.leases);
    }
}

impl Counts {
    pub(crate) fn add(&mut self, other: &Counts) {
        self.borrowed += other.borrowed;
        self.waited += other.waited;
        self.timeouts += other.timeouts;
        self.created += other.created;
        self.failed_connects += other.failed_connects;
        self.failed_checks += other.failed_checks;
        self.resets += other.resets;
        self.rollbacks += other.rollbacks;
        self.stale_returns += other.stale_returns;
        self.leaks += other.leaks;
        for (reason, count) in &other.destroyed {
            *self.destroyed.entry(reason.clone()).or_default() += count;
        }
        self.borrow_time.add(&other.borrow_time);
        self.use_time.add(&other.use_time);
        self.connect_time.add(&other.connect_time);
    }
}

impl Times {
    fn add(&mut self, other: &Times) {
        if self.counts.is_empty() {
            return self.clone_from(other);
        }
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }

    pub(crate) fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The upper bound of the range that contains the 99th percentile.
    fn p99(&self) -> String {
        let (count, mut below) = (self.count(), 0);
        if count == 0 {
            return "-".into();
        }
        for (n, bound) in self.counts.iter().zip(&self.bounds) {
            below += n;
            if below * 100 >= count * 99 {
                return seconds(bound.min(self.max));
            }
        }
        seconds(self.max)
    }
}

/// Formats as `0.2 ms`, `25.0 ms` or `1.2 s`.
fn seconds(seconds: f64) -> String {
    if seconds < 1.0 {
        format!("{:.1} ms", seconds * 1e3)
    } else {
        format!("{seconds:.1} s")
    }
}

impl Pools {
    /// The table of leases, the longest first.
    pub fn leases(&self) -> String {
        let mut text = String::from(
            "\npool              slot      out for  request           task  what, and where it was borrowed\n",
        );
        let mut all: Vec<_> = self
            .workers
            .iter()
            .flat_map(|worker| worker.pools.iter().map(move |pool| (worker, pool)))
            .flat_map(|(worker, pool)| pool.leases.iter().map(move |lease| (worker, pool, lease)))
            .collect();
        all.sort_by(|a, b| b.2.seconds.total_cmp(&a.2.seconds));
        for (worker, pool, lease) in all {
            let what = [lease.target.as_deref(), lease.place.as_deref()];
            text.push_str(&format!(
                "{:<16}  {:>4}  {:>11}  {:<16}  {:>4}  {}\n",
                pool.name,
                worker.slot,
                seconds(lease.seconds),
                lease.request,
                lease.task,
                what.into_iter().flatten().collect::<Vec<_>>().join(" ")
            ));
        }
        text
    }
}

/// A line for each pool of each worker, then one for each budget; nothing if there is no pool.
impl fmt::Display for Pools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.workers.iter().all(|worker| worker.pools.is_empty()) {
            return Ok(());
        }
        writeln!(
            f,
            "\npool              slot  size  total  idle  active  waiting  oldest wait  wait p99   use p99  timeouts  created  closed"
        )?;
        for worker in &self.workers {
            for pool in &worker.pools {
                line(worker, pool, f)?;
            }
        }
        for budget in &self.budgets {
            writeln!(
                f,
                "budget of {}: {} of {} connections in all workers",
                budget.name, budget.used, budget.total
            )?;
        }
        Ok(())
    }
}

fn line(worker: &WorkerPools, pool: &Pool, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let counts = &pool.counts;
    let closed: Vec<String> = counts
        .destroyed
        .iter()
        .map(|(reason, count)| format!("{reason} {count}"))
        .collect();
    let age = if worker.age_seconds >= 1.0 {
        format!("   ({:.0} s ago: the worker is busy)", worker.age_seconds)
    } else {
        String::new()
    };
    writeln!(
        f,
        "{:<16}  {:>4}  {:>4}  {:>5}  {:>4}  {:>6}  {:>7}  {:>11}  {:>8}  {:>8}  {:>8}  {:>7}  {}{age}",
        pool.name,
        worker.slot,
        pool.size,
        pool.total,
        pool.idle,
        pool.active,
        pool.waiting,
        seconds(pool.oldest_wait_seconds),
        counts.borrow_time.p99(),
        counts.use_time.p99(),
        counts.timeouts,
        counts.created,
        if closed.is_empty() {
            "-".into()
        } else {
            closed.join(", ")
        },
    )
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A pool as in a worker's report.
    pub(crate) fn report(name: &str, borrowed: u64) -> String {
        let times = r#"{"bounds":[0.001,0.1],"counts":[7,2,1],"sum":0.5,"max":0.25}"#;
        let name = serde_json::to_string(name).unwrap();
        format!(
            r#"{{"name":{name},"size":8,"minimum_idle":2,"budget":20,"total":5,"idle":2,"active":2,"connecting":0,
            "lingering":0,"waiting":3,"oldest_wait_seconds":0.5,"borrowed":{borrowed},"waited":4,"timeouts":1,"created":6,
            "failed_connects":0,"failed_checks":0,"resets":9,"rollbacks":0,"stale_returns":0,"leaks":0,
            "destroyed":{{"idle":1}},"borrow_time":{times},"use_time":{times},"connect_time":{times},
            "leases":[{{"task":17,"request":"00c0ffee00c0ffee","seconds":2.5,"place":null}}]}}"#
        )
    }

    pub(crate) fn sample(name: &str) -> Pools {
        let pools = parse(&format!("[{}]", report(name, 10)), &mut BTreeSet::new());
        let worker = |slot| WorkerPools {
            pid: Some(4711 + slot),
            slot,
            age_seconds: 0.0,
            pools: pools.clone(),
        };
        Pools {
            workers: vec![worker(0), worker(1)],
            retired: vec![RetiredPool {
                slot: 1,
                name: name.into(),
                counts: pools[0].counts.clone(),
            }],
            budgets: vec![Budget {
                name: name.into(),
                total: 20,
                used: 10,
            }],
        }
    }

    #[test]
    fn pools_of_one_name_are_one() {
        let text = format!("[{},{}]", report("a", 10), report("a", 5));
        let pools = parse(&text, &mut BTreeSet::new());
        assert_eq!(pools.len(), 1);
        assert_eq!(pools[0].counts.borrowed, 15);
        assert_eq!(pools[0].counts.borrow_time.counts, [14, 4, 2]);
        assert_eq!(pools[0].counts.destroyed["idle"], 2);
        assert_eq!(pools[0].leases.len(), 2);
    }

    #[test]
    fn names_are_bounded() {
        let mut known = BTreeSet::new();
        for round in 0..3 {
            let reports: Vec<String> = (0..100)
                .map(|i| report(&format!("pool{}{}", round * 100 + i, "x".repeat(100)), 1))
                .collect();
            let pools = parse(&format!("[{}]", reports.join(",")), &mut known);
            let sum: u64 = pools.iter().map(|pool| pool.counts.borrowed).sum();
            assert_eq!(sum, 100);
            assert!(pools.iter().all(|pool| pool.name.len() <= LONGEST_NAME));
        }
        assert_eq!(known.len(), MOST_NAMES + 1);
    }

    #[test]
    fn what_is_no_report_says_nothing() {
        assert!(parse("", &mut BTreeSet::new()).is_empty());
        assert!(parse("[{\"name\":1}]", &mut BTreeSet::new()).is_empty());
    }

    #[test]
    fn the_table_lines_up() {
        let expected = "
pool              slot  size  total  idle  active  waiting  oldest wait  wait p99   use p99  timeouts  created  closed
shop                 0     8      5     2       2        3     500.0 ms  250.0 ms  250.0 ms         1        6  idle 1
shop                 1     8      5     2       2        3     500.0 ms  250.0 ms  250.0 ms         1        6  idle 1
budget of shop: 10 of 20 connections in all workers
";
        assert_eq!(sample("shop").to_string(), expected);
        let leases = sample("shop").leases();
        assert!(
            leases.contains("shop                 0        2.5 s  00c0ffee00c0ffee    17"),
            "{leases}"
        );
    }
}
