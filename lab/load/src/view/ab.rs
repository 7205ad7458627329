//! ab's layout, line by line, with notes where its formulas mislead.

use crate::plan::Plan;
use measure::diagnose::Weight;
use measure::{Distribution, ErrorClass, KeepAlive, Run};
use std::fmt::Write as _;

/// The parts of the output to print.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    pub(crate) percentiles: bool,
    pub(crate) notes: bool,
    pub(crate) post: bool,
}

const ROWS: [u32; 9] = [50, 66, 75, 80, 90, 95, 98, 99, 100];

/// Renders a run as ab does.
pub(crate) fn render(plan: &Plan, run: &Run, options: Options) -> String {
    let mut out = String::new();
    target(&mut out, plan, run);
    counts(&mut out, run, options);
    rates(&mut out, run, options);
    if run.counts.responses > 0 {
        times(&mut out, run);
        if options.percentiles {
            percentiles(&mut out, run);
        }
    }
    if options.notes {
        notes(&mut out, run);
    }
    out
}

fn target(out: &mut String, plan: &Plan, run: &Run) {
    let _ = writeln!(
        out,
        "This is hearth load {}, in the layout of ApacheBench 2.3\n\n",
        env!("CARGO_PKG_VERSION")
    );
    let _ = writeln!(
        out,
        "Server Software:        {}",
        run.server_header.as_deref().unwrap_or("")
    );
    let _ = writeln!(out, "Server Hostname:        {}", plan.target.host);
    let _ = writeln!(out, "Server Port:            {}", plan.target.port);
    if let Some(session) = &run.setup.tls_session {
        let _ = writeln!(out, "SSL/TLS Protocol:       {session}");
    }
    let _ = writeln!(out, "\nDocument Path:          {}", plan.target.path);
    if run.bytes.smallest_body == run.bytes.largest_body {
        let _ = writeln!(
            out,
            "Document Length:        {} bytes",
            run.bytes.largest_body
        );
    } else {
        let _ = writeln!(out, "Document Length:        Variable");
    }
}

/// Returns ab's four kinds of failures: connect, receive, length, exceptions.
fn kinds(run: &Run) -> (u64, u64, u64, u64) {
    let receive = run.errors_of(&[
        ErrorClass::ResetBeforeFirstByte,
        ErrorClass::ResetMidBody,
        ErrorClass::Timeout,
        ErrorClass::Tls,
    ]);
    let length = run.errors_of(&[
        ErrorClass::EarlyEof,
        ErrorClass::Truncated,
        ErrorClass::BodyMismatch,
    ]);
    (
        run.connect_errors(),
        receive,
        length,
        run.errors_of(&[ErrorClass::BadFraming, ErrorClass::Http2]),
    )
}

fn counts(out: &mut String, run: &Run, options: Options) {
    let (connect, receive, length, exceptions) = kinds(run);
    let failed = connect + receive + length + exceptions;
    let _ = writeln!(out, "\nConcurrency Level:      {}", run.setup.connections);
    let _ = writeln!(out, "Time taken for tests:   {:.3} seconds", run.elapsed_s);
    let _ = writeln!(out, "Complete requests:      {}", run.finished());
    let _ = writeln!(out, "Failed requests:        {failed}");
    if failed > 0 {
        let _ = writeln!(
            out,
            "   (Connect: {connect}, Receive: {receive}, Length: {length}, Exceptions: {exceptions})"
        );
    }
    if run.errors_of(&[ErrorClass::Write]) > 0 {
        let _ = writeln!(
            out,
            "Write errors:           {}",
            run.errors_of(&[ErrorClass::Write])
        );
    }
    let bad: u64 = run
        .statuses
        .iter()
        .filter(|(status, _)| !(200..300).contains(*status))
        .map(|(_, times)| times)
        .sum();
    if bad > 0 {
        let _ = writeln!(out, "Non-2xx responses:      {bad}");
    }
    if run.setup.keep_alive == KeepAlive::On {
        // ab counts responses that allow the connection to be kept.
        let _ = writeln!(
            out,
            "Keep-Alive requests:    {}",
            run.counts
                .responses
                .saturating_sub(run.connections.closed_by_server)
        );
    }
    let _ = writeln!(
        out,
        "Total transferred:      {} bytes",
        run.bytes.head + run.bytes.body
    );
    if options.post {
        let _ = writeln!(out, "Total body sent:        {}", run.bytes.sent);
    }
    let _ = writeln!(out, "HTML transferred:       {} bytes", run.bytes.body);
}

