//! Profilers and debuggers see tasks as fibers, each with a call stack of its own.
//!
//! Xdebug is not installed for this: Debian's package switches it on for every PHP of the machine.

use testkit::Server;

use crate::support::{at_once, ok};

#[test]
fn xdebug_traces_each_request_on_its_own_stack() {
    let extension = testkit::unpacked_extension("xdebug");
    let code = "function wait($n) { usleep(20000); return $n; } return fn ($r) => wait($r->path) . wait('x');";
    let server = Server::script(code)
        .args(["--workers", "1"])
        .arg(format!("--ini=zend_extension={}", extension.display()))
        .args([
            "--ini",
            "xdebug.mode=trace",
            "--ini",
            "xdebug.start_with_request=yes",
            "--ini",
            "xdebug.use_compression=0",
        ])
        .args([
            "--ini",
            "xdebug.output_dir=.",
            "--ini",
            "xdebug.trace_output_name=calls",
        ])
        .start();
    let (answers, _) = at_once(&server, &["/a", "/b", "/c"]);
    let answers: Vec<String> = answers.iter().map(ok).collect();
    assert_eq!(answers, ["/ax", "/bx", "/cx"]);
    let trace = std::fs::read_to_string(server.directory().join("calls.xt")).expect("a trace");
    server.stop();
    // All six calls are as deep, though three requests were in the middle of theirs at once.
    let calls = trace.lines().filter(|line| line.contains("-> wait("));
    let depths: Vec<usize> = calls.filter_map(|line| line.find("-> ")).collect();
    assert_eq!(depths.len(), 6, "{depths:?}");
    assert!(depths.iter().all(|depth| *depth == depths[0]), "{depths:?}");
}

/// An extension that replaces zend_execute_ex() makes the engine call functions of a script as C code calls them.
#[test]
fn requests_run_at_once_beside_an_extension_that_executes_all_calls() {
    for setting in [
        format!(
            "extension={}",
            testkit::unpacked_extension("pcov").display()
        ),
        format!(
            "zend_extension={}",
            testkit::unpacked_extension("xdebug").display()
        ),
    ] {
        let code = "final class Inside { public static $now = 0, $most = 0; public $most_seen;
                function __construct() { $this->most_seen = eval('return include __DIR__ . \"/part.php\";'); }
                function __call($name, $arguments) { return [$this->most_seen, wait()]; } }
            function wait() { Inside::$most = max(Inside::$most, ++Inside::$now); usleep(50000); Inside::$now--; return Inside::$most; }
            return fn () => [(new Inside())->any()[1]];";
        let server = Server::script(code)
            .file("part.php", "<?php return wait();")
            .args([
                "--workers",
                "1",
                "--ini",
                &setting,
                "--ini",
                "xdebug.mode=develop",
            ])
            .start();
        let (answers, _) = at_once(&server, &["/a", "/b", "/c"]);
        for answer in &answers {
            assert_eq!(ok(answer), "[3]", "{setting}");
        }
        server.stop();
    }
}

/// The first code of a script runs on a stack of its own, which Xdebug takes for a fiber's.
#[test]
fn xdebug_traces_a_script() {
    let extension = testkit::unpacked_extension("xdebug");
    let directory = testkit::temporary();
    let code = "<?php function wait($n) { usleep(1000); return $n; } wait(1); Hearth\\parallel([fn () => wait(2), fn () => wait(3)]);";
    std::fs::write(directory.path().join("script.php"), code).expect("a file can be written");
    for (mode, name) in [("trace", "calls.xt"), ("profile", "calls")] {
        let settings = [
            format!("zend_extension={}", extension.display()),
            format!("xdebug.mode={mode}"),
            "xdebug.start_with_request=yes".into(),
            "xdebug.use_compression=0".into(),
            "xdebug.output_dir=.".into(),
            "xdebug.trace_output_name=calls".into(),
            "xdebug.profiler_output_name=calls".into(),
        ];
        let output = std::process::Command::new(testkit::hearth())
            .arg("run")
            .args(settings.iter().flat_map(|one| ["-d", one]))
            .arg("script.php")
            .current_dir(directory.path())
            .output()
            .expect("hearth starts");
        assert!(output.status.success(), "{output:?}");
        let text = std::fs::read(directory.path().join(name)).expect("what it wrote");
        let text = String::from_utf8_lossy(&text);
        let first = text.lines().find(|line| line.contains("script.php"));
        assert!(
            first.is_some_and(|line| line.contains(&*directory.path().to_string_lossy())),
            "{mode}: {first:?}"
        );
        if mode == "trace" {
            assert_eq!(text.matches("-> wait(").count(), 3, "{text}");
        }
    }
}
