//! Chooses the files of a list.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::graph::Graph;

/// The way in which files are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Strategy {
    /// No files.
    None,
    /// All files that can be preloaded.
    Naive,
    /// The files that requests of one route load.
    Optimised,
    /// The files that save the most over all recorded requests.
    Traffic,
}

/// The limits of [`Strategy::Traffic`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// The share of the loading time of all requests that the list has to save.
    pub coverage: f64,
    /// Bytes of opcache's memory that the files may take.
    pub memory: Option<u64>,
}

/// A point of the curve: files and bytes of a list, and the time of loading that it saves per request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Point {
    pub files: usize,
    pub bytes: u64,
    /// The loading time per request without preloading of the files up to this point, in ns.
    pub nanos: f64,
    /// The same as a share of the time for all files.
    pub share: f64,
}

/// Returns the chosen files and, for [`Strategy::Traffic`], the whole curve, also beyond the limits.
pub fn choose(
    graph: &Graph,
    strategy: Strategy,
    route: &BTreeSet<String>,
    limits: Limits,
) -> (BTreeSet<usize>, Vec<Point>) {
    let all = 0..graph.candidates.len();
    let chosen = match strategy {
        Strategy::None => BTreeSet::new(),
        Strategy::Naive => all.collect(),
        Strategy::Optimised => {
            let loaded = all.filter(|number| route.contains(graph.candidates[*number].file()));
            loaded.flat_map(|number| graph.closure(number)).collect()
        }
        Strategy::Traffic => return greedy(graph, limits),
    };
    (chosen, Vec::new())
}

/// The time saved per request, in ns.
fn gain(graph: &Graph, number: usize) -> f64 {
    graph.candidates[number].probability() * graph.candidates[number].load.nanos
}

/// Chooses files by the saved time per byte, in falling order, each with the files that it needs.
fn greedy(graph: &Graph, limits: Limits) -> (BTreeSet<usize>, Vec<Point>) {
    let density =
        |number: usize| gain(graph, number) / graph.candidates[number].load.bytes.max(1) as f64;
    let mut order: Vec<usize> = (0..graph.candidates.len())
        .filter(|number| gain(graph, *number) > 0.0)
        .collect();
    order.sort_by(|a, b| density(*b).total_cmp(&density(*a)).then(a.cmp(b)));
    let total: f64 = order.iter().map(|number| gain(graph, *number)).sum();
    let (mut chosen, mut seen) = (BTreeSet::new(), BTreeSet::new());
    let (mut curve, mut at) = (Vec::new(), Point::default());
    let (mut spent, mut covered) = (0, 0.0);
    for number in order {
        let group = graph.closure(number);
        let new = Addition::new(graph, &group, &seen);
        if !new.files.is_empty() {
            at.files += new.files.len();
            at.bytes += new.bytes;
            at.nanos += new.nanos;
            at.share = if total > 0.0 { at.nanos / total } else { 0.0 };
            curve.push(at);
            seen.extend(new.files);
        }
        let new = Addition::new(graph, &group, &chosen);
        let fits = limits.memory.is_none_or(|most| spent + new.bytes <= most);
        if covered < limits.coverage * total && fits && !new.files.is_empty() {
            spent += new.bytes;
            covered += new.nanos;
            chosen.extend(new.files);
        }
    }
    (chosen, curve)
}

/// The files that a group adds to the known ones, with their bytes and gain.
struct Addition {
    files: Vec<usize>,
    bytes: u64,
    nanos: f64,
}

