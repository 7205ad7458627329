//! Turns the counts of the threads into the published result.

mod setup;

use crate::control::ThreadResult;
use crate::plan::Plan;
use crate::procfs;
use crate::record::Tally;
use crate::run::{Outcome, source_addresses};
use measure::diagnose::diagnose;
use measure::{
    Bytes, Concurrency, Connections, Counts, Cpu, Distribution, ErrorClass, Kernel, Latency, Rates,
    Run, stats,
};
use setup::{notes, setup};

/// Builds the result and its verdicts.
pub(crate) fn build(outcome: Outcome<'_>) -> Run {
    let plan = outcome.plan;
    let (answered, longest) = slots(&outcome.threads);
    let elapsed = elapsed(&outcome);
    let (client_busy, client_waiting) = busiest(&outcome.threads);
    let tally = outcome
        .threads
        .iter()
        .map(|thread| &thread.tally)
        .fold(Tally::default(), add);
    let finished = tally.good + tally.failed;
    let mut run = Run {
        setup: setup(plan, &tally),
        host: procfs::host(),
        started_unix_s: outcome.started_unix_s,
        elapsed_s: elapsed,
        stopped_by: outcome.stopped_by,
        counts: counts(&tally),
        rates: Rates {
            goodput: tally.good as f64 / elapsed,
            responses: tally.responses as f64 / elapsed,
        },
        errors: errors(&tally),
        statuses: (0_u16..)
            .zip(&tally.statuses)
            .filter(|(_, count)| **count > 0)
            .map(|(status, count)| (status, *count))
            .collect(),
        error_samples: tally.samples.clone(),
        concurrency: Concurrency {
            configured: plan.concurrency() as f64,
            achieved: tally.busy as f64 / 1e9 / elapsed,
        },
        bytes: bytes(&tally),
        cpu: cpu(&outcome, finished, client_busy, client_waiting),
        kernel: kernel(&outcome),
        warmup: outcome.warmup.clone(),
        server_header: tally.server_header.clone(),
        ..Run::default()
    };
    let window = plan
        .duration
        .map_or(elapsed, |length| length.as_secs_f64().min(elapsed));
    let mut collector = outcome.collector;
    let service = std::mem::take(&mut collector.service);
    let response = std::mem::take(&mut collector.response);
    run.thread_rates = std::mem::take(&mut collector.thread_rates);
    run.series = collector.series((window * 1e9) as u64);
    run.connections = connections(&tally, &answered, &longest, service.percentile(50.0));
    run.latency = latency(tally, service, response, plan);
    run.notes = notes(plan);
    run.verdicts = diagnose(&run);
    run
}

fn slots(threads: &[ThreadResult]) -> (Vec<u64>, Vec<u64>) {
    let answered = threads
        .iter()
        .flat_map(|thread| thread.answered.iter().copied())
        .collect();
    let longest = threads
        .iter()
        .flat_map(|thread| thread.longest.iter().copied())
        .collect();
    (answered, longest)
}

/// Returns the seconds from the start to the last completion, or to the end of the run if a request was never answered.
fn elapsed(outcome: &Outcome<'_>) -> f64 {
    let last = outcome
        .threads
        .iter()
        .map(|thread| thread.tally.last_end)
        .max()
        .unwrap_or(0);
    let waited = outcome
        .threads
        .iter()
        .any(|thread| thread.tally.unfinished > 0);
    let end = if waited || last == 0 {
        outcome.after.at
    } else {
        last
    };
    let whole = end.saturating_sub(outcome.measure_from) as f64 / 1e9;
    // A run with a duration lasts at least that long, even if no request completed at its end.
    let planned = outcome
        .plan
        .duration
        .map_or(0.0, |length| length.as_secs_f64());
    let over = outcome.stopped_by == measure::StoppedBy::Duration;
    if over {
        whole.max(planned)
    } else {
        whole.max(1e-6)
    }
}

