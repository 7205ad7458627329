//! What is measured, on which servers, and that all of them do the same.

use super::own_site::project;
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
    let ceiling = done.result["noise"]["client_ceiling"].as_f64();
    assert!(ceiling.is_some_and(|rate| rate > 100.0), "{ceiling:?}");
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
    for runtime in ["hearth", "hearth-one", "hearth-classic", "fpm"] {
        let cell = done.of(runtime)[0];
        assert!(counts_agree(cell), "{runtime}: {}", cell["observed"]);
    }
    let files = done.of("fpm")[0]["files"].to_string();
    for part in [
        "nginx.conf",
        "listen 127.0.0.1:",
        "fpm.conf",
        "pm.max_children",
        "zz-bench.ini",
    ] {
        assert!(files.contains(part), "{part}: {files}");
    }
    for runtime in HERE {
        assert_eq!(
            setting(done.of(runtime)[0], "opcache").as_deref(),
            Some("on"),
            "{runtime}: {}",
            done.of(runtime)[0]["config"]
        );
    }
}

/// Queries per request, as the database counted them.
fn queries(cell: &serde_json::Value) -> f64 {
    observed(cell, "queries per request, counted by the database")
        .and_then(|text| text.parse().ok())
        .expect("a number")
}

/// What was read back after the load.
fn observed(cell: &serde_json::Value, name: &str) -> Option<String> {
    let all = cell["observed"].as_array().expect("a list");
    let one = all.iter().find(|one| one["name"] == name)?;
    one["value"].as_str().map(str::to_owned)
}

/// The server counted what the load had answers to.
fn counts_agree(cell: &serde_json::Value) -> bool {
    let name = "requests counted by the server, of those that the load generator got answers to";
    let counts = observed(cell, name).expect("a count");
    let (counted, sent) = counts.split_once(" of ").expect("two counts");
    let number = |text: &str| text.parse::<f64>().expect("a number");
    (number(counted) - number(sent)).abs() <= 8.0 + number(sent) / 1000.0
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
            let counted = queries(cell);
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
fn queries_of_sqlite_where_there_is_no_database_server() {
    let done = Bench::short(&[
        "basic_query_with_pool",
        "orm",
        "updates",
        "real_app_simulation_with_files_and_connections_simpler",
        "--database",
        "sqlite",
        "--against",
        "hearth,hearth-classic,fpm,apache",
    ])
    .run();
    assert_eq!(done.code, Some(0), "{}{}", done.out, done.err);
    let scenarios = done.result["scenarios"].as_array().expect("a list");
    for scenario in scenarios {
        assert_eq!(scenario["database"], "sqlite");
        for cell in scenario["cells"].as_array().expect("a list") {
            let waits = scenario["name"] == scenarios[3]["name"];
            let wanted = if waits { "not-applicable" } else { "measured" };
            assert_eq!(cell["status"]["is"], wanted, "{}: {cell}", scenario["name"]);
        }
    }
    assert_eq!(scenarios[0]["body_bytes"], 792, "the same rows");
    assert!(
        done.out.contains("on SQLite instead of MariaDB"),
        "{}",
        done.out
    );
    assert!(
        done.out.contains("SQLite has no query that takes its time"),
        "{}",
        done.out
    );
}

#[test]
fn rows_of_a_private_redis() {
    let done = Bench::short(&["cached_rows", "--against", "hearth,hearth-classic,fpm"]).run();
    assert_eq!(done.code, Some(0), "{}{}", done.out, done.err);
    for cell in done.cells() {
        let kept = cell["variant"].as_str().expect("a text");
        if kept == "process" && cell["runtime"] != "hearth" {
            assert_eq!(cell["status"]["is"], "not-applicable", "{cell}");
            continue;
        }
        assert_eq!(cell["status"]["is"], "measured", "{cell}");
        let counted = queries(cell);
        // phpredis looks whether a persistent connection is still there: one more command.
        let expected = match (kept, cell["runtime"].as_str()) {
            ("redis", Some("hearth")) => 1.0,
            ("redis", _) => 2.0,
            _ => 0.0,
        };
        assert!((counted - expected).abs() < 0.1, "{cell}: {counted}");
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
    for (words, message) in [
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
            "\"swoole\" is not NAME=PATH, such as swoole=/path/to/swoole.so",
        ),
        (
            &["basic", "--with", "swoole=/nowhere.so"][..],
            "/nowhere.so does not exist",
        ),
        (&["basic", "--quick", "--full"][..], "cannot be used with"),
        (&["basic", "--rounds", "0"][..], "0 is not in 1..=100"),
        (
            &["basic", "--output", "/nowhere/report"][..],
            "--output: cannot write in /nowhere: No such file",
        ),
        (
            &["basic", "--json", "/nowhere/a.json"][..],
            "--json: cannot write in /nowhere: No such file",
        ),
        (&["basic", "--env", "A=b"][..], "--env is for --app"),
        (&["basic", "--urls", "a.log"][..], "--urls is for --app"),
        (
            &["basic", "--database", "oracle"][..],
            "possible values: mariadb, sqlite",
        ),
    ] {
        let done = Bench::new(words).run();
        assert_eq!(done.code, Some(2), "{words:?}: {}", done.err);
        assert!(done.err.contains(message), "{words:?}: {}", done.err);
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
    let done = beside("hearth,gin", "", "no!");
    done.measured(&["hearth"]);
    let why = done.of("gin")[0]["status"].to_string();
    assert!(
        why.contains("failed")
            && why.contains("sends 3 bytes that are not the 2 of the scenario: no!"),
        "{why}"
    );
    assert!(done.out.contains("no!"), "{}", done.out);
    let done = beside("gin", "Set-Cookie: a=b\\r\\n", "ok");
    assert_eq!(done.code, Some(1), "{}", done.out);
    let why = done.of("gin")[0]["status"].to_string();
    assert!(
        why.contains("sends set-cookie: a=b, which was not asked for"),
        "{why}"
    );
}

/// Anything that starts and answers is taken for Gin: here a server that sends those fields and that body.
fn beside(against: &str, fields: &str, body: &str) -> super::Done {
    let bench = Bench::new(&["basic", "--against", against, "--with"]);
    let fake = bench.path().join("fake-gin");
    let length = body.len();
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = version ] && {{ echo 'Gin fake'; exit; }}\nport=${{3##*:}}\n\
        exec php -r '$s = stream_socket_server(\"tcp://127.0.0.1:$argv[1]\"); while ($c = stream_socket_accept($s, -1)) {{ fread($c, 4096); \
        fwrite($c, \"HTTP/1.1 200 OK\\r\\n{fields}Content-Length: {length}\\r\\nConnection: close\\r\\n\\r\\n{body}\"); fclose($c); }}' \"$port\"\n"
    );
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
    bench.run()
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
        let lists = ["doctor", "list"].contains(words.first().unwrap_or(&""));
        let own = words.contains(&"--rounds");
        let short: &[&str] = if lists {
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
        let code = if lists { 0 } else { 1 };
        assert_eq!(done.code, Some(code), "{line}: {}{}", done.out, done.err);
        assert!(
            lists || done.err.contains("nothing could be measured"),
            "{line}: {}{}",
            done.out,
            done.err
        );
    }
}