impl Addition {
    fn new(graph: &Graph, group: &BTreeSet<usize>, known: &BTreeSet<usize>) -> Addition {
        let files: Vec<usize> = group.difference(known).copied().collect();
        let bytes = |file: &usize| graph.candidates[*file].load.bytes;
        Addition {
            bytes: files.iter().map(bytes).sum(),
            nanos: files.iter().map(|file| gain(graph, *file)).sum(),
            files,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidate::{Candidate, Load};
    use crate::graph::tests::candidate;
    use proptest::prelude::{prop, prop_assert, proptest};

    fn costing(mut candidate: Candidate, nanos: f64, bytes: u64) -> Candidate {
        candidate.load = Load { nanos, bytes };
        candidate
    }

    fn graph() -> Graph {
        Graph::new(vec![
            costing(candidate("often.php", "Often", &["Base"], 100), 1000.0, 100),
            costing(candidate("base.php", "Base", &[], 100), 1000.0, 100),
            costing(candidate("seldom.php", "Seldom", &[], 1), 1000.0, 100),
            costing(candidate("never.php", "Never", &[], 0), 1000.0, 100),
        ])
    }

    fn names(graph: &Graph, chosen: &BTreeSet<usize>) -> BTreeSet<String> {
        chosen
            .iter()
            .map(|number| graph.candidates[*number].file().to_owned())
            .collect()
    }

    fn chosen(strategy: Strategy, coverage: f64, memory: Option<u64>) -> Vec<String> {
        let graph = graph();
        let route = ["seldom.php".to_owned()].into();
        let (chosen, _) = choose(&graph, strategy, &route, Limits { coverage, memory });
        names(&graph, &chosen).into_iter().collect()
    }

    #[test]
    fn traffic_takes_what_saves_most_and_stops() {
        assert_eq!(
            chosen(Strategy::Traffic, 0.95, None),
            ["base.php", "often.php"]
        );
        assert_eq!(
            chosen(Strategy::Traffic, 1.0, None),
            ["base.php", "often.php", "seldom.php"]
        );
        assert_eq!(chosen(Strategy::Traffic, 1.0, Some(150)), ["base.php"]);
        assert!(chosen(Strategy::Traffic, 1.0, Some(0)).is_empty());
    }

    #[test]
    fn the_other_strategies_ask_for_no_limit() {
        assert_eq!(chosen(Strategy::Optimised, 0.1, Some(0)), ["seldom.php"]);
        assert_eq!(chosen(Strategy::Naive, 0.1, Some(0)).len(), 4);
        assert!(chosen(Strategy::None, 1.0, None).is_empty());
    }

    #[test]
    fn the_curve_ends_with_everything_that_is_ever_loaded() {
        let (_, curve) = choose(
            &graph(),
            Strategy::Traffic,
            &BTreeSet::new(),
            Limits {
                coverage: 0.5,
                memory: None,
            },
        );
        let last = curve.last().unwrap();
        assert_eq!((last.files, last.bytes), (3, 300));
        assert!((last.share - 1.0).abs() < 1e-9 && (last.nanos - 2010.0).abs() < 1e-6);
    }

    proptest! {
        #[test]
        fn a_list_never_takes_more_than_its_memory_and_has_what_it_needs(
            costs in prop::collection::vec((1_u64..500, 1_u64..100, 0_u64..100), 1..15), memory in 0_u64..3000, coverage in 0.0..1.0_f64,
        ) {
            let files = costs.iter().enumerate().map(|(n, (bytes, nanos, loaded))| {
                let parent = format!("C{}", n / 2);
                let needs: Vec<&str> = if n > 1 { vec![parent.as_str()] } else { vec![] };
                costing(candidate(&format!("{n}.php"), &format!("C{n}"), &needs, *loaded), *nanos as f64, *bytes)
            }).collect();
            let graph = Graph::new(files);
            let (chosen, curve) = choose(&graph, Strategy::Traffic, &BTreeSet::new(), Limits { coverage, memory: Some(memory) });
            prop_assert!(chosen.iter().map(|one| graph.candidates[*one].load.bytes).sum::<u64>() <= memory);
            prop_assert!(chosen.iter().all(|one| graph.needs(*one).is_subset(&chosen)));
            prop_assert!(curve.windows(2).all(|pair| pair[0].share <= pair[1].share && pair[0].files < pair[1].files));
        }
    }
}
