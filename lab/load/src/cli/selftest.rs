//! `--self-test`: the highest rate of requests that this client can make on this machine.

use super::options::Args;
use super::{print, units};
use crate::bare::Bare;
use crate::plan::{Http, Plan, Warmup};
use crate::request::{Parts, Request};
use crate::run::execute;
use crate::target::{Target, Url};
use measure::text::{duration, rate};
use measure::{KeepAlive, Run};
use std::fmt::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Serves the fixed response until the process is killed.
pub(super) fn serve(address: SocketAddr, threads: Option<u64>) -> Result<u8, String> {
    let server = Bare::start(address, threads.unwrap_or(1) as usize)
        .map_err(|error| format!("cannot listen on {address}: {error}"))?;
    print(&format!("listening on {}\n", server.address));
    server.join().map_err(|error| error.to_string()).map(|()| 0)
}

/// Loads a bare server in this process and prints the results.
pub(super) fn run(args: &Args) -> Result<u8, String> {
    let sizes = args
        .connections
        .as_deref()
        .map_or_else(|| Ok(vec![1, 10, 100]), units::counts)?;
    let length = args.duration.unwrap_or(Duration::from_secs(3));
    let server = Bare::start(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), 1)
        .map_err(|error| format!("cannot start the server of the self-test: {error}"))?;
    let mut text = String::from(
        "self-test: a server of one thread in this process answers 2 bytes at once\n\n",
    );
    let _ = writeln!(
        text,
        "{:>11} {:>12} {:>16} {:>10} {:>10}  limit",
        "connections", "requests/s", "client CPU/req", "p50", "p99"
    );
    let mut best = 0.0_f64;
    for size in sizes {
        let plan = plan(
            server.address,
            size as usize,
            length,
            args.threads.unwrap_or(1) as usize,
        )?;
        let run = execute(&plan, &AtomicBool::new(false), &mut |_| {})?;
        best = best.max(run.rates.goodput);
        let _ = writeln!(text, "{}", line(&run, size));
    }
    let _ = writeln!(
        text,
        "\nceiling of this client here: {} requests/s. A result within 20 % of it measures the client rather than the server.",
        rate(best)
    );
    print(&text);
    Ok(0)
}

fn line(run: &Run, size: u64) -> String {
    // The server's threads are in this process too, so only the client threads' time is counted.
    let threads = run.setup.threads as f64;
    let client =
        run.cpu.client_thread_busy * run.elapsed_s * threads * 1e9 / run.counts.good.max(1) as f64;
    let limit = if run.cpu.client_thread_busy > 0.9 {
        "client"
    } else {
        "server or machine"
    };
    let latency = &run.latency.service;
    format!(
        "{size:>11} {:>12} {:>16} {:>10} {:>10}  {limit}",
        rate(run.rates.goodput),
        duration(client),
        duration(latency.percentile(50.0) as f64),
        duration(latency.percentile(99.0) as f64),
    )
}

fn plan(
    address: SocketAddr,
    connections: usize,
    length: Duration,
    threads: usize,
) -> Result<Plan, String> {
    let text = format!("http://{address}/");
    let url = Url::parse(&text)?;
    let request = Request::new(
        &url,
        Parts {
            weight: 1.0,
            ..Parts::default()
        },
        Http::V1_1,
        KeepAlive::On,
    )?;
    Ok(Plan {
        connections,
        threads,
        duration: Some(length),
        warmup: Warmup::For(Duration::from_millis(300)),
        drain: Duration::from_secs(1),
        ..Plan::new(Target::resolve(&text, &url)?, vec![request])
    })
}
