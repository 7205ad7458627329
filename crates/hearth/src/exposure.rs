//! What a site shows under Hearth but not under Apache, because `.htaccess` is not read, and files in its document root that
//! no client should read.
//!
//! Reported at the start and by `hearth check`, with lines for `hearth.toml`. What the settings already refuse is not
//! reported.

mod expression;
mod htaccess;
mod rewrite_rule;
mod walk;

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use config::SiteSettings;
use site::{Route, Site};

use self::htaccess::{Effect, effects};
use self::walk::Walk;

/// The findings for a site.
#[derive(Debug, Default)]
pub(crate) struct Exposure {
    /// Paths of `.htaccess` files, with the effect of each.
    ignored: Vec<(String, String)>,
    /// Paths of files that a client can read, one for each directory, with the number of further ones there.
    readable: Vec<(String, usize)>,
    /// The probable document root, if it is not this folder.
    root: Option<String>,
    /// The folder, if no file in it answers `/`.
    without_index: Option<String>,
    deny: BTreeSet<String>,
    rewrite: Vec<(String, String)>,
}

impl Exposure {
    pub(crate) fn of(app: &Path, settings: &SiteSettings) -> Exposure {
        let mut found = Exposure::default();
        let Ok(site) = Site::of_app(app, settings) else {
            return found;
        };
        let walk = Walk::of(site.root());
        for (place, text) in &walk.htaccess {
            for effect in effects(text, place) {
                found.ignore(&site, settings, place, effect);
            }
        }
        found.files(&site, &walk);
        let public = site.root().join("public/index.php");
        if public.is_file() && !site.root().join("index.php").exists() {
            found.root = Some(site.root().join("public").display().to_string());
        } else if !matches!(
            site.route("/"),
            Route::File(_) | Route::Script { .. } | Route::Redirect { .. }
        ) {
            found.without_index = Some(site.root().display().to_string());
        }
        found
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ignored.is_empty()
            && self.readable.is_empty()
            && self.root.is_none()
            && self.without_index.is_none()
    }

    fn ignore(&mut self, site: &Site, settings: &SiteSettings, place: &str, effect: Effect) {
        let shown = if place.is_empty() { "/" } else { place };
        let what = match effect {
            Effect::Denies { but_some } => self.denies(site, place, but_some).map(|()| {
                let but = if but_some { " but some files" } else { "" };
                format!("denies everything{but} in {shown}")
            }),
            Effect::DeniesFiles(names) => self.denies_files(settings, place, &names, shown),
            Effect::DeniesPath(expression) => self
                .deny_once(settings, expression)
                .then(|| format!("denies paths in {shown}")),
            Effect::Rewrites(location, words) => self
                .rewrite_once(settings, location, words)
                .then(|| format!("rewrites paths in {shown}")),
            Effect::Unknown(line) => Some(format!(
                "contains a rule that has no equivalent here: {line}"
            )),
            Effect::Password => Some(format!(
                "asks for a password in {shown}; deny that, or let the proxy ask"
            )),
            Effect::NoScripts => Some(format!("lets no script run in {shown}")),
        };
        let Some(what) = what else { return };
        let file = format!("{place}/.htaccess");
        if !self.ignored.contains(&(file.clone(), what.clone())) {
            self.ignored.push((file, what));
        }
    }

    /// Returns `None` if the directory is refused already.
    fn denies(&mut self, site: &Site, place: &str, but_some: bool) -> Option<()> {
        let probe = format!("{}/x", encode(place));
        if matches!(site.route(probe), Route::Forbidden(_)) {
            return None;
        }
        if !but_some && !place.is_empty() {
            self.deny.insert(place.to_owned());
        }
        Some(())
    }

    /// Returns `None` if these files are refused already.
    fn denies_files(
        &mut self,
        settings: &SiteSettings,
        place: &str,
        names: &str,
        shown: &str,
    ) -> Option<String> {
        let names = expression::without_well_known(names);
        if expression::is_of_hidden_names(&names) {
            return None;
        }
        let location = expression::of_name(place, &names).map(|path| format!("~ {path}"));
        let Some(location) = location.filter(|location| config::is_location(location)) else {
            return Some(format!(
                "denies files in {shown} by an expression that has no equivalent here: {names}"
            ));
        };
        self.deny_once(settings, location)
            .then(|| format!("denies files in {shown}"))
    }

    /// Returns false if the location is refused or rewritten already.
    fn rewrite_once(&mut self, settings: &SiteSettings, location: String, words: String) -> bool {
        // Hidden names are never sent.
        let is_hidden = words == "=404" && location.contains("/\\.");
        let is_known = settings.rewrite.iter().any(|(known, _)| *known == location);
        if is_hidden || is_known {
            return false;
        }
        self.rewrite.push((location, words));
        true
    }

