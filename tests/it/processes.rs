//! The invariants of `docs/internals/invariants.md` that only running processes can show.

use std::fs;

use testkit::Server;

use crate::support::eventually;

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

/// Since Linux 6.12 a process says how long its slice is, and what is woken goes before one with a longer slice.
fn can_set_slice() -> bool {
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
fn a_worker_that_computes_gives_way_to_what_is_woken() {
    if !can_set_slice() {
        eprintln!("skipped: this kernel is older than 6.12");
        return;
    }
    let server = Server::script(
        "return function ($request) { \
            $ms = (int) $request->query('compute'); \
            for ($until = hrtime(true) + $ms * 1e6; hrtime(true) < $until;); \
            usleep(1000); \
            return 'x'; };",
    )
    .args(["--workers", "1"])
    .start();
    let Some(others) = slice(server.pid()) else {
        eprintln!("skipped: this kernel has no /proc/PID/sched");
        return drop(server.stop());
    };
    let gives_way = || slice(server.workers()[0]).expect("the kernel tells") > others;
    eventually("at first", gives_way);
    eventually("one that mostly waits does not", || {
        (0..20).for_each(|_| drop(server.get("/")));
        !gives_way()
    });
    eventually("one that computes does again", || {
        (0..5).for_each(|_| drop(server.get("/?compute=20")));
        gives_way()
    });
    server.stop();
}
