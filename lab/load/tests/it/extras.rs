//! Sweeps, comparison, files, signals, processor time.

use crate::tool::{command, has_verdict, one_of_three, output, run, runs};
use crate::truth::Truth;
use measure::StoppedBy;
use rustix::process::{Pid, Signal, kill_process};
use std::process::Stdio;

#[test]
fn a_sweep_is_one_table() {
    one_of_three(sweep);
}

fn sweep() {
    let server = Truth::start();
    // So late that what a busy machine adds to each answer is little beside it.
    let (runs, text) = runs(&["-c", "1,2,4", "-n", "40", &server.url("/delay/60")]);
    assert_eq!(
        runs.iter()
            .map(|run| run.setup.connections)
            .collect::<Vec<_>>(),
        [1, 2, 4]
    );
    assert!(text.contains("* is the highest goodput"), "{text}");
    // Twice and four times as much, but for what is lost to the machine.
    let goodput = |run: usize| runs[run].rates.goodput;
    assert!(
        goodput(1) > 1.5 * goodput(0) && goodput(2) > 3.0 * goodput(0),
        "{text}"
    );
}

#[test]
fn the_search_for_the_highest_rate_ends() {
    one_of_three(search);
}

fn search() {
    let server = Truth::start();
    let (runs, text) = runs(&["--find-max", "-n", "40", &server.url("/delay/40")]);
    assert!(runs.len() >= 3, "{text}");
    assert!(
        runs.windows(2)
            .all(|pair| pair[1].setup.connections == 2 * pair[0].setup.connections)
    );
}

#[test]
fn an_interrupt_prints_what_was_measured() {
    let server = Truth::start();
    let child = command(&["-c", "2", "-d", "60s", "--quiet", &server.url("/delay/5")])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while server.served() < 20 {
        std::thread::yield_now();
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0));
    assert!(
        text.contains("interrupted") && text.contains("goodput"),
        "{text}"
    );
}

#[test]
fn comparing_runs_finds_a_difference_and_refuses_unlike_ones() {
    let server = Truth::start();
    let folder = tempfile::tempdir().unwrap();
    let save = |name: &str, path: &str, extra: &[&str]| {
        let file = folder.path().join(name).to_str().unwrap().to_owned();
        let url = server.url(path);
        let mut args = vec!["-c", "2", "-d", "1s", "--quiet", "--json", &file, &url];
        args.extend(extra);
        assert!(output(&args).status.success());
        file
    };
    let (slow, fast) = (
        save("slow", "/delay/20", &[]),
        save("fast", "/delay/5", &[]),
    );
    let refused = output(&["compare", &slow, &fast]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--across target,requests"));
    let allowed = output(&["compare", "--across", "target,requests", &slow, &fast]);
    let text = String::from_utf8_lossy(&allowed.stdout);
    assert!(
        allowed.status.success() && text.contains("B is better"),
        "{text}"
    );
    let gate = output(&[
        "compare",
        "--across",
        "target,requests",
        "--max-regress",
        "10%",
        &fast,
        &slow,
    ]);
    assert_eq!(gate.status.code(), Some(1));
    let other = save("other", "/delay/20", &["--no-keepalive"]);
    let refused = output(&["compare", &slow, &other]);
    assert!(
        String::from_utf8_lossy(&refused.stderr)
            .contains("keep-alive: keep-alive against no keep-alive")
    );
}

#[test]
fn the_series_goes_to_csv() {
    let server = Truth::start();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("s.csv");
    let result = run(&[
        "-c",
        "2",
        "-d",
        "1s",
        "--csv",
        file.to_str().unwrap(),
        &server.url("/delay/5"),
    ]);
    let text = std::fs::read_to_string(&file).unwrap();
    let mut lines = text.lines();
    assert!(
        lines
            .next()
            .unwrap()
            .starts_with("run,at_s,length_s,rate,goodput,failed")
    );
    let total: f64 = lines
        .map(|line| {
            let fields: Vec<f64> = line
                .split(',')
                .map(|field| field.parse().unwrap())
                .collect();
            fields[2] * fields[4]
        })
        .sum();
    assert!(
        (total - result.counts.good as f64).abs() < 3.0,
        "{total} against {}",
        result.counts.good
    );
}

#[test]
fn the_server_s_processor_time_is_found_by_its_port_or_pid() {
    let server = Truth::start();
    // The truth server lives in this very process.
    let found = run(&["-c", "4", "-n", "2000", &server.url("/ok")])
        .cpu
        .server
        .unwrap();
    assert!(
        found.cpu_s > 0.0 && found.found_by.contains("listens on port"),
        "{found:?}"
    );
    let pid = std::process::id().to_string();
    let result = run(&[
        "-c",
        "4",
        "-n",
        "2000",
        "--server-pid",
        &pid,
        &server.url("/ok"),
    ]);
    assert_eq!(result.cpu.server.unwrap().found_by, "--server-pid");
}

#[test]
fn short_runs_say_so_and_the_end_has_a_reason() {
    let server = Truth::start();
    let result = run(&["-c", "1", "-n", "10", &server.url("/ok")]);
    assert!(has_verdict(&result, "D01"));
    assert_eq!(result.stopped_by, StoppedBy::Requests);
    assert_eq!(
        run(&["-d", "200ms", &server.url("/delay/5")]).stopped_by,
        StoppedBy::Duration
    );
    assert_eq!(result.server_header.as_deref(), Some("truth"));
}

#[test]
fn results_fit_the_published_schema() {
    let schema = serde_json::to_value(load::result_schema()).unwrap();
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/reference/load-result.schema.json"
    );
    let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(path, &text).unwrap();
    }
    assert_eq!(
        std::fs::read_to_string(path).unwrap_or_default(),
        text,
        "run the test with UPDATE_SCHEMA=1"
    );
    let server = Truth::start();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.json");
    output(&[
        "-c",
        "2",
        "-n",
        "50",
        "-r",
        "500",
        "--quiet",
        "--json",
        file.to_str().unwrap(),
        &server.url("/status-every/5"),
    ]);
    let result: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let problems: Vec<String> = validator
        .iter_errors(&result)
        .map(|error| error.to_string())
        .collect();
    assert!(problems.is_empty(), "{problems:?}");
}

#[test]
fn the_self_test_reports_a_ceiling() {
    let output = output(&["--self-test", "-c", "10", "-d", "500ms"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("ceiling of this client here"),
        "{text}"
    );
}
