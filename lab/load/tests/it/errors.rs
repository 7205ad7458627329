//! Every way to fail has its class, and none is mistaken for another.

use crate::tool::{has_verdict, only, output, run, runs};
use crate::truth::Truth;
use measure::ErrorClass;
use std::net::TcpListener;

fn class_of(path: &str, class: ErrorClass) -> measure::Run {
    let server = Truth::start();
    let timeout = match class {
        ErrorClass::Timeout => "300ms",
        _ => "20s",
    };
    let result = run(&[
        "-c",
        "2",
        "-n",
        "10",
        "--timeout",
        timeout,
        &server.url(path),
    ]);
    only(&result, class);
    assert_eq!((result.counts.failed, result.counts.good), (10, 0));
    assert!(
        result.latency.service.is_empty(),
        "failures are in no latency of good requests"
    );
    assert_eq!(result.latency.failed.count(), 10);
    result
}

#[test]
fn closed_without_a_byte() {
    let result = class_of("/eof", ErrorClass::EarlyEof);
    assert!(has_verdict(&result, "D13") && has_verdict(&result, "D11"));
}

#[test]
fn reset_before_the_first_byte() {
    class_of("/reset", ErrorClass::ResetBeforeFirstByte);
}

#[test]
fn reset_in_the_body() {
    class_of("/reset-mid", ErrorClass::ResetMidBody);
}

#[test]
fn closed_in_the_body() {
    let result = class_of("/truncate", ErrorClass::Truncated);
    assert!(
        result.error_samples[0].text.contains("5 bytes"),
        "{:?}",
        result.error_samples
    );
}

#[test]
fn more_bytes_than_announced() {
    class_of("/long", ErrorClass::BadFraming);
}

#[test]
fn not_http() {
    class_of("/garbage", ErrorClass::BadFraming);
}

#[test]
fn broken_chunks() {
    class_of("/bad-chunk", ErrorClass::BadFraming);
}

#[test]
fn no_answer_in_time() {
    class_of("/never", ErrorClass::Timeout);
}

#[test]
fn error_statuses_are_shown_with_their_text() {
    let result = class_of("/status/503", ErrorClass::Non2xx);
    assert_eq!(result.statuses[&503], 10);
    assert_eq!(result.error_samples[0].text, "wrong");
}

#[test]
fn goodput_leaves_failures_out() {
    let server = Truth::start();
    let result = run(&["-c", "2", "-n", "1000", &server.url("/status-every/4")]);
    assert_eq!((result.counts.good, result.counts.failed), (750, 250));
    assert!((result.rates.goodput / result.rates.responses - 0.75).abs() < 1e-9);
    let result = run(&["-c", "2", "-n", "1000", &server.url("/eof-every/10")]);
    assert_eq!((result.counts.good, result.counts.failed), (900, 100));
    only(&result, ErrorClass::EarlyEof);
}

#[test]
fn no_server_listens() {
    let free = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let output = output(&["-n", "1", &format!("http://{free}/")]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(
        text.contains("refused") && text.contains("is the server running?"),
        "{text}"
    );
}

#[test]
fn a_server_that_goes_away_is_refused_connections() {
    let server = Truth::start();
    let url = server.url("/close-after/1");
    let stopper = std::thread::spawn(move || {
        while server.served() < 50 {
            std::thread::yield_now();
        }
        drop(server);
    });
    let (runs, _) = runs(&["-c", "1", "-d", "1s", &url]);
    stopper.join().unwrap();
    assert!(
        runs[0].errors_of(&[ErrorClass::ConnectRefused]) > 0,
        "{:?}",
        runs[0].errors
    );
    assert!(
        runs[0].counts.failed < 2_000,
        "refused connects back off: {:?}",
        runs[0].counts
    );
}

#[test]
fn requests_without_an_answer_at_the_end_are_told() {
    let server = Truth::start();
    let result = run(&[
        "-c",
        "3",
        "-d",
        "1s",
        "--drain",
        "100ms",
        &server.url("/never"),
    ]);
    assert_eq!((result.counts.unfinished, result.counts.failed), (3, 0));
    assert!(result.counts.oldest_unfinished_us > 300_000.0);
    assert_eq!(result.connections.never_answered, 3);
    assert!(has_verdict(&result, "D08"));
}

#[test]
fn expectations_are_checked() {
    let server = Truth::start();
    let good = run(&[
        "-n",
        "5",
        "--expect",
        "status=200",
        "--expect",
        "body=ok",
        "--expect",
        "length=2",
        &server.url("/ok"),
    ]);
    assert_eq!(good.counts.good, 5);
    only(
        &run(&["-n", "5", "--expect", "body=no", &server.url("/ok")]),
        ErrorClass::BodyMismatch,
    );
    only(
        &run(&["-n", "5", "--expect", "status=201", &server.url("/ok")]),
        ErrorClass::StatusMismatch,
    );
    let wanted = run(&[
        "-n",
        "5",
        "--expect",
        "status=404",
        &server.url("/status/404"),
    ]);
    assert_eq!(wanted.counts.good, 5);
    let chunked = run(&[
        "-n",
        "5",
        "--expect",
        "body=wikipedia",
        &server.url("/chunked"),
    ]);
    assert_eq!((chunked.counts.good, chunked.bytes.body), (5, 45));
}
