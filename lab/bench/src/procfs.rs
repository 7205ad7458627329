//! Figures from `/proc`: which processes belong together, and what they used.

use measure::procfs::{numbers, read, stat_fields};
use rustix::process::{Pid, Signal};
use std::collections::BTreeMap;
use std::fs;

fn stat(pid: u32) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields = stat_fields(&text);
    (!fields.is_empty()).then(|| fields.into_iter().map(str::to_owned).collect())
}

/// Returns the processes of a session that still run, without zombies.
pub(crate) fn session(leader: u32) -> Vec<u32> {
    let mine = leader.to_string();
    let belongs =
        |pid: &u32| stat(*pid).is_some_and(|f| f.get(3).is_some_and(|s| *s == mine) && f[0] != "Z");
    numbers("/proc").into_iter().filter(belongs).collect()
}

/// Reaps those processes of a session that have ended and that this process has inherited (see `adopt_orphans`).
pub(crate) fn reap(leader: u32) {
    let (mine, me) = (leader.to_string(), std::process::id().to_string());
    for pid in numbers("/proc").into_iter().filter(|pid| *pid != leader) {
        let inherited = stat(pid)
            .is_some_and(|f| f[0] == "Z" && f[1] == me && f.get(3).is_some_and(|s| *s == mine));
        if let Some(pid) = i32::try_from(pid)
            .ok()
            .filter(|_| inherited)
            .and_then(Pid::from_raw)
        {
            let _ = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::NOHANG);
        }
    }
}

/// Makes this process the parent of its servers' orphans, so that it can wait for them: in a container, process 1 might not
/// reap them.
pub(crate) fn adopt_orphans() {
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

/// Sends a signal; it is no error if the process has already ended.
pub(crate) fn signal(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = rustix::process::kill_process(pid, signal);
    }
}

/// The use of one thread so far.
#[derive(Clone, Copy, Debug, Default)]
struct Task {
    run_ns: u64,
    voluntary: u64,
    involuntary: u64,
}

/// The use of a session's processes so far, at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reading {
    tasks: BTreeMap<(u32, u32), Task>,
    /// Ticks of each process: user, kernel, and both of its children that ended.
    ticks: BTreeMap<u32, [u64; 3]>,
    /// Ticks of the processors: user, kernel.
    processors: [f64; 2],
}

/// The use between two readings.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Used {
    pub(crate) cpu_s: f64,
    pub(crate) user_share: f64,
    pub(crate) voluntary: u64,
    pub(crate) involuntary: u64,
    pub(crate) processes: usize,
}

impl Reading {
    /// Reads all processes of the sessions, and the processors that they run on.
    pub(crate) fn of(sessions: &[u32], processors: &[usize]) -> Self {
        let mut reading = Self {
            processors: user_and_kernel(processors),
            ..Self::default()
        };
        for pid in sessions.iter().flat_map(|leader| session(*leader)) {
            reading.add(pid);
        }
        reading
    }

    fn add(&mut self, pid: u32) {
        if let Some(fields) = stat(pid) {
            let tick =
                |at: usize| -> u64 { fields.get(at).and_then(|f| f.parse().ok()).unwrap_or(0) };
            self.ticks
                .insert(pid, [tick(11), tick(12), tick(13) + tick(14)]);
        }
        for tid in numbers(&format!("/proc/{pid}/task")) {
            let run = read(&format!("/proc/{pid}/task/{tid}/schedstat"));
            let status = read(&format!("/proc/{pid}/task/{tid}/status"));
            let task = Task {
                run_ns: run
                    .split_whitespace()
                    .next()
                    .and_then(|n| n.parse().ok())
                    .unwrap_or(0),
                voluntary: field(&status, "voluntary_ctxt_switches:"),
                involuntary: field(&status, "nonvoluntary_ctxt_switches:"),
            };
            self.tasks.insert((pid, tid), task);
        }
    }

