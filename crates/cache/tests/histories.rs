//! Linearizability of recorded histories: of several threads, each with a mapping and copies of its own as workers have, and
//! of several processes. One order of all operations must explain every result.
#![forbid(unsafe_code)]

mod support;

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Write as _};
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};

use cache::{Cache, Condition, Encoding, Found, Stored, Write};
use support::Random;

const THREADS: u64 = 3;
const EACH: usize = 5;
const KEYS: [&[u8]; 2] = [b"a", b"b"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    /// Sets a key to a number, with the tag if the last field is true.
    Set(usize, i64, bool),
    Get(usize),
    Delete(usize),
    Increment(usize),
    Swap(usize, i64, i64),
    DeleteTag,
    Clear,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Done,
    Is(bool),
    Number(Option<i64>),
}

#[derive(Debug, Clone, Copy)]
struct Event {
    operation: Operation,
    answer: Answer,
    begin: u64,
    end: u64,
}

/// The number of each key, and whether it has the tag.
type State = [Option<(i64, bool)>; 2];

fn apply(state: &mut State, operation: Operation) -> Answer {
    match operation {
        Operation::Set(key, value, tagged) => {
            state[key] = Some((value, tagged));
            Answer::Done
        }
        Operation::Get(key) => Answer::Number(state[key].map(|(value, _)| value)),
        Operation::Delete(key) => Answer::Is(state[key].take().is_some()),
        Operation::Increment(key) => {
            let (value, tagged) = state[key].unwrap_or((0, false));
            state[key] = Some((value + 1, tagged));
            Answer::Number(Some(value + 1))
        }
        Operation::Swap(key, expected, value) => {
            let holds = state[key].is_some_and(|(now, _)| now == expected);
            if holds {
                state[key] = Some((value, false));
            }
            Answer::Is(holds)
        }
        Operation::DeleteTag => {
            state
                .iter_mut()
                .for_each(|entry| *entry = entry.filter(|(_, tagged)| !tagged));
            Answer::Done
        }
        Operation::Clear => {
            *state = [None; 2];
            Answer::Done
        }
    }
}

/// Checks linearizability by the algorithm of Wing and Gong: tries each operation that could be the first, and remembers the
/// states that were tried.
fn is_linearizable(history: &[Event]) -> bool {
    fn from(history: &[Event], done: u32, state: State, tried: &mut HashSet<(u32, State)>) -> bool {
        if done.count_ones() as usize == history.len() {
            return true;
        }
        if !tried.insert((done, state)) {
            return false;
        }
        let open = || (0..history.len()).filter(|index| done & 1 << index == 0);
        let first_end = open().map(|index| history[index].end).min().unwrap_or(0);
        let mut candidates = open().filter(|index| history[*index].begin <= first_end);
        candidates.any(|index| {
            let mut next = state;
            apply(&mut next, history[index].operation) == history[index].answer
                && from(history, done | 1 << index, next, tried)
        })
    }
    from(history, 0, [None; 2], &mut HashSet::new())
}

struct Worker {
    cache: Cache,
    copies: HashMap<usize, Found>,
}

impl Worker {
    fn get(&mut self, key: usize) -> Option<i64> {
        let copy = self.copies.get(&key);
        if let Some(copy) =
            copy.filter(|copy| self.cache.is_current(&copy.validators, copy.expires))
        {
            return Some(copy.int);
        }
        let found = self
            .cache
            .read(KEYS[key], &mut Vec::new())
            .expect("not stuck")?;
        let int = found.int;
        self.copies.insert(key, found);
        Some(int)
    }

    fn perform(&mut self, operation: Operation) -> Answer {
        let number = |key: usize, int| Write {
            encoding: Encoding::Int,
            int,
            ..Write::plain(KEYS[key], b"")
        };
        let cache = &self.cache;
        match operation {
            Operation::Set(key, value, tagged) => {
                let tags: &[&[u8]] = if tagged { &[b"tag"] } else { &[] };
                cache
                    .write(&Write {
                        tags,
                        ..number(key, value)
                    })
                    .expect("room");
                Answer::Done
            }
            Operation::Get(key) => Answer::Number(self.get(key)),
            Operation::Delete(key) => Answer::Is(cache.delete(KEYS[key]).expect("not stuck")),
            Operation::Increment(key) => Answer::Number(cache.increment(1, &number(key, 0)).ok()),
            Operation::Swap(key, expected, value) => {
                let condition = Condition::Equals(Encoding::Int, expected, b"");
                let stored = cache.write(&Write {
                    condition,
                    ..number(key, value)
                });
                Answer::Is(stored == Ok(Stored::Yes))
            }
            Operation::DeleteTag => cache
                .delete_tag(b"tag")
                .map(|_| Answer::Done)
                .expect("not stuck"),
            Operation::Clear => cache.clear().map(|()| Answer::Done).expect("not stuck"),
        }
    }
}

fn operation(random: &mut Random) -> Operation {
    let key = random.below(2) as usize;
    let value = random.below(4).cast_signed();
    match random.below(12) {
        0..=2 => Operation::Set(key, value, random.below(2) == 0),
        3..=6 => Operation::Get(key),
        7 => Operation::Delete(key),
        8 => Operation::Increment(key),
        9 => Operation::Swap(key, random.below(4).cast_signed(), value),
        10 => Operation::DeleteTag,
        _ => Operation::Clear,
    }
}

