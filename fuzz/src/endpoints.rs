//! The addresses of a client's connection, as the front passes them to a worker.

use http1::Endpoints;

/// Parses any text: endpoints that are accepted are written in a form that parses to the same.
///
/// # Panics
/// If that does not hold.
pub fn endpoints(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Some(ends) = Endpoints::parse(&text) {
        let written = ends.to_string();
        assert_eq!(Endpoints::parse(&written), Some(ends), "{written}");
    }
}
