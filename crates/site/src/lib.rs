//! Static files and routing: which file or script a path names, in a classic site and in the public folder of a resident
//! app, and how a file is sent.
//!
//! Workers and the front use the same code, so a site responds alike with direct and with balanced dispatch. Nothing here
//! knows PHP: a script is a name to pass on.
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
pub use public::{PublicFolder, PublicPath};
pub use representation::Representation;
pub use route::{Refusal, Route};
pub use routing::Site;
