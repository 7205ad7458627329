//! Agreement with ab and wrk on a server whose delay sets the rate.
//!
//! Both are Debian packages (apache2-utils, wrk); a missing one is a failure, not a skip.

use crate::tool::{one_of_three, run};
use crate::truth::Truth;
use std::process::Command;

fn peer(program: &str, args: &[&str]) -> String {
    let output = Command::new(program)
        .args(args)
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}; install apache2-utils and wrk"));
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// The first number on the line that contains `label`, after it.
fn number(text: &str, label: &str) -> f64 {
    let line = text
        .lines()
        .find(|line| line.contains(label))
        .unwrap_or_else(|| panic!("no {label} in {text}"));
    let rest = &line[line.find(label).unwrap() + label.len()..];
    rest.split_whitespace()
        .find_map(|word| word.parse().ok())
        .unwrap_or_else(|| panic!("no number in {line}"))
}

fn close(ours: f64, theirs: f64, share: f64) {
    assert!(
        (ours / theirs - 1.0).abs() <= share,
        "{ours} against {theirs}"
    );
}

/// The two run one after the other, and the machine may have less time for one of them.
#[test]
fn ab_counts_the_same() {
    one_of_three(as_ab);
}

fn as_ab() {
    let server = Truth::start();
    let url = server.url("/delay/10");
    let theirs = peer("ab", &["-q", "-k", "-c", "8", "-n", "800", &url]);
    let (runs, text) = crate::tool::runs(&["--as", "ab", "-q", "-k", "-c", "8", "-n", "800", &url]);
    close(
        runs[0].rates.goodput,
        number(&theirs, "Requests per second:"),
        0.25,
    );
    for exact in [
        "Complete requests:",
        "Failed requests:",
        "Keep-Alive requests:",
        "Total transferred:",
        "HTML transferred:",
        "Document Length:",
        "Concurrency Level:",
        "Server Port:",
    ] {
        assert_eq!(
            number(&text, exact) as u64,
            number(&theirs, exact) as u64,
            "{exact}"
        );
    }
    close(number(&text, "50%"), number(&theirs, "50%"), 0.35);
}

#[test]
fn wrk_counts_the_same() {
    one_of_three(as_wrk);
}

fn as_wrk() {
    let server = Truth::start();
    let url = server.url("/delay/10");
    let theirs = peer(
        "wrk",
        &["-t", "2", "-c", "8", "-d", "2s", "--latency", &url],
    );
    let (runs, text) = crate::tool::runs(&[
        "--as",
        "wrk",
        "-t",
        "2",
        "-c",
        "8",
        "-d",
        "2s",
        "--latency",
        &url,
    ]);
    close(
        runs[0].rates.responses,
        number(&theirs, "Requests/sec:"),
        0.25,
    );
    let p50 = |text: &str| {
        text.lines()
            .find_map(|line| {
                line.trim()
                    .strip_prefix("50%")?
                    .trim()
                    .strip_suffix("ms")?
                    .parse::<f64>()
                    .ok()
            })
            .unwrap()
    };
    close(p50(&text), p50(&theirs), 0.35);
}

#[test]
fn failures_have_ab_s_four_names() {
    let server = Truth::start();
    let url = server.url("/eof-every/10");
    let theirs = peer("ab", &["-q", "-k", "-r", "-c", "2", "-n", "200", &url]);
    let server = Truth::start();
    let (_, text) = crate::tool::runs(&[
        "--as",
        "ab",
        "-q",
        "-k",
        "-r",
        "-c",
        "2",
        "-n",
        "200",
        &server.url("/eof-every/10"),
    ]);
    let failed = text
        .lines()
        .find(|line| line.contains("(Connect:"))
        .unwrap()
        .to_owned();
    assert_eq!(
        failed.trim(),
        "(Connect: 0, Receive: 0, Length: 20, Exceptions: 0)"
    );
    assert!(theirs.contains("Length: "), "{theirs}");
    let varying = server.url("/varying");
    let (runs, _) = crate::tool::runs(&["--as", "ab", "-k", "-n", "100", &varying]);
    assert!(
        runs[0].counts.failed > 50,
        "without -l another length is a failure"
    );
    let result = run(&["--as", "ab", "-k", "-l", "-n", "100", &varying]);
    assert_eq!(result.counts.failed, 0);
}

#[test]
fn answers_after_wrk_s_time_out_are_counted_but_kept() {
    let server = Truth::start();
    let (runs, text) = crate::tool::runs(&[
        "--as",
        "wrk",
        "-t",
        "1",
        "-c",
        "2",
        "-d",
        "1s",
        "--timeout",
        "100ms",
        &server.url("/delay/300"),
    ]);
    let late = runs[0].counts.good;
    assert!(
        late >= 2 && runs[0].counts.failed == 0,
        "{:?}",
        runs[0].counts
    );
    assert!(
        text.contains(&format!(
            "Socket errors: connect 0, read 0, write 0, timeout {late}"
        )),
        "{text}"
    );
}
