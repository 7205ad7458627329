//! The text of `hearth status`.

use std::collections::BTreeMap;
use std::fmt;

use shm::Counter;

use super::{ElasticStatus, FrontStatus, Status};

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_app(f)?;
        self.write_totals(f)?;
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

impl Status {
    fn write_app(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
        Ok(())
    }

    fn write_totals(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
        )
    }

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

/// Writes nothing while the cache is unused.
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
            "redis       {} there since {since}; {} reads, {} writes, {} invalidations, {} disconnects",
            redis.address, redis.reads, redis.writes, redis.invalidations, redis.disconnects
        );
    }
    let error = redis.error.as_deref().unwrap_or("not reached yet");
    writeln!(
        f,
        "redis       {} AWAY since {since}, the cache of this server goes on alone; {} keys to delete there: {error}",
        redis.address, redis.pending_deletes
    )
}

/// Formats as `3.2s`, `5m02s`, `4h05m` or `12d03h`.
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
