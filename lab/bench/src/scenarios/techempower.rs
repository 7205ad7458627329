//! TechEmpower's six tests, on one machine: the same work and bytes, not its official rounds.

use super::{Arm, Around, Scenario, Work, fair_arms};
use crate::apps::Content;
use crate::database::Kind;

pub(super) const ALL: &[Scenario] = &[
    Scenario {
        name: "plaintext",
        title: "TechEmpower plaintext",
        shows: "a short text, without pipelining",
        body: Some("Hello, World!"),
        arms: |around| {
            fair_arms(
                around,
                Work::Computes,
                &content("plaintext", code!("plaintext"), "text/plain"),
            )
        },
        ..Scenario::NEW
    },
    Scenario {
        name: "json",
        title: "TechEmpower json",
        shows: "an object encoded by each request",
        body: Some("{\"message\":\"Hello, World!\"}"),
        arms: |around| {
            fair_arms(
                around,
                Work::Computes,
                &content("json", code!("json"), "application/json"),
            )
        },
        ..Scenario::NEW
    },
    world(
        "db",
        "TechEmpower db",
        "a random row by its key",
        "?ids=34711",
        "",
        |around| world_arms(around, "db"),
    ),
    world(
        "queries",
        "TechEmpower queries",
        "20 random rows, each by a query of its own",
        "?ids=20001,20002,20003,34711",
        "?queries=20",
        |around| world_arms(around, "queries"),
    ),
    world(
        "updates",
        "TechEmpower updates",
        "20 random rows read and written",
        "?ids=20001,20002,20003,34711",
        "?queries=20",
        |around| world_arms(around, "updates"),
    ),
    Scenario {
        name: "fortunes",
        title: "TechEmpower fortunes",
        shows: "12 rows, sorted, escaped, as a page",
        database: Some(Kind::MariaDb),
        arms: |around| {
            no_go(fair_arms(
                around,
                Work::Queries,
                &content("fortunes", code!("fortunes"), "text/html; charset=utf-8"),
            ))
        },
        ..Scenario::NEW
    },
];

/// Returns a scenario on the table `world`. Its check reads rows above those that are drawn and changed while measuring:
/// they never change.
const fn world(
    name: &'static str,
    title: &'static str,
    shows: &'static str,
    check: &'static str,
    query: &'static str,
    arms: fn(&Around<'_>) -> Vec<Arm>,
) -> Scenario {
    Scenario {
        name,
        title,
        shows,
        database: Some(Kind::MariaDb),
        check,
        query,
        varies: true,
        arms,
        ..Scenario::NEW
    }
}

fn content(scenario: &str, code: &'static str, content_type: &'static str) -> Content {
    Content {
        scenario: scenario.to_owned(),
        code,
        content_type: Some(content_type),
        ..Content::default()
    }
}

fn world_arms(around: &Around<'_>, which: &str) -> Vec<Arm> {
    let content = Content {
        takes_request: true,
        constants: vec![("WORLD", crate::apps::quoted(which))],
        ..content(which, code!("world"), "application/json")
    };
    fair_arms(around, Work::Queries, &content)
}

/// Excludes Gin, whose program has only some of the scenarios.
pub(super) fn no_go(mut arms: Vec<Arm>) -> Vec<Arm> {
    for arm in arms.iter_mut().filter(|arm| arm.runtime.id() == "gin") {
        arm.impossible = Some("bench/runtimes/gin has no such handler".to_owned());
    }
    arms
}
