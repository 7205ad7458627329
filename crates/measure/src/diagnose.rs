//! What to believe of a run: the rules that find the usual ways to misread a load test.
//!
//! Each rule sees the finished [`Run`] and answers with its evidence and the next step. Rules
//! have stable ids so that a verdict can be looked up and tested.

use crate::run::{ErrorClass, KeepAlive, LoopModel, Place, Run, StoppedBy};
use crate::stats;
use crate::text::{bytes, count, duration, percent, rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much a verdict weighs.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Weight {
    /// Good to know.
    Note,
    /// The figure needs this beside it.
    Warning,
    /// The figure is not what it seems to be.
    Wrong,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// Rule, such as `D08`.
    pub id: String,
    /// How much it weighs.
    pub weight: Weight,
    /// What was found, in a few words.
    pub title: String,
    /// The numbers it rests on.
    pub evidence: String,
    /// What to do.
    pub advice: String,
}

type Rule = fn(&Run) -> Option<Verdict>;

/// Every rule, in the order they are printed.
#[rustfmt::skip]
const RULES: &[Rule] = &[
    too_short, failures, early_eof, client_bound, send_accuracy, unfinished, overload, starvation,
    port_exhaustion, file_limit, listen_overflow, little, unsteady, two_states, delayed_ack,
    server_cap, server_bound, idle_server, noise, no_keep_alive, handshakes, varying_body, unfair,
    network_bound, few_samples,
];

/// Applies every rule; the heaviest findings come first.
#[must_use]
pub fn diagnose(run: &Run) -> Vec<Verdict> {
    let mut found: Vec<Verdict> = RULES.iter().filter_map(|rule| rule(run)).collect();
    found.sort_by_key(|verdict| std::cmp::Reverse(verdict.weight));
    found
}

fn verdict(
    id: &str,
    weight: Weight,
    title: &str,
    evidence: String,
    advice: &str,
) -> Option<Verdict> {
    Some(Verdict {
        id: id.into(),
        weight,
        title: title.into(),
        evidence,
        advice: advice.into(),
    })
}

fn too_short(run: &Run) -> Option<Verdict> {
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

fn failures(run: &Run) -> Option<Verdict> {
    let share = run.counts.failed as f64 / run.finished().max(1) as f64;
    if share <= 0.001 {
        return None;
    }
    let mut what = format!(
        "{} of {} failed ({}); good {}/s, all responses {}/s",
        count(run.counts.failed),
        count(run.finished()),
        percent(share),
        rate(run.rates.goodput),
        rate(run.rates.responses),
    );
    if let Some(sample) = run
        .error_samples
        .iter()
        .find(|sample| !sample.text.is_empty())
    {
        what += &format!(
            "; first {}: {}",
            sample.class.name(),
            sample.text.lines().next().unwrap_or("")
        );
    }
    verdict(
        "D11",
        Weight::Wrong,
        "many requests failed",
        what,
        "quote the goodput, and find the cause first: a failing server is often a fast one",
    )
}

fn early_eof(run: &Run) -> Option<Verdict> {
    let lost =
        run.errors_of(ErrorClass::EarlyEof) + run.errors_of(ErrorClass::ResetBeforeFirstByte);
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

fn client_bound(run: &Run) -> Option<Verdict> {
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

fn send_accuracy(run: &Run) -> Option<Verdict> {
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
        "response times include this delay: fewer connections per thread, more -t threads, or a quieter machine",
    )
}

fn unfinished(run: &Run) -> Option<Verdict> {
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

fn overload(run: &Run) -> Option<Verdict> {
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

/// Idle time-outs that servers ship with, in seconds, and whose they are.
const TIMERS: [(f64, &str); 4] = [
    (5.0, "Apache KeepAliveTimeout"),
    (15.0, "a 15 s keep-alive timer"),
    (65.0, "nginx keepalive_timeout"),
    (75.0, "nginx keepalive_timeout"),
];

fn starvation(run: &Run) -> Option<Verdict> {
    let starved = run.connections.starved + run.connections.never_answered;
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

fn port_exhaustion(run: &Run) -> Option<Verdict> {
    let ports = run.kernel.local_ports * run.kernel.source_addresses.max(1);
    let lost = run.errors_of(ErrorClass::NoLocalPort);
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

fn file_limit(run: &Run) -> Option<Verdict> {
    let need = run.setup.connections as u64 + 32;
    let lost = run.errors_of(ErrorClass::NoFileDescriptor);
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

fn listen_overflow(run: &Run) -> Option<Verdict> {
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

fn little(run: &Run) -> Option<Verdict> {
    if run.setup.model == LoopModel::Open || run.setup.think.is_some() || run.counts.good == 0 {
        return None;
    }
    let (wanted, found) = (
        run.concurrency.configured,
        run.rates.goodput * run.latency.service.mean() / 1e9,
    );
    if (wanted - found).abs() <= 0.1 * wanted || run.counts.good < 10 * run.setup.connections as u64
    {
        return None;
    }
    let what = format!(
        "{} in flight configured, rate × mean latency gives {found:.1}, {:.1} were in flight on average",
        wanted, run.concurrency.achieved
    );
    verdict(
        "D10",
        Weight::Warning,
        "rate and latency do not fit together",
        what,
        "some connections were idle, failing or stuck: latency describes only the others",
    )
}

fn rates_of(run: &Run) -> Vec<f64> {
    let full = run.series.first().map_or(0.0, |point| point.length_s);
    run.series
        .iter()
        .filter(|point| point.length_s >= 0.9 * full.max(1.0))
        .map(|point| point.rate)
        .collect()
}

fn unsteady(run: &Run) -> Option<Verdict> {
    let rates = rates_of(run);
    if rates.len() < 6 || run.setup.model == LoopModel::Open {
        return None;
    }
    let third = rates.len() / 3;
    let (first, last) = (
        stats::mean(&rates[..third]),
        stats::mean(&rates[rates.len() - third..]),
    );
    if (first - last).abs() <= 0.1 * first.max(last) {
        return None;
    }
    let what = format!("first third {}/s, last third {}/s", rate(first), rate(last));
    verdict(
        "D34",
        Weight::Warning,
        "not steady",
        what,
        "the mean depends on the length of the run: add --warmup auto, or find what fills up, warms up or throttles",
    )
}

fn two_states(run: &Run) -> Option<Verdict> {
    let found = stats::two_states(&rates_of(run))?;
    let what = format!(
        "{} s near {}/s and {} s near {}/s, nothing between",
        found.low.1,
        rate(found.low.0),
        found.high.1,
        rate(found.high.0)
    );
    verdict(
        "D09",
        Weight::Warning,
        "two states",
        what,
        "a mean of both describes neither: workers being spawned, a cold cache, ports used up or a noisy neighbour?",
    )
}

fn delayed_ack(run: &Run) -> Option<Verdict> {
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

fn server_cap(run: &Run) -> Option<Verdict> {
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

fn server_bound(run: &Run) -> Option<Verdict> {
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

fn idle_server(run: &Run) -> Option<Verdict> {
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
    verdict("D04", Weight::Note, "nobody is saturated", what, &advice)
}

fn noise(run: &Run) -> Option<Verdict> {
    let known = run.cpu.server.is_some() || run.setup.place == Place::Remote;
    let limit = if known { 0.05 } else { 1.1 };
    if run.cpu.others <= limit && run.cpu.stolen <= 0.01 {
        return None;
    }
    let what = format!(
        "others used {} of the processors, the hypervisor took {}",
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

fn no_keep_alive(run: &Run) -> Option<Verdict> {
    if run.setup.keep_alive != KeepAlive::Off || run.latency.connect.is_empty() {
        return None;
    }
    let tls = if run.setup.tls {
        format!(
            ", TLS {}",
            duration(run.latency.tls.percentile(50.0) as f64)
        )
    } else {
        String::new()
    };
    let what = format!(
        "each request paid for a connection: {} to connect{tls} at the median",
        duration(run.latency.connect.percentile(50.0) as f64)
    );
    verdict(
        "D06",
        Weight::Note,
        "keep-alive is off",
        what,
        "browsers and proxies keep connections; compare only with runs that do not either",
    )
}

fn handshakes(run: &Run) -> Option<Verdict> {
    let per_request = run.latency.tls.count() as f64 / run.finished().max(1) as f64;
    if !run.setup.tls || per_request <= 0.5 {
        return None;
    }
    verdict(
        "D17",
        Weight::Note,
        "a TLS handshake per request",
        format!(
            "{per_request:.2} handshakes per request, {} each at the median",
            duration(run.latency.tls.percentile(50.0) as f64)
        ),
        "keep connections alive, or use HTTP/2",
    )
}

fn varying_body(run: &Run) -> Option<Verdict> {
    let (small, large) = (run.bytes.smallest_body, run.bytes.largest_body);
    if small == large || run.setup.requests.len() > 1 || run.counts.good == 0 {
        return None;
    }
    verdict(
        "D12",
        Weight::Note,
        "body length varies",
        format!("{} to {}", bytes(small as f64), bytes(large as f64)),
        "fine for a dynamic page; ab would count these as failures without -l",
    )
}

fn unfair(run: &Run) -> Option<Verdict> {
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

fn network_bound(run: &Run) -> Option<Verdict> {
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

fn few_samples(run: &Run) -> Option<Verdict> {
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

#[cfg(test)]
mod tests;
