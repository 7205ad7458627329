//! The claims of the five write-ups, each checked against a run: what the write-up saw, what this machine shows, whether
//! they agree, and why.

mod check;
mod selector;

use crate::{CellKey, Run};
use check::{Absolute, Bounds, Compare, Limit};
use selector::Selector;
use serde::Deserialize;
use std::sync::LazyLock;

/// A claim and its check.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Its number, in the order of the write-ups.
    pub id: String,
    /// File name of the write-up.
    pub seed: String,
    /// The claim as the write-up makes it.
    pub said: String,
    /// The figures that the claim rests on.
    pub saw: String,
    agrees: String,
    differs: String,
    not_here: Option<String>,
    compare: Option<Compare>,
    figure: Option<Absolute>,
    sweep: Option<Bounds>,
    limit: Option<Limit>,
}

/// The answer of a run to a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The run agrees with the claim.
    Agrees,
    /// The run differs from the claim.
    Differs,
    /// The interval allows both.
    NotShown,
    /// The run, or the program, does not measure the claim.
    NotMeasured,
}

/// A line of the table of claims.
#[derive(Clone, Debug)]
pub struct Line {
    /// The claim.
    pub claim: &'static Claim,
    /// The figures of this machine.
    pub here: String,
    /// Whether the figures agree with the claim.
    pub answer: Answer,
    /// Why they agree or differ.
    pub why: String,
}

impl Answer {
    /// Returns the answer as a word or two.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Differs => "differs",
            Self::NotShown => "not decided",
            Self::NotMeasured => "not measured",
        }
    }
}

#[derive(Deserialize)]
struct File {
    claim: Vec<Claim>,
}

static CLAIMS: LazyLock<Vec<Claim>> = LazyLock::new(|| {
    // The file is compiled into the program, and a test parses it.
    toml::from_str(include_str!("../../data/claims.toml")).map_or_else(
        |error| unreachable!("claims.toml: {error}"),
        |file: File| file.claim,
    )
});

/// Returns which of a scenario's cells the claims rest on: for each claim, the first of the servers that it accepts.
#[must_use]
pub fn rest_on(scenario: &str, cells: &[CellKey]) -> Vec<bool> {
    let selectors: Vec<&Selector> = CLAIMS.iter().flat_map(Claim::selectors).collect();
    let picked = |at: usize| selectors.iter().any(|one| one.picks(scenario, cells, at));
    (0..cells.len()).map(picked).collect()
}

/// Checks every claim against the run.
#[must_use]
pub fn lines(run: &Run) -> Vec<Line> {
    CLAIMS.iter().map(|claim| line(run, claim)).collect()
}

impl Claim {
    /// Returns the selectors of the cells that the claim compares.
    fn selectors(&self) -> impl Iterator<Item = &Selector> {
        let compared = self.compare.iter().flat_map(|one| [&one.base, &one.with]);
        compared
            .chain(self.figure.iter().map(|one| &one.of))
            .chain(self.sweep.iter().map(|one| &one.of))
            .chain(self.limit.iter().map(|one| &one.of))
    }
}

const NOT_SHOWN: &str = "Too few repeats: the interval holds both answers, or there is none. hearth bench --full takes more.";

/// Returns how to measure a claim that this run has no figures for.
fn how(run: &Run, claim: &Claim) -> String {
    let scenarios = || claim.selectors().filter_map(|one| one.scenarios.first());
    let missing = scenarios().find(|name| run.scenario(name).is_none());
    missing.map_or_else(
        || "hearth bench doctor says how to get the servers that it needs.".to_owned(),
        |name| format!("hearth bench {name} measures it."),
    )
}

fn line(run: &Run, claim: &'static Claim) -> Line {
    let (here, answer) = answer(run, claim);
    let why = match answer {
        Answer::Agrees => claim.agrees.clone(),
        Answer::Differs => claim.differs.clone(),
        Answer::NotShown => NOT_SHOWN.to_owned(),
        Answer::NotMeasured => claim.not_here.clone().unwrap_or_else(|| how(run, claim)),
    };
    Line {
        claim,
        here,
        answer,
        why,
    }
}

fn answer(run: &Run, claim: &Claim) -> (String, Answer) {
    let found = if let Some(check) = &claim.compare {
        check.answer(run)
    } else if let Some(check) = &claim.figure {
        check.answer(run)
    } else if let Some(check) = &claim.sweep {
        check.answer(run)
    } else if let Some(check) = &claim.limit {
        check.answer(run)
    } else {
        Err("not measured by this program".to_owned())
    };
    found.unwrap_or_else(|why| (why, Answer::NotMeasured))
}
