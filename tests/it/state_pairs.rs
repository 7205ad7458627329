//! Pairs of requests of one worker: one sets something of PHP, the other looks at it, later and meanwhile. What the other sees is what
//! the pair's look sees before anything is set, or stands in the table of engine state as shared.

use std::collections::HashMap;
use std::path::Path;

use testkit::Server;
use testkit::http::Client;
use testkit::service::Fpm;

use crate::support::{eventually, ok};

const PROBES: &str = "tests/apps/state";

/// One of them.
struct Pair {
    name: String,
    /// The row of the table that says that it crosses over; empty: it does not.
    row: String,
}

impl Pair {
    fn list(text: &str) -> Vec<Self> {
        let lines = text
            .lines()
            .map(|line| line.split_once('\t').expect("two columns"));
        lines
            .map(|(name, row)| Self {
                name: name.to_owned(),
                row: row.to_owned(),
            })
            .collect()
    }

    fn is_shared(&self) -> bool {
        !self.row.is_empty()
    }

    /// Shared while a request that has set it runs, and put back then.
    fn is_put_back(&self) -> bool {
        ["signals, limits, priority", "identity"].contains(&self.row.as_str())
            || self.name == "sem_acquire()"
    }

    fn target(&self, page: &str, rest: &str) -> String {
        let name = self.name.bytes().map(|byte| format!("%{byte:02X}"));
        format!("/{page}?probe={}{rest}", name.collect::<String>())
    }
}

/// All pairs, served with a number of requests in flight per worker.
struct Pairs {
    server: Server,
    all: Vec<Pair>,
}

impl Pairs {
    fn start(concurrency: &str) -> Self {
        Self::start_from(&testkit::checkout().join(PROBES), concurrency)
    }

    fn start_from(folder: &Path, concurrency: &str) -> Self {
        let handler = folder.join("handler.php");
        let server = Server::script(&format!("return require '{}';", handler.display()))
            .args(["--workers", "1", "--concurrency", concurrency])
            .args(["--ini", "ffi.enable=1"])
            .start();
        let all = Pair::list(&ok(&server.get("/")));
        assert!(all.len() > 117, "{}", all.len());
        Self { server, all }
    }

    fn see(&self, pair: &Pair) -> String {
        ok(&self.server.get(&pair.target("", "&do=see")))
    }

    /// A request changes the state and ends; returns what it saw.
    fn set(&self, pair: &Pair) -> String {
        ok(&self.server.get(&pair.target("", "")))
    }

