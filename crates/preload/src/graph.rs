//! The dependencies between files: a class cannot be linked before its parent, interfaces and traits.

use std::collections::{BTreeMap, BTreeSet};

use crate::candidate::Candidate;
use crate::facts::Treatment;

/// Files that are not preloaded, each with the reason.
pub type LeftOut = BTreeMap<String, String>;

/// The files that can be preloaded, by number, and the files that each needs.
#[derive(Debug, Default)]
pub struct Graph {
    pub candidates: Vec<Candidate>,
    needs: Vec<BTreeSet<usize>>,
    uses: Vec<BTreeSet<usize>>,
    pub left: LeftOut,
}

impl Graph {
    /// Makes the graph of all known files. LeftOut out are files that must not be preloaded, that declare the same as another
    /// one, or that need something missing, with all files that need those.
    pub fn new(candidates: Vec<Candidate>) -> Graph {
        let (candidates, mut left) = unique(candidates);
        let index = classes(&candidates);
        let mut graph = Graph {
            needs: vec![BTreeSet::new(); candidates.len()],
            uses: vec![BTreeSet::new(); candidates.len()],
            ..Graph::default()
        };
        let mut out: BTreeMap<usize, String> = BTreeMap::new();
        for (number, candidate) in candidates.iter().enumerate() {
            for class in &candidate.facts.classes {
                for name in &class.needs {
                    match index.get(&name.to_ascii_lowercase()) {
                        Some(other) if *other != number => {
                            graph.needs[number].insert(*other);
                        }
                        Some(_) => {}
                        None => {
                            out.entry(number).or_insert_with(|| {
                                format!("needs {name}, which no preloaded file declares")
                            });
                        }
                    }
                }
                let uses = class
                    .uses
                    .iter()
                    .filter_map(|name| index.get(&name.to_ascii_lowercase()));
                graph.uses[number].extend(uses.filter(|other| **other != number));
            }
        }
        spread(&graph.needs, &candidates, &mut out);
        for (number, why) in &out {
            left.insert(candidates[*number].file().to_owned(), why.clone());
        }
        graph.left = left;
        graph.candidates = candidates;
        graph.without(&out.into_keys().collect())
    }

    /// Removes these files, but not the files that need them.
    fn without(self, out: &BTreeSet<usize>) -> Graph {
        let kept: Vec<usize> = (0..self.candidates.len())
            .filter(|number| !out.contains(number))
            .collect();
        let new: BTreeMap<usize, usize> = kept
            .iter()
            .enumerate()
            .map(|(new, old)| (*old, new))
            .collect();
        let renumber = |edges: &[BTreeSet<usize>]| -> Vec<BTreeSet<usize>> {
            let of = |old: &usize| {
                edges[*old]
                    .iter()
                    .filter_map(|to| new.get(to).copied())
                    .collect()
            };
            kept.iter().map(of).collect()
        };
        let (needs, uses) = (renumber(&self.needs), renumber(&self.uses));
        let mut candidates = self.candidates;
        let mut number = 0;
        candidates.retain(|_| {
            number += 1;
            new.contains_key(&(number - 1))
        });
        Graph {
            candidates,
            needs,
            uses,
            left: self.left,
        }
    }

    /// The files without which this file cannot be preloaded.
    pub fn needs(&self, number: usize) -> &BTreeSet<usize> {
        &self.needs[number]
    }

    /// Notes that a file needs a class, and finds the file of the class. Returns whether the need is new.
    pub fn require(&mut self, file: &str, class: &str) -> bool {
        let place = |fits: &dyn Fn(&Candidate) -> bool| self.candidates.iter().position(fits);
        let number = place(&|one| one.file() == file);
        let wanted = (true, class.to_ascii_lowercase());
        let other = place(&|one| one.facts.names().any(|name| name == wanted));
        match (number, other) {
            (Some(number), Some(other)) => self.needs[number].insert(other),
            _ => false,
        }
    }

