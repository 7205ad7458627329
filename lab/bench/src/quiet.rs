//! Waits until the machine is fit for the next measurement: processors idle, ports free.

use measure::procfs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The longest wait; after it the server is measured, and the repeat is marked.
const TIMEOUT: Duration = Duration::from_secs(60);
/// How long the processors are observed.
const WATCHED: Duration = Duration::from_secs(2);
/// The share of the processors that others may use.
const BUSY: f64 = 0.05;
/// Connections that may still be in TIME_WAIT.
const WAITING: u64 = 5_000;

/// Waits until the processors are idle.
pub(crate) fn until_quiet(stop: &AtomicBool) {
    wait(stop, || crate::host::noise(WATCHED).others_before <= BUSY);
}

/// Waits until ports are free again, if the kernel does not reuse those in TIME_WAIT for loopback.
pub(crate) fn until_ports_are_free(stop: &AtomicBool) {
    let reuse = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_tw_reuse").unwrap_or_default();
    if reuse.trim() == "0" {
        wait(stop, || {
            let free = waiting(&procfs::read("/proc/net/sockstat")) < WAITING;
            if !free {
                std::thread::sleep(Duration::from_millis(200));
            }
            free
        });
    }
}

fn wait(stop: &AtomicBool, mut is_ready: impl FnMut() -> bool) {
    let until = Instant::now() + TIMEOUT;
    while !stop.load(Ordering::Relaxed) && !is_ready() && Instant::now() < until {}
}

/// Returns the number of TCP connections in TIME_WAIT, from `/proc/net/sockstat`.
fn waiting(sockstat: &str) -> u64 {
    let line = sockstat.lines().find_map(|line| line.strip_prefix("TCP:"));
    let mut words = line.unwrap_or_default().split_whitespace();
    words.find(|word| *word == "tw");
    words.next().and_then(|n| n.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_that_wait_are_read() {
        let text =
            "sockets: used 283\nTCP: inuse 9 orphan 0 tw 5120 alloc 12 mem 3\nUDP: inuse 1 mem 0\n";
        assert_eq!((waiting(text), waiting("")), (5120, 0));
    }

    #[test]
    fn a_run_that_is_to_end_does_not_wait() {
        let began = Instant::now();
        wait(&AtomicBool::new(true), || false);
        assert!(began.elapsed() < Duration::from_secs(1));
    }
}
