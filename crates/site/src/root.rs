//! A document root: the files below it, and which of them are never sent.

use std::borrow::Cow;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use config::SiteSettings;
use http1::Fields;

use crate::files::StaticFile;
use crate::location::Location;
use crate::lookup::{Bounds, Found, below};
use crate::pattern::Pattern;
use crate::precompressed::Precompressed;
use crate::presence::Presence;
use crate::representation::Representation;
use crate::{names, path};

#[derive(Debug)]
pub(crate) struct Root {
    bounds: Bounds,
    denied: Vec<Location>,
    /// The paths that the fallback does not apply to.
    dynamic: Vec<Location>,
    /// The clean path of the page that is sent where there is no file.
    fallback: Option<Vec<u8>>,
    cache_control: Vec<(Pattern, String)>,
    /// `None` if no precompressed files are looked for.
    precompressed: Option<Precompressed>,
    presence: Presence,
}

impl Root {
    /// Opens the root. Symbolic links in `directory` are resolved here, once.
    ///
    /// # Errors
    /// If `directory` is no directory that can be read.
    pub(crate) fn new(directory: &Path) -> io::Result<Root> {
        let root = directory.canonicalize()?;
        if !root.is_dir() {
            return Err(io::Error::from(io::ErrorKind::NotADirectory));
        }
        Ok(Root {
            bounds: Bounds::new(root),
            denied: Vec::new(),
            dynamic: Vec::new(),
            fallback: None,
            cache_control: Vec::new(),
            precompressed: None,
            presence: Presence::default(),
        })
    }

    /// Applies the settings. Links may lead into those directories of `follow` that exist.
    ///
    /// # Errors
    /// If one of these directories cannot be resolved.
    pub(crate) fn set(&mut self, settings: &SiteSettings) -> io::Result<()> {
        for directory in &settings.follow {
            match self.follow(directory) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        settings.deny.iter().for_each(|path| self.deny(path));
        let dynamic = settings.dynamic.iter();
        self.dynamic = dynamic.filter_map(|path| Location::new(path)).collect();
        let fallback = settings.fallback.as_deref();
        self.fallback = fallback
            .and_then(|path| path::clean(path.as_bytes()))
            .map(Cow::into_owned);
        let patterns = settings.cache_control.iter();
        self.cache_control = patterns
            .map(|(pattern, value)| (Pattern::new(pattern), value.clone()))
            .collect();
        self.precompressed = settings.precompressed.then(Precompressed::default);
        Ok(())
    }

    pub(crate) fn deny(&mut self, path: &str) {
        self.denied.extend(Location::new(path));
    }

    pub(crate) fn follow(&mut self, directory: &Path) -> io::Result<()> {
        self.bounds.add(directory)
    }

    pub(crate) fn path(&self) -> &Path {
        self.bounds.root()
    }

    /// Returns the path in the file system of a clean path.
    pub(crate) fn at(&self, clean: &[u8]) -> PathBuf {
        below(self.path(), clean)
    }

    /// Looks up a clean path.
    pub(crate) fn find(&self, clean: &[u8]) -> Found {
        self.bounds.find(self.at(clean))
    }

    /// Returns true if there is nothing at this path; false also if that is not certain.
    pub(crate) fn lacks(&self, clean: &[u8]) -> bool {
        self.presence.lacks(self.path(), &clean[1..])
    }

    /// Returns whether this clean path is denied.
    pub(crate) fn is_denied(&self, clean: &[u8]) -> bool {
        self.denied.iter().any(|denied| denied.holds(clean))
    }

    /// Returns whether PHP serves this clean path, whether there is a file or not.
    pub(crate) fn is_dynamic(&self, clean: &[u8]) -> bool {
        self.dynamic.iter().any(|dynamic| dynamic.holds(clean))
    }

    /// Returns the page that is sent where there is no file, if it applies to this path.
    pub(crate) fn fallback(&self, clean: &[u8]) -> Option<StaticFile> {
        let page = self.fallback.as_deref()?;
        if names::has_extension(clean) || self.is_dynamic(clean) {
            return None;
        }
        let Found::File { file, real } = self.find(page) else {
            return None;
        };
        let real = real.as_ref().map(|real| real.as_os_str().as_bytes());
        self.may_send(&file, real.unwrap_or(page), page)
            .then_some(file)
    }

    /// Returns whether the path is denied to which a symbolic link has led.
    pub(crate) fn denies_file(&self, real: &[u8]) -> bool {
        let root = self.path().as_os_str().as_bytes();
        real.strip_prefix(root).is_some_and(|at| self.is_denied(at))
    }

    /// Returns whether a readable file may be sent. `real` is the file's path without links, `clean` the path of the
    /// request: neither name may be that of a source.
    pub(crate) fn may_send(&self, file: &StaticFile, real: &[u8], clean: &[u8]) -> bool {
        let is_source = names::is_source(clean) || names::is_source(real);
        !is_source && (names::is_web(real) || !file.is_php_code())
    }

    /// Returns the representation of the file for this client.
    pub(crate) fn represent(&self, file: StaticFile, fields: &Fields) -> Representation<'_> {
        let cache_control = self.cache_control(file.path());
        let as_it_is = Representation::new(file).cache_control(cache_control);
        match &self.precompressed {
            Some(precompressed) => as_it_is.compressed(precompressed, &self.bounds, fields),
            None => as_it_is,
        }
    }

    fn cache_control(&self, file: &Path) -> Option<&str> {
        if self.cache_control.is_empty() {
            return None;
        }
        let root = self.at(b"/");
        let path = file.as_os_str().as_bytes();
        let path = path.get(root.as_os_str().len() - 1..)?;
        let mut patterns = self.cache_control.iter().rev();
        let (_, value) = patterns.find(|(pattern, _)| pattern.fits(path))?;
        Some(value)
            .filter(|value| !value.is_empty())
            .map(String::as_str)
    }
}
