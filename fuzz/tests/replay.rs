//! Runs each target on its corpus, then on mutations of it: the same ones every time, as many as the time allows.
//!
//! `FUZZ_SECONDS` sets the time for each target; the default is one second.
#![forbid(unsafe_code)]

use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fuzz::mutate::{Random, input};
use fuzz::{TARGETS, Target};

const SEED: u64 = 0x4845_4152_5448;

/// An input of the corpus: its path and its bytes.
type Entry = (PathBuf, Vec<u8>);

fn home() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn corpus(name: &str) -> Vec<Entry> {
    let place = home().join("corpus").join(name);
    let entries =
        std::fs::read_dir(&place).unwrap_or_else(|error| panic!("{}: {error}", place.display()));
    let mut corpus: Vec<Entry> = entries
        .map(|entry| {
            let path = entry.expect("a directory can be read").path();
            let bytes = std::fs::read(&path).expect("a file can be read");
            (path, bytes)
        })
        .collect();
    corpus.sort();
    assert!(!corpus.is_empty(), "no corpus in {}", place.display());
    corpus
}

fn seconds() -> Duration {
    let text = std::env::var("FUZZ_SECONDS").unwrap_or_else(|_| "1".to_owned());
    Duration::from_secs_f64(text.parse().expect("FUZZ_SECONDS is a number"))
}

/// Runs the target on the corpus, then on mutations; returns the number of mutations.
fn hold((name, target): Target) -> usize {
    let corpus = corpus(name);
    for (path, bytes) in &corpus {
        assert!(catch_unwind(|| target(bytes)).is_ok(), "{}", path.display());
    }
    let corpus: Vec<Vec<u8>> = corpus.into_iter().map(|(_, bytes)| bytes).collect();
    let (mut random, end, mut count) = (Random::new(SEED), Instant::now() + seconds(), 0);
    while Instant::now() < end {
        let bytes = input(&corpus, &mut random);
        count += 1;
        if catch_unwind(|| target(&bytes)).is_err() {
            let file = std::env::temp_dir().join(format!("hearth-fuzz-{name}-{count}"));
            std::fs::write(&file, &bytes).expect("the finding can be written");
            panic!(
                "{name}: mutation {count} breaks it: \"{}\"\nlook at it again: cargo run -p fuzz --bin {name} -- {}",
                bytes.escape_ascii(),
                file.display()
            );
        }
    }
    count
}

/// Defines one test for each target, with its name.
macro_rules! targets {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            let name = stringify!($name);
            let target = TARGETS.iter().find(|(known, _)| *known == name).expect("a target");
            println!("{name}: {} inputs", hold(*target));
        })*

        #[test]
        fn every_target_is_tested() {
            let tested = [$(stringify!($name)),*];
            let known: Vec<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
            assert_eq!(tested.as_slice(), known);
            for name in known {
                assert!(home().join(format!("fuzz_targets/{name}.rs")).exists(), "{name}");
            }
        }
    };
}

targets!(cached config connections endpoints files frames heads histogram messages peers recordings responses routes);
