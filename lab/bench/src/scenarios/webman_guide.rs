//! The advice of webman's guide to load testing, each as an experiment: keep-alive, the number of processes, the ORM,
//! nginx in front, TLS, gzip.

use super::techempower::no_go;
use super::{Arm, Around, Proxy, Scenario, Shape, Work, fair_arms};
use crate::apps::{Content, quoted};
use crate::database::Kind;
use crate::load::Amount;
use crate::runtimes::Manner;
use report::Column;

const GUIDE: Option<&str> = Some("webman-load-testing.txt");
/// The file of Debian's package php-illuminate-database.
const ILLUMINATE: &str = "/usr/share/php/Illuminate/Database/autoload.php";
/// Worker counts of a sweep: the fit needs six or more.
const COUNTS: [u32; 6] = [1, 2, 3, 4, 6, 8];
const COUNTS_WAITING: [u32; 6] = [1, 2, 4, 8, 16, 32];

pub(super) const ALL: &[Scenario] = &[
    Scenario {
        name: "keepalive",
        title: "Keep-alive on and off",
        shows: "what a connection for each request costs, and what happens with more connections than processes",
        seed: GUIDE,
        one_of_each: true,
        body: Some("ok"),
        arms: keepalive,
        ..Scenario::NEW
    },
    Scenario {
        name: "keepalive_query",
        title: "Keep-alive on and off, with a query",
        shows: "the same where each request makes a query",
        seed: GUIDE,
        one_of_each: true,
        database: Some(Kind::MariaDb),
        arms: |around| {
            no_go(on_and_off(fair_arms(
                around,
                Work::Queries,
                &content("keepalive_query", code!("basic_query_with_pool")),
            )))
        },
        ..Scenario::NEW
    },
    Scenario {
        name: "latency",
        title: "Latency below the limit",
        shows: "how long requests take at 50, 70 and 90 % of each server's own highest rate, counted from when they were due",
        body: Some("ok"),
        arms: latency,
        ..Scenario::NEW
    },
    Scenario {
        name: "worker_sweep",
        title: "How many workers",
        shows: "the rate by number of processes, for requests that compute and for requests that wait 5 ms in the database",
        seed: GUIDE,
        one_of_each: true,
        axis: Some("workers"),
        least_seconds: 0.4,
        database: Some(Kind::MariaDb),
        body: Some("ok"),
        arms: worker_sweep,
        ..Scenario::NEW
    },
    Scenario {
        name: "orm",
        title: "PDO, query builder, Eloquent",
        shows: "what the layers of illuminate/database cost, on a random one of 100,000 rows",
        seed: GUIDE,
        one_of_each: true,
        database: Some(Kind::MariaDb),
        check: "?id=4711",
        varies: true,
        arms: orm,
        ..Scenario::NEW
    },
    Scenario {
        name: "nginx_proxy",
        title: "nginx in front",
        shows: "what a proxy costs, with and without its access log and its kept connections",
        seed: GUIDE,
        one_of_each: true,
        body: Some("ok"),
        arms: nginx_proxy,
        ..Scenario::NEW
    },
    Scenario {
        name: "tls",
        title: "TLS",
        shows: "what encryption costs, with kept connections and with a handshake for each request",
        seed: GUIDE,
        one_of_each: true,
        body: Some("ok"),
        arms: tls,
        ..Scenario::NEW
    },
    Scenario {
        name: "gzip",
        title: "Compression",
        shows: "what compressing 20 kB of JSON costs, and how many bytes it saves",
        seed: GUIDE,
        one_of_each: true,
        arms: gzip,
        ..Scenario::NEW
    },
];

fn content(scenario: &str, code: &'static str) -> Content {
    Content {
        scenario: scenario.to_owned(),
        code,
        ..Content::default()
    }
}

/// Returns each server under both loads, with and without kept connections.
fn on_and_off(mut arms: Vec<Arm>) -> Vec<Arm> {
    for arm in &mut arms {
        let kept = Shape {
            variant: "on".to_owned(),
            ..arm.loads[0].clone()
        };
        let closed = Shape {
            variant: "off".to_owned(),
            keep_alive: false,
            ..kept.clone()
        };
        arm.loads = vec![kept, closed];
    }
    arms
}

/// More connections than the 150 processes that Apache has as packaged; the fair arm has a process for each.
const STARVING: u32 = 300;

fn keepalive(around: &Around<'_>) -> Vec<Arm> {
    let mut arms = on_and_off(no_go(fair_arms(
        around,
        Work::Computes,
        &content("keepalive", code!("basic")),
    )));
    let apache = arms
        .iter()
        .find(|arm| arm.runtime.id() == "apache")
        .cloned();
    for (column, variant) in [
        (Column::AsSeed, "starvation"),
        (Column::Fair, "starvation cured"),
    ] {
        let shape = Shape {
            variant: variant.to_owned(),
            amount: Some(Amount::Requests(10_000, 8.0)),
            http_1_0: true,
            ..Shape::kept(STARVING)
        };
        arms.extend(apache.clone().map(|arm| Arm {
            column,
            loads: vec![shape],
            ..arm
        }));
    }
    arms
}