    /// Returns the file with all files that it needs, and those that its constant expressions name, if requests load them.
    pub fn closure(&self, number: usize) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        let mut open = vec![number];
        while let Some(next) = open.pop() {
            if found.insert(next) {
                open.extend(&self.needs[next]);
                open.extend(
                    self.uses[next]
                        .iter()
                        .filter(|other| self.candidates[**other].probability() > 0.0),
                );
            }
        }
        found
    }

    /// Orders these files so that each comes after the files that it needs.
    pub fn ordered(&self, chosen: &BTreeSet<usize>) -> Vec<usize> {
        let mut order = Vec::with_capacity(chosen.len());
        let mut placed = BTreeSet::new();
        for start in chosen {
            let mut stack = vec![(*start, false)];
            while let Some((number, ready)) = stack.pop() {
                if ready {
                    order.push(number);
                } else if placed.insert(number) {
                    stack.push((number, true));
                    stack.extend(
                        self.needs[number]
                            .iter()
                            .filter(|other| chosen.contains(other))
                            .map(|other| (*other, false)),
                    );
                }
            }
        }
        order
    }

    /// Raises the probability of parents: a class that is used uses its parents, so no file is less likely than one that
    /// needs it.
    pub fn raise_probabilities(&mut self) {
        let all: BTreeSet<usize> = (0..self.candidates.len()).collect();
        for number in self.ordered(&all).into_iter().rev() {
            let probability = self.candidates[number].probability();
            for other in self.needs[number].clone() {
                let candidate = &mut self.candidates[other];
                if candidate.probability() < probability {
                    candidate.seen = crate::profile::LoadCounts::default();
                    candidate.known = Some(probability);
                }
            }
        }
    }
}

/// Leaves out the files that must not be preloaded, and of files that declare the same all those that requests may load
/// instead of another.
fn unique(mut candidates: Vec<Candidate>) -> (Vec<Candidate>, LeftOut) {
    candidates.sort_by(|a, b| {
        b.probability()
            .total_cmp(&a.probability())
            .then_with(|| a.file().cmp(b.file()))
    });
    let mut left = contested(&candidates);
    for candidate in &candidates {
        if let Treatment::Leave(why) = &candidate.treatment {
            left.insert(candidate.file().to_owned(), why.clone());
        }
    }
    candidates.retain(|candidate| !left.contains_key(candidate.file()));
    (candidates, left)
}

/// Returns files that declare the same as another one. PHP refuses to load one of them if the other is preloaded, so one
/// stays only if requests load no other.
fn contested(candidates: &[Candidate]) -> LeftOut {
    let mut files: BTreeMap<(bool, String), BTreeSet<usize>> = BTreeMap::new();
    for (number, candidate) in candidates.iter().enumerate() {
        for name in candidate.facts.names() {
            files.entry(name).or_default().insert(number);
        }
    }
    let mut left = LeftOut::new();
    for ((is_class, name), files) in files.iter().filter(|(_, files)| files.len() > 1) {
        let loaded = |number: &&usize| candidates[**number].probability() > 0.0;
        let either = files.iter().filter(loaded).count() > 1;
        let first = files.first().copied();
        for number in files.iter().copied() {
            if Some(number) == first && !either {
                continue;
            }
            let other = files.iter().find(|other| **other != number);
            let other = other.map_or("", |other| candidates[*other].file());
            let kind = if *is_class { "class" } else { "function" };
            let also = if either {
                ", and requests load either"
            } else {
                ""
            };
            left.insert(
                candidates[number].file().to_owned(),
                format!("declares the {kind} {name} as {other} does{also}"),
            );
        }
    }
    left
}

fn classes(candidates: &[Candidate]) -> BTreeMap<String, usize> {
    let of = |(number, candidate): (usize, &Candidate)| {
        let names: Vec<String> = candidate
            .facts
            .names()
            .filter(|name| name.0)
            .map(|name| name.1)
            .collect();
        names.into_iter().map(move |name| (name, number))
    };
    candidates.iter().enumerate().flat_map(of).collect()
}

