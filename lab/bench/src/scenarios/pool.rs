//! The three experiments of the connection pool's write-up, with its own 26 parameters.

use super::{Arm, Around, Scenario, Shape, Work};
use crate::apps::Content;
use crate::database::Kind;
use crate::runtimes::{Form, Manner, Runtime};
use report::Column;

const APP: &str = include_str!("../../../../bench/apps/pool/app.php");
const SWOOLE: &str = include_str!("../../../../bench/apps/pool/swoole.php");
const WORK: &str = include_str!("../../../../bench/apps/pool/work.php");
const PARAMETERS: &str = include_str!("../../../../bench/apps/pool/parameters.php");

pub(super) const ALL: &[Scenario] = &[Scenario {
    name: "pool",
    title: "Connection pool",
    shows: "the pool off and on: ten queries at once (1), a query beside computing (2), slow connecting (3)",
    seed: Some("connection-pool-benchmarks.txt"),
    database: Some(Kind::MariaDb),
    least_seconds: 1.0,
    body: Some("ok\n"),
    check: "test",
    query: "test",
    arms: |around| {
        let mut all = arms(around, groups(around));
        let as_it_comes = all.iter().filter(|arm| arm.variant == "group 1 pool off");
        let as_it_comes: Vec<Arm> = as_it_comes
            .cloned()
            .map(on_a_database_as_it_comes)
            .collect();
        all.extend(as_it_comes);
        all
    },
    ..Scenario::NEW
}];

/// A variant: its name, the connections of its load, and its parameters.
type Group = (String, u32, Vec<String>);

const ONE: &str = "--scenario.query_per_request=10 --scenario.cpu_load_per_request_min_sec=0 --scenario.cpu_load_per_request_max_sec=0";
const TWO: &str = "--scenario.query_per_request=1 --scenario.cpu_load_per_request_min_sec=0.02 --scenario.cpu_load_per_request_max_sec=0.02 \
                   --connection.min_query_duration_sec=0.02 --connection.max_query_duration_sec=0.02";
const THREE: &str = "--scenario.query_per_request=1 --scenario.cpu_load_per_request_min_sec=0 --scenario.cpu_load_per_request_max_sec=0 \
                     --connection.min_delay_sec=0.1 --connection.max_delay_sec=0.1 \
                     --connection.min_query_duration_sec=0.001 --connection.max_query_duration_sec=0.001";

/// Returns the write-up's groups; the second computes, so its load has a connection for each processor.
fn groups(around: &Around<'_>) -> Vec<Group> {
    let group = |name: &str, connections: u32, common: &str, own: &str| -> Group {
        let words = format!("{common} {own} --pool.size=64")
            .split_whitespace()
            .map(str::to_owned)
            .collect();
        (name.to_owned(), connections, words)
    };
    vec![
        group("group 1 pool off", 64, ONE, "--pool.enabled=off"),
        group("group 1 pool on", 64, ONE, "--pool.enabled=on"),
        group(
            "group 2 pool off",
            around.processors,
            TWO,
            "--pool.enabled=off",
        ),
        group(
            "group 2 pool on",
            around.processors,
            TWO,
            "--pool.enabled=on",
        ),
        group("group 3 pool off", 64, THREE, "--pool.enabled=off"),
        group(
            "group 3 pool on",
            64,
            THREE,
            "--pool.enabled=on --pool.minimum_idle=1",
        ),
    ]
}

/// The default `max_connections` of MySQL and MariaDB: 64 concurrent requests open up to 640 connections.
const ADMITTED: u32 = 151;

fn on_a_database_as_it_comes(arm: Arm) -> Arm {
    Arm {
        column: Column::AsSeed,
        admitted: Some(ADMITTED),
        ..arm
    }
}

/// Returns the arms for the user's parameters: one experiment, without and with the pool.
pub(crate) fn given(around: &Around<'_>, words: &[String]) -> Vec<Arm> {
    let with = |enabled: &str| -> Group {
        let mut all = words.to_vec();
        all.retain(|word| !word.starts_with("--pool.enabled="));
        all.push(format!("--pool.enabled={enabled}"));
        (format!("as given, pool {enabled}"), around.connections, all)
    };
    arms(around, vec![with("off"), with("on")])
}

fn arms(around: &Around<'_>, groups: Vec<Group>) -> Vec<Arm> {
    let mut arms = Vec::new();
    for (variant, connections, pool) in groups {
        for runtime in around
            .runtimes
            .iter()
            .filter(|one| !one.is_for_development())
        {
            let content = content(if runtime.form() == Form::Swoole {
                SWOOLE
            } else {
                APP
            });
            let base = Arm::fair(*runtime, Work::Waits, around, content);
            let loads = vec![Shape::kept(connections)];
            arms.push(Arm {
                variant: variant.clone(),
                against: variant
                    .rsplit_once(' ')
                    .map(|(group, _)| format!("{group} off")),
                impossible: impossible(*runtime),
                pool: pool.clone(),
                loads,
                ..base
            });
        }
    }
    arms
}

fn content(code: &'static str) -> Content {
    let file = |name: &str, text: &str| (name.to_owned(), text.as_bytes().to_vec());
    Content {
        scenario: "pool".to_owned(),
        code,
        is_whole: true,
        more: vec![file("work.php", WORK), file("parameters.php", PARAMETERS)],
        ..Content::default()
    }
}

/// Returns why a runtime has no pool to be measured.
fn impossible(runtime: &dyn Runtime) -> Option<String> {
    let why = match (runtime.id(), runtime.manner()) {
        ("hearth" | "swoole-base" | "swoole-process", _) => return None,
        (_, Manner::OneAtATime) => {
            "each process serves one request: there is no connection to share"
        }
        _ => "bench/runtimes/gin has no such handler",
    };
    Some(why.to_owned())
}
