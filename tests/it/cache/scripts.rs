//! The cache of a script that `hearth run` executes: its server's, or one of its own.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use rustix::process::Signal;
use testkit::{Server, kill};

use super::{RUN, assert_everywhere, workers};
use crate::support::{eventually, run};

/// A script that runs where the server's app is.
fn script(server: &Server, words: &[&str]) -> Command {
    let mut command = Command::new(testkit::hearth());
    command
        .arg("run")
        .args(words)
        .env("XDG_RUNTIME_DIR", server.directory())
        .current_dir(server.directory());
    command
}

#[track_caller]
pub(crate) fn printed(command: &mut Command) -> String {
    let output = command.output().expect("hearth starts");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn scripts_share_that_of_their_apps_server() {
    let server = workers(2).start();
    run(
        &server,
        "$cache->set('k', ['of the server']); $cache->set('o', new ArrayObject([7]));",
    );
    let code = r"$cache = new Hearth\Cache(); $cache->increment('n'); chdir('/');
        echo json_encode([$cache->get('k'), $cache->get('o')[0] ?? null]);
        $cache->set('k', ['of the script']); $cache->lock('l', 60)?->extend(60);";
    let shared = r#"[["of the server"],7]"#;
    let of_the_app = ["--app", "app.php", "-r", code];
    assert_eq!(printed(&mut script(&server, &of_the_app)), shared);
    assert_everywhere(
        &server,
        "return [$cache->get('k'), $cache->get('n')];",
        r#"[["of the script"],1]"#,
    );
    // By the environment, and by hearth.toml.
    run(&server, "$cache->set('k', ['of the server']);");
    let mut command = script(&server, &["-r", code]);
    assert_eq!(printed(command.env("HEARTH_APP", "app.php")), shared);
    run(&server, "$cache->set('k', ['of the server']);");
    std::fs::write(server.directory().join("hearth.toml"), "app = 'app.php'").expect("written");
    assert_eq!(printed(&mut script(&server, &["-r", code])), shared);
    assert_eq!(run(&server, "return $cache->get('n');"), "3");
    // A script that names no app has one of its own.
    std::fs::remove_file(server.directory().join("hearth.toml")).expect("it is there");
    assert_eq!(printed(&mut script(&server, &["-r", code])), "[null,null]");
    server.stop();
}

#[test]
fn scripts_without_a_server_have_one_of_their_own() {
    let code = r"$cache = new Hearth\Cache(); $cache->set('k', [1]); echo json_encode($cache->get('k')), count($cache->stats());
        echo implode(Hearth\parallel(array_fill(0, 3, fn () => $cache->remember('r', 1, function () { usleep(1000); return 'x'; }))));";
    for words in [
        &["-r", code][..],
        &["--app", "/nowhere/app.php", "-r", code],
    ] {
        let output = Command::new(testkit::hearth())
            .arg("run")
            .args(words)
            .output()
            .expect("hearth starts");
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            "[1]20xxx",
            "{output:?}"
        );
    }
}

/// What a script prints that runs without any `php.ini`.
pub(crate) fn without_settings(code: &str) -> String {
    printed(Command::new(testkit::hearth()).args(["run", "-n", "-d", "hearth.apcu=1", "-r", code]))
}

/// A copy of a process that ends is not the end of what the process has.
#[test]
fn what_a_script_holds_is_not_its_forks() {
    let code = r"$cache = new Hearth\Cache(); $lock = $cache->lock('l', 60);
        $fork = function () { if (pcntl_fork() === 0) { exit; } pcntl_wait($status); };
        $fork();
        $kept = $cache->remember('r', 60, function () use ($fork) { $fork(); return 1; });
        echo json_encode([$lock->isHeld(), $cache->lock('l', 1), $kept, $cache->get('r'), $lock->release()]);";
    assert_eq!(without_settings(code), "[true,null,1,1,true]");
}

/// A script may run for longer than the server: what the next server's workers write it sees, and no more what was before.
#[test]
fn a_script_goes_on_with_the_next_server() {
    let folder = testkit::temporary();
    std::fs::write(folder.path().join("app.php"), format!("<?php {RUN}")).expect("written");
    let control = folder.path().join("control.sock");
    let start = || {
        let control = control.to_str().expect("text");
        Server::app(folder.path().join("app.php"))
            .args(["--control", control])
            .start()
    };
    let code = r"$cache = new Hearth\Cache();
        while (fgets(STDIN)) { echo json_encode([$cache->get('k'), $cache->lock('l', 9)?->token() > $before = $before ?? 0]), PHP_EOL; }";
    let first = start();
    let mut script = Command::new(testkit::hearth())
        .args(["run", "-r", code])
        .env("HEARTH_CONTROL", &control)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("hearth starts");
    let mut lines = BufReader::new(script.stdout.take().expect("a pipe")).lines();
    let input = script.stdin.take().expect("a pipe");
    let mut request = || {
        writeln!(&input).expect("it reads");
        lines.next().expect("it answers").expect("a line")
    };
    run(&first, "$cache->set('k', ['first']);");
    assert_eq!([request(), request()], [r#"[["first"],true]"#; 2]);
    first.stop();
    assert_eq!(request(), "[null,true]");
    let second = start();
    run(&second, "$cache->set('k', ['second']);");
    eventually("the script has found the second server", || {
        request() == r#"[["second"],true]"#
    });
    kill(second.pid(), Signal::KILL);
    second.killed();
    assert_eq!(request(), "[null,true]");
    drop(input);
    assert!(script.wait().expect("it ran").success());
}