    /// Returns the use since `before`. Threads that ended in between count as the kernel adds them to their process or
    /// its parent.
    pub(crate) fn since(&self, before: &Self) -> Used {
        let mut used = Used::default();
        let mut run_ns = 0;
        for (key, task) in &self.tasks {
            let then = before.tasks.get(key).copied().unwrap_or_default();
            run_ns += task.run_ns.saturating_sub(then.run_ns);
            used.voluntary += task.voluntary.saturating_sub(then.voluntary);
            used.involuntary += task.involuntary.saturating_sub(then.involuntary);
        }
        let [user, kernel, ended] = self.ticks_since(before);
        let hertz = rustix::param::clock_ticks_per_second() as f64;
        let gone: u64 = before
            .tasks
            .iter()
            .filter(|(key, _)| !self.ticks.contains_key(&key.0))
            .map(|(_, task)| task.run_ns)
            .sum();
        let of_ended = (ended as f64 / hertz - gone as f64 / 1e9).max(0.0);
        used.cpu_s = run_ns as f64 / 1e9 + of_ended;
        // Many processes that use less than a tick each show none: then the share is that of their processors.
        let seen = (user + kernel) as f64 / hertz;
        used.user_share = match seen * 2.0 >= used.cpu_s {
            true => user as f64 / (user + kernel).max(1) as f64,
            false => {
                let [user, kernel] = [0, 1].map(|at| self.processors[at] - before.processors[at]);
                user / (user + kernel).max(1.0)
            }
        };
        used.processes = self.ticks.len();
        used
    }

    fn ticks_since(&self, before: &Self) -> [u64; 3] {
        let mut sum = [0; 3];
        for (pid, now) in &self.ticks {
            let then = before.ticks.get(pid).copied().unwrap_or_default();
            for at in 0..3 {
                sum[at] += now[at].saturating_sub(then[at]);
            }
        }
        sum
    }
}

/// Returns the ticks of some processors so far, in user mode and in kernel mode.
fn user_and_kernel(processors: &[usize]) -> [f64; 2] {
    let text = read("/proc/stat");
    let mut sum = [0.0; 2];
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let number = words
            .next()
            .and_then(|word| word.strip_prefix("cpu")?.parse().ok());
        if number.is_some_and(|number| processors.contains(&number)) {
            let fields: Vec<f64> = words.filter_map(|word| word.parse().ok()).collect();
            let of = |fields: &[f64]| fields.iter().sum::<f64>();
            sum[0] += of(fields.get(..2).unwrap_or_default());
            sum[1] += fields.get(2).unwrap_or(&0.0) + of(fields.get(5..7).unwrap_or_default());
        }
    }
    sum
}

fn field(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}

/// Returns the memory of the sessions' processes in bytes (PSS: shared pages are divided among the processes that share
/// them).
pub(crate) fn proportional_memory(sessions: &[u32]) -> u64 {
    let of = |pid: u32| field(&read(&format!("/proc/{pid}/smaps_rollup")), "Pss:") * 1024;
    sessions.iter().flat_map(|s| session(*s)).map(of).sum()
}

/// Returns the share of the last ten seconds in which a task waited for a processor (PSI), if the kernel reports it.
pub(crate) fn pressure() -> Option<f64> {
    let text = fs::read_to_string("/proc/pressure/cpu").ok()?;
    let some = text.lines().find(|line| line.starts_with("some"))?;
    let value = some
        .split_whitespace()
        .find_map(|word| word.strip_prefix("avg10="))?;
    value.parse::<f64>().ok().map(|percent| percent / 100.0)
}

/// Returns a line of `/proc/meminfo`, in bytes.
pub(crate) fn memory(name: &str) -> u64 {
    field(&read("/proc/meminfo"), name) * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_computes_is_charged_for_it() {
        let me = std::process::id();
        let leader = stat(me)
            .and_then(|f| f.get(3)?.parse().ok())
            .expect("this process has a session");
        let mut before = Reading::default();
        before.add(me);
        let began = std::time::Instant::now();
        let mut x = 1_u64;
        while began.elapsed().as_millis() < 60 {
            x = std::hint::black_box(x.wrapping_mul(31));
        }
        let mut after = Reading::default();
        after.add(me);
        let used = after.since(&before);
        assert!(used.cpu_s > 0.005 && used.cpu_s < 5.0, "{used:?}");
        assert!(session(leader).contains(&me) || leader == 0);
    }

    #[test]
    fn what_an_ended_child_used_is_counted_once() {
        let task = |ms: u64| Task {
            run_ns: ms * 1_000_000,
            ..Task::default()
        };
        let before = Reading {
            tasks: [((1, 1), task(10)), ((2, 2), task(100))].into(),
            ticks: [(1, [1, 0, 0]), (2, [10, 0, 0])].into(),
            processors: [100.0, 100.0],
        };
        let after = Reading {
            tasks: [((1, 1), task(30))].into(),
            ticks: [(1, [3, 0, 15])].into(),
            processors: [103.0, 101.0],
        };
        let used = after.since(&before);
        assert!(
            (used.user_share - 0.75).abs() < 1e-9,
            "of the processors: {used:?}"
        );
        assert!(
            (used.cpu_s - 0.07).abs() < 1e-9,
            "20 ms of its own, 50 ms more of the child: {used:?}"
        );
    }
}
