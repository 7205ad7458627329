//! The invariants of `ARCHITECTURE.md` that only running processes can show.

use std::fs;

use testkit::Server;

#[test]
fn the_supervisor_never_maps_php_and_the_zygote_has_one_thread() {
    let server = Server::script("return fn () => 'x';")
        .args(["--workers", "2"])
        .start();
    let maps =
        fs::read_to_string(format!("/proc/{}/maps", server.pid())).expect("the supervisor runs");
    assert!(!maps.contains("libphp"), "the supervisor maps libphp");
    let zygote = server.zygotes()[0];
    let threads = fs::read_dir(format!("/proc/{zygote}/task"))
        .expect("the zygote runs")
        .count();
    assert_eq!(threads, 1, "threads of the zygote");
    assert_eq!(server.workers().len(), 2);
    server.stop();
}
