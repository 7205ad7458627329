//! Kernel figures: processor time of the server, the machine and our threads; drops; limits.
//!
//! All figures are best effort: a missing file means a missing figure, never a failed run.

mod server;

use measure::procfs::read;
use measure::{Host, Kernel};
pub(crate) use server::{Server, Threads};
use std::time::Duration;

/// Returns the kernel's clock ticks per second.
fn hertz() -> f64 {
    rustix::param::clock_ticks_per_second() as f64
}

/// Returns how long the calling thread was ready to run but waited for a processor.
pub(crate) fn thread_waited() -> Duration {
    let text = read("/proc/thread-self/schedstat");
    let nanos = text
        .split_whitespace()
        .nth(1)
        .and_then(|word| word.parse().ok())
        .unwrap_or(0);
    Duration::from_nanos(nanos)
}

/// Returns counters of the network stack, and limits.
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

/// Raises the limit of open files to `wanted`, as far as this process may.
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

/// Returns the name, kernel and processor of this machine.
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

/// Returns the number of processors that this process may use.
pub(crate) fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Returns the number of processors of the machine.
pub(crate) fn online_processors() -> usize {
    read("/proc/stat")
        .lines()
        .filter(|line| line.starts_with("cpu") && !line.starts_with("cpu "))
        .count()
        .max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_counters_are_readable() {
        assert!(kernel().local_ports > 0 && host().processors > 0);
    }
}
