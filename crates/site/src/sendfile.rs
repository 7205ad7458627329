//! Files that PHP names instead of sending them: `X-Accel-Redirect` and `X-Sendfile`.
//!
//! A folder is an `internal` location with an `alias` to nginx and an `XSendFilePath` to Apache. Where a file is, links
//! followed, decides: nothing outside of the folders is sent, whatever PHP names. In them any name is PHP's choice, hidden ones and
//! PHP sources too.

use std::fmt;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use http1::Fields;

use crate::files::StaticFile;
use crate::lookup::{below, real_path};
use crate::path;
use crate::routing::split;

/// The folders, and what PHP calls them.
#[derive(Debug)]
pub struct Sendfile {
    folders: Vec<Folder>,
}

#[derive(Debug)]
struct Folder {
    /// A clean path with a slash at the end.
    prefix: Vec<u8>,
    /// Without symbolic links.
    path: PathBuf,
}

/// What PHP names, as it says it: for the log too.
#[derive(Debug)]
pub struct Wanted<'a> {
    header: &'static str,
    value: &'a [u8],
}

/// Why that is not sent.
#[derive(Debug)]
pub enum Refused {
    /// No folder has it.
    Outside,
    /// It is not there, not a regular file, or may not be read.
    Unreadable(io::Error),
}

const URI: &str = "X-Accel-Redirect";
const PATH: &str = "X-Sendfile";

/// The headers themselves, which no client gets.
pub const HEADERS: [&str; 2] = [URI, PATH];

impl fmt::Display for Wanted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {}",
            self.header,
            String::from_utf8_lossy(self.value)
        )
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Outside => f.write_str("it is in no folder of site.sendfile"),
            Refused::Unreadable(error) => error.fmt(f),
        }
    }
}

impl<'a> Wanted<'a> {
    /// What these fields of a response name.
    #[must_use]
    pub fn of(fields: &'a Fields) -> Option<Wanted<'a>> {
        let named = |header: &'static str| {
            let value = fields.get(header)?;
            Some(Wanted { header, value })
        };
        named(URI).or_else(|| named(PATH))
    }
}

impl Sendfile {
    /// # Errors
    /// If one of them is no directory that can be read.
    pub fn new(folders: &[(String, PathBuf)]) -> io::Result<Sendfile> {
        let folder = |(prefix, path): &(String, PathBuf)| {
            let mut prefix = path::clean(prefix.as_bytes())
                .unwrap_or_default()
                .into_owned();
            if !prefix.ends_with(b"/") {
                prefix.push(b'/');
            }
            let path = path.canonicalize()?;
            Ok(Folder { prefix, path })
        };
        let folders = folders.iter().map(folder).collect::<io::Result<_>>()?;
        Ok(Sendfile { folders })
    }

    /// Is there any?
    #[must_use]
    pub fn is_on(&self) -> bool {
        !self.folders.is_empty()
    }

    /// The file that PHP names.
    ///
    /// # Errors
    /// Why there is none to send.
    pub fn open(&self, wanted: &Wanted<'_>) -> Result<StaticFile, Refused> {
        let path = match wanted.header {
            URI => self.path_of(wanted.value).ok_or(Refused::Outside)?,
            _ => Path::new(std::ffi::OsStr::from_bytes(wanted.value)).to_owned(),
        };
        if !path.is_absolute() || !self.may_hold(&path) {
            return Err(Refused::Outside);
        }
        let file = StaticFile::open(&path).map_err(Refused::Unreadable)?;
        let real = real_path(file.descriptor()).map_err(Refused::Unreadable)?;
        let is_inside = self
            .folders
            .iter()
            .any(|folder| real.starts_with(&folder.path));
        if is_inside {
            Ok(file)
        } else {
            Err(Refused::Outside)
        }
    }

    /// Where a path that PHP knows leads: of several prefixes the longest counts, as for nginx.
    fn path_of(&self, uri: &[u8]) -> Option<PathBuf> {
        let (raw, _) = split(uri);
        let clean = path::clean(raw)?;
        let fitting = self.folders.iter();
        let fitting = fitting.filter(|folder| clean.starts_with(&folder.prefix));
        let folder = fitting.max_by_key(|folder| folder.prefix.len())?;
        Some(below(&folder.path, &clean[folder.prefix.len() - 1..]))
    }

    /// A device or a socket elsewhere is not even opened: that may have effects. Links are looked at when it is open.
    fn may_hold(&self, path: &Path) -> bool {
        let parent = path.parent().map(Path::canonicalize);
        parent.and_then(Result::ok).is_none_or(|real| {
            self.folders
                .iter()
                .any(|folder| real.starts_with(&folder.path))
        })
    }
}
