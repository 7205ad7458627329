//! A file that may be preloaded, with all that is known of it.

use crate::facts::{Facts, Treatment};
use crate::profile::Seen;

/// What one load costs without preloading, and what it keeps in opcache's memory.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Load {
    pub nanos: f64,
    pub bytes: u64,
}

/// A file. Its name is `facts.file`, relative to the project's root where it is below it.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    pub facts: Facts,
    pub treatment: Treatment,
    /// Absent where no request loaded it.
    pub seen: Seen,
    /// From the list before, for what was preloaded during the whole recording.
    pub known: Option<f64>,
    pub load: Load,
}

impl Candidate {
    pub fn new(facts: Facts, seen: Seen) -> Candidate {
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

    /// The share of requests that need it.
    pub fn probability(&self) -> f64 {
        self.seen.probability().or(self.known).unwrap_or(0.0)
    }

    /// Loading it does nothing else.
    pub fn only_declares(&self) -> bool {
        self.facts.only_guards() || self.treatment == Treatment::Require
    }
}
