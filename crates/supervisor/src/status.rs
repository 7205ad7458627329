//! What `hearth status` shows: a picture of the server at one moment.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use shm::{Counter, Snapshot};

use crate::latency::Latency;
use crate::pool::Pools;
use crate::preload::PreloadStatus;
use crate::worker::State;

/// The server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Status {
    pub version: String,
    pub pid: u32,
    pub app: String,
    pub listen: Vec<String>,
    /// `starting`, `running`, `reloading` or `stopping`.
    pub state: String,
    /// Every slot has a worker that accepts.
    pub healthy: bool,
    /// Some worker accepts.
    pub ready: bool,
    pub uptime_seconds: f64,
    /// Of the app; rises by one with every boot of it.
    pub generation: u32,
    pub php: String,
    /// Why the app is booted in each worker, if it is.
    pub cold: Option<String>,
    /// The preload list, if there is one.
    #[serde(default)]
    pub preload: Option<PreloadStatus>,
    pub slots: u32,
    /// Where the number of workers follows the load.
    #[serde(default)]
    pub elastic: Option<ElasticStatus>,
    pub reloads: u64,
    /// Workers that had to be replaced outside of reloads.
    pub restarts: u64,
    /// Workers replaced because they had served enough (`workers.max_requests`, `workers.max_memory`).
    pub recycled: u64,
    /// Sums over all workers there have been, by the names of [`Counter`].
    pub totals: Vec<(String, u64)>,
    /// How long requests took, by route and class.
    #[serde(default)]
    pub latencies: Vec<Latency>,
    /// Of balanced dispatch.
    pub front: Option<FrontStatus>,
    pub workers: Vec<WorkerStatus>,
    /// Figures of the cache, by their names; `None` without one.
    #[serde(default)]
    pub cache: Option<BTreeMap<String, u64>>,
    /// The second tier of the cache, with `cache.redis`.
    #[serde(default)]
    pub redis: Option<tier::Status>,
    /// The app's connection pools.
    #[serde(default)]
    pub pools: Pools,
}

/// The process before the workers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FrontStatus {
    pub pid: Option<u32>,
    /// `starting`, `ready` or `leaving`.
    pub state: String,
    pub uptime_seconds: f64,
    pub connections: u64,
    /// Requests that wait for a worker.
    pub waiting: u64,
    /// What each of its threads has used of a processor.
    pub cpu_seconds: Vec<f64>,
    pub resident_bytes: u64,
    pub restarts: u64,
}

/// Between which numbers of workers, and what was done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ElasticStatus {
    pub min: u32,
    /// `None`: by memory.
    pub max: Option<u32>,
    /// Workers that were added, and that have left because they had nothing to do.
    pub added: u64,
    pub retired: u64,
    /// What one costs, its share of shared memory included, once that was looked at.
    pub worker_bytes: Option<u64>,
}

/// One worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkerStatus {
    pub pid: Option<u32>,
    pub slot: u32,
    pub generation: u32,
    pub state: State,
    pub uptime_seconds: f64,
    pub requests: u64,
    pub in_flight: u64,
    pub connections: u64,
    pub resident_bytes: u64,
    /// Of its slot, since the server started.
    pub restarts: u64,
}

pub(crate) fn totals(snapshot: &Snapshot) -> Vec<(String, u64)> {
    Counter::ALL
        .iter()
        .map(|counter| (counter.name().to_owned(), snapshot.get(*counter)))
        .collect()
}

impl Status {
    pub(crate) fn total(&self, counter: Counter) -> u64 {
        self.count(counter.name())
    }

    /// A sum over all workers there have been, by its name in [`Status::totals`].
    #[must_use]
    pub fn count(&self, name: &str) -> u64 {
        let mut totals = self.totals.iter();
        let found = totals.find(|(counter, _)| counter == name);
        found.map_or(0, |(_, value)| *value)
    }

    /// Requests that run now.
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.workers.iter().map(|worker| worker.in_flight).sum()
    }

    /// Requests that wait for a worker now.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        self.count("queued").saturating_sub(self.count("unqueued"))
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "app         {}", self.app)?;
        writeln!(
            f,
            "state       {}, pid {}, up {}",
            self.state,
            self.pid,
            duration(self.uptime_seconds)
        )?;
        writeln!(f, "listening   {}", self.listen.join(" "))?;
        writeln!(
            f,
            "generation  {} (PHP {}, hearth {})",
            self.generation, self.php, self.version
        )?;
        if let Some(reason) = &self.cold {
            writeln!(f, "cold boot   {reason}")?;
        }
        if let Some(list) = &self.preload {
            writeln!(f, "preload     {list}")?;
        }
        writeln!(
            f,
            "requests    {} answered, {} of them with 5xx; {} timeouts, {} exceptions, {} fatal errors",
            self.total(Counter::Finished),
            self.total(Counter::Responses5xx),
            self.total(Counter::Timeouts),
            self.total(Counter::Exceptions),
            self.total(Counter::Fatal),
        )?;
        writeln!(
            f,
            "reloads     {}, worker restarts {}, workers recycled {}",
            self.reloads, self.restarts, self.recycled
        )?;
        if let Some(elastic) = &self.elastic {
            self.write_elastic(elastic, f)?;
        }
        if let Some(front) = &self.front {
            self.write_front(front, f)?;
        }
        if let Some(cache) = &self.cache {
            write_cache(cache, f)?;
        }
        if let Some(redis) = &self.redis {
            write_redis(redis, f)?;
        }
        writeln!(f)?;
        self.write_workers(f)?;
        self.pools.fmt(f)
    }
}

