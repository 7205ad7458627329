//! What the kernel knows: processor time of the server, of the machine, of our threads; drops.
//!
//! Everything here is best effort: a missing file means a missing figure, never a failed run.

use measure::{Host, Kernel, ServerCpu};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::Duration;

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// Kernel ticks per second.
fn hertz() -> f64 {
    rustix::param::clock_ticks_per_second() as f64
}

/// How long the calling thread was ready to run but waited for a processor.
pub(crate) fn thread_waited() -> Duration {
    let text = read("/proc/thread-self/schedstat");
    let nanos = text
        .split_whitespace()
        .nth(1)
        .and_then(|word| word.parse().ok())
        .unwrap_or(0);
    Duration::from_nanos(nanos)
}

/// Processor time of the whole machine, in ticks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Machine {
    pub(crate) total: f64,
    pub(crate) idle: f64,
    pub(crate) stolen: f64,
}

/// Reads the machine's processor time.
pub(crate) fn machine() -> Machine {
    let text = read("/proc/stat");
    let fields: Vec<f64> = text
        .lines()
        .next()
        .unwrap_or("")
        .split_whitespace()
        .skip(1)
        .take(8)
        .filter_map(|word| word.parse().ok())
        .collect();
    if fields.len() < 8 {
        return Machine::default();
    }
    Machine {
        total: fields.iter().sum(),
        idle: fields[3] + fields[4],
        stolen: fields[7],
    }
}

/// Counters of the network stack and limits.
pub(crate) fn kernel() -> Kernel {
    let files = rustix::process::getrlimit(rustix::process::Resource::Nofile)
        .current
        .unwrap_or(0);
    Kernel {
        listen_overflows: netstat("/proc/net/netstat", "TcpExt:", "ListenOverflows"),
        retransmits: netstat("/proc/net/snmp", "Tcp:", "RetransSegs"),
        local_ports: local_ports(),
        source_addresses: 1,
        time_wait: time_wait(),
        open_files: files,
    }
}

/// Raises the limit of open files as far as this process may, if `wanted` are needed.
pub(crate) fn allow_files(wanted: u64) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|current| current < wanted) {
        let raised = limit.maximum.map_or(wanted, |maximum| maximum.min(wanted));
        let _ = setrlimit(
            Resource::Nofile,
            Rlimit {
                current: Some(raised),
                maximum: limit.maximum,
            },
        );
    }
}

fn netstat(file: &str, group: &str, name: &str) -> u64 {
    let text = read(file);
    let mut lines = text.lines().filter(|line| line.starts_with(group));
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else {
        return 0;
    };
    let at = names.split_whitespace().position(|word| word == name);
    at.and_then(|at| values.split_whitespace().nth(at))
        .and_then(|word| word.parse().ok())
        .unwrap_or(0)
}

fn local_ports() -> u64 {
    let text = read("/proc/sys/net/ipv4/ip_local_port_range");
    let mut ends = text
        .split_whitespace()
        .filter_map(|word| word.parse::<u64>().ok());
    match (ends.next(), ends.next()) {
        (Some(low), Some(high)) if high >= low => high - low + 1,
        _ => 0,
    }
}

fn time_wait() -> u64 {
    let text = read("/proc/net/sockstat");
    let line = text
        .lines()
        .find(|line| line.starts_with("TCP:"))
        .unwrap_or("");
    let words: Vec<&str> = line.split_whitespace().collect();
    words
        .iter()
        .position(|word| *word == "tw")
        .and_then(|at| words.get(at + 1)?.parse().ok())
        .unwrap_or(0)
}

/// This machine.
pub(crate) fn host() -> Host {
    let name = rustix::system::uname();
    let text = read("/proc/cpuinfo");
    let model = text
        .lines()
        .find(|line| line.starts_with("model name"))
        .and_then(|line| line.split_once(':'));
    Host {
        name: name.nodename().to_string_lossy().into_owned(),
        kernel: format!(
            "{} {}",
            name.sysname().to_string_lossy(),
            name.release().to_string_lossy()
        ),
        processor: model.map_or_else(
            || name.machine().to_string_lossy().into_owned(),
            |(_, model)| model.trim().into(),
        ),
        processors: processors(),
    }
}

/// Number of processors this process may use.
pub(crate) fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Processors of the machine.
pub(crate) fn online_processors() -> usize {
    read("/proc/stat")
        .lines()
        .filter(|line| line.starts_with("cpu") && !line.starts_with("cpu "))
        .count()
        .max(1)
}

/// The server's processes, found once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Server {
    roots: Vec<u32>,
    found_by: String,
}

/// Processor seconds of each thread, by (process, thread).
pub(crate) type Threads = BTreeMap<(u32, u32), f64>;

impl Server {
    /// The given processes.
    pub(crate) fn of_pids(pids: &[u32]) -> Self {
        Self {
            roots: pids.to_vec(),
            found_by: "--server-pid".into(),
        }
    }

    /// The process that listens on `port`.
    pub(crate) fn of_port(port: u16) -> Option<Self> {
        let inodes = listeners(port);
        Self::of_sockets(&inodes, format!("listens on port {port}"))
    }

    /// The process that listens on a Unix socket.
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

    /// Processor time of all its threads, children included.
    pub(crate) fn threads(&self) -> Threads {
        let mut all = Threads::new();
        for pid in self.family() {
            for thread in numbers(&format!("/proc/{pid}/task")) {
                if let Some(seconds) =
                    cpu_seconds(&read(&format!("/proc/{pid}/task/{thread}/stat")))
                {
                    all.insert((pid, thread), seconds);
                }
            }
            // Threads and children that ended still count.
            if let Some(whole) = cpu_seconds(&read(&format!("/proc/{pid}/stat"))) {
                let living: f64 = all
                    .range((pid, 0)..=(pid, u32::MAX))
                    .map(|(_, seconds)| seconds)
                    .sum();
                all.insert((pid, 0), (whole - living).max(0.0));
            }
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

    /// What it used between two readings.
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

fn numbers(folder: &str) -> Vec<u32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

fn pids() -> Vec<u32> {
    numbers("/proc")
}

/// The fields of a stat line after the command's name.
fn stat_fields(text: &str) -> Vec<&str> {
    text.rsplit_once(") ")
        .map_or_else(Vec::new, |(_, rest)| rest.split_whitespace().collect())
}

fn parent(pid: u32) -> Option<u32> {
    stat_fields(&read(&format!("/proc/{pid}/stat")))
        .get(1)?
        .parse()
        .ok()
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
    fn a_command_with_blanks_and_parentheses_is_parsed() {
        let stat = "12 (a) b (c) S 7 1 1 0 -1 4 1 0 0 0 150 50 0 0 20 0 1 0";
        assert_eq!(stat_fields(stat)[1], "7");
        assert_eq!(
            cpu_seconds(stat).map(|seconds| (seconds * hertz()).round()),
            Some(200.0)
        );
    }

    #[test]
    fn the_machine_is_readable() {
        let machine = machine();
        assert!(machine.total > machine.idle);
        assert!(kernel().local_ports > 0 && host().processors > 0);
    }
}
