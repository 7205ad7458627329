//! Conditions and ranges of requests for a file.

use http1::{Fields, Response};
use site::{FileBody, Representation, StaticFile};

use crate::input::Input;

/// Length of the file; fixed, so that its validators can be in the corpus.
const LENGTH: u64 = 64;

/// Answers a request for the file; the first byte selects the method, then each field is a line `Name: value`.
///
/// The status is one that RFC 9110 allows, and a part lies inside the file and has the length that it declares.
///
/// # Panics
/// If that does not hold.
pub fn conditions_and_ranges(bytes: &[u8]) {
    thread_local!(static FILE: tempfile::NamedTempFile = file());
    let mut input = Input::new(bytes);
    let method: &[u8] = if input.byte() & 1 == 0 {
        b"GET"
    } else {
        b"HEAD"
    };
    let mut fields = Fields::new();
    while !input.is_empty() {
        let mut line = Input::new(input.until(b'\n'));
        let name = line.until(b':');
        // Bytes that HTTP forbids in a field never get this far.
        let _ = fields.try_push(name, line.rest().trim_ascii());
    }
    let response = FILE.with(|file| {
        let file = StaticFile::open(file.path()).expect("it is there");
        Representation::new(file).answer(method, &fields)
    });
    check(&response, &fields);
}

fn file() -> tempfile::NamedTempFile {
    let file = tempfile::Builder::new()
        .prefix("hearth-fuzz-")
        .tempfile()
        .expect("a file can be made");
    let length = usize::try_from(LENGTH).expect("it is short");
    std::fs::write(file.path(), vec![b'x'; length]).expect("it can be written");
    let modified = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    file.as_file().set_modified(modified).expect("it is ours");
    file
}

fn check(response: &Response<FileBody>, request: &Fields) {
    let (status, fields) = (response.head.status, &response.head.fields);
    let number = |name: &str| {
        fields
            .text(name)
            .map(|text| text.parse::<u64>().expect("a number"))
    };
    assert!(
        fields.contains("ETag") && fields.contains("Last-Modified"),
        "{status}"
    );
    match status {
        200 => assert_eq!(number("Content-Length"), Some(LENGTH)),
        206 => {
            let range = fields.text("Content-Range").expect("a part says which");
            let (first, last) = part(range);
            assert!(first <= last && last < LENGTH, "{range}");
            assert_eq!(number("Content-Length"), Some(last - first + 1), "{range}");
        }
        416 => assert_eq!(fields.text("Content-Range"), Some("bytes */64")),
        304 | 412 => assert!(!fields.contains("Content-Length")),
        other => panic!("{other}"),
    }
    for (answer, needs) in [
        (206, &["Range"][..]),
        (416, &["Range"]),
        (304, &["If-None-Match", "If-Modified-Since"]),
        (412, &["If-Match", "If-Unmodified-Since"]),
    ] {
        let is_requested = needs.iter().any(|name| request.contains(name));
        assert!(
            status != answer || is_requested,
            "{status} that was not asked for"
        );
    }
}

/// Parses `bytes FIRST-LAST/64`.
fn part(range: &str) -> (u64, u64) {
    let inner = range
        .strip_prefix("bytes ")
        .and_then(|rest| rest.strip_suffix("/64"));
    let (first, last) = inner
        .and_then(|inner| inner.split_once('-'))
        .unwrap_or_else(|| panic!("{range}"));
    let number = |text: &str| text.parse().expect("a number");
    (number(first), number(last))
}
