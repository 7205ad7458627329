//! The results of a load run: histograms, the result and its schema, statistics, diagnosis.
//!
//! The load generator writes these types, and the laboratory and the reports read them, so that a number means the same
//! wherever it is printed. The only input is `/proc`.
#![forbid(unsafe_code)]

pub mod compare;
pub mod diagnose;
mod histogram;
pub mod procfs;
mod run;
pub mod stats;
pub mod text;

pub use histogram::{Distribution, PERCENTILES};
pub use run::*;
