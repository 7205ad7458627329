//! `hearth bench` as a user runs it, with Apache, nginx, php-fpm and MariaDB really started: what it measures, what it says of what it
//! cannot, and that it leaves nothing behind, however it ends.

mod arena;
mod ends;
mod experiments;
mod own_site;
mod scenarios;
mod verbs;

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// A run in a directory of its own.
struct Bench {
    directory: tempfile::TempDir,
    command: Command,
}

/// Short rounds: these tests look at what is done, not at figures.
const SHORT: &[&str] = &[
    "--rounds",
    "1",
    "--seconds",
    "0.2",
    "--connections",
    "8",
    "--quiet",
    "--json",
    "result.json",
];

impl Bench {
    fn new(words: &[&str]) -> Self {
        let directory = testkit::document_root();
        let mut command = Command::new(testkit::hearth());
        command
            .arg("bench")
            .args(words)
            .current_dir(directory.path())
            .env("TMPDIR", directory.path())
            .env("XDG_CACHE_HOME", directory.path().join("cache"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Self { directory, command }
    }

    fn short(words: &[&str]) -> Self {
        Self::new(&[words, SHORT].concat())
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    /// To its end; afterwards nothing of it is left.
    fn run(mut self) -> Done {
        let output = self.command.output().expect("hearth starts");
        self.done(output)
    }

    fn done(self, output: Output) -> Done {
        let left = left_behind(self.path());
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let done = Done {
            out: text(&output.stdout),
            err: text(&output.stderr),
            code: output.status.code(),
            result: std::fs::read(self.path().join("result.json")).map_or(Value::Null, |bytes| {
                serde_json::from_slice(&bytes).expect("the result is JSON")
            }),
        };
        assert!(
            left.is_empty(),
            "left behind: {left:?}\n{}{}",
            done.out,
            done.err
        );
        done
    }
}

/// What a run printed and wrote.
#[derive(Debug)]
struct Done {
    out: String,
    err: String,
    code: Option<i32>,
    result: Value,
}

impl Done {
    fn cells(&self) -> Vec<&Value> {
        let scenarios = self.result["scenarios"].as_array();
        let all = scenarios
            .into_iter()
            .flatten()
            .flat_map(|scenario| scenario["cells"].as_array().into_iter().flatten());
        all.collect()
    }

    /// The fairly configured cells of a server.
    fn of(&self, runtime: &str) -> Vec<&Value> {
        let mut cells = self.cells();
        cells.retain(|cell| cell["runtime"] == runtime && cell["column"] == "fair");
        cells
    }

    /// All cells of these servers were measured, with good answers and CPU time.
    fn measured(&self, runtimes: &[&str]) {
        for runtime in runtimes {
            let cells = self.of(runtime);
            assert!(
                !cells.is_empty(),
                "{runtime}: no cell\n{}{}",
                self.out,
                self.err
            );
            for cell in cells {
                assert_eq!(
                    cell["status"]["is"], "measured",
                    "{runtime}: {}\n{}{}",
                    cell["status"], self.out, self.err
                );
                let repeat = &cell["repeats"][0];
                assert!(
                    repeat["load"]["counts"]["good"].as_u64() > Some(0),
                    "{runtime}: {}",
                    repeat["load"]["counts"]
                );
                assert_eq!(
                    repeat["load"]["counts"]["failed"], 0,
                    "{runtime}: {}",
                    repeat["load"]["error_samples"]
                );
                let server = repeat["cpu"]
                    .as_array()
                    .and_then(|all| all.iter().find(|one| one["role"] == "server"));
                assert!(
                    server.is_some_and(|one| one["cpu_us_per_request"].as_f64() > Some(0.1)),
                    "{runtime}: {}",
                    repeat["cpu"]
                );
                assert!(
                    cell["limit"].as_str().is_some_and(|why| !why.is_empty()),
                    "{runtime}: why not double?"
                );
            }
        }
    }
}

/// Processes that know the run's directory, and what is in it still beside the result.
fn left_behind(directory: &Path) -> Vec<String> {
    let name = directory.display().to_string();
    let until = Instant::now() + crate::support::TIMEOUT;
    loop {
        let mut left = processes_of(&name, "");
        let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
        left.extend(
            entries
                .map(|entry| entry.file_name().to_string_lossy().into_owned())
                .filter(|name| name.starts_with("hearth-bench-")),
        );
        if left.is_empty() || Instant::now() > until {
            return left;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Command lines of the processes that name `directory` in theirs or have it as TMPDIR, and contain `part`; each begins with its number.
fn processes_of(directory: &str, part: &str) -> Vec<String> {
    let pids = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut found = Vec::new();
    for pid in pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()) {
        let read = |file: &str| {
            let bytes = std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
            String::from_utf8_lossy(&bytes).replace('\0', " ")
        };
        let line = read("cmdline");
        if (line.contains(directory) || read("environ").contains(directory))
            && line.contains(part)
            && pid != std::process::id()
        {
            found.push(format!("{pid} {line}"));
        }
    }
    found
}
