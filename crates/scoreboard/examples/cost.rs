//! What one request costs the worker: `cargo run --release -p scoreboard --example cost`.
use std::hint::black_box;
use std::os::fd::AsFd;
use std::time::Instant;

fn main() -> std::io::Result<()> {
    let board = scoreboard::Scoreboard::create(256)?;
    let writer = scoreboard::Writer::attach(board.as_fd().try_clone_to_owned()?)?;
    let n = 20_000_000u64;
    let start = Instant::now();
    for id in 0..n {
        let begins = scoreboard::Begins {
            method: black_box(b"GET"),
            target: black_box(b"/articles/17?page=2"),
            id,
            suspect: scoreboard::Suspect {
                fingerprint: id,
                epoch: 0,
                again: false,
            },
        };
        let ticket = writer.begin(begins);
        writer.end(black_box(ticket), 200);
    }
    println!(
        "{:.1} ns per request",
        start.elapsed().as_nanos() as f64 / n as f64
    );
    Ok(())
}
