//! The experiments: each with its app, and the servers and loads that it compares.

/// Includes the code of a scenario's app.
macro_rules! code {
    ($name:literal) => {
        include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../bench/scenarios/",
            $name,
            ".php"
        ))
    };
}

pub(crate) mod app;
mod arm;
mod http_arena;
pub(crate) mod pool;
mod preload;
mod swoole_tests;
mod techempower;
mod webman_guide;

use crate::database::Kind;
use crate::problem::Result;
use crate::runtimes::Runtime;
pub(crate) use arm::{Arm, Proxy, Requests, Shape, Work, fair_arms};

/// The variant that repeats another: their difference is noise.
pub(crate) const AGAIN: &str = "again";

/// An experiment.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    /// The question that the scenario's figures answer.
    pub(crate) shows: &'static str,
    /// File name of the write-up that the scenario repeats.
    pub(crate) seed: Option<&'static str>,
    /// The quantity that `x` of its cells counts, if the scenario is a sweep.
    pub(crate) axis: Option<&'static str>,
    pub(crate) database: Option<Kind>,
    /// Whether the app routes paths itself; then requests come from a list.
    pub(crate) has_paths: bool,
    /// Further checks of a server, at `http://127.0.0.1:PORT`.
    pub(crate) rules: Option<fn(&str) -> Result<()>>,
    /// The body that every runtime must send, if it is known before.
    pub(crate) body: Option<&'static str>,
    /// The part added to the URL that is checked, so that all servers send the same.
    pub(crate) check: &'static str,
    /// The part added to the URL that is measured.
    pub(crate) query: &'static str,
    /// Whether responses differ from each other in length.
    pub(crate) varies: bool,
    /// Whether the scenario compares ways of running a server: then one of two similar kinds of servers is enough.
    pub(crate) one_of_each: bool,
    /// The shortest measurement, in seconds, whose figures mean something.
    pub(crate) least_seconds: f64,
    pub(crate) arms: fn(&Around) -> Vec<Arm>,
}

impl Scenario {
    /// The defaults of a scenario.
    const NEW: Self = Self {
        name: "",
        title: "",
        shows: "",
        seed: None,
        axis: None,
        database: None,
        has_paths: false,
        rules: None,
        body: None,
        check: "",
        query: "",
        varies: false,
        one_of_each: false,
        least_seconds: 0.2,
        arms: |_| Vec::new(),
    };
}

/// Kinds of servers that such an experiment leaves out, each if the other kind is installed.
const TWINS: [(&str, &str); 3] = [
    ("hearth-one", "hearth"),
    ("swoole-process", "swoole-base"),
    ("workerman", "webman"),
];

/// Leaves out each server whose twin is installed.
pub(crate) fn without_twins(arms: Vec<Arm>, is_here: impl Fn(&str) -> bool) -> Vec<Arm> {
    let is_twin = |arm: &Arm| {
        let mut twins = TWINS.iter();
        twins.any(|(id, other)| arm.runtime.id() == *id && is_here(other))
    };
    arms.into_iter().filter(|arm| !is_twin(arm)).collect()
}

/// The inputs of a scenario's arms.
pub(crate) struct Around<'a> {
    /// The requested kinds of servers, found or not.
    pub(crate) runtimes: &'a [&'static dyn Runtime],
    /// The number of processors of the servers.
    pub(crate) processors: u32,
    /// Connections of a load, unless the scenario specifies others.
    pub(crate) connections: u32,
}

/// Returns all experiments, in the order in which they run.
pub(crate) fn all() -> Vec<&'static Scenario> {
    [
        swoole_tests::ALL,
        pool::ALL,
        preload::ALL,
        webman_guide::ALL,
        techempower::ALL,
        http_arena::ALL,
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Returns the experiments of those names; a name with `*` at its end stands for all that begin with it.
pub(crate) fn named(names: &[String]) -> std::result::Result<Vec<&'static Scenario>, String> {
    if names.is_empty() {
        return Ok(all());
    }
    let mut chosen: Vec<&'static Scenario> = Vec::new();
    for name in names {
        let fits = |scenario: &Scenario| {
            name.strip_suffix('*')
                .map_or(scenario.name == name, |start| {
                    scenario.name.starts_with(start)
                })
        };
        let found: Vec<_> = all()
            .into_iter()
            .filter(|scenario| fits(scenario))
            .collect();
        if found.is_empty() {
            let known: Vec<&str> = all().iter().map(|scenario| scenario.name).collect();
            return Err(format!(
                "no scenario called {name:?}; there are: {}",
                known.join(", ")
            ));
        }
        chosen.extend(
            found
                .into_iter()
                .filter(|one| !chosen.iter().any(|c| c.name == one.name))
                .collect::<Vec<_>>(),
        );
    }
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtimes::ALL;

    fn around() -> Around<'static> {
        Around {
            runtimes: ALL,
            processors: 2,
            connections: 100,
        }
    }

    #[test]
    fn each_cell_of_a_scenario_has_a_name_of_its_own() {
        for scenario in all() {
            let mut seen = std::collections::BTreeSet::new();
            for arm in (scenario.arms)(&around()) {
                for load in &arm.loads {
                    let key = format!(
                        "{} {}{} {:?} {:?} {}",
                        arm.runtime.id(),
                        arm.variant,
                        load.variant,
                        arm.column,
                        load.x.or(arm.x),
                        load.connections
                    );
                    assert!(seen.insert(key.clone()), "{}: {key} twice", scenario.name);
                }
            }
            assert!(!seen.is_empty(), "{} measures nothing", scenario.name);
        }
    }

    #[test]
    fn scenarios_are_found_by_name_and_beginning() {
        let names = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            named(&words).map(|found| found.iter().map(|one| one.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&["basic"]), Ok(vec!["basic"]));
        assert!(names(&["basic*"]).is_ok_and(|found| found.len() > 3));
        assert!(names(&["nothing"]).is_err_and(|e| e.contains("basic_class_load")));
    }
}
