//! Detects requests that wait for a worker, or are refused because too many do, and logs that with advice.
//!
//! Workers and front count such requests in shared memory; a check once a second finds lasting ones.

use std::time::{Duration, Instant};

use shm::{Counter, Snapshot};

/// The pause between two checks.
pub(crate) const PAUSE: Duration = Duration::from_secs(1);
/// How long requests have to wait before that is logged.
const LASTS: Duration = Duration::from_secs(5);
/// Shorter waits, on average, are normal on a server that is busy and keeps up.
const WAIT: Duration = Duration::from_millis(100);
/// The least pause between two log lines about the same.
const LOG_INTERVAL: Duration = Duration::from_secs(60);
/// The idle part of the processors' time from which on more workers would help.
const IDLE: f64 = 0.2;

/// The counts at one moment.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    /// Requests that wait now.
    waiting: u64,
    /// Totals: requests that have waited, the sum of their waits, and those answered 503.
    waited: u64,
    waits: Duration,
    full: u64,
    expired: u64,
}

impl Counts {
    pub(crate) fn any_waits(&self) -> bool {
        self.waiting > 0
    }

    pub(crate) fn of(sum: &Snapshot) -> Counts {
        let expired = sum.get(Counter::QueueTimeouts);
        Counts {
            waiting: sum.waiting(),
            waited: sum.get(Counter::Unqueued),
            waits: Duration::from_micros(sum.get(Counter::QueuedMicroseconds)),
            full: sum.get(Counter::Unavailable).saturating_sub(expired),
            expired,
        }
    }
}

/// A finding that is worth a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finding {
    /// The number of requests that wait now; some have waited all the time.
    Waiting { requests: u64, time: Duration },
    /// Requests refused because the queue was full.
    Full(u64),
    /// Requests refused because they had waited for `workers.queue_timeout`.
    Expired(u64),
}

/// The state between two checks.
#[derive(Debug, Default)]
pub(crate) struct Saturation {
    last: Counts,
    /// When requests began to wait, and the counts at that time.
    since: Option<(Instant, Counts)>,
    /// The last log line of each kind: its time, and the count at that time.
    last_logged: [Option<(Instant, u64)>; 3],
}

impl Saturation {
    pub(crate) fn check(&mut self, counts: Counts, now: Instant) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (kind, before, count) in [
            (0, self.last.full, counts.full),
            (1, self.last.expired, counts.expired),
        ] {
            if count > before && self.is_due(kind, now) {
                let logged = self.last_logged[kind].map_or(0, |(_, logged)| logged);
                let new = count.saturating_sub(logged);
                findings.push([Finding::Full(new), Finding::Expired(new)][kind]);
                self.last_logged[kind] = Some((now, count));
            }
        }
        findings.extend(self.check_waits(counts, now));
        self.last = counts;
        findings
    }

    fn check_waits(&mut self, counts: Counts, now: Instant) -> Option<Finding> {
        if counts.waiting == 0 {
            self.since = None;
            return None;
        }
        let (since, before) = *self.since.get_or_insert((now, counts));
        let time = now - since;
        let waited = u32::try_from(counts.waited.saturating_sub(before.waited)).unwrap_or(u32::MAX);
        let waits = counts.waits.saturating_sub(before.waits);
        // If no request has finished waiting, those that wait have done so all the time.
        let is_long = waited == 0 || waits / waited >= WAIT;
        if time < LASTS || !is_long || !self.is_due(2, now) {
            return None;
        }
        self.last_logged[2] = Some((now, counts.waited));
        let requests = counts.waiting;
        Some(Finding::Waiting { requests, time })
    }

    fn is_due(&self, kind: usize, now: Instant) -> bool {
        self.last_logged[kind].is_none_or(|(last, _)| now - last >= LOG_INTERVAL)
    }
}

/// The number of requests that may run, and the settings that limit it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Capacity {
    pub(crate) workers: u32,
    /// Requests of each worker at a time.
    pub(crate) concurrency: u32,
    /// `workers.max` where the number follows the load; `Some(None)` if memory is the limit.
    pub(crate) most: Option<Option<u32>>,
    pub(crate) queue: u32,
    pub(crate) queue_timeout: Duration,
    /// The idle part of the processors' time, if known.
    pub(crate) idle: Option<f64>,
}

impl Capacity {
    /// Formats the log line.
    pub(crate) fn describe(&self, finding: Finding) -> String {
        let (event, counted) = match finding {
            Finding::Waiting { requests, time } => (
                format!(
                    "{} busy for {} s, and requests wait",
                    self.busy(),
                    time.as_secs()
                ),
                format!("waiting={requests}"),
            ),
            Finding::Full(requests) => (
                format!(
                    "requests are answered 503: {} busy, and the queue is full (workers.queue = {})",
                    self.busy(),
                    self.queue
                ),
                format!("requests={requests}"),
            ),
            Finding::Expired(requests) => (
                format!(
                    "requests are answered 503: {} busy, and they have waited too long (workers.queue_timeout = {})",
                    self.busy(),
                    self.queue_timeout.as_secs_f64()
                ),
                format!("requests={requests}"),
            ),
        };
        let idle = self.idle.map_or(String::new(), |idle| {
            format!(" processors_idle={:.0}%", idle * 100.0)
        });
        format!("{event}; {} {counted}{idle}", self.advice())
    }

    fn busy(&self) -> String {
        let workers = match self.workers {
            1 => "the only worker is".to_owned(),
            n => format!("all {n} workers are"),
        };
        match self.concurrency {
            1 => workers,
            n => format!("{workers} at workers.concurrency = {n} or"),
        }
    }

