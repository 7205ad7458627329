//! Rules about how the server treats connections and processors.

use super::{Verdict, Weight, verdict};
use crate::run::{ErrorClass, KeepAlive, LoopModel, Place, Run, StoppedBy};
use crate::text::{count, duration, percent};

pub(super) fn early_eof(run: &Run) -> Option<Verdict> {
    let lost = run.errors_of(&[ErrorClass::EarlyEof, ErrorClass::ResetBeforeFirstByte]);
    if lost == 0 {
        return None;
    }
    let what = format!(
        "{} requests were closed without a byte of response (ab calls these \"Length\" failures)",
        count(lost)
    );
    verdict(
        "D13",
        Weight::Warning,
        "server closed without answering",
        what,
        "look for worker crashes and limits in the server's log; a few at the end of kept connections are the keep-alive race",
    )
}

/// Default idle time-outs of servers, in seconds, with the setting's name.
const TIMERS: [(f64, &str); 4] = [
    (5.0, "Apache KeepAliveTimeout"),
    (15.0, "a 15 s keep-alive timer"),
    (65.0, "nginx keepalive_timeout"),
    (75.0, "nginx keepalive_timeout"),
];

pub(super) fn starvation(run: &Run) -> Option<Verdict> {
    // A connection that failed quickly did not starve.
    let long = run.connections.longest_wait_us >= 1e6 && run.counts.good > 0;
    let starved = if long {
        run.connections.starved + run.connections.never_answered
    } else {
        0
    };
    let waits = &run.latency.service;
    let timer = TIMERS.iter().find(|(seconds, _)| {
        let low = (seconds * 1e9) as u64;
        let near = waits.count_between(low, low + low / 5);
        near >= 3
            && near as f64 >= waits.count() as f64 * 0.002
            && waits.percentile(50.0) < low / 10
    });
    if starved == 0 && timer.is_none() || run.finished() == 0 && run.counts.unfinished == 0 {
        return None;
    }
    let mut what = format!(
        "{} of {} connections waited over a second for one answer ({} never got one, longest wait {}) while half of all requests took {}",
        count(starved),
        run.setup.connections,
        count(run.connections.never_answered),
        duration(run.connections.longest_wait_us * 1e3),
        duration(waits.percentile(50.0) as f64),
    );
    if let Some((seconds, name)) = timer {
        what += &format!("; waits cluster just above {seconds} s: {name}");
    }
    verdict(
        "D08",
        Weight::Wrong,
        "keep-alive starvation",
        what,
        "workers sit on idle kept connections while others wait: use at most as many connections as the server has worker slots, or more slots, an event-driven front, a shorter keep-alive timeout",
    )
}

pub(super) fn overload(run: &Run) -> Option<Verdict> {
    if run.setup.model != LoopModel::Open {
        return None;
    }
    let planned = run.counts.started + run.counts.unsent;
    let late = run.counts.unsent as f64 / planned.max(1) as f64;
    let behind = run
        .latency
        .response
        .as_ref()
        .map_or(0, |all| all.percentile(50.0));
    let service = run.latency.service.percentile(50.0).max(1);
    if late <= 0.001 && behind < 10 * service.max(1_000_000) {
        return None;
    }
    let what = format!(
        "{} of {} planned requests were never sent; half of all waited {} from plan to answer, the server took {}",
        count(run.counts.unsent),
        count(planned),
        duration(behind as f64),
        duration(service as f64)
    );
    verdict(
        "D05",
        Weight::Wrong,
        "the server cannot serve this rate",
        what,
        "latencies grow with the length of the run and mean nothing: lower -r until response and service time agree, or allow more connections with -c",
    )
}

pub(super) fn listen_overflow(run: &Run) -> Option<Verdict> {
    if run.kernel.listen_overflows == 0 || run.setup.place == Place::Remote {
        return None;
    }
    let what = format!(
        "the kernel dropped {} connections at full accept queues during the run",
        count(run.kernel.listen_overflows)
    );
    verdict(
        "D15",
        Weight::Warning,
        "accept queue overflow",
        what,
        "connects then wait 1, 3, 7 s: raise the server's backlog and net.core.somaxconn, or ramp the connections with --ramp",
    )
}

pub(super) fn delayed_ack(run: &Run) -> Option<Verdict> {
    let p50 = run.latency.service.percentile(50.0);
    if !(39_500_000..=45_000_000).contains(&p50)
        || run.cpu.machine_busy > 0.5
        || run.setup.place == Place::UnixSocket
    {
        return None;
    }
    let spread = run.latency.service.percentile(75.0).saturating_sub(p50);
    if spread > 4_000_000 {
        return None;
    }
    verdict(
        "D16",
        Weight::Warning,
        "the 40 ms of Nagle and delayed ACK",
        format!(
            "half of all requests took {}, with idle processors",
            duration(p50 as f64)
        ),
        "the server writes head and body separately without TCP_NODELAY",
    )
}

