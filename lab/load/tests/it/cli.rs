//! What the program prints, word by word, with the numbers that vary taken out.

use crate::tool::{output, runs};
use crate::truth::Truth;
use snapbox::{Assert, Redactions, str};

/// Replaces everything that differs from run to run.
fn steady(text: &str, server: &Truth) -> String {
    let mut out = String::new();
    for line in text
        .replace(&server.address.to_string(), "ADDRESS")
        .replace(&server.address.port().to_string(), "PORT")
        .lines()
    {
        let mut digits = false;
        for c in line.chars() {
            let number = c.is_ascii_digit() || digits && matches!(c, '.' | ',');
            match (number, digits) {
                (true, false) => out.push('#'),
                (true, true) => {}
                (false, _) => out.push(c),
            }
            digits = number;
        }
        out.push('\n');
    }
    out
}

/// Blanks are columns: how many there are depends on the numbers.
fn squeezed(text: &str) -> String {
    text.lines()
        .map(|line| {
            let indent = line.len() - line.trim_start().len();
            format!(
                "{}{}\n",
                " ".repeat(indent.min(2)),
                line.split_whitespace().collect::<Vec<_>>().join(" ")
            )
        })
        .collect()
}

fn check(text: &str, expected: impl Into<snapbox::Data>) {
    Assert::new()
        .redact_with(Redactions::new())
        .eq(text.to_owned(), expected.into());
}

#[test]
fn the_layout_of_ab() {
    let server = Truth::start();
    let (_, text) = runs(&[
        "--as",
        "ab",
        "--no-notes",
        "-k",
        "-c",
        "2",
        "-n",
        "20",
        &server.url("/ok?x"),
    ]);
    check(
        &squeezed(&steady(&text, &server)),
        str![[r#"
This is hearth load # in the layout of ApacheBench #


Server Software: truth
Server Hostname: #
Server Port: PORT

Document Path: /ok?x
Document Length: # bytes

Concurrency Level: #
Time taken for tests: # seconds
Complete requests: #
Failed requests: #
Keep-Alive requests: #
Total transferred: # bytes
HTML transferred: # bytes
Requests per second: # [#/sec] (mean)
Time per request: # [ms] (mean)
Time per request: # [ms] (mean, across all concurrent requests)
Transfer rate: # [Kbytes/sec] received

Connection Times (ms)
  min mean[+/-sd] median max
Connect: # # # # #
Processing: # # # # #
Waiting: # # # # #
Total: # # # # #

Percentage of the requests served within a certain time (ms)
  #% #
  #% #
  #% #
  #% #
  #% #
  #% #
  #% #
  #% #
 #% # (longest request)

"#]],
    );
}

#[test]
fn the_layout_of_wrk() {
    let server = Truth::start();
    let (_, text) = runs(&[
        "--as",
        "wrk",
        "--no-notes",
        "-t",
        "1",
        "-c",
        "2",
        "-d",
        "1s",
        "--latency",
        &server.url("/delay/5"),
    ]);
    let text = steady(&text, &server).replace("#us", "#ms");
    check(
        &squeezed(&text),
        str![[r#"
Running #s test @ http://ADDRESS/delay/#
  # threads and # connections
  Thread Stats Avg Stdev Max +/- Stdev
  Latency #ms #ms #ms #%
  Req/Sec # # # #%
  Latency Distribution
  #% #ms
  #% #ms
  #% #ms
  #% #ms
  # requests in #s, #KB read
Requests/sec: #
Transfer/sec: #KB

"#]],
    );
}

#[test]
fn the_native_summary() {
    let server = Truth::start();
    let (_, text) = runs(&["-c", "2", "-n", "100", &server.url("/status-every/4")]);
    let text = squeezed(&steady(&text, &server));
    let first = text.split("\n\n").next().unwrap().to_owned() + "\n";
    check(
        &first,
        str![[r#"
http://ADDRESS/status-every/# · HTTP/# · keep-alive · loopback · Server: truth
closed loop · # connections · # thread · # s measured

"#]],
    );
    for part in [
        "goodput # req/s # good, # FAILED (# % of all)",
        "in flight # on average, # possible",
        "service time #",
        "failures non#xx #",
        "non#xx: oops",
        "✗ D# many requests failed: # of # failed (# %)",
        "! D# too short to quote",
    ] {
        assert!(text.contains(part), "{part:?} not in\n{text}");
    }
}

fn complaint(args: &[&str]) -> String {
    let output = output(args);
    assert_eq!(output.status.code(), Some(2), "{args:?}");
    assert!(output.stdout.is_empty());
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn mistakes_are_explained_and_exit_with_2() {
    for (args, part) in [
        (&[][..], "required arguments were not provided"),
        (
            &["ftp://x/"],
            "unknown scheme ftp; use http, https or unix:",
        ),
        (
            &["-c", "0", "http://127.0.0.1:1/"],
            "must be a whole number above 0",
        ),
        (
            &["-d", "ten", "http://127.0.0.1:1/"],
            "write 500ms, 10s, 2m or 1h",
        ),
        (
            &["--poisson", "http://127.0.0.1:1/"],
            "--poisson needs a rate",
        ),
        (
            &["--expect", "colour=red", "http://127.0.0.1:1/"],
            "--expect colour=red: write status=200",
        ),
        (&["-H", "nocolon", "http://127.0.0.1:1/"], "has no colon"),
        (
            &["--as", "siege", "http://127.0.0.1:1/"],
            "use ab, wrk or wrk2",
        ),
        (
            &["--as", "wrk", "-s", "x.lua", "http://127.0.0.1:1/"],
            "there is no Lua",
        ),
        (
            &["--as", "wrk2", "http://127.0.0.1:1/"],
            "-R RATE is required",
        ),
        (
            &["--as", "ab", "-g", "x", "http://127.0.0.1:1/"],
            "no raw samples are kept",
        ),
        (
            &["--as", "ab", "-c", "5", "http://127.0.0.1:1/"],
            "Cannot use concurrency level greater than total number of requests",
        ),
        (
            &["--mix", "/does/not/exist", "http://127.0.0.1:1/"],
            "/does/not/exist",
        ),
        (
            &["compare", "/does/not/exist", "/nor/this"],
            "/does/not/exist: No such file",
        ),
    ] {
        let text = complaint(args);
        assert!(text.contains(part), "{args:?}: {part:?} not in {text}");
    }
}

#[test]
fn another_machine_needs_to_be_asked_for() {
    let text = complaint(&["http://192.0.2.1/"]);
    assert!(
        text.contains("192.0.2.1") && text.contains("--remote"),
        "{text}"
    );
    for layout in ["ab", "wrk"] {
        assert!(complaint(&["--as", layout, "http://192.0.2.1/"]).contains("--remote"));
    }
}

#[test]
fn help_goes_to_standard_output() {
    let output = output(&["--help"]);
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).unwrap();
    for option in [
        "--rate",
        "--warmup",
        "--expect",
        "--find-max",
        "--self-test",
        "--remote",
        "--as ab",
    ] {
        assert!(text.contains(option), "{option}");
    }
}
