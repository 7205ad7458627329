//! `recorder.php`: what it sees, what it leaves, and that no request notices it.

use std::path::Path;

use serde_json::Value;
use testkit::Server;

use super::{done, project, refused};
use crate::support::ok;

/// The recordings of these paths of a site, each once.
fn recorded(root: &Path, more: &[&str], paths: &[&str]) -> Vec<Value> {
    let words = ["record", "recording", "--every", "0"];
    done(root, &[&words, more].concat());
    let server = serve(root);
    for path in paths {
        server.get(path);
    }
    server.stop();
    merged(root)
}

fn serve(root: &Path) -> Server {
    let recorder = root.join("recording/recorder.php");
    Server::app(root.join("public"))
        .args(["--mode", "classic", "--workers", "1"])
        .arg("--ini")
        .arg(format!("auto_prepend_file={}", recorder.display()))
        .start()
}

fn merged(root: &Path) -> Vec<Value> {
    done(root, &["record", "recording", "--write", "all.json"]);
    let text = std::fs::read(root.join("all.json")).expect("a recording");
    let all: Value = serde_json::from_slice(&text).expect("JSON");
    all["recordings"].as_array().expect("recordings").clone()
}

fn routes(recorded: &[Value]) -> Vec<&str> {
    let mut routes: Vec<&str> = recorded
        .iter()
        .filter_map(|one| one["route"].as_str())
        .collect();
    routes.sort_unstable();
    routes
}

const ANY: (&str, &str) = ("public/index.php", "<?php echo 'page';");

#[test]
fn neither_query_strings_nor_keys_are_recorded() {
    let root = project(&[ANY]);
    let paths = [
        "/user/7",
        "/user/7?token=s3cret",
        "/reset/aGVsbG8gd29ybGQgczNjcmV0",
        "/invite/ada%40s3cret.test",
        "/order/8f1738710b29dedd2338e8bb2695a05f/s3cret-free",
    ];
    let all = recorded(root.path(), &[], &paths);
    let names = [
        "GET /invite/*",
        "GET /order/*/s3cret-free",
        "GET /reset/*",
        "GET /user/*",
    ];
    assert_eq!(routes(&all), names);
    let text = serde_json::to_string(&all)
        .expect("JSON")
        .replace("s3cret-free", "");
    for secret in ["s3cret", "aGVsbG8", "8f173871", "?"] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
    let uris: Vec<&Value> = all.iter().filter_map(|one| one["uris"].get(0)).collect();
    assert_eq!(uris, ["/user/7"]);
}

#[test]
fn query_strings_are_recorded_where_that_is_wanted() {
    let root = project(&[ANY]);
    let all = recorded(root.path(), &["--queries"], &["/?p=1", "/?p=2"]);
    assert_eq!(routes(&all), ["GET /"]);
    assert_eq!(all[0]["uris"], serde_json::json!(["/?p=1", "/?p=2"]));
}

/// Each page has a name of its own here, as blogs and those that look for holes have them.
#[test]
fn any_number_of_paths_makes_a_bounded_number_of_files() {
    let root = project(&[ANY]);
    let paths: Vec<String> = (0..1500)
        .map(|n| match n % 3 {
            0 => format!("/blog/page-{n}-on-something"),
            1 => format!("/p{n}x/y"),
            _ => format!("/q{n}x"),
        })
        .collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let all = recorded(root.path(), &[], &paths);
    assert!(all.len() <= 600, "{}", all.len());
    let requests = all.iter().filter_map(|one| one["requests"].as_u64());
    assert_eq!(requests.sum::<u64>(), 1500);
    let all = routes(&all);
    assert!(all.contains(&"GET /blog/**") && all.contains(&"(other)"));
}

#[test]
fn a_request_that_ends_in_a_shutdown_function_is_recorded() {
    let root = project(&[(
        "public/index.php",
        "<?php register_shutdown_function(function () { echo 'late'; exit; }); echo 'page ';",
    )]);
    assert_eq!(routes(&recorded(root.path(), &[], &["/"])), ["GET /"]);
}

