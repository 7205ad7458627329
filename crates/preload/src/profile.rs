//! A profile: merged recordings of hours, workers and machines, and the probability that a request needs a file.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::recording::{Malformed, Recording};

/// The merged recordings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    pub recordings: Vec<Recording>,
}

/// The number of requests that have loaded a file, and of those in which that could be observed.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LoadCounts {
    pub loaded: u64,
    pub observed: u64,
}

impl LoadCounts {
    /// The share of requests that load the file; `None` if it was preloaded all the time.
    pub fn probability(self) -> Option<f64> {
        (self.observed > 0).then(|| self.loaded as f64 / self.observed as f64)
    }
}

/// A recorded request that can be repeated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Replay {
    pub uri: String,
    pub host: String,
    /// The share of the recorded requests that this request stands for.
    pub weight: f64,
}

impl Profile {
    /// Parses a file of one recording or of a merged profile.
    pub fn parse(bytes: &[u8]) -> Result<Profile, Malformed> {
        if let Ok(profile) = serde_json::from_slice::<Profile>(bytes) {
            let recordings = profile.recordings.into_iter().map(Recording::validated);
            return Ok(recordings
                .collect::<Result<Vec<_>, _>>()?
                .into_iter()
                .collect());
        }
        Ok([Recording::parse(bytes)?].into_iter().collect())
    }

    pub fn add(&mut self, recording: Recording) {
        match self
            .recordings
            .iter_mut()
            .find(|known| known.key() == recording.key())
        {
            Some(known) => known.add(&recording),
            None => self.recordings.push(recording),
        }
    }

    pub fn requests(&self) -> u64 {
        self.recordings
            .iter()
            .map(|recording| recording.requests)
            .sum()
    }

    /// The recording with the latest request. The list is made for its release and settings.
    pub fn latest(&self) -> Option<&Recording> {
        self.recordings
            .iter()
            .max_by_key(|recording| (recording.last, recording.requests))
    }

    /// Removes recordings of other projects and of other releases of PHP, and returns a message for each kind. The project
    /// is the one that was recorded in the folder `root`, else the one that was recorded last; its releases may have folders
    /// of their own. `has` tells whether the folder of a project contains a file.
    pub fn narrow(
        &mut self,
        root: Option<&str>,
        php: Option<&str>,
        has: impl Fn(&str, &str) -> bool,
    ) -> Vec<String> {
        let last = |of: &dyn Fn(&Recording) -> bool| {
            let fits = self.recordings.iter().filter(|one| of(one));
            fits.max_by_key(|one| (one.last, one.requests)).cloned()
        };
        let of_root = root.and_then(|root| last(&|one| one.root == root));
        let Some(project) = of_root.or_else(|| last(&|_| true)) else {
            return Vec::new();
        };
        let of_php = php.and_then(|php| last(&|one| one.settings.release() == php));
        let php = of_php.as_ref().unwrap_or(&project).settings.release();
        let same = self
            .recordings
            .iter()
            .filter(|one| one.root == project.root);
        let hosts: BTreeSet<String> = same.map(|one| one.host.clone()).collect();
        let mut left: BTreeMap<String, u64> = BTreeMap::new();
        self.recordings.retain(|one| {
            let (root, release) = (&one.root, one.settings.release());
            let why = if !one.is_of(&project, &hosts, |file| has(&project.root, file)) {
                format!("of another project, {root}; --root makes a list of that")
            } else if release != php {
                format!("by PHP {release}, because the list is for {php}")
            } else {
                return true;
            };
            *left.entry(why).or_default() += one.requests;
            false
        });
        let described = |(why, requests)| format!("{requests} requests {why}");
        left.into_iter().map(described).collect()
    }

    /// The recorded releases of the project, by their folder and lock file.
    pub fn releases(&self) -> BTreeSet<(&str, &str)> {
        let releases = self.recordings.iter();
        releases
            .map(|recording| (recording.root.as_str(), recording.lock.as_str()))
            .collect()
    }

    /// All files that were loaded or preloaded, with how often.
    pub fn files(&self) -> BTreeMap<String, LoadCounts> {
        let total = self.requests();
        let mut files: BTreeMap<String, LoadCounts> = BTreeMap::new();
        for recording in &self.recordings {
            for (file, count) in &recording.files {
                let seen = files.entry(file.clone()).or_default();
                seen.loaded = seen.loaded.saturating_add(*count);
                seen.observed = total;
            }
            for file in recording.hidden.keys() {
                files.entry(file.clone()).or_default().observed = total;
            }
        }
        for recording in &self.recordings {
            for (file, count) in &recording.hidden {
                if let Some(seen) = files.get_mut(file) {
                    seen.observed = seen.observed.saturating_sub(*count);
                }
            }
        }
        files
    }

    /// Returns the most frequent route, or the one of this name, for a list of one page.
    pub fn route(&self, name: Option<&str>) -> Option<&Recording> {
        let of_name = self.recordings.iter().filter(|recording| match name {
            Some(name) => recording.route == name,
            None => !recording.route.starts_with('('),
        });
        of_name.max_by_key(|recording| recording.requests)
    }

    /// The routes and their numbers of requests, the most frequent first.
    pub fn routes(&self) -> Vec<(String, u64)> {
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        for recording in &self.recordings {
            *counts.entry(&recording.route).or_default() += recording.requests;
        }
        let mut routes: Vec<_> = counts
            .into_iter()
            .map(|(route, count)| (route.to_owned(), count))
            .collect();
        routes.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        routes
    }

