//! The experiments that compare ways of running one server: each in its shortest form, on servers that are really started.

use super::Bench;

fn variants(done: &super::Done, scenario: &str, runtime: &str) -> Vec<String> {
    let scenarios = done.result["scenarios"].as_array().expect("a list");
    let one = scenarios
        .iter()
        .find(|one| one["name"] == scenario)
        .expect("the scenario");
    let cells = one["cells"].as_array().expect("a list").iter();
    let measured =
        cells.filter(|cell| cell["runtime"] == runtime && cell["status"]["is"] == "measured");
    measured
        .map(|cell| cell["variant"].as_str().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn of_webmans_guide() {
    let done = Bench::short(&[
        "keepalive_query",
        "orm",
        "nginx_proxy",
        "tls",
        "gzip",
        "--against",
        "hearth,fpm",
    ])
    .run();
    assert_eq!(done.code, Some(0), "{}{}", done.out, done.err);
    assert_eq!(variants(&done, "keepalive_query", "hearth"), ["on", "off"]);
    assert_eq!(
        variants(&done, "orm", "hearth"),
        ["pdo", "builder", "eloquent"]
    );
    assert_eq!(
        variants(&done, "orm", "fpm"),
        ["pdo", "builder", "eloquent"]
    );
    let proxied = [
        "direct",
        "proxied",
        "proxied, log on",
        "proxied, no upstream keep-alive",
    ];
    assert_eq!(variants(&done, "nginx_proxy", "hearth"), proxied);
    assert_eq!(
        variants(&done, "tls", "fpm"),
        ["http", "http, no keep-alive", "tls", "tls, no keep-alive"]
    );
    assert_eq!(variants(&done, "gzip", "fpm"), ["off", "on"]);
    let bytes = |variant: &str| {
        let gzip = &done.result["scenarios"][4]["cells"];
        let mut cells = gzip.as_array().expect("a list").iter();
        let cell = cells
            .find(|cell| cell["runtime"] == "fpm" && cell["variant"] == variant)
            .expect("a cell");
        let run = &cell["repeats"][0]["load"];
        run["bytes"]["body"].as_f64().expect("a number")
            / run["counts"]["responses"].as_f64().expect("a number")
    };
    assert!(
        bytes("on") * 3.0 < bytes("off"),
        "{} {}",
        bytes("on"),
        bytes("off")
    );
    // nginx's processor time stands beside the server's.
    let proxied = done
        .cells()
        .into_iter()
        .find(|cell| cell["variant"] == "proxied")
        .expect("a cell");
    let used = proxied["repeats"][0]["cpu"].as_array().expect("a list");
    assert!(
        used.iter()
            .any(|one| one["role"] == "proxy" && one["cpu_us_per_request"].as_f64() > Some(0.5)),
        "{used:?}"
    );
}

#[test]
fn of_techempower_and_preloading() {
    let done = Bench::short(&[
        "plaintext",
        "json",
        "db",
        "queries",
        "updates",
        "fortunes",
        "preload",
        "latency",
        "--against",
        "hearth,fpm",
    ])
    .run();
    assert_eq!(done.code, Some(0), "{}{}", done.out, done.err);
    done.measured(&["hearth", "fpm"]);
    assert_eq!(done.result["scenarios"].as_array().map(Vec::len), Some(8));
    let setting = |variant: &str| {
        let cell = done
            .of("fpm")
            .into_iter()
            .find(|cell| cell["variant"] == variant)
            .expect("a cell")
            .clone();
        let all = cell["config"].as_array().expect("a list").clone();
        all.iter()
            .find(|one| one["name"] == "preloaded")
            .map(|one| one["value"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(setting("none"), None);
    assert!(
        setting("naive").is_some_and(|text| text.starts_with("400 classes")),
        "{:?}",
        setting("naive")
    );
    for (variant, classes) in [("optimised", "100 classes"), ("traffic", "190 classes")] {
        let preloaded = setting(variant);
        assert!(
            preloaded
                .as_ref()
                .is_some_and(|text| text.starts_with(classes)),
            "{variant}: {preloaded:?}"
        );
    }
    latency_is_below_the_limit(&done);
}

/// Requests come at shares of what the server reached as fast as it could.
fn latency_is_below_the_limit(done: &super::Done) {
    let of = |variant: &str| {
        let cells = done.of("hearth");
        let cell = cells.iter().find(|cell| cell["variant"] == variant);
        cell.expect("a cell")["repeats"][0]["load"].clone()
    };
    let highest = of("highest");
    assert_eq!(highest["setup"]["loop"], "closed");
    let reached = highest["rates"]["goodput"].as_f64().expect("a rate");
    for (variant, share) in [("at 50 %", 0.5), ("at 70 %", 0.7), ("at 90 %", 0.9)] {
        let load = of(variant);
        assert_eq!(load["setup"]["loop"], "open");
        let rate = load["setup"]["rate"].as_f64().expect("a rate");
        assert!(
            (rate / reached - share).abs() < 0.01,
            "{variant}: {rate} of {reached}"
        );
    }
}

#[test]
fn of_the_number_of_workers() {
    let done = Bench::short(&["worker_sweep", "--against", "fpm"]).run();
    assert_eq!(done.code, Some(0), "{}{}", done.out, done.err);
    let counts = |variant: &str| -> Vec<f64> {
        let cells = done
            .of("fpm")
            .into_iter()
            .filter(|cell| cell["variant"] == variant && cell["status"]["is"] == "measured");
        cells.filter_map(|cell| cell["x"].as_f64()).collect()
    };
    assert_eq!(done.result["scenarios"][0]["axis"], "workers");
    assert_eq!(counts(""), [1.0, 2.0, 3.0, 4.0, 6.0, 8.0]);
    assert_eq!(counts("query"), [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]);
    // One process that waits 5 ms for each request answers 200 a second at most; eight connections and 8 processes do better.
    let rate = |x: f64| {
        let cell = done
            .of("fpm")
            .into_iter()
            .find(|cell| cell["variant"] == "query" && cell["x"] == x)
            .expect("a cell")
            .clone();
        cell["repeats"][0]["load"]["rates"]["goodput"]
            .as_f64()
            .expect("a number")
    };
    assert!(
        rate(1.0) < 205.0 && rate(8.0) > 1.3 * rate(1.0),
        "{} {}",
        rate(1.0),
        rate(8.0)
    );
}

#[test]
fn of_the_pools_write_up() {
    let done = Bench::short(&["pool", "--against", "hearth,fpm"]).run();
    assert_eq!(done.code, Some(0), "{}{}", done.out, done.err);
    let groups = [
        "group 1 pool off",
        "group 1 pool on",
        "group 2 pool off",
        "group 2 pool on",
        "group 3 pool off",
        "group 3 pool on",
    ];
    let mut measured = variants(&done, "pool", "hearth");
    // Once more on a database that admits 151 connections, as it comes: ten for each of 64 requests are more.
    assert_eq!(measured.pop().as_deref(), Some(groups[0]));
    assert_eq!(measured, groups);
    let refused =
        |cell: &&serde_json::Value| cell["column"] == "as-seed" && cell["runtime"] == "hearth";
    let cells = done.cells();
    let failed = &cells.iter().find(|cell| refused(cell)).expect("a cell")["repeats"][0]["load"]["counts"]
        ["failed"];
    assert!(failed.as_u64() > Some(0), "{failed}");
    let why = done.of("fpm")[0]["status"]["why"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    assert!(why.contains("there is no connection to share"), "{why}");
    // Connecting takes 100 ms in group 3: without a pool no request is faster.
    let fastest = |variant: &str| {
        let cell = done
            .of("hearth")
            .into_iter()
            .find(|cell| cell["variant"] == variant)
            .expect("a cell")
            .clone();
        cell["repeats"][0]["load"]["latency"]["service"]["min_us"]
            .as_f64()
            .expect("a number")
    };
    assert!(fastest("group 3 pool off") > 100_000.0 && fastest("group 3 pool on") < 100_000.0);
}

#[test]
fn of_the_pools_parameters() {
    let done = Bench::short(&[
        "pool",
        "--against",
        "hearth",
        "--pool.size=4",
        "--scenario.query_per_request=1",
        "--scenario.cpu_load_per_request_max_sec=0",
        "--scenario.cpu_load_per_request_min_sec=0",
        "--pool.minimum_idle=1",
    ])
    .run();
    assert_eq!(done.code, Some(0), "{}{}", done.out, done.err);
    assert_eq!(
        variants(&done, "pool", "hearth"),
        ["as given, pool off", "as given, pool on"]
    );
    let wrong = Bench::short(&["pool", "--against", "hearth", "--pool.size=many"]).run();
    assert_eq!(wrong.code, Some(1), "{}{}", wrong.out, wrong.err);
    assert!(
        wrong
            .out
            .contains("--pool.size must be a whole number, \"many\" given"),
        "{}{}",
        wrong.out,
        wrong.err
    );
    let elsewhere = Bench::new(&["basic", "--pool.size=4"]).run();
    assert_eq!(elsewhere.code, Some(2));
    assert!(
        elsewhere
            .err
            .contains("is a parameter of the scenario pool"),
        "{}",
        elsewhere.err
    );
}
