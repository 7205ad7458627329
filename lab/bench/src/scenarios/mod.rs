//! What is measured: each experiment, with the app that it takes and the servers and loads that it compares.

/// The code of a scenario's app.
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

/// The variant that is the same once more: what it differs by is noise.
pub(crate) const AGAIN: &str = "again";

/// An experiment.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    /// What its figures say.
    pub(crate) shows: &'static str,
    /// File name of the write-up it repeats.
    pub(crate) seed: Option<&'static str>,
    /// What `x` of its cells counts, if it is a sweep.
    pub(crate) axis: Option<&'static str>,
    pub(crate) database: Option<Kind>,
    /// Its app has paths of its own and decides them itself; requests come from a list.
    pub(crate) has_paths: bool,
    /// What else a server has to answer rightly, asked at `http://127.0.0.1:PORT`.
    pub(crate) rules: Option<fn(&str) -> Result<()>>,
    /// The body that every runtime has to send, where it is known before.
    pub(crate) body: Option<&'static str>,
    /// What is added to the URL that is checked, so that all servers send the same.
    pub(crate) check: &'static str,
    /// What is added to the URL that is measured.
    pub(crate) query: &'static str,
    /// Answers differ from each other in length.
    pub(crate) varies: bool,
    /// It compares ways of running a server: of two kinds that differ in nothing it looks at, one is enough.
    pub(crate) one_of_each: bool,
    /// The shortest measurement that says something about it.
    pub(crate) least_seconds: f64,
    pub(crate) arms: fn(&Around) -> Vec<Arm>,
}

impl Scenario {
    /// What most scenarios have in common.
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

/// Kinds of servers that such an experiment leaves out, each where the other is here.
const TWINS: [(&str, &str); 3] = [
    ("hearth-one", "hearth"),
    ("swoole-process", "swoole-base"),
    ("workerman", "webman"),
];

/// Leaves out what differs from another server that is here in nothing that the experiment looks at.
pub(crate) fn without_twins(arms: Vec<Arm>, is_here: impl Fn(&str) -> bool) -> Vec<Arm> {
    let is_twin = |arm: &Arm| {
        let mut twins = TWINS.iter();
        twins.any(|(id, other)| arm.runtime.id() == *id && is_here(other))
    };
    arms.into_iter().filter(|arm| !is_twin(arm)).collect()
}

/// What the arms of a scenario depend on.
pub(crate) struct Around<'a> {
    /// Those that were asked for, found or not.
    pub(crate) runtimes: &'a [&'static dyn Runtime],
    /// Processors of the servers.
    pub(crate) processors: u32,
    /// Connections of a load, unless the scenario says otherwise.
    pub(crate) connections: u32,
}

/// All experiments, in the order in which they run.
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

/// The experiments of those names; a name may be the beginning of several with `*` at its end.
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
