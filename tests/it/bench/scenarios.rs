//! What is measured, on which servers, and that all of them do the same.

use super::experiments::project;
use super::{Bench, SHORT};

const HERE: &[&str] = &["hearth", "hearth-one", "hearth-classic", "apache", "fpm"];

#[test]
fn hello_world_on_all_servers_that_are_here() {
    let done = Bench::short(&["basic"]).run();
    assert_eq!(done.code, Some(0), "{}{}", done.out, done.err);
    done.measured(HERE);
    done.measured(&["php-s", "epoll"]);
    let scenario = &done.result["scenarios"][0];
    assert_eq!(
        (scenario["name"].as_str(), scenario["body_bytes"].as_u64()),
        (Some("basic"), Some(2))
    );
    // What is not here is in the table all the same, and says how to get it.
    let roadrunner = done.of("roadrunner");
    assert_eq!(
        roadrunner[0]["status"]["is"], "not-installed",
        "{}",
        roadrunner[0]
    );
    assert!(
        roadrunner[0]["status"]["how"]
            .as_str()
            .is_some_and(|how| how.contains("--with roadrunner="))
    );
    assert!(done.out.contains("RoadRunner"), "{}", done.out);
    assert_eq!(
        setting(done.of("apache")[0], "MaxRequestWorkers").as_deref(),
        Some("16"),
        "a process for each connection"
    );
    for runtime in HERE {
        assert_eq!(
            setting(done.of(runtime)[0], "opcache").as_deref(),
            Some("on"),
            "{runtime}: {}",
            done.of(runtime)[0]["config"]
        );
    }
}

fn setting(cell: &serde_json::Value, name: &str) -> Option<String> {
    let all = cell["config"].as_array().expect("a list");
    all.iter()
        .find(|one| one["name"] == name)
        .map(|one| one["value"].as_str().unwrap_or_default().to_owned())
}

#[test]
fn queries_of_a_private_database() {
    let done = Bench::short(&[
        "basic_query*",
        "--against",
        "hearth,hearth-classic,apache,fpm",
    ])
    .run();
    assert_eq!(done.code, Some(0), "{}{}", done.out, done.err);
    done.measured(&["hearth", "hearth-classic", "apache", "fpm"]);
    let names: Vec<_> = done.result["scenarios"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| one["name"].as_str().unwrap_or_default())
        .collect();
    assert_eq!(
        names,
        [
            "basic_query",
            "basic_query_with_pool",
            "basic_query_with_pool_and_caching"
        ]
    );
    for (at, scenario) in done.result["scenarios"]
        .as_array()
        .expect("a list")
        .iter()
        .enumerate()
    {
        assert_eq!(
            scenario["body_bytes"], 792,
            "{}: as many bytes as in the write-up",
            scenario["name"]
        );
        for cell in scenario["cells"]
            .as_array()
            .expect("a list")
            .iter()
            .filter(|cell| cell["column"] == "fair")
        {
            // "Did it even happen": the database counts as many queries as requests, or none where they are cached.
            let counted: f64 = cell["observed"][0]["value"]
                .as_str()
                .and_then(|text| text.parse().ok())
                .expect("a number");
            let expected = if at == 2 { 0.0 } else { 1.0 };
            assert!(
                (counted - expected).abs() < 0.1,
                "{} {}: {counted}",
                scenario["name"],
                cell["runtime"]
            );
            let used = cell["repeats"][0]["cpu"].as_array().expect("a list");
            assert!(used.iter().any(|one| one["role"] == "database"), "{used:?}");
        }
    }
}

#[test]
fn classes_and_a_real_application() {
    let done = Bench::short(&[
        "basic_class_load*",
        "simple_real_app_simulation",
        "real_app_simulation_with_files",
        "--against",
        "hearth,apache",
    ])
    .run();
    assert_eq!(done.code, Some(0), "{}{}", done.out, done.err);
    done.measured(&["hearth", "apache"]);
    assert_eq!(done.result["scenarios"].as_array().map(Vec::len), Some(4));
    // As the write-up ran it: Apache as it comes, on 100, 500 and 1,000 connections.
    let of_seed = |runtime: &str| -> Vec<_> {
        let mut cells = done.cells();
        cells.retain(|cell| cell["runtime"] == runtime && cell["column"] == "as-seed");
        cells
    };
    let connections = |cells: &[&serde_json::Value]| -> Vec<Option<u64>> {
        cells
            .iter()
            .map(|cell| cell["connections"].as_u64())
            .collect()
    };
    let apache = of_seed("apache");
    assert_eq!(connections(&apache), [Some(100), Some(500), Some(1000)]);
    assert_eq!(connections(&of_seed("hearth")), connections(&apache));
    assert_eq!(
        setting(apache[0], "MaxRequestWorkers").as_deref(),
        Some("150")
    );
}

