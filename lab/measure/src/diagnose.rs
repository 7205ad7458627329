//! Rules that find the usual ways to misread a load test, and so tell what to believe of a run.
//!
//! Each rule reads the finished [`Run`] and returns its evidence and the next step. Rules have stable ids so that a
//! verdict can be looked up and tested.

mod client;
mod server;

use crate::run::{KeepAlive, LoopModel, Run};
use crate::stats;
use crate::text::{bytes, count, duration, percent, rate};
use client::{
    client_bound, few_samples, file_limit, network_bound, noise, port_exhaustion, send_accuracy,
    too_short,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use server::{
    delayed_ack, early_eof, idle_server, listen_overflow, overload, server_bound, server_cap,
    starvation, unfair, unfinished,
};

/// How much a finding changes the meaning of the figures.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Weight {
    /// The finding explains a figure.
    Note,
    /// A figure must not be quoted without the finding.
    Warning,
    /// A figure does not mean what it seems to mean.
    Wrong,
}

/// A finding about how far the figures can be believed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// Id of the rule, such as `D08`.
    pub id: String,
    /// How much the finding changes the meaning of the figures.
    pub weight: Weight,
    /// What was found, in a few words.
    pub title: String,
    /// The numbers that the finding rests on.
    pub evidence: String,
    /// What to do.
    pub advice: String,
}

type Rule = fn(&Run) -> Option<Verdict>;

/// All rules, in the order in which their verdicts are printed.
#[rustfmt::skip]
const RULES: &[Rule] = &[
    too_short, failures, redirects, early_eof, client_bound, send_accuracy, unfinished, overload, starvation,
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

/// Finds redirects: a redirect is cheap to send and no page, and a load generator does not follow it.
fn redirects(run: &Run) -> Option<Verdict> {
    const REDIRECTS: [u16; 5] = [301, 302, 303, 307, 308];
    let found = run.statuses.iter();
    let found = found.filter(|(status, _)| REDIRECTS.contains(status));
    let number: u64 = found.map(|(_, times)| *times).sum();
    let is_expected = run
        .setup
        .expect
        .iter()
        .any(|text| text.starts_with("status="));
    if is_expected || number * 2 <= run.counts.responses {
        return None;
    }
    verdict(
        "D39",
        Weight::Wrong,
        "the answers are redirects",
        format!(
            "{} of {} responses",
            count(number),
            count(run.counts.responses)
        ),
        "this is the rate of redirects, not of pages: give the address that they lead to (curl -I shows it), or say that it is meant: \
         --expect status=3xx",
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

#[cfg(test)]
mod tests;
