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
