//! What reads bytes from outside, held against any bytes.
//!
//! A target is a function that takes bytes, gives them to one reader, and panics when what must hold does not: the reader
//! neither panicked nor made more out of the bytes than is in them, what it made comes back the same, or another reader
//! made the same of it. `cargo fuzz run NAME` looks for such bytes for as long as it is left; `tests/replay.rs` gives each
//! target its corpus and some seconds of mutations of it.
#![forbid(unsafe_code)]

pub mod cached;
pub mod config;
pub mod connections;
pub mod endpoints;
pub mod files;
pub mod frames;
pub mod heads;
pub mod histogram;
pub mod input;
pub mod memory;
pub mod messages;
pub mod mutate;
pub mod oracle;
pub mod peers;
pub mod recordings;
pub mod responses;
pub mod routes;

/// A name, as in `fuzz_targets/` and `corpus/`, and its function.
pub type Target = (&'static str, fn(&[u8]));

/// All of them.
pub const TARGETS: &[Target] = &[
    ("cached", cached::cached),
    ("config", config::settings),
    ("connections", connections::requests),
    ("endpoints", endpoints::endpoints),
    ("files", files::conditions_and_ranges),
    ("frames", frames::frames),
    ("heads", heads::request_heads),
    ("histogram", histogram::decoded),
    ("messages", messages::packets),
    ("peers", peers::requests),
    ("recordings", recordings::recordings),
    ("responses", responses::read_in_pieces),
    ("routes", routes::routes),
];

/// The target of this name, with these bytes.
///
/// # Panics
/// When there is no such target, and as the target does.
pub fn run(name: &str, bytes: &[u8]) {
    let (_, target) = TARGETS
        .iter()
        .find(|(known, _)| *known == name)
        .expect("a target");
    target(bytes);
}

/// The same with the bytes of each file that is named: how a finding is looked at without nightly.
///
/// # Panics
/// When a file cannot be read, and as the target does.
pub fn replay(name: &str, files: impl Iterator<Item = std::ffi::OsString>) {
    for file in files.map(std::path::PathBuf::from) {
        let bytes =
            std::fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        run(name, &bytes);
        println!("{}: it holds", file.display());
    }
}
