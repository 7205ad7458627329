//! Computes preload lists for opcache: from recordings of real requests to a list and its `preload.php`.
//!
//! Nothing here runs PHP. The commands of `hearth preload` compile, measure and try; this crate decides.
#![forbid(unsafe_code)]

mod bisect;
mod candidate;
mod choose;
mod facts;
mod graph;
mod list;
mod profile;
mod recording;
mod render;
mod report;

pub use bisect::culprits;
pub use candidate::{Candidate, Load};
pub use choose::{Limits, Point, Strategy, choose};
pub use facts::{Class, Facts, Treatment};
pub use graph::{Graph, LeftOut};
pub use list::{ColdStart, Entry, Gain, List, Stale, beside};
pub use profile::{LoadCounts, Profile, Replay};
pub use recording::{Malformed, Recording, Settings};
pub use render::render;
pub use report::{package, report};