fn rates(out: &mut String, run: &Run, options: Options) {
    let finished = run.finished().max(1) as f64;
    let (elapsed, level) = (run.elapsed_s, run.setup.connections as f64);
    let kilobytes = |bytes: u64| bytes as f64 / 1024.0 / elapsed;
    let _ = writeln!(
        out,
        "Requests per second:    {:.2} [#/sec] (mean)",
        finished / elapsed
    );
    let _ = writeln!(
        out,
        "Time per request:       {:.3} [ms] (mean)",
        level * elapsed * 1e3 / finished
    );
    let _ = writeln!(
        out,
        "Time per request:       {:.3} [ms] (mean, across all concurrent requests)",
        elapsed * 1e3 / finished
    );
    let _ = writeln!(
        out,
        "Transfer rate:          {:.2} [Kbytes/sec] received",
        kilobytes(run.bytes.head + run.bytes.body)
    );
    if options.post {
        let _ = writeln!(
            out,
            "                        {:.2} kb/s sent",
            kilobytes(run.bytes.sent)
        );
        let _ = writeln!(
            out,
            "                        {:.2} kb/s total",
            kilobytes(run.bytes.head + run.bytes.body + run.bytes.sent)
        );
    }
}

fn times(out: &mut String, run: &Run) {
    // Requests on a kept connection spent no time connecting: ab counts them as 0.
    let mut connect = run.latency.connect.clone();
    if !run.latency.tls.is_empty() {
        connect.merge(&run.latency.tls);
    }
    connect.record_n(0, run.counts.responses.saturating_sub(connect.count()));
    let _ = writeln!(
        out,
        "\nConnection Times (ms)\n              min  mean[+/-sd] median   max"
    );
    row(out, "Connect:", &connect);
    row(out, "Processing:", &run.latency.processing);
    row(out, "Waiting:", &run.latency.first_byte);
    row(out, "Total:", &run.latency.service);
}

fn row(out: &mut String, name: &str, all: &Distribution) {
    let ms = |nanos: f64| (nanos / 1e6).round() as u64;
    let _ = writeln!(
        out,
        "{name:<11} {:>5} {:>4} {:>5.1} {:>6} {:>7}",
        ms(all.min() as f64),
        ms(all.mean()),
        all.stdev() / 1e6,
        ms(all.percentile(50.0) as f64),
        ms(all.max() as f64),
    );
}

fn percentiles(out: &mut String, run: &Run) {
    let _ = writeln!(
        out,
        "\nPercentage of the requests served within a certain time (ms)"
    );
    for percent in ROWS {
        let ms = (run.latency.service.percentile(f64::from(percent)) as f64 / 1e6).round() as u64;
        let _ = match percent {
            100 => writeln!(out, " 100%  {ms:>5} (longest request)"),
            _ => writeln!(out, "  {percent}%  {ms:>5}"),
        };
    }
}

fn notes(out: &mut String, run: &Run) {
    let mut notes = vec![format!(
        "\"Time per request (mean)\" is concurrency × time / requests, not a measured mean; measured: {:.3} ms",
        run.latency.service.mean() / 1e6,
    )];
    if run.counts.failed > 0 || run.statuses.keys().any(|status| *status >= 400) {
        let refused = run.statuses.range(400..).map(|(_, times)| times).sum();
        let good = run.counts.good.saturating_sub(refused);
        notes.push(format!(
            "\"Requests per second\" counts failures; good ones: {:.2} per second",
            good as f64 / run.elapsed_s
        ));
    }
    let lost = run.errors_of(&[ErrorClass::EarlyEof]);
    if lost > 0 {
        notes.push(format!(
            "{lost} \"Length\" failures are connections closed without a byte of answer (early-eof)"
        ));
    }
    if run.setup.keep_alive == KeepAlive::Off {
        notes.push("without -k each request opens a connection: this measures connecting as much as answering".into());
    }
    notes.push("a closed loop waits while the server stalls: the percentiles hide what users wait then (native: -r RATE)".into());
    let doubts = run.verdicts.iter().filter(|one| one.weight > Weight::Note);
    notes.extend(doubts.map(|one| format!("{} {}: {}", one.id, one.title, one.evidence)));
    out.push('\n');
    for note in notes {
        let _ = writeln!(out, "note: {note}");
    }
}

/// Returns the CSV that `-e` writes.
pub(crate) fn percentile_csv(run: &Run) -> String {
    let mut out = String::from("Percentage served,Time in ms\n");
    for percent in 0..100 {
        let nanos = if percent == 0 {
            run.latency.service.min()
        } else {
            run.latency.service.percentile(f64::from(percent))
        };
        let _ = writeln!(out, "{percent},{:.3}", nanos as f64 / 1e6);
    }
    let _ = writeln!(out, "100,{:.3}", run.latency.service.max() as f64 / 1e6);
    out
}
