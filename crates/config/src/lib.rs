//! The options of Hearth: their table, their sources and the resulting settings.
//!
//! [`OPTIONS`] is one table; flags, TOML keys, environment names, `--help`, `hearth config` and the reference page are made
//! from it. Reading has two steps: [`Raw`] is what each source specifies; [`Settings`] is what takes effect. All mistakes
//! are found before anything is started, and reported together.
#![forbid(unsafe_code)]

#[cfg(feature = "read")]
mod control;
#[cfg(feature = "read")]
mod effective;
#[cfg(feature = "read")]
mod flags;
#[cfg(feature = "read")]
mod location;
#[cfg(feature = "read")]
mod options;
#[cfg(feature = "read")]
mod problem;
#[cfg(feature = "read")]
mod raw;
#[cfg(feature = "read")]
mod reference;
#[cfg(feature = "read")]
mod replaced;
#[cfg(feature = "read")]
mod resolve;
mod settings;
#[cfg(feature = "read")]
mod value;
#[cfg(feature = "read")]
mod warnings;

#[cfg(feature = "read")]
pub use control::{control_candidates, control_directories, script_controls};
#[cfg(feature = "read")]
pub use effective::{Effective, effective};
#[cfg(feature = "read")]
pub use flags::{app_argument, flags, matches_to_given};
#[cfg(feature = "read")]
pub use location::is_location;
#[cfg(feature = "read")]
pub use options::{Group, Kind, OPTIONS, Opt, option};
#[cfg(feature = "read")]
pub use problem::{Problem, Problems};
#[cfg(feature = "read")]
pub use raw::{Given, Raw, Source};
#[cfg(feature = "read")]
pub use reference::reference;
#[cfg(feature = "read")]
pub use replaced::{elsewhere, successors};
#[cfg(feature = "read")]
pub use resolve::{control_paths, resolve};
pub use settings::{
    AccessFormat, CONCURRENT, CacheSettings, Dispatch, Level, Listen, LogTarget, MOST_WORKERS,
    Mode, RedisSettings, Settings, SiteSettings, SocketAccess, Workers,
};
#[cfg(feature = "read")]
pub use warnings::warnings;
