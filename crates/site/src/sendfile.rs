//! Files that PHP names instead of sending them: `X-Accel-Redirect` and `X-Sendfile`.
//!
//! A folder is nginx's `internal` location with an `alias`, or Apache's `XSendFilePath`. The path of the file after
//! following symbolic links decides: nothing outside of the folders is sent, whatever PHP names. Inside, PHP may name any
//! file, hidden ones and PHP sources too.

use std::fmt;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use http1::Fields;

use crate::files::StaticFile;
use crate::lookup::{below, real_path};
use crate::path;
use crate::routing::split;

/// The folders, with their names in PHP.
#[derive(Debug)]
pub struct Sendfile {
    folders: Vec<Folder>,
}

#[derive(Debug)]
struct Folder {
    /// A clean path with a slash at the end.
    prefix: Vec<u8>,
    /// The path without symbolic links.
    path: PathBuf,
}

/// The header of a PHP response that names a file; its text is for the log too.
#[derive(Debug)]
pub struct SendfileHeader<'a> {
    header: &'static str,
    value: &'a [u8],
}

/// Why the named file is not sent.
#[derive(Debug)]
pub enum Refused {
    /// The file is in no folder.
    Outside,
    /// The file does not exist, is not a regular file, or may not be read.
    Unreadable(io::Error),
}

const URI: &str = "X-Accel-Redirect";
const PATH: &str = "X-Sendfile";

/// The names of these headers, which are not sent to clients.
pub const HEADERS: [&str; 2] = [URI, PATH];

impl fmt::Display for SendfileHeader<'_> {
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

impl<'a> SendfileHeader<'a> {
    /// Returns the file that these fields of a response name.
    #[must_use]
    pub fn of(fields: &'a Fields) -> Option<SendfileHeader<'a>> {
        let named = |header: &'static str| {
            let value = fields.get(header)?;
            Some(SendfileHeader { header, value })
        };
        named(URI).or_else(|| named(PATH))
    }
}

impl Sendfile {
    /// Resolves the folders.
    ///
    /// # Errors
    /// If a folder is no directory that can be read.
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

    /// Returns whether there are any folders.
    #[must_use]
    pub fn is_on(&self) -> bool {
        !self.folders.is_empty()
    }

    /// Opens the file that PHP names.
    ///
    /// # Errors
    /// If the file is not to be sent, with the reason.
    pub fn open(&self, wanted: &SendfileHeader<'_>) -> Result<StaticFile, Refused> {
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

    /// Returns the path of a URI; of several prefixes the longest counts, as in nginx.
    fn path_of(&self, uri: &[u8]) -> Option<PathBuf> {
        let (raw, _) = split(uri);
        let clean = path::clean(raw)?;
        let fitting = self.folders.iter();
        let fitting = fitting.filter(|folder| clean.starts_with(&folder.prefix));
        let folder = fitting.max_by_key(|folder| folder.prefix.len())?;
        Some(below(&folder.path, &clean[folder.prefix.len() - 1..]))
    }

    /// Returns false for files that are certainly in no folder. Those are not even opened, because opening a device or a
    /// socket may have effects. Links are checked after the open.
    fn may_hold(&self, path: &Path) -> bool {
        let parent = path.parent().map(Path::canonicalize);
        parent.and_then(Result::ok).is_none_or(|real| {
            self.folders
                .iter()
                .any(|folder| real.starts_with(&folder.path))
        })
    }
}
