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

/// The slice of a process in nanoseconds, where the kernel tells.
fn slice(pid: u32) -> Option<u64> {
    let about = fs::read_to_string(format!("/proc/{pid}/sched")).ok()?;
    let line = about.lines().find(|line| line.starts_with("se.slice"))?;
    line.rsplit(' ').next()?.parse().ok()
}

/// Since Linux 6.12 a process says how long its slice is, and who is woken goes before one with a longer slice.
fn slices_can_be_said() -> bool {
    let release = rustix::system::uname()
        .release()
        .to_string_lossy()
        .into_owned();
    let mut numbers = release
        .split(|c: char| !c.is_ascii_digit())
        .map_while(|n| n.parse::<u32>().ok());
    (numbers.next(), numbers.next()) >= (Some(6), Some(12))
}

#[test]
fn workers_give_way_to_whoever_is_woken() {
    let server = Server::script("return fn () => 'x';").start();
    if let Some(others) = slice(server.pid()).filter(|_| slices_can_be_said()) {
        for worker in server.workers() {
            assert!(slice(worker).expect("the kernel tells") > others);
        }
    }
    server.stop();
}
