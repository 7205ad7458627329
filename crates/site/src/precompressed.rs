//! What lies compressed beside a file: `style.css.br` for `style.css`.
//!
//! As nginx's `gzip_static` and Caddy's `precompressed`, but what is older than the file is not sent: it holds what the file
//! was before. Whole seconds are compared, because programs that compress give a file the time of the other, some without
//! fractions.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use http1::Fields;

use crate::encoding::{Encoding, Encodings};
use crate::files::StaticFile;
use crate::lookup::{Bounds, Found};

/// What was seen beside files a moment ago, so that a file without any costs no look for each encoding at each request.
#[derive(Debug, Default)]
pub(crate) struct Precompressed {
    /// By the path, whose bytes are hashed faster than its parts.
    recent: RefCell<HashMap<OsString, Recent>>,
}

#[derive(Debug, Clone, Copy)]
struct Recent {
    encodings: Encodings,
    until: Instant,
}

/// How long that is believed, and how many files are remembered.
const RECENT: Duration = Duration::from_secs(1);
const MOST_RECENT: usize = 4_096;

/// What is sent instead of a file.
pub(crate) struct Chosen {
    /// There is something for some clients.
    pub(crate) varies: bool,
    pub(crate) encoded: Option<(StaticFile, Encoding)>,
}

impl Precompressed {
    /// What this client gets instead of the file.
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

/// The file that has it in this encoding, if it belongs to the site as the file does and is not older.
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

/// Is a file of this type smaller when it is compressed? Pictures, films, archives and most fonts are compressed already.
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
