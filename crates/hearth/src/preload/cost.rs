//! What loading a file costs without preloading: measured on a private server, with opcache as it is configured.

use std::collections::{BTreeMap, BTreeSet};

use ::preload::{Candidate, Graph, Load, Treatment};

use super::php::Php;
use super::site::Site;
use super::{Failed, files, on};

const MEASURE: &str = include_str!("php/measure.php");
/// The first fills opcache, and of the others the median counts.
const ROUNDS: usize = 8;

/// Time and memory of each file, by its path.
type Round = BTreeMap<String, Vec<f64>>;

/// Room for every file, whatever is configured.
const SETTINGS: [(&str, &str); 9] = [
    ("opcache.enable", "1"),
    ("opcache.preload", ""),
    ("opcache.memory_consumption", "1024"),
    ("opcache.interned_strings_buffer", "64"),
    ("opcache.max_accelerated_files", "200000"),
    ("opcache.file_update_protection", "0"),
    ("memory_limit", "-1"),
    ("max_execution_time", "0"),
    ("open_basedir", ""),
];

/// Measures all files of the graph. Those that cannot be loaded behind what they need are said, with the reason.
pub(super) fn measure(
    php: &Php,
    root: &str,
    graph: &mut Graph,
) -> Result<BTreeMap<String, String>, Failed> {
    let folder = php.folder.path().join("measure");
    std::fs::create_dir_all(&folder).map_err(on("make", &folder))?;
    std::fs::write(folder.join("index.php"), MEASURE).map_err(on("write", &folder))?;
    let site = Site::start(php, "measure", &folder, &SETTINGS, None)?;
    let all = (0..graph.candidates.len()).collect();
    let mut order: Vec<String> = graph
        .ordered(&all)
        .into_iter()
        .map(|number| graph.candidates[number].file().to_owned())
        .collect();
    let guards = graph.candidates.iter().flat_map(|one| one.facts.guards());
    let guards: BTreeSet<String> = guards.map(str::to_owned).collect();
    let mut broken = BTreeMap::new();
    let mut rounds = Vec::new();
    while rounds.len() < ROUNDS {
        let paths: Vec<String> = order
            .iter()
            .map(|name| files::absolute(root, name).display().to_string())
            .collect();
        let list = serde_json::json!({"files": paths, "guards": guards});
        std::fs::write(folder.join("files.json"), list.to_string())
            .map_err(on("write", &folder))?;
        let answer = site.get("", "/index.php")?;
        match serde_json::from_slice::<Round>(&answer.body) {
            Ok(round) if answer.status == 200 => rounds.push(round),
            _ => {
                let current = std::fs::read_to_string(folder.join("current")).unwrap_or_default();
                let Some(place) = paths.iter().position(|path| *path == current) else {
                    return Err(format!(
                        "cannot measure: {}",
                        super::classify::last_message(&site.said())
                    )
                    .into());
                };
                broken.insert(
                    order.remove(place),
                    format!(
                        "cannot be loaded: {}",
                        super::classify::last_message(&site.said())
                    ),
                );
            }
        }
    }
    for candidate in &mut graph.candidates {
        candidate.load = load(
            &rounds,
            &files::absolute(root, candidate.file())
                .display()
                .to_string(),
        );
    }
    Ok(broken)
}

fn load(rounds: &[Round], path: &str) -> Load {
    let of = |place: usize| -> Vec<f64> {
        rounds[1..]
            .iter()
            .filter_map(|round| round.get(path)?.get(place).copied())
            .collect()
    };
    let (nanos, bytes) = (of(0), of(1));
    if nanos.is_empty() {
        return Load::default();
    }
    Load {
        nanos: measure::stats::median(&nanos),
        bytes: bytes.last().copied().unwrap_or(0.0) as u64,
    }
}

/// Those that cannot be loaded are no candidates.
pub(super) fn leave(candidates: &mut [Candidate], broken: &BTreeMap<String, String>) {
    for candidate in candidates {
        if let Some(why) = broken.get(candidate.file()) {
            candidate.treatment = Treatment::Leave(why.clone());
        }
    }
}
