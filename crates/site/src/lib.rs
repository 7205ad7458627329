//! Files as answers: which file or script a path names, in a classic site and in the public folder of an app that stays in
//! memory, and how a file is sent.
//!
//! Workers and the front decide by the same code, so a site answers the same in direct and in balanced mode. Nothing
//! here knows PHP: a script is a name to hand on.
#![forbid(unsafe_code)]

mod body;
mod conditions;
mod encoding;
pub mod files;
mod front_controller;
mod location;
mod lookup;
mod names;
mod path;
mod pattern;
mod precompressed;
mod presence;
mod public;
mod range;
mod representation;
mod rewrite;
mod root;
mod route;
mod routing;
pub mod sendfile;
mod text;

pub use body::FileBody;
pub use files::StaticFile;
pub use public::{Named, PublicFolder};
pub use representation::Representation;
pub use route::{Refusal, Route};
pub use routing::Site;
