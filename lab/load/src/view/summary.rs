//! The native summary: the rate to quote, the latencies by name, and the doubts about them.

use super::Style;
use measure::diagnose::Weight;
use measure::text::{bytes, count, duration, percent, rate};
use measure::{Distribution, KeepAlive, LoopModel, PERCENTILES, Place, Run, Setup, StoppedBy};
use std::fmt::Write as _;

/// The number of samples above a percentile below which it is printed in parentheses.
const ENOUGH: u64 = 10;

/// Renders one run; `first`: no run was printed before.
pub(crate) fn render(run: &Run, style: Style, first: bool) -> String {
    let mut out = String::new();
    if first || !style.brief {
        target(&mut out, run);
    }
    method(&mut out, run);
    headline(&mut out, run);
    if !style.brief {
        latencies(&mut out, run);
        connections(&mut out, run);
        cpu(&mut out, run);
    }
    failures(&mut out, run);
    if style.spectrum {
        spectrum(&mut out, run);
    }
    verdicts(&mut out, run, style.brief);
    out
}

fn target(out: &mut String, run: &Run) {
    let setup = &run.setup;
    let place = match setup.place {
        Place::Loopback => "loopback",
        Place::ThisMachine => "this machine",
        Place::UnixSocket => "unix socket",
        Place::Remote => "remote",
    };
    let _ = write!(
        out,
        "{} · HTTP/{} · {} · {place}",
        setup.target,
        setup.http,
        setup.keep_alive.words()
    );
    if let Some(session) = &setup.tls_session {
        let _ = write!(out, " · {session}");
    }
    if let Some(server) = &run.server_header {
        let _ = write!(out, " · Server: {server}");
    }
    out.push('\n');
    if setup.requests.len() > 1 {
        let listed: Vec<String> = setup
            .requests
            .iter()
            .take(4)
            .map(|entry| format!("{} {}", percent(entry.share), entry.request))
            .collect();
        let more = if setup.requests.len() > 4 {
            format!(" and {} more", setup.requests.len() - 4)
        } else {
            String::new()
        };
        let _ = writeln!(out, "mix: {}{more}", listed.join(", "));
    }
}

/// Writes how the load was made, and for how long.
fn method(out: &mut String, run: &Run) {
    model(out, &run.setup);
    let why = match run.stopped_by {
        StoppedBy::Interrupt => ", interrupted",
        _ => "",
    };
    let _ = writeln!(out, " · {:.2} s measured{why}", run.elapsed_s);
    if let Some(warmup) = &run.warmup {
        let steady = if warmup.steady {
            "steady"
        } else {
            "not steady"
        };
        let _ = writeln!(
            out,
            "warm-up of {:.1} s left out ({steady} at its end, longest request {})",
            warmup.seconds,
            duration(warmup.longest_us * 1e3)
        );
    }
    for note in &run.notes {
        let _ = writeln!(out, "{note}");
    }
}

fn model(out: &mut String, setup: &Setup) {
    let streams = match (setup.streams, setup.http.as_str()) {
        (0 | 1, _) => String::new(),
        (streams, "2") => format!(" × {streams} streams"),
        (streams, _) => format!(" × {streams} pipelined"),
    };
    let threads = if setup.threads == 1 {
        "1 thread".into()
    } else {
        format!("{} threads", setup.threads)
    };
    let _ = match setup.model {
        LoopModel::Closed => write!(
            out,
            "closed loop · {} connection{}{streams} · {threads}",
            setup.connections,
            if setup.connections == 1 { "" } else { "s" }
        ),
        LoopModel::Open => write!(
            out,
            "open loop · {} · at most {} connections{streams} · {threads}",
            setup.arrivals.as_deref().unwrap_or(""),
            setup.connections
        ),
    };
}

fn headline(out: &mut String, run: &Run) {
    let counts = &run.counts;
    let _ = write!(
        out,
        "\n  goodput    {} req/s   {} good",
        rate(run.rates.goodput),
        count(counts.good)
    );
    if counts.failed > 0 {
        let _ = write!(
            out,
            ", {} FAILED ({} of all)",
            count(counts.failed),
            percent(counts.failed as f64 / run.finished().max(1) as f64)
        );
    } else {
        out.push_str(", 0 failed");
    }
    for (number, what) in [
        (counts.unfinished, "without an answer at the end"),
        (counts.unsent, "planned but never sent"),
    ] {
        if number > 0 {
            let _ = write!(out, ", {} {what}", count(number));
        }
    }
    let answers = counts.responses.max(1) as f64;
    let received = (run.bytes.head + run.bytes.body) as f64;
    let _ = writeln!(
        out,
        "\n  received   {}/s   head {} + body {} per response",
        bytes(received / run.elapsed_s),
        bytes(run.bytes.head as f64 / answers),
        bytes(run.bytes.body as f64 / answers),
    );
    let _ = writeln!(
        out,
        "  in flight  {:.1} on average, {} possible",
        run.concurrency.achieved, run.concurrency.configured
    );
}

fn latencies(out: &mut String, run: &Run) {
    let latency = &run.latency;
    let _ = write!(out, "\n  {:<14}", "latency");
    for percentile in PERCENTILES {
        let _ = write!(out, "{:>10}", format!("p{percentile}"));
    }
    let _ = writeln!(out, "{:>10}{:>10}", "max", "mean");
    if let Some(response) = &latency.response {
        row(out, "response time", response);
    }
    row(out, "service time", &latency.service);
    row(out, "first byte", &latency.first_byte);
    row(out, "connect", &latency.connect);
    row(out, "TLS handshake", &latency.tls);
    if let Some(delay) = &latency.send_delay {
        row(out, "send delay", delay);
    }
    row(out, "failed after", &latency.failed);
    match run.setup.model {
        LoopModel::Closed => out.push_str("  service time: from the actual start to the last byte. A closed loop waits while the server stalls:\n  it says what the server took, not what users would wait (that is -r RATE).\n"),
        LoopModel::Open => out.push_str("  response time: from the planned start to the last byte, what a user waits. service time: from the actual\n  start. send delay: how late this client was although a connection was free.\n"),
    }
    if latency.response_lower_bounds > 0 {
        let _ = writeln!(
            out,
            "  response time includes {} requests that were never answered or sent, at the age they had.",
            count(latency.response_lower_bounds)
        );
    }
}

