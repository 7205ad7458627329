//! `hearth bench --app`: an app of one's own, on servers that are really started.

use super::Bench;

const SITE: &str = "<?php if (str_starts_with($_SERVER['REQUEST_URI'], '/no')) { http_response_code(404); } echo 'page ', $_SERVER['REQUEST_URI'], ' ', hrtime(true), getenv('LONG') ? str_repeat('x', 1000) : '';";

/// A project with a document root, a list of pages, and a script for the resident modes.
pub(super) fn project(bench: &Bench) {
    use std::os::unix::fs::PermissionsExt;
    let write =
        |name: &str, text: &str| std::fs::write(bench.path().join(name), text).expect("a file");
    let open = |name: &str| {
        std::fs::set_permissions(
            bench.path().join(name),
            std::fs::Permissions::from_mode(0o755),
        )
        .expect("a directory")
    };
    for directory in ["shop", "shop/public"] {
        std::fs::create_dir(bench.path().join(directory)).expect("a directory");
        open(directory);
    }
    write("shop/public/index.php", SITE);
    write(
        "shop/app.php",
        "<?php return fn (Hearth\\Request $request) => new Hearth\\Response('page ' . $request->target . (getenv('LONG') ? str_repeat('x', 1000) : ''), str_starts_with($request->path, '/no') ? 404 : 200);",
    );
    let line =
        "127.0.0.1 - - [24/Nov/2026:04:00:00 +0000] \"GET /shop?a=1 HTTP/1.1\" 200 5 \"-\" \"-\"\n";
    write("access.log", line);
    write("urls", "/\n5 /shop?a=1\n/no/such/page\n");
}

#[test]
fn of_ones_own_site() {
    let bench = Bench::short(&[
        "--app",
        "shop",
        "--urls",
        "urls",
        "--resident",
        "shop/app.php",
        "--env",
        "LONG=1",
        "--against",
        "hearth,hearth-one,hearth-classic,apache,fpm",
    ]);
    project(&bench);
    let done = bench.run();
    assert_eq!(done.code, Some(0), "{}{}", done.out, done.err);
    assert_eq!(done.result["scenarios"][0]["app"], true);
    for runtime in ["hearth", "hearth-one", "hearth-classic", "apache", "fpm"] {
        let cell = done.of(runtime)[0];
        assert_eq!(
            cell["status"]["is"], "measured",
            "{runtime}: {}",
            cell["status"]
        );
        let statuses = &cell["repeats"][0]["load"]["statuses"];
        assert!(
            statuses["200"].as_u64() > Some(0) && statuses["404"].as_u64() > Some(0),
            "{runtime}: {statuses}"
        );
    }
    for runtime in ["hearth-classic", "apache", "fpm"] {
        for strategy in ["naive", "optimised", "traffic"] {
            let variant = format!("preload {strategy}");
            let cells = done.of(runtime);
            let cell = cells
                .iter()
                .find(|cell| cell["variant"] == variant.as_str());
            let status = &cell.expect("a cell")["status"];
            assert_eq!(status["is"], "measured", "{runtime}, {variant}: {status}");
        }
    }
    a_variable_reaches_the_app(&done);
    let titles: Vec<&str> = done.result["advice"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|one| one["title"].as_str())
        .collect();
    for title in [
        "Serve it with Hearth instead of fpm",
        "Keep it in memory, requests at the same time",
        "Do not check whether PHP files have changed (apache)",
        "Keep sessions in the cache that all workers share (hearth-classic)",
        "Preload, list traffic (fpm)",
        "Set LONG=1 (hearth)",
        "Set LONG=1 (apache)",
    ] {
        assert!(titles.contains(&title), "{title}: {titles:?}");
    }
}

/// A variable that the app looks at is one more variant of each server.
fn a_variable_reaches_the_app(done: &super::Done) {
    for runtime in ["hearth", "hearth-one", "hearth-classic", "apache", "fpm"] {
        let bytes = |variant: &str| {
            let cells = done.of(runtime);
            let cell = cells.iter().find(|cell| cell["variant"] == variant);
            let run = &cell.expect("a cell")["repeats"][0]["load"];
            run["bytes"]["body"].as_f64().expect("a number")
                / run["counts"]["responses"].as_f64().expect("a number")
        };
        let more = bytes("LONG=1") - bytes("");
        assert!((990.0..1010.0).contains(&more), "{runtime}: {more}");
    }
}

#[test]
fn of_a_site_that_is_not_there_or_answers_differently() {
    let missing = Bench::new(&["--app", "nowhere"]).run();
    assert_eq!(missing.code, Some(2));
    assert!(
        missing.err.contains("--app nowhere: No such file"),
        "{}",
        missing.err
    );
    let bench = Bench::short(&["--app", "shop", "--against", "hearth-classic,fpm"]);
    project(&bench);
    // A page that fails under one server only is not compared.
    std::fs::write(bench.path().join("shop/public/index.php"), "<?php if (PHP_SAPI === 'fpm-fcgi') { http_response_code(500); echo 'broken here'; } else { echo 'ok'; }").expect("a file");
    let done = bench.run();
    assert_eq!(
        done.of("hearth-classic")[0]["status"]["is"],
        "measured",
        "{}",
        done.out
    );
    let words = [
        "Switch the JIT on (hearth-classic)",
        "What would help your app",
    ];
    assert!(
        words.iter().all(|part| done.out.contains(part)),
        "{}",
        done.out
    );
    let why = done.of("fpm")[0]["status"].to_string();
    assert!(why.contains("/ answers 500: broken here"), "{why}");
}
