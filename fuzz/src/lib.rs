//! Fuzz targets: readers of external bytes, tested with any bytes.
//!
//! A target is a function that takes bytes, gives them to one reader, and panics if an invariant does not hold: the
//! reader must not panic nor produce more than the bytes contain, its result must survive a round trip, or another reader
//! must read the same. `cargo fuzz run NAME` searches for such bytes until it is stopped; `tests/replay.rs` runs each
//! target on its corpus and on some seconds of mutations of it.
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

/// All targets.
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

/// Runs the target of this name on these bytes.
///
/// # Panics
/// If there is no such target, and as the target does.
pub fn run(name: &str, bytes: &[u8]) {
    let (_, target) = TARGETS
        .iter()
        .find(|(known, _)| *known == name)
        .expect("a target");
    target(bytes);
}

/// Runs the target on the bytes of each given file, to reproduce a finding without nightly.
///
/// # Panics
/// If a file cannot be read, and as the target does.
pub fn replay(name: &str, files: impl Iterator<Item = std::ffi::OsString>) {
    for file in files.map(std::path::PathBuf::from) {
        let bytes =
            std::fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        run(name, &bytes);
        println!("{}: it holds", file.display());
    }
}
