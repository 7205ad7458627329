//! Every option of Hearth, once.
//!
//! [`OPTIONS`] is one table; flags, TOML keys, environment names, `--help`, `hearth config` and the reference page are
//! made from it. Reading goes in two steps: [`Raw`] is what was said, and by whom; [`Settings`] is what holds. All
//! mistakes are found before anything is started, and reported together.
#![forbid(unsafe_code)]

mod control;
mod flags;
mod options;
mod problem;
mod raw;
mod reference;
mod replaced;
mod resolve;
mod settings;
mod value;

pub use control::{control_candidates, control_directories};
pub use flags::{app_argument, flags, matches_to_given};
pub use options::{Group, Kind, OPTIONS, Opt, option};
pub use problem::{Problem, Problems};
pub use raw::{Given, Raw, Source};
pub use reference::reference;
pub use replaced::successors;
pub use resolve::{Effective, control_paths, effective, resolve};
pub use settings::{Dispatch, Level, Listen, MOST_WORKERS, Mode, Settings, Workers};
