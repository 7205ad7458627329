//! A file that may be preloaded, with everything that is known about it.

use crate::facts::{Facts, Treatment};
use crate::profile::LoadCounts;

/// The cost of a load without preloading: its time in ns, and its memory of opcache in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Load {
    pub nanos: f64,
    pub bytes: u64,
}

/// A file that may be preloaded. Its name is `facts.file`, relative to the project's root if it is below that.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    pub facts: Facts,
    pub treatment: Treatment,
    /// How often requests have loaded it; zero if no request did.
    pub seen: LoadCounts,
    /// Its probability in the previous list, if it was preloaded during the whole recording.
    pub known: Option<f64>,
    pub load: Load,
}

impl Candidate {
    pub fn new(facts: Facts, seen: LoadCounts) -> Candidate {
        let treatment = facts.treatment();
        Candidate {
            facts,
            treatment,
            seen,
            known: None,
            load: Load::default(),
        }
    }

    pub fn file(&self) -> &str {
        &self.facts.file
    }

    /// The share of requests that need the file.
    pub fn probability(&self) -> f64 {
        self.seen.probability().or(self.known).unwrap_or(0.0)
    }

    /// Whether loading the file has no other effect than declaring.
    pub fn only_declares(&self) -> bool {
        self.facts.only_guards() || self.treatment == Treatment::Require
    }
}