    /// A request changes the state and waits; what another one sees meanwhile, and what the first saw before and after.
    fn set_and_wait(&self, number: usize, pair: &Pair) -> (String, String) {
        let go = self.server.directory().join(format!("go-{number}"));
        let waits = go.with_extension("waits");
        let mut first = self.server.connect();
        let target = pair.target("", &format!("&go={}", go.display()));
        first.send(format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n"));
        eventually("the request waits", || waits.exists());
        let other = self.see(pair);
        std::fs::write(&go, "").expect("a file");
        (other, ok(&first.response()))
    }

    fn clear(&self, pair: &Pair) {
        ok(&self.server.get(&pair.target("", "&do=clear")));
    }

    /// A request that sets waits while another one looks.
    fn check_beside(&self, number: usize, pair: &Pair, wrong: &mut Vec<String>) {
        let name = &pair.name;
        let fresh = self.see(pair);
        let (other, own) = self.set_and_wait(number, pair);
        match pair.is_shared() {
            false if other != fresh => {
                wrong.push(format!("{name}: another request saw {other}, not {fresh}"))
            }
            true if other == fresh => wrong.push(format!(
                "{name}: listed as shared ({}), but is not",
                pair.row
            )),
            _ => {}
        }
        match twice(&own) {
            None => wrong.push(format!("{name}: not the same after the wait: {own}")),
            Some(own) if own == fresh && name != "stat cache" => {
                wrong.push(format!("{name}: the pair changes nothing: {own}"));
            }
            Some(_) => {}
        }
        self.check_after(pair, &fresh, wrong);
        self.clear(pair);
    }

    /// A request that sets ends before others look and set.
    fn check_after_one_another(&self, pair: &Pair, wrong: &mut Vec<String>) {
        let name = &pair.name;
        let fresh = self.see(pair);
        let first = self.set(pair);
        let second = self.set(pair);
        self.check_after(pair, &fresh, wrong);
        if first != second && !pair.is_shared() {
            wrong.push(format!(
                "{name}: one request saw {first}, the next {second}"
            ));
        }
        self.clear(pair);
    }

    fn check_after(&self, pair: &Pair, fresh: &str, wrong: &mut Vec<String>) {
        let after = self.see(pair);
        if after != fresh && (!pair.is_shared() || pair.is_put_back()) {
            wrong.push(format!(
                "{}: a later request saw {after}, not {fresh}",
                pair.name
            ));
        }
    }
}

/// `[a,a]`, as the app answers with what it saw before and after its wait.
fn twice(seen: &str) -> Option<&str> {
    let inner = seen.strip_prefix('[')?.strip_suffix(']')?;
    let half = inner.get(..inner.len() / 2)?;
    (inner == format!("{half},{half}")).then_some(half)
}

#[test]
fn what_a_waiting_request_has_set_is_its_own() {
    let pairs = Pairs::start("64");
    let mut wrong = Vec::new();
    for (number, pair) in pairs.all.iter().enumerate() {
        pairs.check_beside(number, pair, &mut wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    pairs.server.stop();
}

fn nothing_is_left(concurrency: &str) {
    let pairs = Pairs::start(concurrency);
    let mut wrong = Vec::new();
    for pair in &pairs.all {
        pairs.check_after_one_another(pair, &mut wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    pairs.server.stop();
}

#[test]
fn nothing_is_left_of_a_request() {
    nothing_is_left("64");
}

#[test]
fn nothing_is_left_of_a_request_one_at_a_time() {
    nothing_is_left("1");
}

#[test]
fn what_is_shared_stands_in_the_table() {
    let table =
        std::fs::read_to_string(testkit::checkout().join("crates/php-sys/state/engine.toml"))
            .expect("the table");
    let pairs = Pairs::start("64");
    let missing: Vec<&str> = pairs
        .all
        .iter()
        .filter(|pair| pair.is_shared() && !table.contains(&format!("name = \"{}\"", pair.row)))
        .map(|pair| pair.row.as_str())
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
    pairs.server.stop();
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("the probes") {
        let from = entry.expect("a probe").path();
        let to = to.join(from.file_name().expect("a name"));
        match from.is_dir() {
            true => copy(&from, &to),
            false => drop(std::fs::copy(&from, &to).expect("a file")),
        }
    }
}

/// What a request sees before and behind what it sets is what it sees under php-fpm.
#[test]
fn a_request_sees_what_it_sees_under_php_fpm() {
    let root = testkit::document_root();
    copy(&testkit::checkout().join(PROBES), root.path());
    // Of the process: what a pool sets is nothing that PHP code may.
    let ini = [
        ("ffi.enable", "1"),
        ("output_buffering", "0"),
        ("html_errors", "0"),
    ];
    let fpm = Fpm::start_with(root.path(), &[], &ini, "");
    let get = |target: &str| ok(&Client::connect(&fpm.address()).get(target));
    let known: HashMap<String, Pair> = Pair::list(&get("/fpm.php"))
        .into_iter()
        .map(|pair| (pair.name.clone(), pair))
        .collect();
    let pairs = Pairs::start_from(root.path(), "64");
    let mut wrong = Vec::new();
    // What is shared, and what ext/pcntl has, php-fpm has otherwise.
    let alike = |pair: &&Pair| !pair.is_shared() && known.contains_key(&pair.name);
    // First all that is before: php-fpm keeps some of it, such as socket_last_error().
    for (moment, rest) in [("before", "&do=see"), ("behind", "")] {
        for pair in pairs.all.iter().filter(alike) {
            let ours = ok(&pairs.server.get(&pair.target("", rest)));
            let theirs = get(&pair.target("fpm.php", rest));
            if ours != theirs {
                wrong.push(format!(
                    "{}, {moment}: {ours}, under php-fpm {theirs}",
                    pair.name
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    pairs.server.stop();
}
