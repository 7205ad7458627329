//! Several processes, some of which are killed in the middle of an operation.
#![forbid(unsafe_code)]

mod support;

use std::fs::File;
use std::io::{BufRead, BufReader, Write as _};
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use cache::{Cache, Claim, Locked, Owner, Space, Write};
use support::{Random, get, set};

/// Starts this test program again, to run the function `name` with this cache.
fn process(name: &str, fd: &OwnedFd, seed: u64) -> Child {
    let path = format!("/proc/{}/fd/{}", std::process::id(), fd.as_raw_fd());
    Command::new(std::env::current_exe().expect("this program"))
        .args([
            "--exact",
            name,
            "--ignored",
            "--nocapture",
            "--test-threads=1",
        ])
        .env("CACHE", path)
        .env("SEED", seed.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a process")
}

fn inherited() -> (Cache, Random) {
    let path = std::env::var("CACHE").expect("the parent says where the cache is");
    let seed = std::env::var("SEED")
        .expect("a seed")
        .parse()
        .expect("a number");
    let file = File::options()
        .read(true)
        .write(true)
        .open(path)
        .expect("the cache");
    (Cache::map(&file.into()).expect("a cache"), Random(seed))
}

/// Returns a value of identical bytes, by which a torn value is noticed.
fn whole(random: &mut Random) -> Vec<u8> {
    let length = 1 + random.below(5000) as usize;
    vec![length as u8; length]
}

fn assert_whole(value: &[u8]) {
    assert!(value.iter().all(|byte| *byte == value.len() as u8), "torn");
}

#[test]
#[ignore = "a process of the test below"]
fn writer() {
    let (cache, mut random) = inherited();
    println!("\nbegins");
    for done in 1.. {
        let key = format!("w:{}", random.below(40));
        let value = whole(&mut random);
        let tags: [&[u8]; 2] = [b"tag", b"other"];
        match random.below(7) {
            6 => visit(&cache, &value),
            0 => drop(cache.delete(key.as_bytes())),
            1 => drop(cache.delete_tag(b"tag")),
            2 => drop(cache.write(&Write {
                tags: &tags,
                ..Write::plain(key.as_bytes(), &value)
            })),
            3 => drop(cache.claim(Space::Computation, b"computation", Owner::here(0), 1 << 40)),
            _ => drop(set(&cache, key.as_bytes(), &value)),
        }
        cache
            .increment(1, &Write::plain(b"count", b""))
            .expect("not stuck");
        println!("{done}");
    }
}

fn lock_session(cache: &Cache) -> Locked<'static> {
    let key = b"session";
    match cache.lock_session(key, Owner::here(0)) {
        Ok(Claim::Taken(token)) => Locked { key, token },
        other => panic!("a session whose process was killed is free: {other:?}"),
    }
}

fn visit(cache: &Cache, value: &[u8]) {
    let session = lock_session(cache);
    let mut before = Vec::new();
    cache
        .read_session(session, 1 << 40, &mut before)
        .expect("it is locked");
    assert_whole(&before);
    cache
        .write_session(session, value, 1 << 40)
        .expect("it is locked");
    assert_eq!(cache.unlock_session(session), Ok(true));
}

/// Kills a writer at random moments: no torn value, no stuck lock, no other key lost, no wrong number. `CACHE_KILLS` sets
/// the number of kills.
#[test]
fn a_killed_writer_leaves_nothing_half_done() {
    let kills: u64 =
        std::env::var("CACHE_KILLS").map_or(100, |number| number.parse().expect("a number"));
    let fd = Cache::create(2 << 20).expect("memory");
    let cache = Cache::map(&fd).expect("a cache");
    let mut random = Random(0x1234_5678_9abc);
    for n in 0..200 {
        let key = format!("kept:{n}");
        set(&cache, key.as_bytes(), key.as_bytes()).expect("room");
    }
    let mut count = 0;
    for round in 0..kills {
        let mut child = process("writer", &fd, random.next());
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        assert!(lines.any(|line| line.is_ok_and(|line| line == "begins")));
        std::thread::sleep(Duration::from_micros(random.below(2500)));
        child.kill().expect("it runs");
        child.wait().expect("it ended");
        let printed = lines
            .filter_map(|line| line.ok()?.parse::<i64>().ok())
            .last()
            .unwrap_or(0);
        let now = cache
            .increment(0, &Write::plain(b"count", b""))
            .expect("no lock is stuck");
        assert!(
            (printed..=printed + 1).contains(&(now - count)),
            "{printed} were printed, {} counted",
            now - count
        );
        count = now;
        check(&cache, round);
    }
    assert!(
        kills < 100 || cache.stats().recovered > 0,
        "none died with the lock: {:?}",
        cache.stats()
    );
}

fn check(cache: &Cache, round: u64) {
    for n in 0..200 {
        let key = format!("kept:{n}");
        assert_eq!(
            get(cache, key.as_bytes()).as_deref(),
            Some(key.as_bytes()),
            "round {round}"
        );
    }
    for n in 0..40 {
        if let Some(value) = get(cache, format!("w:{n}").as_bytes()) {
            assert_whole(&value);
        }
    }
    visit(cache, b"\x01");
    assert_eq!(cache.stats().sessions, 1, "round {round}");
    match cache.claim(Space::Computation, b"computation", Owner::here(0), 1 << 40) {
        Ok(Claim::Taken(token)) => {
            assert_eq!(
                cache.give_back(Space::Computation, b"computation", token),
                Ok(true)
            )
        }
        other => panic!("a computation whose process was killed is taken over: {other:?}"),
    }
}

#[test]
#[ignore = "a process of the test below"]
fn server() {
    let cache: &'static Cache = Box::leak(Box::new(inherited().0));
    assert!(cache.serve());
    println!("\nserves");
    std::thread::park();
}

/// A script sees that the server of its cache has ended, whatever ended it.
#[test]
fn the_end_of_the_server_is_seen() {
    let fd = Cache::create(1 << 20).expect("memory");
    let cache: &'static Cache = Box::leak(Box::new(Cache::map(&fd).expect("a cache")));
    assert!(!cache.is_served());
    let mut server = process("server", &fd, 1);
    let mut lines = BufReader::new(server.stdout.take().expect("a pipe")).lines();
    assert!(lines.any(|line| line.is_ok_and(|line| line == "serves")));
    assert!(cache.is_served() && !cache.serve());
    server.kill().expect("it runs");
    server.wait().expect("it ended");
    assert!(!cache.is_served());
}

const INCREMENTS: u64 = 20_000;

#[test]
#[ignore = "a process of the test below"]
fn counter() {
    let (cache, _) = inherited();
    for _ in 0..INCREMENTS {
        cache
            .increment(1, &Write::plain(b"sum", b""))
            .expect("not stuck");
    }
    let _ = std::io::stdout().flush();
}

#[test]
fn eight_processes_count_exactly() {
    let fd = Cache::create(1 << 20).expect("memory");
    let cache = Cache::map(&fd).expect("a cache");
    let children: Vec<Child> = (0..8).map(|n| process("counter", &fd, n)).collect();
    for child in children {
        assert!(child.wait_with_output().expect("it ended").status.success());
    }
    assert_eq!(
        cache.increment(0, &Write::plain(b"sum", b"")),
        Ok(8 * INCREMENTS.cast_signed())
    );
}
