//! A preload list, as written beside its `preload.php`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::choose::{Point, Strategy};
use crate::facts::Treatment;
use crate::graph::{Graph, LeftOut};
use crate::profile::Replay;
use crate::recording::Settings;

/// A file of a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Relative to the project's root, or absolute.
    pub file: String,
    pub size: u64,
    /// SHA-256, in hexadecimal digits.
    pub hash: String,
    /// Whether the file is run, not only compiled.
    pub require: bool,
    /// Earlier entries without which this one cannot be linked.
    pub needs: Vec<usize>,
    pub classes: Vec<String>,
    pub functions: Vec<String>,
    /// Functions that are declared when the file is run.
    pub conditional: Vec<String>,
    /// The share of requests that need the file.
    pub probability: f64,
    /// The time to load the file without preloading, in ns, and its bytes in opcache's memory.
    pub nanos: f64,
    pub bytes: u64,
}

/// The result of `hearth preload check`: CPU time of the server per request, in µs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gain {
    pub without: f64,
    pub with: f64,
    /// The saved share, and its 95 % confidence interval.
    pub share: f64,
    pub low: f64,
    pub high: f64,
    pub requests: u64,
    pub paths: usize,
    /// The first requests to a fresh server.
    pub cold_without: ColdStart,
    pub cold_with: ColdStart,
    /// The time in which the server starts, in ms.
    pub boot_without: f64,
    pub boot_with: f64,
}

/// The time of the first request to a fresh server, and the median and the second slowest of the first hundred, in ms.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct ColdStart {
    pub first: f64,
    pub p50: f64,
    pub p99: f64,
}

impl Gain {
    /// Whether the whole interval is a gain.
    pub fn wins(&self) -> bool {
        self.low > 0.0
    }
}

/// A list and what it was made from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct List {
    pub format: u32,
    pub strategy: Strategy,
    /// Seconds since 1970.
    pub made: u64,
    pub root: String,
    pub lock: String,
    pub document_root: String,
    pub script: String,
    pub settings: Settings,
    pub requests: u64,
    pub routes: Vec<(String, u64)>,
    pub entries: Vec<Entry>,
    pub left: LeftOut,
    /// Files that could be preloaded but are not worth it.
    pub spare: Vec<String>,
    pub curve: Vec<Point>,
    pub replays: Vec<Replay>,
    /// Bytes of opcache's memory that the list takes, as opcache reports it.
    pub memory: u64,
    /// Bytes of the buffer of interned strings in use with the list, those of PHP itself included.
    #[serde(default)]
    pub strings: u64,
    pub gain: Option<Gain>,
}

/// An entry that is not preloaded, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stale {
    pub file: String,
    pub why: &'static str,
}

/// The current size and hash of a file; `None` if it does not exist.
type FileState = Option<(u64, String)>;

/// The path of the JSON file beside a `preload.php`, which contains the whole list.
pub fn beside(script: &Path) -> PathBuf {
    script.with_extension("json")
}

fn now(path: &Path) -> FileState {
    let bytes = std::fs::read(path).ok()?;
    let digits = Sha256::digest(&bytes);
    let digits = digits.iter().map(|byte| format!("{byte:02x}")).collect();
    Some((bytes.len() as u64, digits))
}

impl List {
    /// Parses the JSON file.
    pub fn parse(bytes: &[u8]) -> Result<List, String> {
        let list: List = serde_json::from_slice(bytes)
            .map_err(|error| format!("not a list of `hearth preload build`: {error}"))?;
        let mut needs = list
            .entries
            .iter()
            .enumerate()
            .flat_map(|(number, entry)| entry.needs.iter().map(move |other| (number, *other)));
        match needs.find(|(number, other)| other >= number) {
            Some((number, other)) => Err(format!(
                "not a list of `hearth preload build`: entry {number} needs entry {other}, which comes later"
            )),
            None if list.format != 1 => Err(format!(
                "a list of format {}: build it again with this release of Hearth",
                list.format
            )),
            None => Ok(list),
        }
    }

    /// Returns the entries for these files of the graph.
    pub fn entries_of(graph: &Graph, chosen: &BTreeSet<usize>) -> Vec<Entry> {
        let order = graph.ordered(chosen);
        let place: BTreeMap<usize, usize> = order
            .iter()
            .enumerate()
            .map(|(place, number)| (*number, place))
            .collect();
        let entry = |number: &usize| {
            let candidate = &graph.candidates[*number];
            Entry {
                file: candidate.file().to_owned(),
                size: candidate.facts.size,
                hash: candidate.facts.hash.clone(),
                require: candidate.treatment == Treatment::Require,
                // Classes that name each other in their types may need each other; only the later entry says so.
                needs: graph
                    .needs(*number)
                    .iter()
                    .map(|other| place[other])
                    .filter(|other| *other < place[number])
                    .collect(),
                classes: candidate
                    .facts
                    .classes
                    .iter()
                    .map(|class| class.name.clone())
                    .collect(),
                functions: candidate.facts.functions.clone(),
                conditional: candidate.facts.conditional.clone(),
                probability: candidate.probability(),
                nanos: candidate.load.nanos,
                bytes: candidate.load.bytes,
            }
        };
        order.iter().map(entry).collect()
    }

