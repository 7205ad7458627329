//! Recordings of `hearth preload record`, which any process of the recorded user can write, and lists.

use preload::{List, Profile};

/// Parses a file of a recording, or a list.
///
/// # Panics
/// If a result does not survive a round trip, counts more loads than requests, or if a list refers to an entry that is
/// not before it.
pub fn recordings(bytes: &[u8]) {
    if let Ok(profile) = Profile::parse(bytes) {
        let text = serde_json::to_vec(&profile).expect("it was JSON");
        assert_eq!(Profile::parse(&text).as_ref(), Ok(&profile));
        for (file, seen) in profile.files() {
            assert!(
                seen.probability().is_none_or(|share| share >= 0.0),
                "{file}: {seen:?}"
            );
        }
        let weight: f64 = profile.replays(10).iter().map(|one| one.weight).sum();
        assert!(weight <= 1.0 + 1e-9, "{weight}");
    }
    if let Ok(list) = List::parse(bytes) {
        assert!(list.stale(|_| None).len() == list.entries.len());
    }
}