/// Records a history of all threads on one new cache.
fn record(fd: &OwnedFd, seed: u64) -> Vec<Event> {
    let (clock, start) = (AtomicU64::new(0), Barrier::new(THREADS as usize));
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (clock, start) = (&clock, &start);
                scope.spawn(move || {
                    let mut random = Random(seed * THREADS + thread + 1);
                    let mut worker = Worker {
                        cache: Cache::map(fd).expect("a cache"),
                        copies: HashMap::new(),
                    };
                    start.wait();
                    let events = (0..EACH).map(|_| {
                        let operation = operation(&mut random);
                        let begin = clock.fetch_add(1, Ordering::SeqCst);
                        let answer = worker.perform(operation);
                        let end = clock.fetch_add(1, Ordering::SeqCst);
                        Event {
                            operation,
                            answer,
                            begin,
                            end,
                        }
                    });
                    events.collect::<Vec<_>>()
                })
            })
            .collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().expect("no panic"))
            .collect()
    })
}

#[test]
fn every_history_has_an_order() {
    for seed in 1..3000 {
        let fd = Cache::create(256 * 1024).expect("memory");
        let history = record(&fd, seed * 7919);
        assert!(is_linearizable(&history), "seed {seed}: {history:#?}");
    }
}

/// Returns nanoseconds of a clock that all processes share.
fn now() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

/// Reads lines with a seed and a start time; writes a line for each operation: begin, end, result.
#[test]
#[ignore = "a process of the test below"]
fn process() {
    let Ok(path) = std::env::var("CACHE") else {
        return;
    };
    let file = File::options().read(true).write(true).open(path);
    let mut worker = Worker {
        cache: Cache::map(&file.expect("the cache").into()).expect("a cache"),
        copies: HashMap::new(),
    };
    println!("\nready");
    for line in std::io::stdin().lines() {
        let line = line.expect("a line");
        let (seed, start) = line.split_once(' ').expect("two numbers");
        let mut random = Random(seed.parse().expect("a seed"));
        let start: u64 = start.parse().expect("a time");
        while now() < start {
            std::hint::spin_loop();
        }
        for _ in 0..EACH {
            let operation = operation(&mut random);
            let begin = now();
            let answer = worker.perform(operation);
            println!("{begin} {} {}", now(), answer_text(answer));
        }
    }
}

fn answer_text(answer: Answer) -> String {
    match answer {
        Answer::Done => "done".into(),
        Answer::Is(is) => is.to_string(),
        Answer::Number(number) => number.map_or("none".into(), |number| number.to_string()),
    }
}

struct Process {
    child: Child,
    input: ChildStdin,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Process {
    fn start(fd: &OwnedFd) -> Process {
        let path = format!("/proc/{}/fd/{}", std::process::id(), fd.as_raw_fd());
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "process", "--ignored", "--nocapture"])
            .env("CACHE", path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a process");
        let mut process = Process {
            input: child.stdin.take().expect("a pipe"),
            lines: BufReader::new(child.stdout.take().expect("a pipe")).lines(),
            child,
        };
        assert!(
            process
                .lines
                .any(|line| line.is_ok_and(|line| line == "ready"))
        );
        process
    }

    fn events(&mut self, seed: u64) -> Vec<Event> {
        let mut random = Random(seed);
        let events = (0..EACH).map(|_| {
            let operation = operation(&mut random);
            let line = self.lines.next().expect("a line").expect("a line");
            let mut words = line.split(' ');
            let mut word = || words.next().expect("three words");
            let (begin, end) = (word().parse(), word().parse());
            let answer = match (operation, word()) {
                (_, "done") => Answer::Done,
                (_, "true") => Answer::Is(true),
                (_, "false") => Answer::Is(false),
                (_, number) => Answer::Number(number.parse().ok()),
            };
            Event {
                operation,
                answer,
                begin: begin.expect("a time"),
                end: end.expect("a time"),
            }
        });
        events.collect()
    }
}

#[test]
fn every_history_of_processes_has_an_order() {
    let fd = Cache::create(256 * 1024).expect("memory");
    let cache = Cache::map(&fd).expect("a cache");
    let mut processes: Vec<_> = (0..THREADS).map(|_| Process::start(&fd)).collect();
    for round in 1..1000 {
        cache.clear().expect("not stuck");
        let start = now() + 50_000;
        let seed = |index: usize| (round * THREADS + index as u64) * 7919;
        for (index, process) in processes.iter_mut().enumerate() {
            writeln!(process.input, "{} {start}", seed(index)).expect("it listens");
        }
        let events = processes.iter_mut().enumerate();
        let history: Vec<_> = events
            .flat_map(|(index, process)| process.events(seed(index)))
            .collect();
        assert!(is_linearizable(&history), "round {round}: {history:#?}");
    }
    for mut process in processes {
        drop(process.input);
        process.child.wait().expect("it ends with its input");
    }
}

/// The check finds a violation: a read of a value that was overwritten before the read began.
#[test]
fn an_old_value_is_found_out() {
    let event = |operation, answer, begin, end| Event {
        operation,
        answer,
        begin,
        end,
    };
    let mut history = vec![
        event(Operation::Set(0, 1, false), Answer::Done, 0, 1),
        event(Operation::Set(0, 2, false), Answer::Done, 2, 3),
        event(Operation::Get(0), Answer::Number(Some(2)), 4, 5),
    ];
    assert!(is_linearizable(&history));
    history[2].answer = Answer::Number(Some(1));
    assert!(!is_linearizable(&history));
    history[2].begin = 2;
    assert!(is_linearizable(&history));
}