#[test]
fn no_request_notices_the_recorder() {
    let root = project(&[(
        "public/index.php",
        "<?php set_error_handler(fn () => print('seen ')); echo json_encode(array_keys(get_defined_vars()));",
    )]);
    done(root.path(), &["record", "recording", "--every", "0"]);
    // Nothing can be written any more.
    std::fs::remove_dir_all(root.path().join("recording/routes")).expect("a folder");
    std::fs::write(root.path().join("recording/routes"), "").expect("a file");
    let server = serve(root.path());
    let with = ok(&server.get("/"));
    let log = server.stop().log;
    assert!(
        !with.contains("seen") && !log.contains("PHP "),
        "{with} {log}"
    );
}

#[test]
fn what_another_project_loads_is_no_part_of_a_list() {
    let class = |name: &str| format!("<?php class {name} {{}}");
    let page = |name: &str| format!("<?php require '{name}.php'; echo '{name}';");
    let root = project(&[
        ("public/shop/vendor/autoload.php", "<?php"),
        ("public/shop/index.php", &page("Basket")),
        ("public/shop/Basket.php", &class("Basket")),
        ("public/blog/composer.json", "{}"),
        ("public/blog/index.php", &page("Post")),
        ("public/blog/Post.php", &class("Post")),
    ]);
    let all = recorded(root.path(), &[], &["/shop/", "/blog/"]);
    assert_eq!(all.len(), 2, "{all:?}");
    for (project, other, file) in [("shop", "blog", "Basket.php"), ("blog", "shop", "Post.php")] {
        let folder = format!("public/{project}");
        let output = done(root.path(), &["build", "recording", "--root", &folder]);
        let left = format!(
            "left out: 1 requests of another project, {}",
            root.path()
                .canonicalize()
                .expect("a path")
                .join("public")
                .join(other)
                .display()
        );
        assert!(output.contains(&left), "{output}");
        assert!(
            output.contains("Traffic: 1 file preloaded, from 1 recorded"),
            "{output}"
        );
        done(root.path(), &["explain", file]);
    }
}

/// Without packages of Composer the project is what the web server serves, whichever script answers.
#[test]
fn all_scripts_of_a_site_are_of_one_project() {
    let root = project(&[
        ("public/index.php", "<?php require 'lib/A.php';"),
        ("public/admin/index.php", "<?php require '../lib/A.php';"),
        ("public/lib/A.php", "<?php class A {}"),
    ]);
    let all = recorded(root.path(), &[], &["/", "/admin/"]);
    let roots: Vec<&Value> = all.iter().map(|one| &one["root"]).collect();
    assert_eq!(roots[0], roots[1]);
    assert!(
        all.iter().all(|one| one["files"]["lib/A.php"] == 1),
        "{all:?}"
    );
    let output = refused(
        root.path(),
        &[
            "build",
            "recording",
            "--route",
            "GET /none",
            "--strategy",
            "optimised",
        ],
        2,
    );
    assert!(
        output.contains("recorded are GET /, GET /admin/"),
        "{output}"
    );
}

#[test]
fn what_does_not_exist_is_named_with_what_makes_it() {
    let folder = project(&[]);
    let output = |words: &[&str]| refused(folder.path(), words, 2);
    let build = output(&["build", "NOT_THERE"]);
    assert!(build.contains("NOT_THERE does not exist"), "{build}");
    assert!(build.contains("`hearth preload record FOLDER`"), "{build}");
    for words in [&["check", "gone.php"][..], &["explain", "A", "gone.php"]] {
        let output = output(words);
        assert!(output.contains("gone.json does not exist"), "{output}");
        assert!(
            output.contains("`hearth preload build RECORDING`"),
            "{output}"
        );
    }
}