fn busiest(threads: &[ThreadResult]) -> (f64, f64) {
    let share = |thread: &ThreadResult, time: std::time::Duration| {
        time.as_secs_f64() * 1e9 / thread.elapsed.max(1) as f64
    };
    let one = threads
        .iter()
        .max_by_key(|thread| thread.cpu + thread.waited);
    one.map_or((0.0, 0.0), |thread| {
        (
            share(thread, thread.cpu).min(1.0),
            share(thread, thread.waited).min(1.0),
        )
    })
}

fn add(mut sum: Tally, one: &Tally) -> Tally {
    sum.started += one.started;
    sum.responses += one.responses;
    sum.good += one.good;
    sum.failed += one.failed;
    sum.unfinished += one.unfinished;
    sum.oldest_unfinished = sum.oldest_unfinished.max(one.oldest_unfinished);
    sum.unsent += one.unsent;
    sum.reused += one.reused;
    sum.errors
        .iter_mut()
        .zip(&one.errors)
        .for_each(|(sum, one)| *sum += one);
    sum.statuses
        .iter_mut()
        .zip(&one.statuses)
        .for_each(|(sum, one)| *sum += one);
    for sample in &one.samples {
        if !sum.samples.contains(sample) && sum.samples.len() < 5 {
            sum.samples.push(sample.clone());
        }
    }
    add_durations(&mut sum, one);
    sum.opened += one.opened;
    sum.closed_by_server += one.closed_by_server;
    sum.closed_by_client += one.closed_by_client;
    sum.closed_by_error += one.closed_by_error;
    one.per_connection
        .iter()
        .for_each(|(served, times)| *sum.per_connection.entry(*served).or_default() += times);
    sum.sent_bytes += one.sent_bytes;
    sum.head_bytes += one.head_bytes;
    sum.body_bytes += one.body_bytes;
    sum.good_body += one.good_body;
    sum.smallest = sum.smallest.min(one.smallest);
    sum.largest = sum.largest.max(one.largest);
    sum.busy += one.busy;
    sum.tls_session = sum.tls_session.or_else(|| one.tls_session.clone());
    sum.server_header = sum.server_header.or_else(|| one.server_header.clone());
    sum
}

fn add_durations(sum: &mut Tally, one: &Tally) {
    sum.connect.merge(&one.connect);
    sum.tls.merge(&one.tls);
    sum.first_byte.merge(&one.first_byte);
    sum.processing.merge(&one.processing);
    sum.failed_after.merge(&one.failed_after);
    sum.send_delay.merge(&one.send_delay);
    sum.lower_bounds.merge(&one.lower_bounds);
}

fn counts(tally: &Tally) -> Counts {
    Counts {
        started: tally.good + tally.failed + tally.unfinished,
        responses: tally.responses,
        good: tally.good,
        failed: tally.failed,
        unfinished: tally.unfinished,
        oldest_unfinished_us: tally.oldest_unfinished as f64 / 1e3,
        unsent: tally.unsent,
        on_reused_connection: tally.reused,
    }
}

fn errors(tally: &Tally) -> std::collections::BTreeMap<ErrorClass, u64> {
    ErrorClass::ALL
        .iter()
        .map(|class| (*class, tally.errors[*class as usize]))
        .filter(|(_, count)| *count > 0)
        .collect()
}

fn bytes(tally: &Tally) -> Bytes {
    Bytes {
        sent: tally.sent_bytes,
        head: tally.head_bytes,
        body: tally.body_bytes,
        smallest_body: if tally.good == 0 { 0 } else { tally.smallest },
        largest_body: tally.largest,
        good_body: tally.good_body,
    }
}

