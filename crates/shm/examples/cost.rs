//! What one request costs the worker, and how much of that is its fingerprint:
//! `cargo run --release -p scoreboard --example cost`.
use std::hint::black_box;
use std::os::fd::AsFd;
use std::time::Instant;

use shm::{Begins, Quarantine, Scoreboard, Suspect, Writer};

const TIMES: u64 = 20_000_000;
const TARGET: &[u8] = b"/articles/17?page=2";

fn main() -> std::io::Result<()> {
    let board = Scoreboard::create(256)?;
    let writer = Writer::attach(board.as_fd().try_clone_to_owned()?)?;
    let table = Quarantine::map(&Quarantine::create([1, 2])?)?;
    let row = |id, suspect| {
        let begins = Begins {
            method: black_box(b"GET"),
            target: black_box(TARGET),
            id,
            suspect,
        };
        let ticket = writer.begin(begins);
        writer.end(black_box(ticket), 200);
    };
    report("a row", |id| row(id, Suspect::default()));
    report("a row with a fingerprint", |id| {
        let parts = [&b"GET"[..], TARGET, b"www.example.org", b""].map(black_box);
        let mut fingerprint = table.fingerprint();
        parts.iter().for_each(|part| fingerprint.add(part));
        let suspect = Suspect {
            fingerprint: fingerprint.finish(),
            epoch: table.epoch(),
            again: false,
        };
        row(id, suspect);
    });
    Ok(())
}

fn report(what: &str, request: impl Fn(u64)) {
    let start = Instant::now();
    (0..TIMES).for_each(request);
    let nanoseconds = start.elapsed().as_nanos() as f64 / TIMES as f64;
    println!("{what}: {nanoseconds:.1} ns per request");
}
