//! Maps a request's path to the file or script that serves it.
//!
//! The rules are those that nginx and Apache are usually configured with (`try_files $uri $uri/ /index.php`): an existing
//! file is used, everything else is for the front controller. [The guide](../../../docs/guide/sites.md) describes them for
//! users.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use config::SiteSettings;
use http1::{RequestHead, Response};

use crate::body::FileBody;
use crate::files::StaticFile;
use crate::lookup::{Bounds, Found};
use crate::rewrite::{Last, Rewrite, Rewrites, Variables};
use crate::root::Root;
use crate::route::{Refusal, Route};
use crate::{front_controller, names, path};

/// One document root and its scripts.
#[derive(Debug)]
pub struct Site {
    root: Root,
    /// The clean path of the front controller.
    front: Vec<u8>,
    rewrites: Rewrites,
}

impl Site {
    /// Opens a site. `front_controller` is a file name in the root, usually `index.php`. Symbolic links in `document_root`
    /// are resolved here, once.
    ///
    /// # Errors
    /// If `document_root` is no directory that can be read.
    pub fn new(document_root: &Path, front_controller: &str) -> io::Result<Site> {
        Ok(Site {
            root: Root::new(document_root)?,
            front: format!("/{front_controller}").into_bytes(),
            rewrites: Rewrites::default(),
        })
    }

    /// Opens the site of an app as it is named on the command line: a directory is the document root; a script is the front
    /// controller in its directory.
    ///
    /// # Errors
    /// If there is no such app.
    pub fn of_app(app: &Path, settings: &SiteSettings) -> io::Result<Site> {
        let mut site = if app.is_dir() {
            Site::new(app, "index.php")?
        } else {
            let script = app.file_name().and_then(|name| name.to_str());
            let script = script.ok_or(io::ErrorKind::InvalidFilename)?;
            // Not the directory that a link of the script leads to: the document root is the one that contains the link.
            Site::new(app.parent().unwrap_or(Path::new(".")), script)?
        };
        site.root.set(settings)?;
        site.rewrites = Rewrites::new(&settings.rewrite);
        Ok(site)
    }

    /// Denies this path and everything below it.
    pub fn deny(&mut self, path: &str) {
        self.root.deny(path);
    }

    /// Allows symbolic links to lead out of the root into this directory too.
    ///
    /// # Errors
    /// If there is no such directory.
    pub fn follow(&mut self, directory: &Path) -> io::Result<()> {
        self.root.follow(directory)
    }

    /// Returns the document root without symbolic links: `DOCUMENT_ROOT`.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// Routes `target`: a request's path as it was received, with or without `?` and a query, as raw bytes.
    #[must_use]
    pub fn route(&self, target: impl AsRef<[u8]>) -> Route {
        let (raw, query) = split(target.as_ref());
        let Some(clean) = path::clean(raw) else {
            return Route::Malformed;
        };
        if self.root.is_denied(&clean) {
            return Route::Forbidden(Refusal::Denied);
        }
        match self.rewrites.find(&clean) {
            Some(rewrite) => self.rewritten(rewrite, &clean, query),
            None => self.lookup(&clean, query),
        }
    }

    fn lookup(&self, clean: &[u8], query: Option<&[u8]>) -> Route {
        if let Some(route) = self.script_on_the_way(clean) {
            return route;
        }
        if names::is_hidden(clean) {
            return Route::Forbidden(Refusal::Hidden);
        }
        if clean.ends_with(b"/") {
            return self.directory(clean);
        }
        match self.root.find(clean) {
            Found::Directory => Route::Redirect {
                status: 301,
                location: with_slash(clean, query),
            },
            found => self.found(found, clean, b""),
        }
    }

