//! A fixed piece of work before each measurement, on the servers' processor: if it takes longer, so does the measurement
//! after it.

use report::{Calibration, Run};
use std::hint::black_box;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// Repetitions of each part; the shortest time counts, because an interruption only makes it longer.
const TIMES: usize = 10;
/// Multiplications of the computing part: about a millisecond.
const STEPS: u32 = 500_000;
/// Round trips of one byte in the loopback part.
const ROUND_TRIPS: usize = 50;
/// The deviation from the median beyond which a repeat is marked.
const DRIFT: f64 = 0.05;

/// Does the work on `processor`; returns `None` if loopback does not work.
pub(crate) fn measure(processor: Option<usize>) -> Option<Calibration> {
    let thread = std::thread::spawn(move || {
        let mut set = rustix::thread::CpuSet::new();
        if let Some(processor) = processor {
            set.set(processor);
            let _ = rustix::thread::sched_setaffinity(None, &set);
        }
        let compute_us = shortest(|| Some(compute()))?;
        let mut pair = pair().ok()?;
        let loopback_us = shortest(|| to_and_fro(&mut pair).ok())?;
        Some(Calibration {
            compute_us,
            loopback_us,
        })
    });
    thread.join().ok()?
}

fn shortest(mut part: impl FnMut() -> Option<Duration>) -> Option<f64> {
    let mut all = Vec::with_capacity(TIMES);
    for _ in 0..TIMES {
        all.push(part()?.as_secs_f64() * 1e6);
    }
    all.into_iter().reduce(f64::min)
}

fn compute() -> Duration {
    let began = Instant::now();
    let mut x = 1_u64;
    for _ in 0..STEPS {
        x = black_box(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    }
    began.elapsed()
}

fn pair() -> std::io::Result<[TcpStream; 2]> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let one = TcpStream::connect(listener.local_addr()?)?;
    let (other, _) = listener.accept()?;
    one.set_nodelay(true)?;
    other.set_nodelay(true)?;
    Ok([one, other])
}

/// Sends bytes back and forth in one thread, so that no wake-up is included.
fn to_and_fro([one, other]: &mut [TcpStream; 2]) -> std::io::Result<Duration> {
    let (began, mut byte) = (Instant::now(), [0]);
    for _ in 0..ROUND_TRIPS {
        one.write_all(&byte)?;
        other.read_exact(&mut byte)?;
        other.write_all(&byte)?;
        one.read_exact(&mut byte)?;
    }
    Ok(began.elapsed())
}

/// Marks the repeats whose calibration deviates from the run's median.
pub(crate) fn mark_drift(run: &mut Run) {
    let all = || {
        let cells = run.scenarios.iter().flat_map(|one| &one.cells);
        cells
            .flat_map(|cell| &cell.repeats)
            .filter_map(|one| one.calibration)
    };
    let middle = |of: fn(&Calibration) -> f64| {
        let values: Vec<f64> = all().map(|one| of(&one)).collect();
        measure::stats::median(&values)
    };
    let (compute, loopback) = (middle(|one| one.compute_us), middle(|one| one.loopback_us));
    let cells = run.scenarios.iter_mut().flat_map(|one| &mut one.cells);
    for repeat in cells.flat_map(|cell| &mut cell.repeats) {
        let Some(found) = repeat.calibration else {
            continue;
        };
        let drifts = [
            drifted("computing", found.compute_us / compute),
            drifted("the loopback interface", found.loopback_us / loopback),
        ];
        for words in drifts.into_iter().flatten() {
            let noisy = repeat
                .noisy
                .take()
                .map_or_else(String::new, |noisy| noisy + ", ");
            repeat.noisy = Some(noisy + &words);
        }
    }
}

fn drifted(what: &str, ratio: f64) -> Option<String> {
    let change = (ratio - 1.0) * 100.0;
    let words = if change > 0.0 { "slower" } else { "faster" };
    ((ratio - 1.0).abs() > DRIFT).then(|| {
        format!(
            "{what} was {:.0} % {words} just before than in the middle of the run",
            change.abs()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use report::{Cell, Repeat, Scenario};

    #[test]
    fn a_fixed_piece_of_work_takes_its_time() {
        let found = measure(None).expect("loopback works");
        assert!(
            found.compute_us > 1.0 && found.loopback_us > 1.0,
            "{found:?}"
        );
    }

    #[test]
    fn what_was_measured_on_a_slower_machine_is_marked() {
        let repeat = |compute_us: f64| Repeat {
            calibration: Some(Calibration {
                compute_us,
                loopback_us: 400.0,
            }),
            ..Repeat::default()
        };
        let cell = Cell {
            repeats: [1000.0, 1010.0, 990.0, 1080.0].map(repeat).into(),
            ..Cell::default()
        };
        let mut run = Run {
            scenarios: vec![Scenario {
                cells: vec![cell],
                ..Scenario::default()
            }],
            ..Run::default()
        };
        mark_drift(&mut run);
        let repeats = &run.scenarios[0].cells[0].repeats;
        let marked: Vec<bool> = repeats.iter().map(|one| one.noisy.is_some()).collect();
        assert_eq!(marked, [false, false, false, true]);
        let words = repeats[3].noisy.as_deref();
        assert_eq!(
            words,
            Some("computing was 7 % slower just before than in the middle of the run")
        );
    }
}