    fn advice(&self) -> String {
        if self.idle.is_some_and(|idle| idle < IDLE) {
            return "the processors are busy too, so more workers would not help; more or faster processors would, or requests that compute less".into();
        }
        match (self.most, self.concurrency) {
            (Some(Some(most)), _) => format!("raise workers.max (now {most})"),
            (Some(None), _) => "more memory allows more workers".into(),
            (None, 1) => "raise workers.count, or set workers.max".into(),
            (None, _) => "raise workers.concurrency or workers.count".into(),
        }
    }
}

/// The time of all processors since boot, in ticks.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Processors {
    idle: u64,
    total: u64,
}

impl Processors {
    /// Reads the current times; `None` where the system does not report them.
    pub(crate) fn now() -> Option<Processors> {
        Processors::of(&std::fs::read_to_string("/proc/stat").ok()?)
    }

    /// Parses the first line (`man proc_stat`): user, nice, system, idle, iowait, …
    fn of(stat: &str) -> Option<Processors> {
        let line = stat.lines().next()?.strip_prefix("cpu ")?;
        let ticks = line.split_whitespace().map(str::parse).take(8);
        let ticks = ticks.collect::<Result<Vec<u64>, _>>().ok()?;
        Some(Processors {
            idle: ticks.get(3)? + ticks.get(4)?,
            total: ticks.iter().sum(),
        })
    }

    /// Returns the idle part of the time since `before`.
    pub(crate) fn idle_since(self, before: Processors) -> Option<f64> {
        let total = self
            .total
            .checked_sub(before.total)
            .filter(|ticks| *ticks > 0)?;
        Some(self.idle.saturating_sub(before.idle) as f64 / total as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(waiting: u64, waited: u64, seconds: u64) -> Counts {
        Counts {
            waiting,
            waited,
            waits: Duration::from_secs(seconds),
            ..Counts::default()
        }
    }

    #[test]
    fn waits_that_last_are_told_once_a_minute() {
        let (mut saturation, began) = (Saturation::default(), Instant::now());
        let mut logged = Vec::new();
        for second in 0..130 {
            let now = began + Duration::from_secs(second);
            let found = saturation.check(counts(7, second, second), now);
            logged.extend(found.iter().map(|finding| (second, *finding)));
        }
        let finding = |second| {
            let time = Duration::from_secs(second);
            (second, Finding::Waiting { requests: 7, time })
        };
        assert_eq!(logged, [finding(5), finding(65), finding(125)]);
    }

    #[test]
    fn short_waits_and_queues_that_empty_are_not() {
        let (mut saturation, began) = (Saturation::default(), Instant::now());
        for second in 0..20 {
            let now = began + Duration::from_secs(second);
            let short = counts(7, 1000 * second, second);
            assert_eq!(saturation.check(short, now), []);
        }
        for second in 20..40 {
            let now = began + Duration::from_secs(second);
            let waiting = u64::from(second % 4 != 0);
            assert_eq!(saturation.check(counts(waiting, 20_000, 20), now), []);
        }
    }

    #[test]
    fn refused_requests_are_told_at_once_and_counted() {
        let (mut saturation, began) = (Saturation::default(), Instant::now());
        let mut check = |second, full, expired| {
            let counts = Counts {
                full,
                expired,
                ..Counts::default()
            };
            saturation.check(counts, began + Duration::from_secs(second))
        };
        assert_eq!(check(0, 3, 0), [Finding::Full(3)]);
        assert_eq!(check(1, 10, 2), [Finding::Expired(2)]);
        assert_eq!(check(59, 11, 2), []);
        assert_eq!(check(60, 11, 3), []);
        assert_eq!(check(61, 12, 9), [Finding::Full(9), Finding::Expired(7)]);
    }

    #[test]
    fn the_advice_fits() {
        let capacity = Capacity {
            workers: 8,
            concurrency: 1,
            most: None,
            queue: 1024,
            queue_timeout: Duration::from_secs(10),
            idle: Some(0.63),
        };
        let waiting = Finding::Waiting {
            requests: 12,
            time: Duration::from_secs(5),
        };
        assert_eq!(
            capacity.describe(waiting),
            "all 8 workers are busy for 5 s, and requests wait; raise workers.count, or set workers.max waiting=12 processors_idle=63%"
        );
        let elastic = Capacity {
            workers: 1,
            most: Some(Some(1)),
            idle: None,
            ..capacity
        };
        assert_eq!(
            elastic.describe(Finding::Full(3)),
            "requests are answered 503: the only worker is busy, and the queue is full (workers.queue = 1024); raise workers.max (now 1) requests=3"
        );
        let busy = Capacity {
            concurrency: 256,
            idle: Some(0.05),
            ..capacity
        };
        let text = busy.describe(Finding::Expired(1));
        assert!(
            text.contains("all 8 workers are at workers.concurrency = 256 or busy"),
            "{text}"
        );
        assert!(text.contains("more workers would not help"), "{text}");
    }

    #[test]
    fn processors() {
        let before = Processors::of("cpu  10 0 10 70 10 0 0 0 0 0\ncpu0 1\n").expect("a line");
        let now = Processors::of("cpu  60 0 20 100 20 0 0 0 5 5\n").expect("a line");
        assert_eq!(now.idle_since(before), Some(0.4));
        assert_eq!(now.idle_since(now), None);
        assert!(Processors::now().is_some());
    }
}