fn cpu(outcome: &Outcome<'_>, finished: u64, busy: f64, waiting: f64) -> Cpu {
    let (before, after) = (&outcome.before, &outcome.after);
    let wall = (after.at - before.at) as f64 / 1e9;
    let client_s = after.cpu.saturating_sub(before.cpu).as_secs_f64();
    let server = match (&outcome.server, &before.server, &after.server) {
        (Some(server), Some(before), Some(after)) => {
            Some(server.used(before, after, wall, finished))
        }
        _ => None,
    };
    let machine = after.machine.since(&before.machine);
    let processors = procfs::online_processors();
    let ours = (client_s + server.as_ref().map_or(0.0, |server| server.cpu_s))
        / (wall * processors as f64).max(1e-9);
    Cpu {
        processors,
        client_s,
        client_us_per_request: if finished == 0 {
            0.0
        } else {
            client_s * 1e6 / finished as f64
        },
        client_thread_busy: busy,
        client_thread_waiting: waiting,
        server,
        machine_busy: machine.busy,
        others: (machine.busy - ours).max(0.0),
        stolen: machine.stolen,
    }
}

fn kernel(outcome: &Outcome<'_>) -> Kernel {
    let (before, after) = (outcome.before.kernel, outcome.after.kernel);
    Kernel {
        listen_overflows: after
            .listen_overflows
            .saturating_sub(before.listen_overflows),
        retransmits: after.retransmits.saturating_sub(before.retransmits),
        source_addresses: source_addresses(outcome.plan),
        ..after
    }
}

fn connections(tally: &Tally, answered: &[u64], longest: &[u64], median: u64) -> Connections {
    let limit = (median * 100).max(1_000_000_000);
    let starved = answered
        .iter()
        .zip(longest)
        .filter(|(answers, wait)| **answers > 0 && **wait >= limit)
        .count();
    // An open loop opens connections as it needs them: slots never used are not starved.
    let never = answered
        .iter()
        .zip(longest)
        .filter(|(answers, wait)| **answers == 0 && **wait > 0)
        .count();
    let used: Vec<u64> = answered
        .iter()
        .zip(longest)
        .filter(|(answers, wait)| **answers + **wait > 0)
        .map(|(answers, _)| *answers)
        .collect();
    Connections {
        opened: tally.opened,
        closed_by_server: tally.closed_by_server,
        closed_by_client: tally.closed_by_client,
        closed_by_error: tally.closed_by_error,
        requests_per_connection: most_common(&tally.per_connection),
        fairness: stats::jain(&used),
        fewest: used.iter().copied().min().unwrap_or(0),
        most: used.iter().copied().max().unwrap_or(0),
        starved: starved as u64,
        never_answered: never as u64,
        longest_wait_us: longest.iter().copied().max().unwrap_or(0) as f64 / 1e3,
    }
}

/// Returns the ten most frequent numbers of requests per connection.
fn most_common(all: &std::collections::BTreeMap<u64, u64>) -> std::collections::BTreeMap<u64, u64> {
    let mut sorted: Vec<(u64, u64)> = all
        .iter()
        .map(|(served, times)| (*served, *times))
        .collect();
    sorted.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
    sorted.into_iter().take(10).collect()
}

fn latency(
    tally: Tally,
    service: Distribution,
    mut response: Distribution,
    plan: &Plan,
) -> Latency {
    let open = plan.is_open();
    let bounds = tally.lower_bounds.count();
    response.merge(&tally.lower_bounds);
    Latency {
        service,
        response: open.then_some(response),
        response_lower_bounds: if open { bounds } else { 0 },
        sends_within_1ms: (open && !tally.send_delay.is_empty())
            .then(|| punctual(&tally.send_delay)),
        send_delay: open.then_some(tally.send_delay),
        connect: tally.connect,
        tls: tally.tls,
        first_byte: tally.first_byte,
        processing: tally.processing,
        failed: tally.failed_after,
    }
}

/// Returns the share of requests that were sent within a millisecond of their planned time.
fn punctual(delay: &Distribution) -> f64 {
    delay.count_between(0, 1_000_000) as f64 / delay.count() as f64
}