/// Nothing while it was not used.
fn write_cache(cache: &BTreeMap<String, u64>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let figure = |name: &str| cache.get(name).copied().unwrap_or_default();
    let (hits, misses) = (figure("hits"), figure("misses"));
    if figure("sessions") + figure("sessions_evicted") + figure("sessions_refused") > 0 {
        writeln!(
            f,
            "sessions    {} in {:.1} MB of the cache; {} evicted, {} refused",
            figure("sessions"),
            figure("sessions_used") as f64 / 1e6,
            figure("sessions_evicted"),
            figure("sessions_refused")
        )?;
    }
    if figure("writes") + hits + misses == 0 {
        return Ok(());
    }
    writeln!(
        f,
        "cache       {} entries in {:.1} of {:.1} MB; {hits} hits, {misses} misses, {} evicted",
        figure("entries"),
        figure("used") as f64 / 1e6,
        figure("size") as f64 / 1e6,
        figure("evicted")
    )
}

fn write_redis(redis: &tier::Status, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let since = duration(redis.seconds as f64);
    if redis.is_there {
        return writeln!(
            f,
            "redis       {} there since {since}; {} reads, {} writes, {} invalidations, {} losses",
            redis.address, redis.reads, redis.writes, redis.invalidations, redis.losses
        );
    }
    let error = redis.error.as_deref().unwrap_or("not reached yet");
    writeln!(
        f,
        "redis       {} AWAY since {since}, the cache of this server goes on alone; {} keys marked: {error}",
        redis.address, redis.marked
    )
}

impl Status {
    fn write_workers(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "slot  generation      pid  state      requests  in request  connections       RSS  restarts       up"
        )?;
        for w in &self.workers {
            let pid = w.pid.map_or("-".into(), |pid| pid.to_string());
            writeln!(
                f,
                "{:>4}  {:>10}  {pid:>7}  {:<9}  {:>8}  {:>9}  {:>11}  {:>5.1} MB  {:>8}  {:>7}",
                w.slot,
                w.generation,
                w.state,
                w.requests,
                w.in_flight,
                w.connections,
                w.resident_bytes as f64 / 1e6,
                w.restarts,
                duration(w.uptime_seconds),
            )?;
        }
        Ok(())
    }

    fn write_elastic(&self, elastic: &ElasticStatus, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = elastic.max.map_or("auto".into(), |max| max.to_string());
        let cost = elastic.worker_bytes.map_or(String::new(), |bytes| {
            format!("; a worker costs {:.1} MB", bytes as f64 / 1e6)
        });
        writeln!(
            f,
            "workers     {}, of {} to {most}; {} added, {} retired{cost}",
            self.slots, elastic.min, elastic.added, elastic.retired
        )
    }

    fn write_front(&self, front: &FrontStatus, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pid = front.pid.map_or("-".into(), |pid| pid.to_string());
        let queued = self.total(Counter::Queued);
        let cpu: Vec<_> = front
            .cpu_seconds
            .iter()
            .map(|s| format!("{s:.1}"))
            .collect();
        let waited = self.total(Counter::QueuedMicroseconds) as f64 / 1e3 / queued.max(1) as f64;
        writeln!(
            f,
            "front       {}, pid {pid}, up {}, {} connections, {:.1} MB, CPU {} s, restarts {}",
            front.state,
            duration(front.uptime_seconds),
            front.connections,
            front.resident_bytes as f64 / 1e6,
            cpu.join(" + "),
            front.restarts
        )?;
        writeln!(
            f,
            "queue       {} waiting; {queued} have waited, {waited:.1} ms on average; {} answered 503 ({} after workers.queue_timeout), {} 502, {} retried",
            front.waiting,
            self.total(Counter::Unavailable),
            self.total(Counter::QueueTimeouts),
            self.total(Counter::BadGateway),
            self.total(Counter::Retries),
        )
    }
}

