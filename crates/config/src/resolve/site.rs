//! The settings for files that are sent without PHP.

use std::path::{Path, PathBuf};

use super::Resolver;
use crate::options::option;
use crate::raw::Given;
use crate::settings::{Mode, SiteSettings};
use crate::{location, value};

/// The folder in which frameworks keep the files for browsers.
const PUBLIC: &str = "public";

impl Resolver<'_> {
    pub(super) fn site(&mut self, app: Option<&Path>, mode: Mode) -> SiteSettings {
        let root = self.root(app.filter(|_| mode == Mode::Resident));
        let document_root = match mode {
            Mode::Resident => root.clone(),
            Mode::Classic => app.and_then(document_root),
        };
        SiteSettings {
            root,
            follow: self.follow(),
            deny: self.url_paths("site.deny"),
            rewrite: self.pairs("site.rewrite", location::rewrite),
            fallback: self.fallback(document_root.as_deref()),
            dynamic: self.url_paths("site.dynamic"),
            cache_control: self.pairs("site.cache_control", value::header),
            precompressed: self.choice("site.precompressed").as_deref() == Some("on"),
            sendfile: self.sendfile(),
        }
    }

    /// Returns the folder of a resident app's files; `app` is its script.
    fn root(&mut self, app: Option<&Path>) -> Option<PathBuf> {
        let app = app?;
        match self.raw.winner("site.root") {
            None => public_folder(app),
            Some(given) if given.text.is_empty() => None,
            Some(given) => {
                let base = self.base(&given.source);
                self.parsed(option("site.root"), given, |text| {
                    value::directory(text, &base)
                })
            }
        }
    }

    /// Returns the directories. One that is named must exist; the default need not.
    fn follow(&mut self) -> Vec<PathBuf> {
        let option = option("site.follow");
        let given = self.raw.winners(option.key);
        if given.is_empty() {
            return vec![option.default.into()];
        }
        let given = given.into_iter().filter(|given| !given.text.is_empty());
        let mut found = Vec::new();
        for given in given {
            let base = self.base(&given.source);
            found.extend(self.parsed(option, given, |text| value::directory(text, &base)));
        }
        found
    }

    fn sendfile(&mut self) -> Vec<(String, PathBuf)> {
        let option = option("site.sendfile");
        let mut found: Vec<(String, PathBuf)> = Vec::new();
        for given in self.raw.all(option.key) {
            let base = self.base(&given.source);
            let folder = (!given.text.is_empty())
                .then(|| self.parsed(option, given, |text| value::folder(text, &base)));
            if let Some((prefix, folder)) = folder.flatten() {
                found.retain(|(other, _)| *other != prefix);
                found.push((prefix, folder));
            }
        }
        found
    }

    /// Returns the page. It must exist, because every visitor would miss it.
    fn fallback(&mut self, root: Option<&Path>) -> Option<String> {
        let key = "site.fallback";
        let given = self
            .raw
            .winner(key)
            .filter(|given| !given.text.is_empty())?;
        self.parsed(option(key), given, |text| {
            let path = location::path(text)?;
            let file = root.map(|root| root.join(path.trim_start_matches('/')));
            match file.filter(|file| !file.is_file()) {
                Some(file) => Err(format!("{} is not a file", file.display())),
                None => Ok(path),
            }
        })
    }

    fn url_paths(&mut self, key: &'static str) -> Vec<String> {
        let option = option(key);
        let given = self.raw.winners(option.key).into_iter();
        let given: Vec<&Given> = given.filter(|given| !given.text.is_empty()).collect();
        let paths = given
            .into_iter()
            .filter_map(|given| self.parsed(option, given, location::location));
        paths.collect()
    }
}

fn public_folder(app: &Path) -> Option<PathBuf> {
    let folder = app.parent()?;
    if folder.file_name().is_some_and(|name| name == PUBLIC) {
        return Some(folder.into());
    }
    Some(folder.join(PUBLIC)).filter(|public| public.is_dir())
}

/// Returns the document root of a classic site.
fn document_root(app: &Path) -> Option<PathBuf> {
    match app.is_dir() {
        true => Some(app.into()),
        false => app.parent().map(Path::to_owned),
    }
}
