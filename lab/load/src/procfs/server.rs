//! The server's processes, and the processor time that they use.

use super::hertz;
use measure::ServerCpu;
use measure::procfs::{numbers, read, stat_fields};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// The server's root processes, determined once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Server {
    roots: Vec<u32>,
    found_by: String,
}

/// Ticks by which the processor time of a process is rounded: its user and its system part each by less than one.
const ROUNDING: f64 = 3.0;

/// Processor seconds of each thread, by (process, thread).
pub(crate) type Threads = BTreeMap<(u32, u32), f64>;

impl Server {
    /// Returns the server that consists of the given processes.
    pub(crate) fn of_pids(pids: &[u32]) -> Self {
        Self {
            roots: pids.to_vec(),
            found_by: "--server-pid".into(),
        }
    }

    /// Returns the processes that listen on `port`.
    pub(crate) fn of_port(port: u16) -> Option<Self> {
        let inodes = listeners(port);
        Self::of_sockets(&inodes, format!("listens on port {port}"))
    }

    /// Returns the processes that listen on a Unix socket.
    pub(crate) fn of_unix(path: &str) -> Option<Self> {
        let text = read("/proc/net/unix");
        let inodes = text
            .lines()
            .filter(|line| line.ends_with(path))
            .filter_map(|line| line.split_whitespace().nth(6)?.parse().ok())
            .collect();
        Self::of_sockets(&inodes, format!("listens on {path}"))
    }

    fn of_sockets(inodes: &BTreeSet<u64>, found_by: String) -> Option<Self> {
        let me = std::process::id();
        let roots: Vec<u32> = pids()
            .into_iter()
            .filter(|pid| *pid != me && holds(*pid, inodes))
            .collect();
        (!roots.is_empty()).then_some(Self { roots, found_by })
    }

    /// Returns the processor time of each thread, descendants of the root processes included.
    pub(crate) fn threads(&self) -> Threads {
        let mut all = Threads::new();
        for pid in self.family() {
            let threads = numbers(&format!("/proc/{pid}/task"));
            let of = |thread| Some(((pid, thread), thread_seconds(pid, thread)?));
            let living: Threads = threads.into_iter().filter_map(of).collect();
            let whole = cpu_seconds(&read(&format!("/proc/{pid}/stat")));
            let ended = whole.map_or(0.0, |whole| whole - living.values().sum::<f64>());
            // Threads that have exited still count. A remainder below a few ticks is only the rounding of the process's
            // own figure.
            if ended > ROUNDING / hertz() {
                all.insert((pid, 0), ended);
            }
            all.extend(living);
        }
        all
    }

    fn family(&self) -> BTreeSet<u32> {
        let parents: Vec<(u32, u32)> = pids()
            .into_iter()
            .filter_map(|pid| Some((pid, parent(pid)?)))
            .collect();
        let mut family: BTreeSet<u32> = self.roots.iter().copied().collect();
        loop {
            let before = family.len();
            for (pid, parent) in &parents {
                if family.contains(parent) {
                    family.insert(*pid);
                }
            }
            if family.len() == before {
                return family;
            }
        }
    }

    /// Returns the processor time used between two readings.
    pub(crate) fn used(
        &self,
        before: &Threads,
        after: &Threads,
        elapsed: f64,
        requests: u64,
    ) -> ServerCpu {
        let spent = |(key, seconds): (&(u32, u32), &f64)| {
            (seconds - before.get(key).copied().unwrap_or(0.0)).max(0.0)
        };
        let cpu_s: f64 = after.iter().map(spent).sum();
        let busiest = after
            .iter()
            .filter(|((_, thread), _)| *thread != 0)
            .map(spent)
            .fold(0.0, f64::max);
        let processes: BTreeSet<u32> = after.keys().map(|(pid, _)| *pid).collect();
        let first = processes.first().copied().unwrap_or(0);
        let page = rustix::param::page_size() as u64;
        let resident = |pid: &u32| -> u64 {
            read(&format!("/proc/{pid}/statm"))
                .split_whitespace()
                .nth(1)
                .and_then(|word| word.parse().ok())
                .unwrap_or(0)
        };
        ServerCpu {
            found_by: self.found_by.clone(),
            name: read(&format!("/proc/{first}/comm")).trim().to_owned(),
            processes: processes.len(),
            cpu_s,
            us_per_request: if requests == 0 {
                0.0
            } else {
                cpu_s * 1e6 / requests as f64
            },
            cores: cpu_s / elapsed.max(1e-9),
            busiest_thread: (busiest / elapsed.max(1e-9)).min(1.0),
            resident_bytes: processes.iter().map(resident).sum::<u64>() * page,
        }
    }
}

