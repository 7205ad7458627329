//! Whose request it is, as the front tells a worker.

use http1::Endpoints;

/// Any text: what is taken for a client's ends is written the same way again.
///
/// # Panics
/// When that does not hold.
pub fn endpoints(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Some(ends) = Endpoints::parse(&text) {
        let written = ends.to_string();
        assert_eq!(Endpoints::parse(&written), Some(ends), "{written}");
    }
}
