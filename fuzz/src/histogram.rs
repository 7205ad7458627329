//! Histograms as text, as a file of results may contain them.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use measure::Distribution;

use crate::input::Input;

/// Decodes a histogram; the first byte tells whether the rest is the text itself, or the data to compress into it.
///
/// A histogram that can be decoded is encoded and decoded again with the same counts, and its percentiles rise.
///
/// # Panics
/// If that does not hold.
pub fn decoded(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let text = match input.byte() {
        b'z' => compressed(input.rest()),
        _ => String::from_utf8_lossy(input.rest()).into_owned(),
    };
    let Ok(distribution) = Distribution::decode(&text) else {
        return;
    };
    let again = Distribution::decode(&distribution.encode()).expect("what was written can be read");
    assert_eq!(again.buckets(), distribution.buckets());
    let counts = distribution
        .buckets()
        .iter()
        .map(|(_, count)| count)
        .fold(0, |sum: u64, count| sum.saturating_add(*count));
    assert_eq!(counts, distribution.count());
    let rising = [0.0, 50.0, 99.0, 100.0].map(|percent| distribution.percentile(percent));
    assert!(rising.is_sorted(), "{rising:?}");
}

/// Returns a compressed V2 histogram around these bytes: its magic number, the length of the rest, and the rest,
/// deflated.
fn compressed(bytes: &[u8]) -> String {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("memory can be written");
    let deflated = encoder.finish().expect("memory can be written");
    let length = u32::try_from(deflated.len()).expect("it is short");
    let whole = [
        &0x1c84_9304_u32.to_be_bytes()[..],
        &length.to_be_bytes(),
        &deflated,
    ]
    .concat();
    STANDARD.encode(whole)
}
