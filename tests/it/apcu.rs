//! `apcu_*` on Hearth's cache, where `hearth.apcu` is on and APCu is not loaded: APCu itself says what is right.

use std::process::Command;

use testkit::{Server, ServerBuilder};

use crate::support::{at_once, ok, same};

const SCRIPTS: [&str; 2] = ["tests/it/apcu.php", "tests/it/apcu_edges.php"];

fn lines(command: &mut Command) -> Vec<String> {
    let output = command
        .current_dir(testkit::checkout())
        .output()
        .expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{output:?}");
    text.lines().map(str::to_owned).collect()
}

#[test]
fn it_does_what_apcu_does() {
    for script in SCRIPTS {
        let apcu = lines(Command::new("php").args(["-d", "apc.enable_cli=1", script]));
        let mut hearth = Command::new(testkit::hearth());
        let ours = lines(hearth.args(["run", "-n", "-d", "hearth.apcu=1", script]));
        assert!(apcu.len() > 40, "{apcu:?}");
        assert_eq!(ours, apcu, "{script}");
    }
}

#[test]
fn it_is_there_only_where_it_is_asked_for_and_apcu_is_not() {
    let code = "echo json_encode([function_exists('apcu_fetch'), class_exists('APCUIterator'), extension_loaded('apcu')]);";
    let printed = |options: &[&str]| {
        lines(
            Command::new(testkit::hearth())
                .arg("run")
                .args(options)
                .args(["-r", code]),
        )
    };
    assert_eq!(printed(&["-n"]), ["[false,false,false]"]);
    assert_eq!(
        printed(&["-n", "-d", "hearth.apcu=On"]),
        ["[true,true,false]"]
    );
    assert_eq!(printed(&["-d", "hearth.apcu=1"]), ["[true,true,true]"]);
}

fn with_it(server: ServerBuilder) -> Server {
    server
        .args(["--workers", "2", "--ini", "hearth.apcu=1"])
        .env("PHP_INI_SCAN_DIR", "/nonexistent")
        .start()
}

#[track_caller]
fn all_workers_share_it(server: Server) {
    assert_eq!(ok(&server.get("/?store")), "[true,[\"v\",1.5]]");
    let (answers, _) = at_once(&server, &same("/?count", 12));
    answers.iter().for_each(|answer| drop(ok(answer)));
    assert_eq!(ok(&server.get("/?read")), "[12,[\"v\",1.5],[\"k\",\"n\"]]");
    server.stop();
}

const HANDLE: &str = r"match ($_SERVER['QUERY_STRING']) {
    'store' => [apcu_store('k', ['v', 1.5]), apcu_fetch('k')],
    'count' => [usleep(5000), apcu_inc('n')],
    'read' => [apcu_fetch('n'), apcu_fetch('k'), array_values(array_intersect(['k', 'n'], array_keys(iterator_to_array(new APCUIterator('/^[kn]$/')))))],
}";

#[test]
fn handlers_share_it() {
    all_workers_share_it(with_it(Server::script(&format!(
        "return fn () => json_encode({HANDLE});"
    ))));
}

#[test]
fn classic_sites_share_it() {
    let site = format!("<?php echo json_encode({HANDLE});");
    all_workers_share_it(with_it(Server::app(".").file("index.php", site)));
}
