//! A user of php-fpm: record, build, check, and the list in place.

use std::path::Path;
use std::process::Command;

use testkit::http::Client;
use testkit::service::Fpm;

use super::{done, project};
use crate::frameworks;
use crate::support::{example, ok};

const INDEX: &str = "<?php
require __DIR__ . '/../vendor/autoload.php';
$app = require __DIR__ . '/../bootstrap/app.php';
$kernel = $app->make(Illuminate\\Contracts\\Http\\Kernel::class);
$request = Illuminate\\Http\\Request::capture();
$response = $kernel->handle($request);
$response->send();
$kernel->terminate($request, $response);
";

/// The Laravel app of the other tests, as a site with a front controller.
fn laravel() -> tempfile::TempDir {
    let root = project(&[("public/index.php", INDEX), ("composer.json", "{}")]);
    let from = frameworks::app("laravel");
    let copied = Command::new("cp")
        .arg("-r")
        .arg(from.join("."))
        .arg(root.path())
        .status();
    assert!(copied.expect("cp starts").success());
    let bootstrap = root.path().join("bootstrap/app.php");
    let text = std::fs::read_to_string(&bootstrap).expect("a file");
    std::fs::write(
        bootstrap,
        text.replace(
            "sys_get_temp_dir() . '/laravel'",
            "dirname(__DIR__) . '/storage'",
        ),
    )
    .expect("a file");
    root
}

/// PHP's own words on what is preloaded, from inside of a request.
fn preloaded(fpm: &Fpm) -> String {
    ok(&Client::connect(&fpm.address()).get("/status.php"))
}

const STATUS: &str = "<?php $all = opcache_get_status(false)['preload_statistics'] ?? ['classes' => []];
    echo count($all['classes']), ' ', class_exists('Illuminate\\Routing\\Router', false) ? 'router' : 'none';";

fn visit(fpm: &Fpm, times: usize) {
    for _ in 0..times {
        for uri in ["/", "/", "/user/7", "/user/8?q=a", "/view"] {
            let response = Client::connect(&fpm.address()).get(uri);
            assert_eq!(response.status, 200, "{uri}: {}", response.text());
        }
    }
}

fn text(path: &Path) -> String {
    path.to_str().expect("UTF-8").to_owned()
}

/// The commands of an example in the guide, with further words.
fn guide(folder: &Path, name: &str, more: &[&str]) -> String {
    let commands = example("docs/guide/preload.md", name);
    let run = |line: &str| {
        let line = line.strip_prefix("hearth preload ").expect("a command");
        let quotes = |c: char| c == '\'' || c == '"';
        let mut words: Vec<&str> = Vec::new();
        for (n, part) in line.split(quotes).enumerate() {
            match n % 2 {
                0 => words.extend(part.split_whitespace()),
                _ => words.push(part),
            }
        }
        done(folder, &[&words, more].concat())
    };
    commands.lines().map(run).collect()
}

#[test]
fn three_commands_make_a_list_that_helps_php_fpm() {
    let root = laravel();
    std::fs::write(root.path().join("public/status.php"), STATUS).expect("a file");
    let place = testkit::document_root();
    let recording = place.path().join("recording");
    let said = guide(place.path(), "record", &["--every", "0"]);
    let line = format!("auto_prepend_file] = {}/recorder.php", recording.display());
    assert!(
        said.contains("nothing is recorded yet") && said.contains(&line),
        "{said}"
    );

    let recorder = text(&recording.join("recorder.php"));
    let public = root.path().join("public");
    let fpm = Fpm::start(&public, &[("auto_prepend_file", &recorder)], "");
    visit(&fpm, 3);
    drop(fpm);
    let said = guide(place.path(), "record", &[]);
    assert!(
        said.contains("recorded 15 requests") && said.contains("6  GET /user/*"),
        "{said}"
    );

    let said = guide(place.path(), "strategies", &["--no-replay"]);
    for strategy in ["Traffic", "Optimised", "Naive", "None"] {
        assert!(
            said.contains(&format!("{strategy}: ")),
            "{strategy}: {said}"
        );
    }
    let said = guide(place.path(), "build", &[]);
    assert!(
        said.contains("Traffic: ") && said.contains("  Illuminate"),
        "{said}"
    );
    let said = guide(
        place.path(),
        "check",
        &["--seconds", "1", "--install", "installed.php"],
    );
    assert!(
        said.contains("3 recorded paths are answered the same") && said.contains("it pays"),
        "{said}"
    );
    let said = guide(place.path(), "explain", &[]);
    assert!(
        said.contains("Router.php is preloaded") && said.contains("100.0 % of requests need it"),
        "{said}"
    );

    let list = text(&place.path().join("installed.php"));
    let header = std::fs::read_to_string(&list).expect("a list");
    assert!(
        header.contains("of processor time per request instead of"),
        "{header:.500}"
    );
    let fpm = Fpm::start_with(&public, &[], &[("opcache.preload", &list)], "");
    assert!(!fpm.said().contains("arning"), "{}", fpm.said());
    assert!(preloaded(&fpm).ends_with("router"), "{}", preloaded(&fpm));
    visit(&fpm, 1);
}
