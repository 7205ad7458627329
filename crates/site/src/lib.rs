//! A classic site: which file or script a path names, and how a file is sent.
//!
//! Workers and the front decide by the same code, so a site answers the same in direct and in balanced mode. Nothing
//! here knows PHP: a script is a name to hand on.
#![forbid(unsafe_code)]

mod body;
mod conditions;
pub mod files;
mod lookup;
mod names;
mod path;
mod range;
mod routing;

pub use body::FileBody;
pub use files::StaticFile;
pub use routing::{Route, Site};
