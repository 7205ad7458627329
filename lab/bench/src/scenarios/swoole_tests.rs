//! The tests of kenashkov/swoole-performance-tests, two of which are seeds: the same work, in the same numbers.

use super::techempower::no_go;
use super::{AGAIN, Arm, Around, Scenario, Shape, Work, fair_arms};
use crate::apps::{Content, quoted};
use crate::database::Kind;
use crate::load::Amount;
use crate::runtimes::Form;
use report::Column;

const CLASS_LOAD: &str = "swoole-basic-class-load.txt";
const CACHED_QUERY: &str = "swoole-cached-query.txt";

pub(super) const ALL: &[Scenario] = &[
    Scenario {
        name: "basic",
        title: "Hello world",
        shows: "what a request costs before the application does anything",
        seed: Some(CLASS_LOAD),
        body: Some("ok"),
        arms: |around| {
            let content = content("basic", code!("basic"), 0);
            let development = around
                .runtimes
                .iter()
                .filter(|runtime| runtime.is_for_development());
            let development: Vec<Arm> = development
                .map(|runtime| Arm::fair(*runtime, Work::Computes, around, content.clone()))
                .collect();
            let mut arms = fair_arms(around, Work::Computes, &content);
            arms.extend(development);
            let same = arms
                .iter()
                .find(|arm| arm.runtime.id() == "hearth")
                .cloned();
            arms.extend(same.map(|arm| Arm {
                variant: AGAIN.to_owned(),
                ..arm
            }));
            arms
        },
        ..Scenario::NEW
    },
    Scenario {
        name: "basic_class_load",
        title: "Two files required",
        shows: "what loading two files costs by request (functions, an autoloader with its class map) against once",
        seed: Some(CLASS_LOAD),
        body: Some("ok"),
        arms: |around| {
            with_seed(
                no_go(fair_arms(
                    around,
                    Work::Computes,
                    &content("basic_class_load", code!("basic_class_load"), 400),
                )),
                &[100, 500, 1000],
            )
        },
        ..Scenario::NEW
    },
    Scenario {
        name: "basic_class_load_multiple",
        title: "100 classes of 400",
        shows: "the cost of a request that uses 100 classes, loaded by each request or kept",
        seed: Some(CLASS_LOAD),
        body: Some("ok"),
        arms: |around| {
            no_go(fair_arms(
                around,
                Work::Computes,
                &content(
                    "basic_class_load_multiple",
                    code!("basic_class_load_multiple"),
                    400,
                ),
            ))
        },
        ..Scenario::NEW
    },
    Scenario {
        name: "basic_query",
        title: "A query on a connection of its own",
        shows: "what connecting to the database costs, with each request",
        seed: Some(CACHED_QUERY),
        database: Some(Kind::MariaDb),
        arms: |around| {
            fair_arms(
                around,
                Work::Queries,
                &content("basic_query", code!("basic_query"), 0),
            )
        },
        ..Scenario::NEW
    },
    Scenario {
        name: "basic_query_with_pool",
        title: "A query on a kept connection",
        shows: "the same query on a connection of a pool, or a persistent one",
        seed: Some(CACHED_QUERY),
        database: Some(Kind::MariaDb),
        arms: |around| {
            let content = content("basic_query_with_pool", code!("basic_query_with_pool"), 0);
            let mut arms = fair_arms(around, Work::Queries, &content);
            arms.iter_mut().for_each(also_on_one_connection);
            arms
        },
        ..Scenario::NEW
    },
    Scenario {
        name: "basic_query_with_pool_and_caching",
        title: "Cached rows",
        shows: "reading the rows from memory of the process, or from APCu",
        seed: Some(CACHED_QUERY),
        database: Some(Kind::MariaDb),
        arms: |around| {
            let content = content(
                "basic_query_with_pool_and_caching",
                code!("basic_query_with_pool_and_caching"),
                0,
            );
            with_seed(fair_arms(around, Work::Computes, &content), &[1000])
        },
        ..Scenario::NEW
    },
    Scenario {
        name: "cached_rows",
        title: "Where cached rows are kept",
        shows: "the same two rows from Redis, from memory that all processes share (APCu), from the process's own",
        one_of_each: true,
        database: Some(Kind::Redis),
        arms: cached_rows,
        ..Scenario::NEW
    },
    real_app(
        "simple_real_app_simulation",
        "A real application, simple",
        "100 classes, 1,000 cache reads, 2 queries",
        |around| {
            real_app_arms(
                around,
                "simple_real_app_simulation",
                Work::Queries,
                [100, 1000, 0, 2],
                "SELECT * FROM test1",
            )
        },
    ),
    real_app(
        "real_app_simulation",
        "A real application",
        "100 classes, 10,000 cache reads",
        |around| {
            real_app_arms(
                around,
                "real_app_simulation",
                Work::Computes,
                [100, 10_000, 0, 0],
                "",
            )
        },
    ),
    real_app(
        "real_app_simulation_with_files",
        "A real application with files",
        "100 classes, 10,000 cache reads, 10 files written and read",
        |around| {
            real_app_arms(
                around,
                "real_app_simulation_with_files",
                Work::Computes,
                [100, 10_000, 10, 0],
                "",
            )
        },
    ),
    real_app(
        "real_app_simulation_with_files_and_connections",
        "A real application with files and slow queries",
        "100 classes, 10,000 cache reads, 10 files, 20 queries of 10 ms",
        |around| {
            real_app_arms(
                around,
                "real_app_simulation_with_files_and_connections",
                Work::Waits,
                [100, 10_000, 10, 20],
                "SELECT SLEEP(0.01)",
            )
        },
    ),
    real_app(
        "real_app_simulation_with_files_and_connections_simpler",
        "A real application with a file and slow queries",
        "50 classes, 1,000 cache reads, 1 file, 3 queries of 10 ms",
        |around| {
            real_app_arms(
                around,
                "real_app_simulation_with_files_and_connections_simpler",
                Work::Waits,
                [50, 1000, 1, 3],
                "SELECT SLEEP(0.01)",
            )
        },
    ),
];