fn pids() -> Vec<u32> {
    numbers("/proc")
}

fn parent(pid: u32) -> Option<u32> {
    stat_fields(&read(&format!("/proc/{pid}/stat")))
        .get(1)?
        .parse()
        .ok()
}

/// Returns the processor seconds that a thread has used so far. schedstat counts in nanoseconds; in ticks of 10 ms, a
/// hundred processes that use 3 ms each would show nothing.
fn thread_seconds(pid: u32, thread: u32) -> Option<f64> {
    let task = format!("/proc/{pid}/task/{thread}");
    let text = read(&format!("{task}/schedstat"));
    let nanos: Option<f64> = text.split_whitespace().next().and_then(|w| w.parse().ok());
    nanos
        .map(|nanos| nanos / 1e9)
        .or_else(|| cpu_seconds(&read(&format!("{task}/stat"))))
}

fn cpu_seconds(stat: &str) -> Option<f64> {
    let fields = stat_fields(stat);
    let (user, system): (f64, f64) = (fields.get(11)?.parse().ok()?, fields.get(12)?.parse().ok()?);
    Some((user + system) / hertz())
}

fn listeners(port: u16) -> BTreeSet<u64> {
    let wanted = format!(":{port:04X}");
    let mut inodes = BTreeSet::new();
    for file in ["/proc/net/tcp", "/proc/net/tcp6"] {
        for line in read(file).lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            if fields.len() > 9 && fields[1].ends_with(&wanted) && fields[3] == "0A" {
                inodes.extend(fields[9].parse::<u64>().ok());
            }
        }
    }
    inodes
}

fn holds(pid: u32, inodes: &BTreeSet<u64>) -> bool {
    let entries = fs::read_dir(format!("/proc/{pid}/fd"))
        .into_iter()
        .flatten()
        .flatten();
    entries
        .filter_map(|entry| fs::read_link(entry.path()).ok())
        .any(|link| {
            let text = link.to_string_lossy();
            let inode = text
                .strip_prefix("socket:[")
                .and_then(|rest| rest.strip_suffix(']'));
            inode
                .and_then(|inode| inode.parse().ok())
                .is_some_and(|inode| inodes.contains(&inode))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::time::Duration;

    #[test]
    fn our_own_listener_is_found_by_its_port() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let inodes = listeners(listener.local_addr().unwrap().port());
        assert_eq!(inodes.len(), 1);
        assert!(holds(std::process::id(), &inodes));
    }

    #[test]
    fn processor_time_of_a_process_grows_with_its_work() {
        let me = Server::of_pids(&[std::process::id()]);
        let before = me.threads();
        let until = std::time::Instant::now() + Duration::from_millis(120);
        while std::time::Instant::now() < until {}
        let used = me.used(&before, &me.threads(), 0.12, 10);
        assert!(used.cpu_s > 0.02 && used.processes >= 1, "{used:?}");
    }

    #[test]
    fn what_is_less_than_a_tick_counts() {
        let me = std::process::id();
        let own = fs::read_link("/proc/thread-self").unwrap();
        let thread = own.file_name().unwrap().to_str().unwrap().parse().unwrap();
        let before = thread_seconds(me, thread).unwrap();
        let began = std::time::Instant::now();
        while began.elapsed() < Duration::from_millis(4) {}
        let used = thread_seconds(me, thread).unwrap() - before;
        assert!(used > 0.0 && used < 0.1, "{used}");
    }

    #[test]
    fn processor_time_is_that_of_user_and_kernel() {
        let stat = "12 (a) b (c) S 7 1 1 0 -1 4 1 0 0 0 150 50 0 0 20 0 1 0";
        assert_eq!(
            cpu_seconds(stat).map(|seconds| (seconds * hertz()).round()),
            Some(200.0)
        );
    }
}
