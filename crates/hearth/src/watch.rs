//! `hearth status --watch`: shows the status every second, with the rates since the last look.

use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::time::Duration;

use supervisor::{Latency, Reply, Status};

use crate::client::{print, printable};
use crate::fail;
use crate::servers::aligned;

/// Moves the cursor to the top left and clears what is below.
const CLEAR: &str = "\x1b[H\x1b[J";
const PAUSE: Duration = Duration::from_secs(1);

/// Shows the status until the server ends or the reader has left.
pub(crate) fn watch(query: impl Fn() -> std::io::Result<Option<Reply>>) -> ExitCode {
    let clear = std::io::stdout().is_terminal();
    let mut before = None;
    loop {
        let status = match query() {
            Ok(Some(Reply::Status(status))) => *status,
            Ok(Some(Reply::Failed(why))) => return fail(1, why),
            Ok(_) if before.is_some() => return print("the server has ended\n"),
            Ok(_) => return fail(1, "no server is running"),
            Err(e) => return fail(1, format_args!("cannot talk to the server: {e}")),
        };
        let page = page(&status, before.as_ref());
        let page = format!("{}{}\n", if clear { CLEAR } else { "" }, printable(&page));
        let mut out = std::io::stdout();
        if out
            .write_all(page.as_bytes())
            .and_then(|()| out.flush())
            .is_err()
        {
            return ExitCode::SUCCESS;
        }
        before = Some(status);
        std::thread::sleep(PAUSE);
    }
}

fn page(status: &Status, before: Option<&Status>) -> String {
    // Another server at the same path counts from zero.
    let before = before.filter(|before| before.pid == status.pid);
    let rates = before.map_or(String::new(), |before| rates(status, before) + "\n");
    format!("{rates}{status}")
}

/// Formats the rates since `before`.
fn rates(status: &Status, before: &Status) -> String {
    let seconds = (status.uptime_seconds - before.uptime_seconds).max(0.001);
    let rate = |name: &str| status.count(name).saturating_sub(before.count(name)) as f64 / seconds;
    let mut text = format!(
        "now         {:.1} requests/s, {} in flight, {} waiting; 4xx {:.1}/s, 5xx {:.1}/s; {:.1} kB/s in, {:.1} kB/s out\n",
        rate("finished"),
        status.in_flight(),
        status.waiting(),
        rate("responses_4xx"),
        rate("responses_5xx"),
        rate("bytes_in") / 1e3,
        rate("bytes_out") / 1e3,
    );
    let rows = latencies(status, before, seconds);
    if rows.len() > 1 {
        text += "\n";
        text += &aligned(&rows);
    }
    text
}

fn latencies(status: &Status, before: &Status, seconds: f64) -> Vec<[String; 5]> {
    let head = ["route", "class", "requests/s", "p50", "p99"].map(str::to_owned);
    let then = |latency: &Latency| {
        let mut all = before.latencies.iter();
        all.find(|then| then.route == latency.route && then.class == latency.class)
    };
    let since = status
        .latencies
        .iter()
        .map(|latency| latency.since(then(latency)));
    let rows = since.filter(|latency| latency.count() > 0).map(|latency| {
        [
            latency.route.clone(),
            latency.class.clone(),
            format!("{:.1}", latency.count() as f64 / seconds),
            bound(&latency, 0.5),
            bound(&latency, 0.99),
        ]
    });
    [head].into_iter().chain(rows).collect()
}

fn bound(latency: &Latency, part: f64) -> String {
    latency
        .quantile(part)
        .map_or("> 60 s".into(), |time| match time.as_millis() {
            1000.. => format!("≤ {} s", time.as_secs_f64()),
            _ => format!("≤ {} ms", time.as_secs_f64() * 1000.0),
        })
}