    /// Returns false if the expression is refused already.
    fn deny_once(&mut self, settings: &SiteSettings, expression: String) -> bool {
        let is_new = !settings.deny.contains(&expression);
        if is_new {
            self.deny.insert(expression);
        }
        is_new
    }

    /// Finds files that a client can read.
    fn files(&mut self, site: &Site, walk: &Walk) {
        let mut endings = BTreeSet::new();
        for (directory, names) in &walk.private {
            let mut sent = names.iter().filter(|name| {
                let target = encode(&format!("{directory}/{name}"));
                matches!(site.route(target), Route::File(_))
            });
            let Some(first) = sent.next() else {
                continue;
            };
            let more = sent.count();
            self.readable.push((format!("{directory}/{first}"), more));
            if walk::is_private_directory(directory) {
                self.deny.insert(directory.clone());
            } else {
                endings.extend(names.iter().filter_map(|name| walk::private_ending(name)));
            }
        }
        if !endings.is_empty() {
            let endings: Vec<&str> = endings.into_iter().collect();
            self.deny.insert(format!("~* \\.({})$", endings.join("|")));
        }
    }

    /// Returns log lines for the server, the worst first, and only a few.
    pub(crate) fn warnings(&self, app: &Path) -> Vec<String> {
        const MOST: usize = 6;
        let root = self.root.iter().map(|root| {
            format!(
                "the folder of a project is served as a site; its document root is probably {root}"
            )
        });
        let ignored = self.ignored.iter().map(|(file, what)| {
            format!("{file} is not read, because Hearth reads no .htaccess; under Apache it {what}")
        });
        let readable = self.readable.iter().map(|(file, more)| match more {
            0 => format!("clients can read {file}"),
            more => format!("clients can read {file} and {more} more beside it"),
        });
        let index = self.without_index.iter().map(|folder| {
            format!("{folder} contains neither index.php nor index.html: / is answered 403, and a path without a file 404")
        });
        let mut lines: Vec<String> = root.chain(index).chain(readable).chain(ignored).collect();
        let more = lines.len().saturating_sub(MOST);
        lines.truncate(MOST);
        let has_proposal =
            self.root.is_some() || !self.readable.is_empty() || !self.ignored.is_empty();
        if let Some(last) = lines.last_mut().filter(|_| has_proposal) {
            let more = if more > 0 {
                format!(", and {more} more")
            } else {
                String::new()
            };
            *last += &format!(
                "{more}; `hearth check {}` proposes what to set",
                app.display()
            );
        }
        lines
    }
}

/// The text for people, below a recommendation.
impl fmt::Display for Exposure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(root) = &self.root {
            writeln!(
                f,
                "its document root is probably {root}: serve that, or everything here is public"
            )?;
        }
        if let Some(folder) = &self.without_index {
            writeln!(
                f,
                "{folder} contains neither index.php nor index.html: / is answered 403, and a path without a file 404"
            )?;
        }
        if !self.readable.is_empty() {
            writeln!(f, "clients can read:")?;
        }
        for (file, more) in &self.readable {
            match more {
                0 => writeln!(f, "  - {file}")?,
                more => writeln!(f, "  - {file}, and {more} more beside it")?,
            }
        }
        if !self.ignored.is_empty() {
            writeln!(f, "not read, because Hearth reads no .htaccess:")?;
        }
        for (file, what) in &self.ignored {
            writeln!(f, "  - {file} {what}")?;
        }
        self.proposal(f)
    }
}

impl Exposure {
    fn proposal(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.deny.is_empty() && self.rewrite.is_empty() {
            return Ok(());
        }
        writeln!(f, "proposed, in hearth.toml:")?;
        if !self.deny.is_empty() {
            writeln!(f, "    [site]\n    deny = [")?;
            for entry in &self.deny {
                writeln!(f, "        {},", quoted(entry))?;
            }
            writeln!(f, "    ]")?;
        }
        if !self.rewrite.is_empty() {
            writeln!(f, "    [site.rewrite]")?;
        }
        for (location, words) in &self.rewrite {
            writeln!(f, "    {} = {}", quoted(location), quoted(words))?;
        }
        Ok(())
    }
}

/// Formats a string for TOML: literal, unless it contains a quote.
fn quoted(text: &str) -> String {
    match text.contains('\'') {
        true => format!("{text:?}"),
        false => format!("'{text}'"),
    }
}

/// Encodes a path as a client sends it.
fn encode(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    path.bytes()
        .map(|byte| match plain(byte) {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02X}"),
        })
        .collect()
}

#[cfg(test)]
mod tests;