#[test]
fn names_that_nothing_has_are_refused_with_those_that_there_are() {
    for (words, said) in [
        (
            &["nothing"][..],
            "no scenario called \"nothing\"; there are: basic,",
        ),
        (
            &["basic", "--against", "iis"][..],
            "no server called \"iis\"; there are: hearth,",
        ),
        (
            &["basic", "--with", "swoole"][..],
            "\"swoole\" is not NAME=PATH",
        ),
        (
            &["basic", "--with", "swoole=/nowhere.so"][..],
            "/nowhere.so does not exist",
        ),
        (&["basic", "--quick", "--full"][..], "cannot be used with"),
        (&["basic", "--rounds", "0"][..], "0 is not in 1..=100"),
    ] {
        let done = Bench::new(words).run();
        assert_eq!(done.code, Some(2), "{words:?}: {}", done.err);
        assert!(done.err.contains(said), "{words:?}: {}", done.err);
    }
}

#[test]
fn doctor_and_list_say_what_is_here() {
    let doctor = Bench::new(&["doctor"]).run();
    assert_eq!(doctor.code, Some(0), "{}", doctor.err);
    for line in [
        "nginx, php-fpm",
        "Server version: Apache",
        "MariaDB",
        "composer require workerman/workerman",
        "processors",
    ] {
        assert!(doctor.out.contains(line), "{line}: {}", doctor.out);
    }
    let list = Bench::new(&["list"]).run();
    assert!(
        list.out.contains("basic_class_load_multiple")
            && list.out.contains("here: apache fpm hearth"),
        "{}",
        list.out
    );
}

#[test]
fn a_server_that_sends_other_bytes_is_not_compared() {
    // Anything that starts and answers "ok" to every request is taken for RoadRunner, but sends another body.
    let bench = Bench::new(&["basic", "--against", "hearth,gin", "--with"]);
    let fake = bench.path().join("fake-gin");
    let script = "#!/bin/sh\n[ \"$1\" = version ] && { echo 'Gin fake'; exit; }\nport=${3##*:}\n\
        exec php -r '$s = stream_socket_server(\"tcp://127.0.0.1:$argv[1]\"); while ($c = stream_socket_accept($s, -1)) { fread($c, 4096); \
        fwrite($c, \"HTTP/1.1 200 OK\\r\\nContent-Length: 3\\r\\nConnection: close\\r\\n\\r\\nno!\"); fclose($c); }' \"$port\"\n";
    std::fs::write(&fake, script).expect("a file");
    std::process::Command::new("chmod")
        .arg("755")
        .arg(&fake)
        .status()
        .expect("chmod");
    let mut bench = bench;
    bench
        .command
        .arg(format!("gin={}", fake.display()))
        .args(SHORT);
    let done = bench.run();
    done.measured(&["hearth"]);
    let why = done.of("gin")[0]["status"].to_string();
    assert!(
        why.contains("failed")
            && why.contains("sends 3 bytes that are not the 2 of the scenario: no!"),
        "{why}"
    );
    assert!(done.out.contains("no!"), "{}", done.out);
}

/// Every command of the guide, shortened: what it does is looked at elsewhere.
#[test]
fn the_guides_commands_are_understood() {
    let page =
        std::fs::read_to_string(testkit::checkout().join("docs/guide/bench.md")).expect("the page");
    let lines: Vec<&str> = page
        .lines()
        .filter(|line| line.starts_with("hearth bench"))
        .filter(|line| !super::verbs::is_of_a_saved_result(line))
        .collect();
    assert!(lines.len() >= 6, "{lines:?}");
    for line in lines {
        let words: Vec<&str> = line
            .split_whitespace()
            .skip(2)
            .map(|word| word.trim_matches('\''))
            .collect();
        let looks = ["doctor", "list"].contains(words.first().unwrap_or(&""));
        let own = words.contains(&"--rounds");
        let short: &[&str] = if looks {
            &[]
        } else if own {
            &["--budget", "0"]
        } else {
            &["--rounds", "1", "--seconds", "0.2", "--budget", "0"]
        };
        let bench = Bench::new(&[&words[..], short].concat());
        project(&bench);
        let done = bench.run();
        // With hardly any time nothing is measured, and that is said.
        let code = if looks { 0 } else { 1 };
        assert_eq!(done.code, Some(code), "{line}: {}{}", done.out, done.err);
        assert!(
            looks || done.err.contains("nothing could be measured"),
            "{line}: {}{}",
            done.out,
            done.err
        );
    }
}
