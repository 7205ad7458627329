//! Rules about the measurement itself: its length, the client, the machine, the network.

use super::{Verdict, Weight, verdict};
use crate::run::{ErrorClass, LoopModel, Place, Run, StoppedBy};
use crate::text::{count, duration, percent, rate};

pub(super) fn too_short(run: &Run) -> Option<Verdict> {
    let floor = 100.0 * run.concurrency.configured;
    let few = (run.finished() as f64) < floor;
    if run.elapsed_s >= 9.5 && !few || run.stopped_by == StoppedBy::Interrupt && run.finished() == 0
    {
        return None;
    }
    let what = format!(
        "{:.2} s, {} requests on {} connections",
        run.elapsed_s,
        count(run.finished()),
        run.concurrency.configured
    );
    verdict(
        "D01",
        Weight::Warning,
        "too short to quote",
        what,
        "measure at least 10 s and 100 requests per connection: -d 10s or more",
    )
}

pub(super) fn few_samples(run: &Run) -> Option<Verdict> {
    let total = run.headline_latency().count();
    if total == 0 || total >= 1_000 {
        return None;
    }
    verdict(
        "D01",
        Weight::Note,
        "few samples",
        format!(
            "{} good requests: at most {} lie above p99",
            count(total),
            total.div_ceil(100)
        ),
        "do not quote percentiles with fewer than 10 samples above them",
    )
}

pub(super) fn client_bound(run: &Run) -> Option<Verdict> {
    let (busy, waiting) = (run.cpu.client_thread_busy, run.cpu.client_thread_waiting);
    if busy < 0.9 && busy + waiting < 0.95 {
        return None;
    }
    let what = format!(
        "the busiest client thread ran {} of the time and waited for a processor {}",
        percent(busy),
        percent(waiting)
    );
    let weight = if busy >= 0.9 {
        Weight::Wrong
    } else {
        Weight::Warning
    };
    verdict(
        "D02",
        weight,
        "the client is at its limit",
        what,
        "the rate is a lower bound for the server, and latencies include the client's queue: more -t threads, other processors for the client (taskset), or another machine",
    )
}

pub(super) fn send_accuracy(run: &Run) -> Option<Verdict> {
    let delay = run.latency.send_delay.as_ref()?;
    if delay.is_empty() || delay.percentile(99.0) <= 1_000_000 {
        return None;
    }
    let what = format!(
        "p99 of sends {} after plan although a connection was free",
        duration(delay.percentile(99.0) as f64)
    );
    verdict(
        "D02",
        Weight::Warning,
        "the client could not keep its plan",
        what,
        "response times include this delay: a quieter machine, more -t threads, or real-time priority (chrt -f 1, as root)",
    )
}

pub(super) fn port_exhaustion(run: &Run) -> Option<Verdict> {
    let ports = run.kernel.local_ports * run.kernel.source_addresses.max(1);
    let lost = run.errors_of(&[ErrorClass::NoLocalPort]);
    let per_minute = run.connections.opened as f64 * (60.0 / run.elapsed_s.max(60.0));
    if run.setup.place == Place::UnixSocket
        || ports == 0
        || lost == 0 && per_minute < 0.8 * ports as f64
    {
        return None;
    }
    let what = format!(
        "{} connections opened, {} failed for want of a local port; {} ports, each blocked 60 s after use, {} in TIME_WAIT",
        count(run.connections.opened),
        count(lost),
        count(ports),
        count(run.kernel.time_wait)
    );
    let weight = if lost > 0 {
        Weight::Wrong
    } else {
        Weight::Warning
    };
    verdict(
        "D14",
        weight,
        "running out of local ports",
        what,
        "keep connections alive, or widen net.ipv4.ip_local_port_range, or target several addresses",
    )
}

pub(super) fn file_limit(run: &Run) -> Option<Verdict> {
    let need = run.setup.connections as u64 + 32;
    let lost = run.errors_of(&[ErrorClass::NoFileDescriptor]);
    if lost == 0 && (run.kernel.open_files == 0 || need <= run.kernel.open_files) {
        return None;
    }
    let what = format!(
        "{} connections wanted, {} files allowed, {} connections not opened",
        run.setup.connections,
        run.kernel.open_files,
        count(lost)
    );
    verdict(
        "D38",
        Weight::Wrong,
        "too few file descriptors",
        what,
        "ulimit -n with at least the number of connections plus 32, before starting",
    )
}

pub(super) fn noise(run: &Run) -> Option<Verdict> {
    let known = run.cpu.server.is_some() || run.setup.place == Place::Remote;
    let limit = if known { 0.05 } else { 1.1 };
    if run.cpu.others <= limit && run.cpu.stolen <= 0.01 {
        return None;
    }
    let what = format!(
        "other processes used {} of the processors, the hypervisor took {}",
        percent(run.cpu.others),
        percent(run.cpu.stolen)
    );
    verdict(
        "D28",
        Weight::Warning,
        "the machine was busy with other work",
        what,
        "rates are too low by an unknown amount: repeat on a quiet machine, or compare processor time per request",
    )
}

pub(super) fn network_bound(run: &Run) -> Option<Verdict> {
    let trip = run.latency.connect.percentile(50.0) as f64 / 1e9;
    if run.setup.place != Place::Remote || trip <= 0.0 || run.setup.model == LoopModel::Open {
        return None;
    }
    let ceiling = run.concurrency.configured / trip;
    if run.rates.responses < 0.7 * ceiling {
        return None;
    }
    let what = format!(
        "round trip {}, so {} connections cannot pass {}/s",
        duration(trip * 1e9),
        run.concurrency.configured,
        rate(ceiling)
    );
    verdict(
        "D26",
        Weight::Warning,
        "the network's delay is the limit",
        what,
        "run nearer to the server, or raise -c to (wanted rate × round trip)",
    )
}
