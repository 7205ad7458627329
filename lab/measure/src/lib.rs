//! What a load run measured: histograms, the result and its schema, statistics, diagnosis.
//!
//! The load generator writes these types and the laboratory and the reports read them, so that a
//! number means the same thing wherever it is printed. Nothing here does input or output.
#![forbid(unsafe_code)]

pub mod compare;
pub mod diagnose;
mod histogram;
mod run;
pub mod stats;
pub mod text;

pub use histogram::{Distribution, PERCENTILES};
pub use run::*;
