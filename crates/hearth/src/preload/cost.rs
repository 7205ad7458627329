//! The cost of loading a file without preloading, measured on a private server with opcache as configured.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ::preload::{Candidate, Graph, Load};
use serde::Deserialize;

use super::classify::last_message;
use super::php::Php;
use super::site::Site;
use super::{Failed, files, on};
use crate::http_client::Response;

const MEASURE: &str = include_str!("php/measure.php");
/// Measurements: the first one fills opcache, and the median of the others counts.
const ROUNDS: usize = 8;

/// A measurement, by the paths of files.
#[derive(Debug, Deserialize)]
struct Round {
    nanos: BTreeMap<String, f64>,
    bytes: BTreeMap<String, u64>,
}

/// Settings with room for every file, whatever is configured.
const SETTINGS: [(&str, &str); 9] = [
    ("opcache.enable", "1"),
    ("opcache.preload", ""),
    ("opcache.memory_consumption", "1024"),
    ("opcache.interned_strings_buffer", "64"),
    ("opcache.max_accelerated_files", "200000"),
    ("opcache.file_update_protection", "0"),
    ("memory_limit", "-1"),
    ("max_execution_time", "10"),
    ("open_basedir", ""),
];

/// Measures the files of the graph. Code that does more than declare is not run for that: such files are estimated by their
/// size, and so are those that cannot be loaded alone.
pub(super) fn measure(php: &Php, root: &str, graph: &mut Graph) -> Result<(), Failed> {
    let folder = php.folder.path().join("measure");
    std::fs::create_dir_all(&folder).map_err(on("make", &folder))?;
    std::fs::write(folder.join("index.php"), MEASURE).map_err(on("write", &folder))?;
    let site = Site::start(php, "measure", &folder, &SETTINGS, None)?;
    let path = |one: &Candidate| files::absolute(root, one.file()).display().to_string();
    let all = (0..graph.candidates.len()).collect();
    let order = graph.ordered(&all).into_iter();
    let order = order.map(|number| &graph.candidates[number]);
    let mut paths: Vec<String> = order.filter(|one| one.only_declares()).map(path).collect();
    let guards = graph.candidates.iter().flat_map(|one| one.facts.guards());
    let guards: BTreeSet<&str> = guards.collect();
    let mut rounds = Vec::new();
    while rounds.len() < ROUNDS {
        let list = serde_json::json!({"files": paths, "guards": guards});
        std::fs::write(folder.join("files.json"), list.to_string())
            .map_err(on("write", &folder))?;
        match round(&site, &folder)? {
            Ok(round) => rounds.push(round),
            Err(broken) => paths.retain(|path| *path != broken),
        }
    }
    let known: BTreeMap<String, Load> = paths
        .into_iter()
        .map(|path| (path.clone(), load(&rounds, &path)))
        .collect();
    estimate(graph, |one| known.get(&path(one)).copied());
    Ok(())
}

/// Estimates what was not measured: the same cost per byte of source as what was.
fn estimate(graph: &mut Graph, known: impl Fn(&Candidate) -> Option<Load>) {
    let (mut source, mut sum) = (0, Load::default());
    for one in &graph.candidates {
        let Some(load) = known(one) else { continue };
        source += one.facts.size;
        sum.nanos += load.nanos;
        sum.bytes += load.bytes;
    }
    let per_byte = 1.0 / source.max(1) as f64;
    for one in &mut graph.candidates {
        let share = one.facts.size as f64 * per_byte;
        one.load = known(one).unwrap_or(Load {
            nanos: sum.nanos * share,
            bytes: (sum.bytes as f64 * share) as u64,
        });
    }
}

/// Sends a request. Returns its figures, or the file that ended it.
fn round(site: &Site, folder: &Path) -> Result<Result<Round, String>, Failed> {
    let answer = site.get("", "/index.php")?;
    match serde_json::from_slice::<Round>(&answer.body) {
        Ok(round) if answer.status == 200 => Ok(Ok(round)),
        _ => match std::fs::read_to_string(folder.join("current")) {
            Ok(current) if !current.is_empty() => Ok(Err(current)),
            _ => Err(cannot_measure(&answer, &site.log_text()).into()),
        },
    }
}

/// The error for a response without figures, with the last message of the server.
fn cannot_measure(answer: &Response, log: &str) -> String {
    let body = String::from_utf8_lossy(&answer.body);
    let first = body.lines().find(|line| !line.trim().is_empty());
    let first: String = first.unwrap_or("an empty body").chars().take(200).collect();
    format!(
        "cannot measure what files cost: the private server answered {} with {first:?}; its log ends with: {}",
        answer.status,
        last_message(log)
    )
}

fn load(rounds: &[Round], path: &str) -> Load {
    let nanos = rounds[1..].iter().filter_map(|round| round.nanos.get(path));
    let nanos: Vec<f64> = nanos.copied().collect();
    let bytes = rounds.last().and_then(|round| round.bytes.get(path));
    Load {
        nanos: match nanos.is_empty() {
            true => 0.0,
            false => measure::stats::median(&nanos),
        },
        bytes: bytes.copied().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_without_figures_is_quoted() {
        let answer = Response {
            status: 503,
            body: b"\nno worker\nmore".to_vec(),
        };
        let error = cannot_measure(&answer, "listening on unix:measure.sock\n");
        assert!(
            error.contains("answered 503 with \"no worker\"")
                && error.ends_with("listening on unix:measure.sock"),
            "{error}"
        );
    }
}