const fn real_app(
    name: &'static str,
    title: &'static str,
    shows: &'static str,
    arms: fn(&Around<'_>) -> Vec<Arm>,
) -> Scenario {
    Scenario {
        name,
        title,
        shows,
        seed: Some(CACHED_QUERY),
        database: Some(Kind::MariaDb),
        arms,
        ..Scenario::NEW
    }
}

fn content(scenario: &str, code: &'static str, classes: u32) -> Content {
    Content {
        scenario: scenario.to_owned(),
        code,
        classes,
        ..Content::default()
    }
}

fn cached_rows(around: &Around<'_>) -> Vec<Arm> {
    let mut arms = Vec::new();
    for kept in ["redis", "apcu", "process"] {
        for mut arm in no_go(fair_arms(
            around,
            Work::Queries,
            &content("cached_rows", code!("cached_rows"), 0),
        )) {
            let begins_anew = matches!(arm.runtime.form(), Form::Classic);
            arm.content.constants = vec![
                ("KEPT", quoted(kept)),
                ("PERSISTENT", begins_anew.to_string()),
            ];
            if begins_anew && kept == "process" {
                arm.impossible =
                    Some("each request begins anew: the process keeps nothing of it".to_owned());
            }
            kept.clone_into(&mut arm.variant);
            arms.push(arm);
        }
    }
    arms
}

fn real_app_arms(
    around: &Around<'_>,
    name: &str,
    work: Work,
    [classes, reads, files, queries]: [u32; 4],
    sql: &str,
) -> Vec<Arm> {
    let amounts = format!(
        "['classes' => {classes}, 'reads' => {reads}, 'files' => {files}, 'queries' => {queries}, 'sql' => '{sql}']"
    );
    let content = Content {
        constants: vec![("REAL_APP", amounts)],
        files: files > 0,
        ..content(name, code!("real_app"), 400)
    };
    no_go(fair_arms(around, work, &content))
}

/// The servers whose rate on one connection shows what it costs that server, database and client wait for each other.
const ONE_CONNECTION: [&str; 3] = ["hearth", "workerman", "webman"];

fn also_on_one_connection(arm: &mut Arm) {
    if ONE_CONNECTION.contains(&arm.runtime.id()) {
        arm.loads.push(Shape {
            variant: "one connection".to_owned(),
            ..Shape::kept(1)
        });
    }
}

/// The servers of the write-ups, and Hearth.
const OF_SEED: [&str; 3] = ["hearth", "apache", "swoole-process"];

/// Adds the write-up's servers under its own load, ab with 10,000 requests on `connections`, with Apache as packaged.
fn with_seed(mut arms: Vec<Arm>, connections: &[u32]) -> Vec<Arm> {
    let of_seed = arms
        .iter()
        .filter(|arm| OF_SEED.contains(&arm.runtime.id()));
    let as_seed: Vec<Arm> = of_seed
        .map(|arm| Arm {
            column: Column::AsSeed,
            loads: connections.iter().copied().map(as_ab).collect(),
            ..arm.clone()
        })
        .collect();
    arms.extend(as_seed);
    arms
}

/// Returns the load of `ab -k -n 10000 -c C`, ended after 8 seconds if starvation delays it.
fn as_ab(connections: u32) -> Shape {
    Shape {
        amount: Some(Amount::Requests(10_000, 8.0)),
        http_1_0: true,
        ..Shape::kept(connections)
    }
}