fn row(out: &mut String, name: &str, all: &Distribution) {
    if all.is_empty() {
        return;
    }
    let _ = write!(out, "  {name:<14}");
    for percentile in PERCENTILES {
        let text = duration(all.percentile(percentile) as f64);
        let text = if all.samples_above(percentile) < ENOUGH {
            format!("({text})")
        } else {
            text
        };
        let _ = write!(out, "{text:>10}");
    }
    let _ = writeln!(
        out,
        "{:>10}{:>10}",
        duration(all.max() as f64),
        duration(all.mean())
    );
}

fn connections(out: &mut String, run: &Run) {
    let all = &run.connections;
    let _ = write!(
        out,
        "\n  connections    {} opened; {} closed by the server, {} by the client, {} by errors",
        count(all.opened),
        count(all.closed_by_server),
        count(all.closed_by_client),
        count(all.closed_by_error)
    );
    if run.setup.keep_alive != KeepAlive::Off {
        let _ = write!(
            out,
            "; {} of requests on a reused one",
            percent(run.counts.on_reused_connection as f64 / run.finished().max(1) as f64)
        );
    }
    out.push('\n');
    if run.setup.model == LoopModel::Closed && run.setup.connections > 1 {
        let _ = writeln!(
            out,
            "  fairness       {:.3} (Jain); {} to {} requests per connection; {} starved",
            all.fairness,
            count(all.fewest),
            count(all.most),
            count(all.starved + all.never_answered)
        );
    }
}

fn cpu(out: &mut String, run: &Run) {
    let cpu = &run.cpu;
    let _ = write!(
        out,
        "  client CPU     {} per request; busiest thread ran {}, waited for a processor {}",
        duration(cpu.client_us_per_request * 1e3),
        percent(cpu.client_thread_busy),
        percent(cpu.client_thread_waiting)
    );
    if let Some(server) = &cpu.server {
        let processes = if server.processes == 1 {
            "1 process".into()
        } else {
            format!("{} processes", server.processes)
        };
        let _ = write!(
            out,
            "\n  server CPU     {} per request; {:.2} of {} processors; {} ({processes}, {})",
            duration(server.us_per_request * 1e3),
            server.cores,
            cpu.processors,
            server.name,
            bytes(server.resident_bytes as f64)
        );
    }
    let _ = writeln!(
        out,
        "\n  machine        {} busy, {} of it by others",
        percent(cpu.machine_busy),
        percent(cpu.others)
    );
}

fn failures(out: &mut String, run: &Run) {
    let usual = run.statuses.len() == 1 && run.statuses.keys().all(|status| *status < 300);
    if !run.statuses.is_empty() && !usual {
        let list: Vec<String> = run
            .statuses
            .iter()
            .map(|(status, times)| format!("{status}: {}", count(*times)))
            .collect();
        let _ = writeln!(out, "  statuses       {}", list.join(", "));
    }
    if !run.errors.is_empty() {
        let list: Vec<String> = run
            .errors
            .iter()
            .map(|(class, times)| format!("{} {}", class.name(), count(*times)))
            .collect();
        let _ = writeln!(out, "  failures       {}", list.join(", "));
    }
    for sample in run
        .error_samples
        .iter()
        .filter(|sample| !sample.text.is_empty())
    {
        let text: String = sample
            .text
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .chars()
            .take(100)
            .collect();
        let _ = writeln!(out, "    {}: {text}", sample.class.name());
    }
}

fn spectrum(out: &mut String, run: &Run) {
    let all = run.headline_latency();
    let name = if run.latency.response.is_some() {
        "response time"
    } else {
        "service time"
    };
    let _ = writeln!(
        out,
        "\n  spectrum of {name}\n  {:>12} {:>12} {:>14}",
        "percentile", "within", "samples above"
    );
    let mut share = 0.5_f64;
    let total = all.count();
    while total > 0 && (1.0 - share) * total as f64 >= 0.5 {
        let percentile = share * 100.0;
        let _ = writeln!(
            out,
            "  {:>12} {:>12} {:>14}",
            format!("{percentile:.4}"),
            duration(all.percentile(percentile) as f64),
            count(all.samples_above(percentile))
        );
        share += (1.0 - share) / 2.0;
    }
    let _ = writeln!(
        out,
        "  {:>12} {:>12} {:>14}",
        "100",
        duration(all.max() as f64),
        0
    );
}

fn verdicts(out: &mut String, run: &Run, brief: bool) {
    let shown: Vec<_> = run
        .verdicts
        .iter()
        .filter(|verdict| !brief || verdict.weight > Weight::Note)
        .collect();
    if shown.is_empty() {
        out.push_str(if brief {
            ""
        } else {
            "\n  no rule found a reason to doubt these figures\n"
        });
        return;
    }
    out.push('\n');
    for verdict in shown {
        let mark = match verdict.weight {
            Weight::Wrong => "✗",
            Weight::Warning => "!",
            Weight::Note => "·",
        };
        let _ = writeln!(
            out,
            "  {mark} {} {}: {}",
            verdict.id, verdict.title, verdict.evidence
        );
        if !brief {
            let _ = writeln!(out, "        {}", verdict.advice);
        }
    }
}
