//! A document root: what is below it, and what of that is never sent.

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
    /// What the fallback does not answer.
    dynamic: Vec<Location>,
    /// The clean path of the page that answers what is not there.
    fallback: Option<Vec<u8>>,
    cache_control: Vec<(Pattern, String)>,
    /// If that is looked for.
    precompressed: Option<Precompressed>,
    presence: Presence,
}

impl Root {
    /// Symbolic links in `directory` are resolved here, once.
    ///
    /// # Errors
    /// If it is no directory that can be read.
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

    /// What the settings say; links may lead into those directories that are there.
    ///
    /// # Errors
    /// If one of these cannot be looked at.
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

    /// Where the clean path leads.
    pub(crate) fn at(&self, clean: &[u8]) -> PathBuf {
        below(self.path(), clean)
    }

    /// What is there.
    pub(crate) fn find(&self, clean: &[u8]) -> Found {
        self.bounds.find(self.at(clean))
    }

    /// Is nothing there? False where it takes a closer look.
    pub(crate) fn lacks(&self, clean: &[u8]) -> bool {
        self.presence.lacks(self.path(), &clean[1..])
    }

    /// Is nothing to be answered with at this clean path?
    pub(crate) fn is_denied(&self, clean: &[u8]) -> bool {
        self.denied.iter().any(|denied| denied.holds(clean))
    }

    /// Is it PHP's to answer, whatever is there?
    pub(crate) fn is_dynamic(&self, clean: &[u8]) -> bool {
        self.dynamic.iter().any(|dynamic| dynamic.holds(clean))
    }

    /// The page that answers where nothing is, if there is one for this path.
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

    /// The same for a file to which a link has led.
    pub(crate) fn denies_file(&self, real: &[u8]) -> bool {
        let root = self.path().as_os_str().as_bytes();
        real.strip_prefix(root).is_some_and(|at| self.is_denied(at))
    }

    /// Is a file that may be read one that may be sent? `real` is where it is, `clean` what it is called: what a link of
    /// another name leads to is still what it is.
    pub(crate) fn may_send(&self, file: &StaticFile, real: &[u8], clean: &[u8]) -> bool {
        let is_source = names::is_source(clean) || names::is_source(real);
        !is_source && (names::is_web(real) || !file.is_php_code())
    }

    /// The file as this client gets it.
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