pub(super) fn server_cap(run: &Run) -> Option<Verdict> {
    let closed: u64 = run.connections.requests_per_connection.values().sum();
    let (at, times) = run
        .connections
        .requests_per_connection
        .iter()
        .max_by_key(|(_, times)| **times)?;
    if run.setup.keep_alive != KeepAlive::On
        || run.connections.closed_by_server < 3
        || *times < 3
        || (*times as f64) < 0.8 * closed as f64
    {
        return None;
    }
    if *at == 1 {
        return verdict(
            "D06",
            Weight::Warning,
            "the server closes after every request",
            format!(
                "{} connections for {} requests",
                count(run.connections.opened),
                count(run.finished())
            ),
            "this measures connecting: turn keep-alive on in the server, or ask for --no-keepalive so that the result says so",
        );
    }
    verdict(
        "D07",
        Weight::Note,
        "the server limits requests per connection",
        format!(
            "{} of {} closed connections had served exactly {at}",
            count(*times),
            count(closed)
        ),
        "raise it for a long test (Apache MaxKeepAliveRequests, nginx keepalive_requests), or accept the reconnects",
    )
}

pub(super) fn server_bound(run: &Run) -> Option<Verdict> {
    let server = run.cpu.server.as_ref()?;
    let processors = run.cpu.processors.max(1) as f64;
    let whole = server.cores + run.cpu.client_s / run.elapsed_s.max(1e-9) >= 0.95 * processors
        && run.cpu.machine_busy >= 0.95;
    if server.cores >= 0.95 * processors || whole {
        let what = format!(
            "server {:.2} of {processors} processors, client {:.2}, {:.1} µs of server time per request",
            server.cores,
            run.cpu.client_s / run.elapsed_s.max(1e-9),
            server.us_per_request
        );
        return verdict(
            "D03",
            Weight::Note,
            "processor limit reached",
            what,
            "this is the machine's maximum for this work: profile the server, or give client and server processors of their own",
        );
    }
    if server.busiest_thread >= 0.95 {
        let what = format!(
            "one thread of {} ran {} of the time, {:.2} of {processors} processors used",
            server.name,
            percent(server.busiest_thread),
            server.cores
        );
        return verdict(
            "D04",
            Weight::Note,
            "one server thread is at its limit",
            what,
            "raise workers: other processors are free",
        );
    }
    None
}

pub(super) fn idle_server(run: &Run) -> Option<Verdict> {
    let server = run.cpu.server.as_ref()?;
    if run.setup.model == LoopModel::Open
        || run.setup.think.is_some()
        || run.cpu.machine_busy > 0.8
        || server.busiest_thread >= 0.9
        || run.cpu.client_thread_busy >= 0.85
        || run.counts.good == 0
    {
        return None;
    }
    let what = format!(
        "server {:.2} processors, machine {} busy, {} in flight",
        server.cores,
        percent(run.cpu.machine_busy),
        run.concurrency.configured
    );
    let advice = format!(
        "raise concurrency (-c {0}); if the rate stays flat, raise the server's workers; if that is flat too, look at what it waits for: database, locks, pool",
        (run.concurrency.configured * 2.0).max(2.0)
    );
    verdict("D04", Weight::Note, "nothing is saturated", what, &advice)
}

pub(super) fn unfinished(run: &Run) -> Option<Verdict> {
    if run.counts.unfinished == 0 || run.stopped_by == StoppedBy::Interrupt {
        return None;
    }
    let what = format!(
        "{} requests had no answer at the end, the oldest for {}",
        count(run.counts.unfinished),
        duration(run.counts.oldest_unfinished_us * 1e3)
    );
    verdict(
        "D08",
        Weight::Warning,
        "requests left without an answer",
        what,
        "they are in no percentile of service time: every such figure is too good",
    )
}

pub(super) fn unfair(run: &Run) -> Option<Verdict> {
    if run.setup.model == LoopModel::Open
        || run.connections.fairness >= 0.9
        || run.counts.good < 20 * run.setup.connections as u64
    {
        return None;
    }
    let what = format!(
        "Jain's index {:.2}; between {} and {} requests per connection",
        run.connections.fairness,
        count(run.connections.fewest),
        count(run.connections.most)
    );
    verdict(
        "D37",
        Weight::Warning,
        "connections are served unevenly",
        what,
        "the server's accept or dispatch favours some: percentiles over all hide the others",
    )
}
