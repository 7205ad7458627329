//! The HTTP/1.1 profiles of HttpArena (github.com/MDA2AV/HttpArena): its paths, request mixes and validations, on one
//! machine and with our own data. Its connections are thousands on 64 processors; here their number is the run's.

mod data;
mod rules;

use super::{Arm, Around, Requests, Scenario, Shape, Work, fair_arms};
use crate::apps::Content;
use crate::database::Kind;
use crate::runtimes::{Form, Manner};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::fmt::Write as _;

/// The common part of all profiles.
const PROFILE: Scenario = Scenario {
    has_paths: true,
    varies: true,
    ..Scenario::NEW
};

pub(super) const ALL: &[Scenario] = &[
    Scenario {
        name: "arena_baseline",
        title: "HttpArena baseline",
        shows: "a sum of two numbers of the query and one of the body: GET, POST, POST in chunks",
        check: "/baseline11?a=13&b=42",
        rules: Some(rules::baseline),
        arms: |around| {
            arms(around, Work::Computes, Files::No, |shape| {
                shape.requests = lines(BASELINE)
            })
        },
        ..PROFILE
    },
    Scenario {
        name: "arena_pipelined",
        title: "HttpArena pipelined",
        shows: "16 requests at once on each connection, without waiting for answers",
        check: "/pipeline",
        rules: Some(rules::pipelined),
        arms: |around| {
            arms(around, Work::Computes, Files::No, |shape| {
                shape.pipeline = Some(16);
                shape.requests = lines("/pipeline");
            })
        },
        ..PROFILE
    },
    Scenario {
        name: "arena_limited_conn",
        title: "HttpArena limited-conn",
        shows: "the baseline with a new connection after ten requests",
        check: "/baseline11?a=13&b=42",
        rules: Some(rules::baseline),
        arms: |around| {
            arms(around, Work::Computes, Files::No, |shape| {
                shape.per_connection = Some(10);
                shape.requests = lines(BASELINE);
            })
        },
        ..PROFILE
    },
    Scenario {
        name: "arena_json",
        title: "HttpArena json",
        shows: "1 to 50 items with a total for each, encoded",
        check: "/json/50?m=6",
        rules: Some(rules::json),
        arms: |around| {
            arms(around, Work::Computes, Files::No, |shape| {
                shape.per_connection = Some(25);
                shape.requests = lines(JSON);
            })
        },
        ..PROFILE
    },
    Scenario {
        name: "arena_upload",
        title: "HttpArena upload",
        shows: "bodies of 500 kB to 20 MB, whose bytes are counted",
        check: "/baseline11?a=13&b=42",
        rules: Some(rules::upload),
        arms: upload,
        ..PROFILE
    },
    Scenario {
        name: "arena_static",
        title: "HttpArena static",
        shows: "20 files of 3 to 300 kB, as the server sends files",
        check: "/static/app.js",
        rules: Some(rules::files),
        arms: |around| {
            arms(around, Work::Computes, Files::Yes, |shape| {
                shape.per_connection = Some(200);
                shape.headers = vec!["Accept-Encoding: br;q=1, gzip;q=0.8".to_owned()];
                shape.requests = lines(
                    &data::FILES
                        .map(|(name, _)| format!("/static/{name}"))
                        .join("\n"),
                );
            })
        },
        ..PROFILE
    },
    Scenario {
        name: "arena_async_db",
        title: "HttpArena async-db",
        shows: "a range of 100,000 rows of PostgreSQL, without an index, 5 to 50 rows as JSON",
        database: Some(Kind::PostgreSql),
        check: "/async-db?min=10&max=50&limit=50",
        rules: Some(rules::async_db),
        arms: |around| {
            with_database(arms(around, Work::Queries, Files::No, |shape| {
                shape.per_connection = Some(25);
                let line = |limit: u32| format!("/async-db?min=10&max=50&limit={limit}");
                shape.requests = lines(&[5, 10, 20, 35, 50].map(line).join("\n"));
            }))
        },
        ..PROFILE
    },
    Scenario {
        name: "arena_crud",
        title: "HttpArena crud",
        shows: "three of four requests read an item, cached for 200 ms; the others list, create and update, in PostgreSQL",
        database: Some(Kind::PostgreSql),
        check: "/crud/items?category=electronics&page=1&limit=5",
        rules: Some(rules::crud),
        arms: |around| {
            with_database(arms(around, Work::Queries, Files::No, |shape| {
                shape.per_connection = Some(200);
                shape.requests = lines(&crud_requests());
            }))
        },
        ..PROFILE
    },
];