/// `3.2s`, `5m02s`, `4h05m`, `12d03h`.
#[must_use]
pub fn duration(seconds: f64) -> String {
    let whole = seconds as u64;
    match whole {
        0..60 => format!("{seconds:.1}s"),
        60..3600 => format!("{}m{:02}s", whole / 60, whole % 60),
        3600..86400 => format!("{}h{:02}m", whole / 3600, whole / 60 % 60),
        _ => format!("{}d{:02}h", whole / 86400, whole / 3600 % 24),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn sample() -> Status {
        let mut totals = totals(&Snapshot::default());
        for (name, value) in &mut totals {
            *value = match name.as_str() {
                "requests" => 1000,
                "finished" => 998,
                "responses_2xx" => 990,
                "responses_5xx" => 8,
                _ => 0,
            };
        }
        let worker = |slot, pid, state| WorkerStatus {
            pid,
            slot,
            generation: 3,
            state,
            uptime_seconds: 75.4,
            requests: 500,
            in_flight: 1,
            connections: 12,
            resident_bytes: 23_400_000,
            restarts: 2,
        };
        Status {
            version: "0.1.0".into(),
            pid: 100,
            app: "/srv/app.php".into(),
            listen: vec!["http://127.0.0.1:8080".into(), "unix:/run/a.sock".into()],
            state: "running".into(),
            healthy: true,
            ready: true,
            uptime_seconds: 90061.0,
            generation: 3,
            php: "8.2.36".into(),
            cold: None,
            preload: None,
            slots: 2,
            elastic: None,
            reloads: 2,
            restarts: 4,
            recycled: 7,
            front: None,
            totals,
            latencies: vec![crate::latency::tests::sample()],
            workers: vec![
                worker(0, Some(4711), State::Ready),
                worker(1, None, State::Forking),
            ],
            cache: None,
            redis: None,
            pools: Pools::default(),
        }
    }

    #[test]
    fn the_table_lines_up() {
        let expected = "\
app         /srv/app.php
state       running, pid 100, up 1d01h
listening   http://127.0.0.1:8080 unix:/run/a.sock
generation  3 (PHP 8.2.36, hearth 0.1.0)
requests    998 answered, 8 of them with 5xx; 0 timeouts, 0 exceptions, 0 fatal errors
reloads     2, worker restarts 4, workers recycled 7

slot  generation      pid  state      requests  in request  connections       RSS  restarts       up
   0           3     4711  ready           500          1           12   23.4 MB         2    1m15s
   1           3        -  forking         500          1           12   23.4 MB         2    1m15s
";
        assert_eq!(sample().to_string(), expected);
    }

    #[test]
    fn the_front_has_two_lines() {
        let mut status = sample();
        for (name, value) in &mut status.totals {
            match name.as_str() {
                "queued" => *value = 50,
                "queued_microseconds" => *value = 125_000,
                "retries" => *value = 3,
                "unavailable" => *value = 7,
                "queue_timeouts" => *value = 5,
                _ => {}
            }
        }
        status.front = Some(FrontStatus {
            pid: Some(101),
            state: "ready".into(),
            uptime_seconds: 5.0,
            connections: 12,
            waiting: 4,
            cpu_seconds: vec![1.25, 0.5],
            resident_bytes: 6_300_000,
            restarts: 1,
        });
        let expected = "\
front       ready, pid 101, up 5.0s, 12 connections, 6.3 MB, CPU 1.2 + 0.5 s, restarts 1
queue       4 waiting; 50 have waited, 2.5 ms on average; 7 answered 503 (5 after workers.queue_timeout), 0 502, 3 retried

slot";
        assert!(status.to_string().contains(expected), "{status}");
        let text = serde_json::to_string(&status).unwrap();
        assert_eq!(serde_json::from_str::<Status>(&text).unwrap(), status);
    }

    #[test]
    fn a_number_of_workers_that_follows_the_load_has_a_line() {
        let mut status = sample();
        let mut elastic = ElasticStatus {
            min: 1,
            max: Some(8),
            added: 3,
            retired: 2,
            worker_bytes: None,
        };
        status.elastic = Some(elastic.clone());
        let expected = "\nworkers     2, of 1 to 8; 3 added, 2 retired\n";
        assert!(status.to_string().contains(expected), "{status}");
        (elastic.max, elastic.worker_bytes) = (None, Some(3_400_000));
        status.elastic = Some(elastic);
        let expected = "\nworkers     2, of 1 to auto; 3 added, 2 retired; a worker costs 3.4 MB\n";
        assert!(status.to_string().contains(expected), "{status}");
    }

    #[test]
    fn it_survives_the_control_socket() {
        let mut status = sample();
        status.pools = crate::pool::tests::sample("shop");
        let text = serde_json::to_string(&status).unwrap();
        assert_eq!(serde_json::from_str::<Status>(&text).unwrap(), status);
    }
}
