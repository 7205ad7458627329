//! Requests the state of their connection pools from the workers, on demand.
//!
//! A worker that computes cannot answer: after [`REPORT_TIMEOUT`] its last known numbers are shown. A worker gets another
//! request only when it has answered, so requests do not pile up.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use shm::InFlight;
use tokio::sync::oneshot::Sender;

use super::Server;
use crate::event::Timer;
use crate::pool::{self, Budget, Counts, Pool, Pools, RetiredPool, WorkerPools};
use crate::status::Status;
use crate::worker::{State, WorkerId};

/// How long callers wait for the answers of workers.
const REPORT_TIMEOUT: Duration = Duration::from_millis(100);

/// The known reports, and the callers that wait for new ones.
#[derive(Debug, Default)]
pub(super) struct PoolReports {
    workers: BTreeMap<WorkerId, WorkerReport>,
    retired: BTreeMap<(u32, String), Counts>,
    names: BTreeSet<String>,
    /// The number of the current round of requests for reports.
    round: u64,
    /// The workers that have not answered in this round.
    missing: BTreeSet<WorkerId>,
    /// The callers that wait for this round.
    waiting: Vec<Sender<Status>>,
    /// Callers that came after the round had begun: the answers may miss what they did before.
    next: Vec<Sender<Status>>,
}

#[derive(Debug)]
struct WorkerReport {
    slot: u32,
    pools: Vec<Pool>,
    at: Instant,
    /// Whether the worker has not answered the last request for a report.
    is_requested: bool,
}

impl PoolReports {
    /// Stores a report. An empty one, of a worker that cannot report any more, does not replace the last one.
    fn store(&mut self, id: WorkerId, slot: u32, report: &str) {
        if report.is_empty()
            && let Some(known) = self.workers.get_mut(&id)
            && !known.pools.is_empty()
        {
            known.is_requested = false;
            return;
        }
        let known = WorkerReport {
            slot,
            pools: pool::parse(report, &mut self.names),
            at: Instant::now(),
            is_requested: false,
        };
        self.workers.insert(id, known);
    }

    /// Keeps the counts of a worker that is gone, so that no counter ever falls.
    fn retire(&mut self, id: WorkerId) {
        let Some(known) = self.workers.remove(&id) else {
            return;
        };
        for pool in known.pools {
            let key = (known.slot, pool.name);
            self.retired.entry(key).or_default().add(&pool.counts);
        }
    }
}

impl Server {
    /// Answers with the status, once the workers have reported their pools.
    pub(super) fn status_with_pools(&mut self, reply: Sender<Status>) {
        self.pools.next.push(reply);
        if self.pools.waiting.is_empty() {
            self.request_pool_reports();
        }
    }

    fn request_pool_reports(&mut self) {
        let pools = &mut self.pools;
        pools.waiting = std::mem::take(&mut pools.next);
        if pools.waiting.is_empty() {
            return;
        }
        pools.round += 1;
        for (id, worker) in &self.workers {
            if !matches!(worker.state(), State::Ready | State::Recycling) {
                continue;
            }
            let known = pools.workers.entry(*id).or_insert_with(|| WorkerReport {
                slot: worker.slot,
                pools: Vec::new(),
                at: Instant::now(),
                is_requested: false,
            });
            if !known.is_requested {
                known.is_requested = true;
                worker.request_pool_report();
            }
            pools.missing.insert(*id);
        }
        if pools.missing.is_empty() {
            return self.send_pool_status();
        }
        self.events.later(REPORT_TIMEOUT, Timer::Pools(pools.round));
    }

    /// Handles a report: an answer, or the last report of a worker that leaves.
    pub(super) fn pools_reported(&mut self, id: WorkerId, report: &str) {
        let Some(worker) = self.workers.get(&id) else {
            return;
        };
        let slot = worker.slot;
        self.pools.store(id, slot, report);
        if self.pools.missing.remove(&id) && self.pools.missing.is_empty() {
            self.send_pool_status();
        }
    }

    /// Handles the end of a worker.
    pub(super) fn pools_left(&mut self, id: WorkerId) {
        self.pools.retire(id);
        if self.pools.missing.remove(&id) && self.pools.missing.is_empty() {
            self.send_pool_status();
        }
    }

    pub(super) fn pools_late(&mut self, round: u64) {
        if self.pools.round == round && !self.pools.missing.is_empty() {
            self.pools.missing.clear();
            self.send_pool_status();
        }
    }

    fn send_pool_status(&mut self) {
        let status = Status {
            pools: self.pool_status(),
            ..self.status()
        };
        for reply in std::mem::take(&mut self.pools.waiting) {
            let _ = reply.send(status.clone());
        }
        self.request_pool_reports();
    }

    fn pool_status(&self) -> Pools {
        let mut budgets = BTreeMap::new();
        let mut workers = Vec::new();
        for (id, known) in &self.pools.workers {
            let Some(worker) = self.workers.get(id) else {
                continue;
            };
            let mut pools = known.pools.clone();
            name_requests(&mut pools, &worker.board.in_flight());
            let limits = pools
                .iter()
                .filter_map(|pool| Some((pool.name.clone(), pool.budget?)));
            budgets.extend(limits);
            workers.push(WorkerPools {
                pid: worker.pid,
                slot: worker.slot,
                age_seconds: known.at.elapsed().as_secs_f64(),
                pools,
            });
        }
        let budget = |(name, total): (String, u64)| {
            let used = self
                .shared
                .budgets
                .table
                .used_of(format!("pool {name}").as_bytes());
            Budget { name, total, used }
        };
        let retired = |((slot, name), counts): (&(u32, String), &Counts)| RetiredPool {
            slot: *slot,
            name: name.clone(),
            counts: counts.clone(),
        };
        Pools {
            workers,
            retired: self.pools.retired.iter().map(retired).collect(),
            budgets: budgets.into_iter().map(budget).collect(),
        }
    }
}

/// Adds the method and target of the request to each lease.
fn name_requests(pools: &mut [Pool], requests: &[InFlight]) {
    for lease in pools.iter_mut().flat_map(|pool| &mut pool.leases) {
        let id = u64::from_str_radix(&lease.request, 16).unwrap_or_default();
        let found = requests.iter().find(|one| one.id == id && id != 0);
        lease.target = found.map(|one| format!("{} {}", one.method, one.target));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_workers_that_are_gone_only_the_sums_are_kept() {
        let mut pools = PoolReports::default();
        for id in 0..1000 {
            let report = format!("[{}]", pool::tests::report("shop", 2));
            pools.store(id, 3, &report);
            pools.store(id, 3, "");
            pools.retire(id);
        }
        assert!(pools.workers.is_empty());
        let sums: Vec<_> = pools
            .retired
            .iter()
            .map(|(key, sum)| (key.0, sum.borrowed))
            .collect();
        assert_eq!(sums, [(3, 2000)]);
    }
}