    /// Removes these files, and all files that need them. Each is noted with its reason.
    pub fn leave(&mut self, files: &BTreeMap<String, String>) {
        let mut new: Vec<Option<usize>> = Vec::with_capacity(self.entries.len());
        let mut kept: Vec<Entry> = Vec::with_capacity(self.entries.len());
        for mut entry in std::mem::take(&mut self.entries) {
            let needs: Option<Vec<usize>> = entry.needs.iter().map(|other| new[*other]).collect();
            match (files.get(&entry.file), needs) {
                (None, Some(needs)) => {
                    new.push(Some(kept.len()));
                    entry.needs = needs;
                    kept.push(entry);
                }
                (why, _) => {
                    new.push(None);
                    let why = why
                        .cloned()
                        .unwrap_or_else(|| "needs a file that is left out".into());
                    self.left.insert(entry.file, why);
                }
            }
        }
        self.entries = kept;
    }

    /// Returns the entries that `preload.php` leaves out, because files have changed or do not exist any more.
    pub fn stale(&self, now: impl Fn(&str) -> FileState) -> Vec<Stale> {
        let mut out: BTreeSet<usize> = BTreeSet::new();
        let mut stale = Vec::new();
        for (number, entry) in self.entries.iter().enumerate() {
            let why = match now(&entry.file) {
                None => "it is gone",
                Some((size, hash)) if size != entry.size || hash != entry.hash => "it has changed",
                Some(_) if entry.needs.iter().any(|other| out.contains(other)) => {
                    "it needs a file that is left out"
                }
                Some(_) => continue,
            };
            out.insert(number);
            stale.push(Stale {
                file: entry.file.clone(),
                why,
            });
        }
        stale
    }

    /// Returns the same for the files as they are now.
    pub fn stale_now(&self) -> Vec<Stale> {
        self.stale(|file| now(&Path::new(&self.root).join(file)))
    }

    /// The release of PHP, such as `8.2`, for which the list is.
    pub fn php_release(&self) -> &str {
        self.settings.release()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::choose::{Limits, choose};
    use crate::graph::tests::candidate;

    pub(crate) fn list() -> List {
        let graph = Graph::new(vec![
            candidate("child.php", "Child", &["Parent"], 100),
            candidate("/usr/share/php/parent.php", "Parent", &[], 100),
            candidate("it's \\ alone.php", "Alone", &[], 50),
        ]);
        let (chosen, curve) = choose(
            &graph,
            Strategy::Naive,
            &BTreeSet::new(),
            Limits {
                coverage: 1.0,
                memory: None,
            },
        );
        List {
            format: 1,
            strategy: Strategy::Naive,
            made: 1_800_000_000,
            root: "/app".into(),
            lock: String::new(),
            document_root: "public".into(),
            script: "public/index.php".into(),
            settings: Settings {
                php: "8.2.36".into(),
                ..Settings::default()
            },
            requests: 100,
            routes: vec![("GET /".into(), 100)],
            entries: List::entries_of(&graph, &chosen),
            left: LeftOut::new(),
            spare: Vec::new(),
            curve,
            replays: Vec::new(),
            memory: 1 << 20,
            strings: 1 << 20,
            gain: None,
        }
    }

    #[test]
    fn a_file_that_has_changed_takes_with_it_what_needs_it() {
        let list = list();
        let now = |file: &str| (!file.contains("parent")).then(|| (1, "h".to_owned()));
        let stale: Vec<_> = list
            .stale(now)
            .into_iter()
            .map(|one| (one.file, one.why))
            .collect();
        let gone = ("/usr/share/php/parent.php".to_owned(), "it is gone");
        assert_eq!(
            stale,
            [
                gone,
                ("child.php".into(), "it needs a file that is left out")
            ]
        );
        assert_eq!(list.stale(|_| Some((2, "h".into()))).len(), 3);
    }

    #[test]
    fn what_is_left_takes_with_it_what_needs_it() {
        let mut list = list();
        list.leave(&[("/usr/share/php/parent.php".to_owned(), "breaks".to_owned())].into());
        assert_eq!(list.entries.len(), 1);
        assert_eq!(list.left["child.php"], "needs a file that is left out");
        assert_eq!(
            List::parse(&serde_json::to_vec(&list).unwrap()).unwrap(),
            list
        );
    }

    #[test]
    fn a_list_for_a_file_that_comes_later_is_refused() {
        let mut list = list();
        list.entries[0].needs = vec![2];
        assert!(
            List::parse(&serde_json::to_vec(&list).unwrap())
                .unwrap_err()
                .contains("entry 0 needs entry 2")
        );
    }
}
