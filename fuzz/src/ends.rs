//! Whose request it is, as the front tells a worker.

use ipc::Ends;

/// Any text: what is taken for a client's ends is written the same way again.
///
/// # Panics
/// When that does not hold.
pub fn ends(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Some(ends) = Ends::parse(&text) {
        let written = ends.to_string();
        assert_eq!(Ends::parse(&written), Some(ends), "{written}");
    }
}
