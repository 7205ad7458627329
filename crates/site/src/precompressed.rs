//! Compressed files beside a file: `style.css.br` for `style.css`.
//!
//! As with nginx's `gzip_static` and Caddy's `precompressed`; but a compressed file older than the original is not sent,
//! because it has the original's earlier content. Whole seconds are compared, because programs that compress copy the
//! original's time, some without fractions.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use http1::Fields;

use crate::encoding::{Encoding, Encodings};
use crate::files::StaticFile;
use crate::lookup::{Bounds, Found};

/// A cache of the encodings seen beside files, so that a file without any does not cost a lookup per encoding for each
/// request.
#[derive(Debug, Default)]
pub(crate) struct Precompressed {
    /// The entries by path; hashing its bytes is faster than hashing a `Path` by its components.
    recent: RefCell<HashMap<OsString, Recent>>,
}

#[derive(Debug, Clone, Copy)]
struct Recent {
    encodings: Encodings,
    until: Instant,
}

/// How long an entry is valid, and how many there may be.
const RECENT: Duration = Duration::from_secs(1);
const MOST_RECENT: usize = 4_096;

/// The choice of what is sent for a file.
pub(crate) struct Chosen {
    /// Whether some clients get a compressed file.
    pub(crate) varies: bool,
    pub(crate) encoded: Option<(StaticFile, Encoding)>,
}

impl Precompressed {
    /// Chooses what this client gets.
    pub(crate) fn choose(
        &self,
        bounds: &Bounds,
        file: &StaticFile,
        content_type: &str,
        fields: &Fields,
    ) -> Chosen {
        let encodings = match is_compressible(content_type) {
            true => self.encodings(bounds, file),
            false => Encodings::default(),
        };
        let encoding = match encodings.is_empty() {
            true => None,
            false => encodings.preferred(fields),
        };
        Chosen {
            varies: !encodings.is_empty(),
            encoded: encoding
                .and_then(|encoding| Some((beside(bounds, file, encoding)?, encoding))),
        }
    }

    fn encodings(&self, bounds: &Bounds, file: &StaticFile) -> Encodings {
        let now = Instant::now();
        if let Some(recent) = self.recent.borrow().get(file.path().as_os_str())
            && now < recent.until
        {
            return recent.encodings;
        }
        let mut encodings = Encodings::default();
        for encoding in Encoding::ALL {
            if beside(bounds, file, encoding).is_some() {
                encodings.insert(encoding);
            }
        }
        let mut recent = self.recent.borrow_mut();
        if recent.len() >= MOST_RECENT {
            recent.clear();
        }
        let until = now + RECENT;
        let path = file.path().as_os_str().to_owned();
        recent.insert(path, Recent { encodings, until });
        encodings
    }
}

/// Returns the file in this encoding, if it belongs to the site as the file does, and is not older.
fn beside(bounds: &Bounds, file: &StaticFile, encoding: Encoding) -> Option<StaticFile> {
    match bounds.find(with_suffix(file.path(), encoding)) {
        Found::File { file: other, .. } if other.modified() >= file.modified() => Some(other),
        _ => None,
    }
}

fn with_suffix(path: &Path, encoding: Encoding) -> PathBuf {
    let mut name = OsString::with_capacity(path.as_os_str().len() + 4);
    name.push(path);
    name.push(encoding.suffix());
    name.into()
}

/// Returns whether files of this type become smaller by compression. Images, videos, archives and most fonts are compressed
/// already.
fn is_compressible(content_type: &str) -> bool {
    const ENDS: [&str; 4] = ["javascript", "json", "xml", "wasm"];
    const OTHERS: [&str; 6] = [
        "application/font-sfnt",
        "application/rtf",
        "application/vnd.ms-fontobject",
        "font/ttf",
        "image/bmp",
        "image/x-icon",
    ];
    content_type.starts_with("text/")
        || ENDS.iter().any(|end| content_type.ends_with(end))
        || OTHERS.contains(&content_type)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_compressed_already_has_nothing_beside_it() {
        let compressible = |name: &str| {
            let guessed = mime_guess::from_path(name);
            is_compressible(guessed.first_raw().unwrap_or("application/octet-stream"))
        };
        for name in [
            "a.html",
            "a.css",
            "a.js",
            "a.mjs",
            "a.json",
            "a.xml",
            "a.svg",
            "a.txt",
            "a.md",
            "a.csv",
            "a.wasm",
            "a.ttf",
            "a.otf",
            "a.ico",
            "a.map",
            "a.rss",
            "a.webmanifest",
            "a.eot",
        ] {
            assert!(compressible(name), "{name}");
        }
        for name in [
            "a.png", "a.jpg", "a.webp", "a.woff2", "a.mp4", "a.zip", "a.gz", "a.pdf", "a.bin",
        ] {
            assert!(!compressible(name), "{name}");
        }
    }
}