    /// Uses the first candidate that exists, or the last word of the rule.
    fn rewritten(&self, rewrite: &Rewrite, clean: &[u8], query: Option<&[u8]>) -> Route {
        let variables = rewrite.variables(clean, query);
        for candidate in &rewrite.candidates {
            let directory = candidate.strip_suffix('/');
            let Some(path) = variables.path(directory.unwrap_or(candidate)) else {
                continue;
            };
            if self.root.is_denied(&path) {
                return Route::Forbidden(Refusal::Denied);
            }
            let is_there = match directory {
                Some(_) => matches!(self.root.find(&path), Found::Directory),
                None => self.is_file(&path),
            };
            if is_there {
                return self.lookup(&path, query);
            }
        }
        match &rewrite.last {
            Last::Path(template) => self.last(template, &variables),
            Last::Status(404) => Route::NotFound,
            Last::Status(410) => Route::Gone,
            Last::Status(_) => Route::Forbidden(Refusal::Rule),
            Last::Redirect(status, to) => Route::Redirect {
                status: *status,
                location: String::from_utf8_lossy(&variables.encoded(to)).into_owned(),
            },
        }
    }

    /// Looks up the path that a rule ends with, without rules, and sets the query that it makes.
    fn last(&self, template: &str, variables: &Variables<'_>) -> Route {
        let Some((path, made)) = variables.target(template) else {
            return Route::Malformed;
        };
        if self.root.is_denied(&path) {
            return Route::Forbidden(Refusal::Denied);
        }
        let mut route = self.lookup(
            &path,
            Some(&made)
                .filter(|made| !made.is_empty())
                .map(Vec::as_slice),
        );
        if let Route::Script { query, .. } = &mut route {
            *query = Some(made);
        }
        route
    }

    /// Returns whether the path names a file, or a script with more behind its name.
    fn is_file(&self, clean: &[u8]) -> bool {
        let mut ends = (1..clean.len()).filter(|&at| clean[at] == b'/');
        let is_file = |path: &[u8]| matches!(self.root.find(path), Found::File { .. });
        ends.any(|at| self.is_script(&clean[..at]) && is_file(&clean[..at])) || is_file(clean)
    }

    /// Returns the file for `target`, if it can be found without looking at scripts: for a caller that can send only files.
    ///
    /// If this returns a file, [`route`](Site::route) returns it too.
    #[must_use]
    pub fn file(&self, target: impl AsRef<[u8]>) -> Option<StaticFile> {
        let target = target.as_ref();
        let (raw, _) = split(target);
        let clean = path::clean(raw)?;
        if self.rewrites.find(&clean).is_some() {
            return match self.route(target) {
                Route::File(file) => Some(file),
                _ => None,
            };
        }
        let mut ends = (1..clean.len()).filter(|&at| clean[at] == b'/');
        if ends.any(|at| self.is_script(&clean[..at])) || self.is_script(&clean) {
            return None;
        }
        if self.root.is_denied(&clean) || names::is_hidden(&clean) {
            return None;
        }
        let route = match clean.last() {
            Some(b'/') => self.directory(&clean),
            _ => match self.root.find(&clean) {
                Found::File { file, real } => self.found(Found::File { file, real }, &clean, b""),
                _ => return None,
            },
        };
        match route {
            Route::File(file) => Some(file),
            _ => None,
        }
    }

    /// Responds to a request with one of the site's files.
    #[must_use]
    pub fn send(&self, file: StaticFile, head: &RequestHead) -> Response<FileBody> {
        let sent = self.root.represent(file, &head.fields);
        sent.answer(head.method(), &head.fields)
    }

    /// Finds the script of `/a.php/more`: the first name that ends with `.php` and is a file runs, and the rest is its
    /// `PATH_INFO`.
    fn script_on_the_way(&self, clean: &[u8]) -> Option<Route> {
        let slashes = (1..clean.len()).filter(|&at| clean[at] == b'/');
        for at in slashes {
            let (script, rest) = clean.split_at(at);
            if !self.is_script(script) {
                continue;
            }
            if names::is_hidden(script) {
                return Some(Route::Forbidden(Refusal::Hidden));
            }
            match self.root.find(script) {
                Found::Directory => {}
                found => return Some(self.found(found, script, rest)),
            }
        }
        None
    }

