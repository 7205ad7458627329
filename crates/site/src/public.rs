//! The public folder of a resident app: existing files are sent, all other requests are for the app.
//!
//! As nginx's `try_files $uri $uri/index.html @app`. A name that is never sent, such as `.env` or `index.php`, is for the
//! app too, as if there were no file: the app may have a route of that name.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use config::SiteSettings;
use http1::{RequestHead, Response};

use crate::body::FileBody;
use crate::files::StaticFile;
use crate::lookup::{Bounds, Found};
use crate::root::Root;
use crate::routing::{split, with_slash};
use crate::{names, path, text};

/// A folder whose files are public.
#[derive(Debug)]
pub struct PublicFolder {
    root: Root,
}

/// The result of looking up a path in the public folder.
#[derive(Debug)]
pub enum PublicPath {
    /// An open file: the file that was checked is the one that is sent.
    File(StaticFile),
    /// 301 to this path (and query): a directory with an index, without its slash.
    Redirect(String),
    /// 403: the path is denied.
    Forbidden,
    /// No file that may be sent.
    Nothing,
    /// 500: an I/O error, for the log.
    Failed(io::Error),
}

impl PublicFolder {
    /// Opens the public folder that the settings name, if they do.
    ///
    /// # Errors
    /// If the folder is no directory that can be read.
    pub fn of_app(settings: &SiteSettings) -> io::Result<Option<PublicFolder>> {
        let folder = settings.root.as_deref().map(PublicFolder::new).transpose();
        let mut folder = folder?;
        if let Some(folder) = &mut folder {
            folder.root.set(settings)?;
        }
        Ok(folder)
    }

    /// Opens a folder. Symbolic links in `directory` are resolved here, once.
    ///
    /// # Errors
    /// If `directory` is no directory that can be read.
    pub fn new(directory: &Path) -> io::Result<PublicFolder> {
        let root = Root::new(directory)?;
        Ok(PublicFolder { root })
    }

    /// Returns the folder's path without symbolic links.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// Responds to this request; `None` if it is for the app.
    ///
    /// # Errors
    /// If the lookup fails, which is a 500.
    pub fn answer(&self, head: &RequestHead) -> io::Result<Option<Response<FileBody>>> {
        if !matches!(head.method(), b"GET" | b"HEAD") {
            return Ok(None);
        }
        Ok(match self.named(head.resource()) {
            PublicPath::File(file) => {
                let sent = self.root.represent(file, &head.fields);
                Some(sent.answer(head.method(), &head.fields))
            }
            PublicPath::Redirect(to) => Some(text::redirect(301, &to)),
            PublicPath::Forbidden => Some(text::answer(403, "Forbidden\n")),
            PublicPath::Nothing => None,
            PublicPath::Failed(error) => return Err(error),
        })
    }

    /// Looks up `target`: a request's path as it was received, with or without `?` and a query, as raw bytes.
    #[must_use]
    pub fn named(&self, target: impl AsRef<[u8]>) -> PublicPath {
        let (raw, query) = split(target.as_ref());
        let Some(clean) = path::clean(raw) else {
            return PublicPath::Nothing;
        };
        if self.root.is_denied(&clean) {
            return PublicPath::Forbidden;
        }
        if self.root.is_dynamic(&clean) {
            return PublicPath::Nothing;
        }
        match self.resolve(&clean, query) {
            PublicPath::Nothing => self
                .root
                .fallback(&clean)
                .map_or(PublicPath::Nothing, PublicPath::File),
            named => named,
        }
    }

    fn resolve(&self, clean: &[u8], query: Option<&[u8]>) -> PublicPath {
        if clean.ends_with(b"/") {
            return self.index(clean);
        }
        // Files have an extension, and the routes of apps have none.
        if !names::has_extension(clean) && self.root.lacks(clean) {
            return PublicPath::Nothing;
        }
        if names::is_hidden(clean) || names::is_source(clean) {
            return PublicPath::Nothing;
        }
        match self.root.find(clean) {
            Found::Directory => self.without_slash(clean, query),
            found => self.found(found, clean),
        }
    }

    fn found(&self, found: Found, clean: &[u8]) -> PublicPath {
        let (file, real) = match found {
            Found::File { file, real } => (file, real),
            Found::Failed(error) => return PublicPath::Failed(error),
            Found::Directory | Found::Missing | Found::Refused => return PublicPath::Nothing,
        };
        let real = real.as_ref().map(|real| real.as_os_str().as_bytes());
        let real = real.unwrap_or(clean);
        if self.root.denies_file(real) {
            return PublicPath::Forbidden;
        }
        match self.root.may_send(&file, real, clean) {
            true => PublicPath::File(file),
            false => PublicPath::Nothing,
        }
    }

    /// Looks for the directory's `index.html`. Where there is an `index.php` too, that comes first, and the app serves the
    /// path.
    fn index(&self, directory: &[u8]) -> PublicPath {
        let html = [directory, b"index.html"].concat();
        if self.root.lacks(&html) || names::is_hidden(directory) {
            return PublicPath::Nothing;
        }
        let named = match self.root.find(&html) {
            Found::Directory => PublicPath::Nothing,
            found => self.found(found, &html),
        };
        let php = || self.root.at(&[directory, b"index.php"].concat());
        match named {
            PublicPath::File(_) if Bounds::is_plain_file(&php()) => PublicPath::Nothing,
            named => named,
        }
    }

    fn without_slash(&self, clean: &[u8], query: Option<&[u8]>) -> PublicPath {
        match self.index(&[clean, b"/"].concat()) {
            PublicPath::File(_) => PublicPath::Redirect(with_slash(clean, query)),
            named => named,
        }
    }
}