/// Leaves out files that need a file that is left out.
fn spread(needs: &[BTreeSet<usize>], candidates: &[Candidate], out: &mut BTreeMap<usize, String>) {
    loop {
        let more: Vec<(usize, String)> = (0..needs.len())
            .filter(|number| !out.contains_key(number))
            .filter_map(|number| {
                let missing = needs[number].iter().find(|other| out.contains_key(other))?;
                Some((
                    number,
                    format!("needs {}, which is left out", candidates[*missing].file()),
                ))
            })
            .collect();
        if more.is_empty() {
            return;
        }
        out.extend(more);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::facts::tests::{class, empty};
    use crate::profile::LoadCounts;

    pub(crate) fn candidate(file: &str, name: &str, needs: &[&str], loaded: u64) -> Candidate {
        Candidate::new(
            class(file, name, needs),
            LoadCounts {
                loaded,
                observed: 100,
            },
        )
    }

    #[test]
    fn what_needs_something_that_is_not_there_is_left_out_with_all_that_needs_it() {
        let graph = Graph::new(vec![
            candidate("a.php", "A", &["B"], 1),
            candidate("b.php", "B", &["Gone"], 1),
            candidate("c.php", "C", &[], 1),
        ]);
        assert_eq!(graph.candidates.len(), 1);
        assert_eq!(
            graph.left["b.php"],
            "needs Gone, which no preloaded file declares"
        );
        assert_eq!(graph.left["a.php"], "needs b.php, which is left out");
    }

    #[test]
    fn of_two_files_with_one_name_the_used_one_is_kept() {
        let mut twice = candidate("old/a.php", "A", &[], 0);
        twice.facts.classes[0].name = "a".into();
        let graph = Graph::new(vec![twice, candidate("new/a.php", "A", &[], 90)]);
        assert_eq!(graph.candidates[0].file(), "new/a.php");
        assert_eq!(
            graph.left["old/a.php"],
            "declares the class a as new/a.php does"
        );
    }

    #[test]
    fn of_two_files_with_one_name_none_is_kept_if_requests_load_either() {
        let graph = Graph::new(vec![
            candidate("old/a.php", "A", &[], 1),
            candidate("new/a.php", "A", &[], 90),
        ]);
        assert!(graph.candidates.is_empty());
        assert_eq!(
            graph.left["new/a.php"],
            "declares the class a as old/a.php does, and requests load either"
        );
    }

    /// Such a file is loaded all the same, and would find its class already declared.
    #[test]
    fn a_file_that_is_not_preloaded_declares_too() {
        let mut other = candidate("b.php", "A", &[], 1);
        other.treatment = Treatment::Leave("prints".into());
        let graph = Graph::new(vec![candidate("a.php", "A", &[], 1), other]);
        assert!(graph.candidates.is_empty());
        assert_eq!(graph.left["b.php"], "prints");
    }

    #[test]
    fn functions_are_told_from_classes() {
        let mut function = empty("f.php");
        function.functions = vec!["A".into()];
        let graph = Graph::new(vec![
            Candidate::new(function, LoadCounts::default()),
            candidate("a.php", "A", &[], 1),
        ]);
        assert!(graph.left.is_empty());
    }

    #[test]
    fn what_turns_out_to_be_needed_is_in_the_closure() {
        let mut graph = Graph::new(vec![
            candidate("a.php", "A", &[], 1),
            candidate("b.php", "B", &[], 0),
        ]);
        assert!(graph.require("a.php", "b") && !graph.require("a.php", "B"));
        assert!(!graph.require("a.php", "Gone"));
        assert_eq!(graph.closure(0).len(), 2);
        // Also if they need each other.
        assert!(graph.require("b.php", "A"));
        let all = [0, 1].into();
        assert_eq!(graph.ordered(&all).len(), 2);
        let entries = crate::List::entries_of(&graph, &all);
        assert_eq!((entries[0].needs.len(), entries[1].needs.len()), (0, 1));
    }

    #[test]
    fn a_parent_is_as_likely_as_its_children() {
        let mut graph = Graph::new(vec![
            candidate("p.php", "P", &[], 0),
            candidate("c.php", "C", &["P"], 50),
        ]);
        graph.raise_probabilities();
        assert!(graph.candidates.iter().all(|one| one.probability() == 0.5));
    }

    proptest! {
        /// Any classes with any parents, some of which are missing or form a cycle.
        #[test]
        fn an_order_has_each_file_once_behind_what_it_needs(parents in prop::collection::vec(0_usize..24, 1..20)) {
            let files: Vec<Candidate> = parents.iter().enumerate().map(|(n, parent)| {
                let needs = if *parent < n { vec![format!("C{parent}")] } else if *parent > 20 { vec!["Missing".into()] } else { vec![] };
                let needs: Vec<&str> = needs.iter().map(String::as_str).collect();
                candidate(&format!("{n}.php"), &format!("C{n}"), &needs, 1)
            }).collect();
            let graph = Graph::new(files.clone());
            prop_assert_eq!(graph.candidates.len() + graph.left.len(), files.len());
            let all: BTreeSet<usize> = (0..graph.candidates.len()).collect();
            let order = graph.ordered(&all);
            prop_assert_eq!(order.len(), all.len());
            for (place, number) in order.iter().enumerate() {
                for other in graph.needs(*number) {
                    prop_assert!(order[..place].contains(other));
                }
            }
        }
    }
}