    /// Returns at most `most` paths to request again, those of frequent routes first.
    pub fn replays(&self, most: usize) -> Vec<Replay> {
        let total = self.requests().max(1) as f64;
        let mut recordings: Vec<&Recording> = self
            .recordings
            .iter()
            .filter(|one| !one.uris.is_empty())
            .collect();
        recordings.sort_by_key(|recording| std::cmp::Reverse(recording.requests));
        let mut replays: Vec<Replay> = Vec::new();
        for recording in recordings {
            let weight = recording.requests as f64 / total / recording.uris.len() as f64;
            for uri in &recording.uris {
                let same = |known: &Replay| known.uri == *uri && known.host == recording.host;
                if let Some(known) = replays.iter().position(same) {
                    replays[known].weight += weight;
                } else if replays.len() < most {
                    replays.push(Replay {
                        uri: uri.clone(),
                        host: recording.host.clone(),
                        weight,
                    });
                }
            }
        }
        replays
    }
}

impl FromIterator<Recording> for Profile {
    fn from_iter<T: IntoIterator<Item = Recording>>(recordings: T) -> Profile {
        let mut profile = Profile::default();
        for recording in recordings {
            profile.add(recording);
        }
        profile
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::recording::tests::recording;

    #[test]
    fn what_was_preloaded_counts_only_where_its_use_could_be_seen() {
        let without = recording("GET /", 10, &[("a.php", 10), ("b.php", 5)]);
        let mut with = recording("GET /x", 30, &[]);
        with.hidden = [("a.php".to_owned(), 30), ("b.php".to_owned(), 30)].into();
        let mut always = with.clone();
        always.route = "GET /y".into();
        always.hidden = [("c.php".to_owned(), 30)].into();
        let profile: Profile = [without, with, always].into_iter().collect();
        let files = profile.files();
        assert_eq!(
            files["a.php"],
            LoadCounts {
                loaded: 10,
                observed: 40
            }
        );
        assert_eq!(files["b.php"].probability(), Some(0.125));
        assert_eq!(files["c.php"].loaded, 0);
    }

    #[test]
    fn the_frequent_routes_are_asked_for_again() {
        let mut often = recording("GET /", 90, &[]);
        often.uris = vec!["/".into()];
        let mut seldom = recording("GET /x/*", 10, &[]);
        seldom.uris = vec!["/x/1".into(), "/x/2".into()];
        let profile: Profile = [seldom, often].into_iter().collect();
        let replays = profile.replays(2);
        assert_eq!(
            replays
                .iter()
                .map(|one| one.uri.as_str())
                .collect::<Vec<_>>(),
            ["/", "/x/1"]
        );
        assert!((replays[1].weight - 0.05).abs() < 1e-9);
    }

    fn elsewhere(root: &str, host: &str, php: &str) -> Recording {
        let mut one = recording("GET /", 10, &[("a.php", 10)]);
        (one.root, one.host) = (root.into(), host.into());
        one.settings.php = php.into();
        one
    }

    #[test]
    fn a_list_is_made_of_one_project_and_one_release_of_php() {
        let mut latest = elsewhere("/srv/app/releases/2", "shop.test", "8.2.20");
        latest.last = 9;
        let mut admin = elsewhere("/usr/share/phpmyadmin", "shop.test", "8.2.20");
        admin.files = [("import.php".to_owned(), 10)].into();
        let has = |_: &str, file: &str| file == "a.php";
        let all = [
            elsewhere("/srv/app/releases/1", "shop.test", "8.2.7"),
            elsewhere("/srv/app/releases/1", "shop.test", "8.1.7"),
            elsewhere("/srv/blog", "blog.test", "8.2.20"),
            admin,
            latest,
        ];
        let mut profile: Profile = all.iter().cloned().collect();
        assert_eq!(
            profile.narrow(None, None, has),
            [
                "10 requests by PHP 8.1, because the list is for 8.2",
                "10 requests of another project, /srv/blog; --root makes a list of that",
                "10 requests of another project, /usr/share/phpmyadmin; --root makes a list of that"
            ]
        );
        assert_eq!(profile.requests(), 20);
        let mut profile: Profile = all.into_iter().collect();
        assert_eq!(profile.narrow(Some("/srv/blog"), None, has).len(), 3);
        assert_eq!(profile.recordings[0].root, "/srv/blog");
    }

    fn any_recording() -> impl Strategy<Value = Recording> {
        let files = prop::collection::btree_map("[a-d]\\.php", 0_u64..50, 0..4);
        ("[xy]", 50_u64..100, files.clone(), files).prop_map(|(route, requests, files, hidden)| {
            let mut one = recording(&route, requests, &[]);
            one.hidden = hidden
                .into_iter()
                .filter(|(file, _)| !files.contains_key(file))
                .collect();
            one.files = files;
            one
        })
    }

    proptest! {
        /// The order in which machines are merged does not matter, and the result can be written and read.
        #[test]
        fn the_order_of_merging_does_not_matter(recordings in prop::collection::vec(any_recording(), 0..6)) {
            let there: Profile = recordings.iter().cloned().collect();
            let back: Profile = recordings.iter().rev().cloned().collect();
            prop_assert_eq!(there.files(), back.files());
            prop_assert_eq!(there.requests(), recordings.iter().map(|one| one.requests).sum::<u64>());
            let text = serde_json::to_vec(&there).unwrap();
            prop_assert_eq!(Profile::parse(&text).unwrap(), there);
        }

        #[test]
        fn a_probability_is_one(recordings in prop::collection::vec(any_recording(), 1..6)) {
            let profile: Profile = recordings.into_iter().collect();
            for seen in profile.files().values() {
                prop_assert!(seen.probability().is_none_or(|share| (0.0..=1.0).contains(&share)));
            }
        }

        #[test]
        fn no_bytes_make_the_parser_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Profile::parse(&bytes);
        }
    }
}