/// Returns each server at its highest rate, and then at shares of that rate: while all connections are busy, latency only
/// shows their number.
fn latency(around: &Around<'_>) -> Vec<Arm> {
    let mut arms = fair_arms(around, Work::Computes, &content("basic", code!("basic")));
    for arm in &mut arms {
        let shares = [0.5, 0.7, 0.9].map(|share| Shape {
            variant: format!("at {:.0} %", share * 100.0),
            share_of_highest: Some(share),
            ..arm.loads[0].clone()
        });
        arm.loads[0].variant = "highest".to_owned();
        arm.loads.extend(shares);
    }
    arms
}

/// Returns the servers with a configurable number of processes: one request per process, with a queue before them.
fn worker_sweep(around: &Around<'_>) -> Vec<Arm> {
    let waiting = Content {
        constants: vec![("WAIT", "0.005".to_owned())],
        ..content("wait", code!("wait"))
    };
    let kinds = [
        ("", Work::Computes, content("basic", code!("basic")), COUNTS),
        ("query", Work::Waits, waiting, COUNTS_WAITING),
    ];
    let mut arms = Vec::new();
    for (variant, work, content, counts) in kinds {
        let all = fair_arms(around, work, &content);
        for arm in all.into_iter().filter(|arm| {
            arm.runtime.manner() == Manner::OneAtATime && arm.runtime.id() != "apache"
        }) {
            arms.extend(counts.map(|workers| Arm {
                variant: variant.to_owned(),
                workers,
                x: Some(f64::from(workers)),
                ..arm.clone()
            }));
        }
    }
    arms
}

fn orm(around: &Around<'_>) -> Vec<Arm> {
    let mut arms = Vec::new();
    for variant in ["pdo", "builder", "eloquent"] {
        let content = Content {
            takes_request: true,
            constants: vec![("ORM", quoted(variant)), ("AUTOLOAD", quoted(ILLUMINATE))],
            ..content("orm", code!("orm"))
        };
        for arm in fair_arms(around, Work::Queries, &content) {
            let impossible = match arm.runtime.id() {
                _ if !std::path::Path::new(ILLUMINATE).exists() => Some("php-illuminate-database is not installed".to_owned()),
                "gin" => Some("it has no Eloquent".to_owned()),
                "swoole-base" | "swoole-process" if variant != "pdo" => {
                    Some("the connection object would be shared by concurrent requests, which Swoole refuses".to_owned())
                }
                _ => None,
            };
            arms.push(Arm {
                variant: variant.to_owned(),
                impossible,
                ..arm
            });
        }
    }
    arms
}

fn nginx_proxy(around: &Around<'_>) -> Vec<Arm> {
    let proxies = [
        ("direct", None),
        (
            "proxied",
            Some(Proxy {
                access_log: false,
                keep_alive: true,
            }),
        ),
        (
            "proxied, log on",
            Some(Proxy {
                access_log: true,
                keep_alive: true,
            }),
        ),
        (
            "proxied, no upstream keep-alive",
            Some(Proxy {
                access_log: false,
                keep_alive: false,
            }),
        ),
    ];
    let mut arms = Vec::new();
    for arm in fair_arms(around, Work::Computes, &content("basic", code!("basic"))) {
        for (variant, proxy) in proxies {
            let impossible = (arm.runtime.id() == "fpm" && variant != "direct")
                .then(|| "nginx is in front of it already".to_owned());
            arms.push(Arm {
                variant: variant.to_owned(),
                proxy,
                impossible,
                ..arm.clone()
            });
        }
    }
    arms
}

/// The servers that terminate TLS themselves here.
const TLS: [&str; 2] = ["apache", "fpm"];

fn tls(around: &Around<'_>) -> Vec<Arm> {
    let mut arms = Vec::new();
    for arm in fair_arms(around, Work::Computes, &content("basic", code!("basic"))) {
        for (variant, tls) in [("http", false), ("tls", true)] {
            let kept = arm.loads[0].clone();
            let closed = Shape {
                variant: "no keep-alive".to_owned(),
                keep_alive: false,
                ..kept.clone()
            };
            let impossible = (!TLS.contains(&arm.runtime.id())).then(|| {
                "it is run without TLS of its own here; a proxy in front ends it".to_owned()
            });
            arms.push(Arm {
                variant: variant.to_owned(),
                tls,
                impossible,
                loads: vec![kept, closed],
                ..arm.clone()
            });
        }
    }
    arms
}

fn gzip(around: &Around<'_>) -> Vec<Arm> {
    let content = Content {
        content_type: Some("application/json"),
        ..content("gzip", code!("gzip"))
    };
    let mut arms = Vec::new();
    for arm in no_go(fair_arms(around, Work::Computes, &content)) {
        for (variant, compress) in [("off", false), ("on", true)] {
            let cannot = compress && !TLS.contains(&arm.runtime.id());
            let impossible = arm
                .impossible
                .clone()
                .or_else(|| cannot.then(|| "it compresses no answers of PHP here".to_owned()));
            arms.push(Arm {
                variant: variant.to_owned(),
                compress,
                impossible,
                ..arm.clone()
            });
        }
    }
    arms
}