const BASELINE: &str = "GET /baseline11?a=13&b=42\nPOST /baseline11?a=13&b=42 20\nPOST /baseline11?a=13&b=42 chunked:20";
const JSON: &str = "/json/1?m=3\n/json/5?m=7\n/json/10?m=2\n/json/15?m=5\n/json/25?m=4\n/json/40?m=8\n/json/50?m=6";

fn lines(text: &str) -> Option<Requests> {
    Some(Requests::Lines(text.into()))
}

/// Whether the app has files to serve.
#[derive(Clone, Copy, PartialEq)]
enum Files {
    Yes,
    No,
}

fn content(files: Files) -> Content {
    let mut more = vec![("dataset.json".to_owned(), data::dataset().into_bytes())];
    if files == Files::Yes {
        let file =
            |(name, length): (&str, usize)| (format!("static/{name}"), data::file(name, length));
        more.extend(data::FILES.map(file));
    }
    Content {
        scenario: "http_arena".to_owned(),
        code: code!("http_arena"),
        takes_request: true,
        answers_whole: true,
        sends_files: files == Files::Yes,
        more,
        ..Content::default()
    }
}

/// Returns each server under the profile's load.
fn arms(around: &Around<'_>, work: Work, files: Files, load: impl Fn(&mut Shape)) -> Vec<Arm> {
    let mut arms = fair_arms(around, work, &content(files));
    for arm in &mut arms {
        arm.front_controller = true;
        arm.ini.push(("post_max_size".to_owned(), "64M".to_owned()));
        arm.loads.iter_mut().for_each(&load);
        let sends_none = files == Files::Yes && arm.runtime.form() == Form::RoadRunner;
        arm.impossible =
            sends_none.then(|| "it is run without its plugin for files here".to_owned());
    }
    arms
}

/// Gives each arm a pool that fits into PostgreSQL's 256 connections, and leaves out servers whose processes share no
/// cache.
fn with_database(mut arms: Vec<Arm>) -> Vec<Arm> {
    for arm in &mut arms {
        if arm.runtime.manner() == Manner::Concurrent {
            arm.content.pool = (200 / arm.workers.max(1)).min(64);
        }
        arm.impossible = match arm.runtime.form() {
            Form::Native => Some("bench/runtimes/gin has no driver for PostgreSQL".to_owned()),
            Form::RoadRunner => Some("its processes share no cache without Redis".to_owned()),
            _ => None,
        };
    }
    arms
}

/// Returns the arms for uploads of 500 kB, 2, 10 and 20 MB, on a third as many connections, because each holds its body
/// in memory.
fn upload(around: &Around<'_>) -> Vec<Arm> {
    let mut all = arms(around, Work::Computes, Files::No, |shape| {
        shape.connections = (around.connections / 3).clamp(1, 32);
        shape.per_connection = Some(5);
        shape.requests = lines(
            "POST /upload @{directory}/500000\nPOST /upload @{directory}/2000000\nPOST /upload @{directory}/10000000\nPOST /upload @{directory}/20971520",
        );
        shape.bodies = vec![500_000, 2_000_000, 10_000_000, 20_971_520];
    });
    for arm in &mut all {
        arm.ini.push(("memory_limit".to_owned(), "256M".to_owned()));
    }
    all
}

/// Returns 20,000 requests in HttpArena's proportions: 15 reads, 3 updates, a page and a new item.
fn crud_requests() -> String {
    let mut random = SmallRng::seed_from_u64(42);
    let mut text = String::new();
    for number in 0..1000 {
        for _ in 0..15 {
            let _ = writeln!(text, "GET /crud/items/{}", random.random_range(1..=50_000));
        }
        for _ in 0..3 {
            let id = random.random_range(1..=50_000);
            let _ = writeln!(
                text,
                "PUT /crud/items/{id} {{\"name\":\"Updated item\",\"category\":\"office\",\"price\":200,\"quantity\":25}}"
            );
        }
        let page = random.random_range(1..=10);
        let _ = writeln!(text, "GET /crud/items?category=office&page={page}&limit=10");
        let id = 100_001 + number;
        let _ = writeln!(
            text,
            "POST /crud/items {{\"id\":{id},\"name\":\"New item\",\"category\":\"office\",\"price\":150,\"quantity\":30}}"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crud_has_the_proportions_of_its_rules() {
        let text = crud_requests();
        let share = |start: &str| text.lines().filter(|line| line.starts_with(start)).count();
        assert_eq!(text.lines().count(), 20_000);
        assert_eq!(
            [
                share("GET /crud/items/"),
                share("PUT "),
                share("GET /crud/items?"),
                share("POST ")
            ],
            [15_000, 3_000, 1_000, 1_000]
        );
    }
}
