//! The setup of a run, as published in its result.

use crate::plan::{Http, Pace, Plan, Think};
use crate::record::Tally;
use crate::run::source_addresses;
use crate::schedule::{Spacing, Stage};
use measure::{LoopModel, MixEntry, Setup};

pub(super) fn setup(plan: &Plan, tally: &Tally) -> Setup {
    let total: f64 = plan.requests.iter().map(|request| request.weight).sum();
    let (model, rate, arrivals) = match &plan.pace {
        Pace::Closed => (LoopModel::Closed, None, None),
        Pace::Open { stages, spacing } => (
            LoopModel::Open,
            Some(highest(stages)),
            Some(arrivals(stages, *spacing)),
        ),
    };
    Setup {
        target: plan.target.url.clone(),
        address: plan.target.address_words(),
        place: plan.target.place,
        http: match plan.http {
            Http::V1_0 => "1.0",
            Http::V1_1 => "1.1",
            Http::V2 => "2",
        }
        .into(),
        tls: plan.tls.is_some(),
        tls_session: tally.tls_session.clone(),
        requests: plan
            .requests
            .iter()
            .take(1_000)
            .map(|request| MixEntry {
                request: request.name.clone(),
                share: request.weight / total,
            })
            .collect(),
        model,
        rate,
        arrivals,
        connections: plan.connections,
        streams: plan.streams,
        threads: plan.threads.clamp(1, plan.connections.max(1)),
        keep_alive: plan.keep_alive,
        request_limit: plan.request_limit,
        duration_s: plan.duration.map(|length| length.as_secs_f64()),
        think: plan.think.map(think),
        timeout_s: plan.timeout.as_secs_f64(),
        expect: plan.expect.words().to_vec(),
        seed: plan.seed,
    }
}

fn think(think: Think) -> String {
    match think {
        Think::Fixed(pause) => format!("{} s", pause.as_secs_f64()),
        Think::Exponential(mean) => format!("exponential, mean {} s", mean.as_secs_f64()),
    }
}

fn highest(stages: &[Stage]) -> f64 {
    stages
        .iter()
        .fold(0.0, |most, stage| most.max(stage.from).max(stage.to))
}

fn arrivals(stages: &[Stage], spacing: Spacing) -> String {
    let kind = match spacing {
        Spacing::Constant => "constant",
        Spacing::Poisson => "Poisson",
    };
    if let [only] = stages {
        return format!("{kind} {}/s", only.to);
    }
    let words: Vec<String> = stages
        .iter()
        .map(|stage| {
            let rate = if (stage.from - stage.to).abs() < 1e-9 {
                format!("{}", stage.to)
            } else {
                format!("{}..{}", stage.from, stage.to)
            };
            format!("{}s@{rate}", stage.length.as_secs_f64())
        })
        .collect();
    format!("{kind} {}", words.join(","))
}

pub(super) fn notes(plan: &Plan) -> Vec<String> {
    let mut notes = Vec::new();
    let sources = source_addresses(plan);
    if sources > 1 {
        notes.push(format!(
            "connections come from {sources} loopback addresses, so that local ports last"
        ));
    }
    notes
}
