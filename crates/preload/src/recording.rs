//! A recording: the files that requests of one route have loaded, as written by `recorder.php` and in a merged profile.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// The format that this crate reads and `recorder.php` writes.
const FORMAT: u32 = 1;

/// The recording of one route, by one PHP, in one release of the app.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recording {
    format: u32,
    /// The route, such as `GET /posts/*`.
    pub route: String,
    /// The folder of the project, without symbolic links; files below it are named relative to it.
    pub root: String,
    /// A hash of the project's `composer.lock`; empty without one.
    #[serde(default)]
    pub lock: String,
    /// The script that the web server named.
    #[serde(default)]
    pub script: String,
    #[serde(default)]
    pub document_root: String,
    #[serde(default)]
    pub host: String,
    /// The number of recorded requests.
    pub requests: u64,
    /// The times of the first and the last request, in seconds since 1970.
    #[serde(default)]
    pub first: u64,
    #[serde(default)]
    pub last: u64,
    /// Paths that `hearth preload check` may request again.
    #[serde(default)]
    pub uris: Vec<String>,
    /// The number of requests that loaded each file.
    #[serde(default)]
    pub files: BTreeMap<String, u64>,
    /// The number of requests in which a file was preloaded, so that its use could not be observed.
    #[serde(default)]
    pub hidden: BTreeMap<String, u64>,
    #[serde(flatten)]
    pub settings: Settings,
}

/// The settings of the PHP that recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// The version, such as `8.2.36`.
    pub php: String,
    /// The SAPI, such as `fpm-fcgi`, `apache2handler` or `hearth`.
    pub sapi: String,
    /// The php.ini, and the folder of the further ini files.
    pub ini: String,
    pub scanned: String,
    /// Settings of opcache without their prefix.
    pub opcache: BTreeMap<String, String>,
}

/// Why bytes are not a recording.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    #[error("not a recording of `hearth preload record`: {0}")]
    Json(String),
    #[error(
        "a recording of format {0}, and this is a program for format {FORMAT}: use the release of Hearth that recorded"
    )]
    Format(u32),
    #[error("{file} was loaded in {count} of {requests} requests")]
    Count {
        file: String,
        count: u64,
        requests: u64,
    },
}

impl Settings {
    /// Returns `8.2` of `8.2.36`.
    pub fn release(&self) -> &str {
        let mut dots = self.php.match_indices('.').map(|(place, _)| place);
        dots.nth(1).map_or(&*self.php, |end| &self.php[..end])
    }
}

impl Recording {
    /// Parses a recording.
    pub fn parse(bytes: &[u8]) -> Result<Recording, Malformed> {
        let recording: Recording =
            serde_json::from_slice(bytes).map_err(|error| Malformed::Json(error.to_string()))?;
        recording.validated()
    }

    pub(crate) fn validated(self) -> Result<Recording, Malformed> {
        if self.format != FORMAT {
            return Err(Malformed::Format(self.format));
        }
        let requests = self.requests;
        let mut counts = self.files.iter().chain(&self.hidden);
        match counts.find(|(_, count)| **count > requests) {
            Some((file, count)) => Err(Malformed::Count {
                file: file.clone(),
                count: *count,
                requests,
            }),
            None => Ok(self),
        }
    }

    /// The key by which recordings are merged.
    pub(crate) fn key(&self) -> [&str; 5] {
        [
            &self.settings.php,
            &self.settings.sapi,
            &self.root,
            &self.lock,
            &self.route,
        ]
    }

    /// Whether the recording is of the same project: in its folder, or in that of another release or machine, if the same
    /// host was requested and the project `has` at least half of the files.
    pub(crate) fn is_of(
        &self,
        project: &Recording,
        hosts: &BTreeSet<String>,
        has: impl Fn(&str) -> bool,
    ) -> bool {
        let own = || self.files.keys().filter(|file| !file.starts_with('/'));
        let there = || own().filter(|file| has(file)).count();
        // A served folder may contain several projects.
        let is_whole =
            self.document_root == project.document_root && !self.document_root.starts_with('/');
        self.root == project.root
            || (is_whole && hosts.contains(&self.host) && there() * 2 >= own().count())
    }

    /// Adds what another process or machine has recorded for the same key.
    pub(crate) fn add(&mut self, other: &Recording) {
        self.requests = self.requests.saturating_add(other.requests);
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
        for uri in &other.uris {
            if self.uris.len() < 3 && !self.uris.contains(uri) {
                self.uris.push(uri.clone());
            }
        }
        for (mine, theirs) in [
            (&mut self.files, &other.files),
            (&mut self.hidden, &other.hidden),
        ] {
            for (file, count) in theirs {
                let sum = mine.entry(file.clone()).or_default();
                *sum = sum.saturating_add(*count);
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A recording with these files, each with the number of requests that loaded it.
    pub(crate) fn recording(route: &str, requests: u64, files: &[(&str, u64)]) -> Recording {
        let files: BTreeMap<&str, u64> = files.iter().copied().collect();
        let json = serde_json::json!({
            "format": 1, "route": route, "root": "/app", "requests": requests, "files": files, "php": "8.2.1",
        });
        Recording::parse(json.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn what_is_no_recording_is_refused_with_the_reason() {
        let refused = |text: &str| Recording::parse(text.as_bytes()).unwrap_err().to_string();
        assert!(refused("{").contains("not a recording"));
        assert!(refused(r#"{"format":2,"route":"","root":"","requests":1}"#).contains("format 2"));
        let twice = r#"{"format":1,"route":"","root":"","requests":1,"files":{"a.php":2}}"#;
        assert_eq!(refused(twice), "a.php was loaded in 2 of 1 requests");
    }

    #[test]
    fn recordings_of_two_machines_add_up() {
        let mut sum = recording("GET /", 3, &[("a.php", 3), ("b.php", 1)]);
        sum.add(&recording("GET /", 2, &[("b.php", 2), ("c.php", 1)]));
        assert_eq!(
            sum,
            recording("GET /", 5, &[("a.php", 3), ("b.php", 3), ("c.php", 1)])
        );
    }
}