    /// Routes to the directory's index.
    fn directory(&self, clean: &[u8]) -> Route {
        let front = if clean == b"/" {
            &self.front[1..]
        } else {
            b"index.php"
        };
        for index in [front, b"index.html"] {
            let index = [clean, index].concat();
            match self.root.find(&index) {
                // A directory of that name is no index.
                Found::Missing | Found::Directory => {}
                found => return self.found(found, &index, b""),
            }
        }
        match self.root.find(clean) {
            Found::Directory => Route::Forbidden(Refusal::Listing),
            found => self.found(found, clean, b""),
        }
    }

    fn found(&self, found: Found, clean: &[u8], path_info: &[u8]) -> Route {
        match found {
            Found::File { file, real } => {
                let real = real.as_ref().map(|real| real.as_os_str().as_bytes());
                self.regular(file, real.unwrap_or(clean), clean, path_info)
            }
            Found::Missing => self.missing(clean),
            Found::Directory => Route::Forbidden(Refusal::Listing),
            Found::Refused => Route::Forbidden(Refusal::Unreadable),
            Found::Failed(error) => Route::Failed(error),
        }
    }

    /// Routes to a regular file. `real` is its path without links, `clean` the path of the request.
    fn regular(&self, file: StaticFile, real: &[u8], clean: &[u8], path_info: &[u8]) -> Route {
        if self.root.denies_file(real) {
            return Route::Forbidden(Refusal::Denied);
        }
        let runs = self.is_script(clean);
        if runs && (clean == self.front || names::is_script(real)) {
            return Route::Script {
                filename: file.into_path(),
                script_name: clean.to_vec(),
                path_info: path_info.to_vec(),
                query: None,
            };
        }
        match runs || self.is_front_controller(real) || !self.root.may_send(&file, real, clean) {
            true => Route::Forbidden(Refusal::Source),
            false => Route::File(file),
        }
    }

    /// Routes a path without a file to the page of a single-page app, or to the nearest front controller.
    fn missing(&self, clean: &[u8]) -> Route {
        if let Some(page) = self.root.fallback(clean) {
            return Route::File(page);
        }
        let nearest = front_controller::nearest(self.root(), clean);
        let index = nearest.as_ref().unwrap_or(&self.front);
        if self.root.is_denied(index) {
            return Route::Forbidden(Refusal::Denied);
        }
        let filename = self.root.at(index);
        if Bounds::is_plain_file(&filename) {
            return Route::Script {
                filename,
                script_name: index.clone(),
                path_info: Vec::new(),
                query: None,
            };
        }
        match self.root.find(index) {
            Found::Missing | Found::Directory => Route::NotFound,
            found => self.found(found, index, b""),
        }
    }

    fn is_script(&self, clean: &[u8]) -> bool {
        names::is_script(clean) || clean == self.front
    }

    fn is_front_controller(&self, real: &[u8]) -> bool {
        self.root.at(&self.front).as_os_str().as_bytes() == real
    }
}

/// Splits a target into path and query. A fragment belongs to neither; clients do not send it.
pub(crate) fn split(target: &[u8]) -> (&[u8], Option<&[u8]>) {
    let end = target.iter().position(|byte| *byte == b'#');
    let target = &target[..end.unwrap_or(target.len())];
    match target.iter().position(|byte| *byte == b'?') {
        Some(at) => (&target[..at], Some(&target[at + 1..])),
        None => (target, None),
    }
}

/// Returns the location of a directory that was requested without its slash.
pub(crate) fn with_slash(clean: &[u8], query: Option<&[u8]>) -> String {
    let mut location = path::encode(clean);
    location.push('/');
    if let Some(query) = query {
        location.push('?');
        location.push_str(&path::encode_query(query));
    }
    location
}
