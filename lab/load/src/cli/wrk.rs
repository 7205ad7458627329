//! `hearth load --as wrk` and `--as wrk2`: their command lines and layouts.

use super::common::Common;
use super::native::make_tls;
use super::{Problem, Session, print, units};
use crate::plan::{Http, Pace, Plan};
use crate::request::{Parts, Request, parse_header};
use crate::schedule::{Spacing, Stage};
use crate::tls::Trust;
use crate::view;
use clap::Parser;
use measure::KeepAlive;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// wrk's options; run `hearth load --help` for the native ones.
#[derive(Debug, Parser)]
#[command(name = "hearth load --as wrk", disable_version_flag = true)]
pub(crate) struct Args {
    /// Connections to keep open
    #[arg(short, long, default_value = "10", value_parser = units::count)]
    connections: u64,
    /// Duration of test
    #[arg(short, long, default_value = "10s", value_parser = units::duration)]
    duration: Duration,
    /// Number of threads to use
    #[arg(short, long, default_value = "2", value_parser = units::count)]
    threads: u64,
    /// Not supported: Lua scripts
    #[arg(short, long)]
    script: Option<PathBuf>,
    /// Add header to request
    #[arg(short = 'H', long = "header")]
    headers: Vec<String>,
    /// Print latency statistics
    #[arg(short = 'L', long)]
    latency: bool,
    /// wrk2: print uncorrected latency too
    #[arg(short = 'U', long)]
    u_latency: bool,
    /// Socket/request timeout
    #[arg(long, default_value = "2s", value_parser = units::duration)]
    timeout: Duration,
    /// wrk2: work rate (throughput), requests per second in all
    #[arg(short = 'R', long, value_parser = units::number)]
    rate: Option<f64>,
    /// Leave out the notes about wrk's formulas
    #[arg(long)]
    no_notes: bool,
    url: String,
    #[command(flatten)]
    common: Common,
}

pub(super) fn run(words: Vec<OsString>, wrk2: bool) -> Result<u8, Problem> {
    let args = Args::try_parse_from(words)?;
    args.check(wrk2).map_err(Problem::Usage)?;
    let plan = args.plan().map_err(Problem::Usage)?;
    let mut session = Session::begin(&plan, &args.common)?;
    print(&view::wrk::header(&plan));
    let run = session.measure(&plan)?;
    let options = view::wrk::Options {
        latency: args.latency,
        uncorrected: args.u_latency,
        timeout: args.timeout,
        notes: !args.no_notes,
        wrk2,
    };
    print(&view::wrk::render(run, options));
    session.finish(&args.common)
}

impl Args {
    fn check(&self, wrk2: bool) -> Result<(), String> {
        if self.script.is_some() {
            return Err("--as wrk: -s is not supported, because there is no Lua; use --mix FILE, -H, -b or -m of the native command line".into());
        }
        match self.rate {
            None if wrk2 => return Err("--as wrk2: -R RATE is required".into()),
            Some(rate) if rate <= 0.0 => return Err("-R must be above 0".into()),
            Some(_) if !wrk2 => {
                return Err(
                    "--as wrk has no -R; use --as wrk2, or -r of the native command line".into(),
                );
            }
            _ => {}
        }
        if self.connections < self.threads {
            return Err("number of connections must be >= threads".into());
        }
        Ok(())
    }

    fn plan(&self) -> Result<Plan, String> {
        let (url, target) = self.common.target(&self.url)?;
        let headers = self
            .headers
            .iter()
            .map(|header| parse_header(header))
            .collect::<Result<Vec<_>, _>>()?;
        let closing = headers.iter().any(|(name, value)| {
            name.eq_ignore_ascii_case("connection") && value.eq_ignore_ascii_case("close")
        });
        let keep_alive = if closing {
            KeepAlive::Off
        } else {
            KeepAlive::On
        };
        let parts = Parts {
            headers,
            weight: 1.0,
            ..Parts::default()
        };
        let tls = if url.tls {
            Some(make_tls(&Trust::Anyone, &url, false, true)?)
        } else {
            None
        };
        let pace = self.rate.map_or(Pace::Closed, |rate| Pace::Open {
            stages: vec![Stage {
                length: Duration::ZERO,
                from: rate,
                to: rate,
            }],
            spacing: Spacing::Constant,
        });
        let request = Request::new(&url, parts, Http::V1_1, keep_alive)?;
        Ok(Plan {
            pace,
            connections: self.connections as usize,
            threads: self.threads as usize,
            duration: Some(self.duration),
            keep_alive,
            // wrk's time-out is only counted: a slower request still runs to its end.
            timeout: self.timeout.max(Duration::from_secs(60)),
            tls,
            seed: self.common.seed,
            watch: self.common.watch(),
            ..Plan::new(target, vec![request])
        })
    }
}
