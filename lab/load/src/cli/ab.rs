//! `hearth load --as ab`: ab's command line and layout.

use super::common::Common;
use super::native::{make_tls, threads};
use super::{Problem, Session, print};
use crate::expect::Expect;
use crate::plan::{Http, Plan};
use crate::request::{Parts, Request, basic_auth, parse_header};
use crate::tls::Trust;
use crate::view;
use clap::Parser;
use measure::KeepAlive;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// ab's options; run `hearth load --help` for the native ones.
#[derive(Debug, Parser)]
#[command(
    name = "hearth load --as ab",
    disable_help_flag = true,
    disable_version_flag = true
)]
pub(crate) struct Args {
    /// Number of requests
    #[arg(short = 'n', default_value_t = 1)]
    requests: u64,
    /// Number of requests at a time
    #[arg(short = 'c', default_value_t = 1)]
    concurrency: u64,
    /// Seconds to load at most; implies -n 50000
    #[arg(short = 't')]
    timelimit: Option<u64>,
    /// Seconds to wait for each response
    #[arg(short = 's', default_value_t = 30)]
    timeout: u64,
    /// Keep connections alive
    #[arg(short = 'k')]
    keep_alive: bool,
    /// File with data to POST
    #[arg(short = 'p')]
    post: Option<PathBuf>,
    /// File with data to PUT
    #[arg(short = 'u')]
    put: Option<PathBuf>,
    /// Content type of the data of -p or -u
    #[arg(short = 'T', default_value = "text/plain")]
    content_type: String,
    /// Send HEAD instead of GET
    #[arg(short = 'i')]
    head: bool,
    /// Method
    #[arg(short = 'm')]
    method: Option<String>,
    /// A header
    #[arg(short = 'H')]
    headers: Vec<String>,
    /// A cookie
    #[arg(short = 'C')]
    cookies: Vec<String>,
    /// user:password
    #[arg(short = 'A')]
    auth: Option<String>,
    /// Accept a variable document length
    #[arg(short = 'l')]
    variable_length: bool,
    /// Write percentiles to this CSV file
    #[arg(short = 'e')]
    percentiles: Option<PathBuf>,
    /// Do not show the percentiles
    #[arg(short = 'd')]
    no_percentiles: bool,
    /// Do not warn about a median and a mean that differ
    #[arg(short = 'S')]
    no_confidence: bool,
    /// Do not show progress
    #[arg(short = 'q')]
    silent: bool,
    /// Do not stop at receive errors (this client never does)
    #[arg(short = 'r')]
    go_on: bool,
    /// Verbosity; understood and ignored
    #[arg(short = 'v')]
    verbosity: Option<u32>,
    /// Window size; understood and ignored
    #[arg(short = 'b')]
    window: Option<u64>,
    /// TLS protocol; understood and ignored
    #[arg(short = 'f')]
    protocol: Option<String>,
    /// Not supported: no raw samples are kept
    #[arg(short = 'g')]
    gnuplot: Option<PathBuf>,
    /// Not supported: HTML tables
    #[arg(short = 'w')]
    html: bool,
    /// Not supported: proxy
    #[arg(short = 'X')]
    proxy: Option<String>,
    /// Not supported: source address
    #[arg(short = 'B')]
    source: Option<String>,
    /// Print help
    #[arg(short = 'h', long, action = clap::ArgAction::Help)]
    help: Option<bool>,
    /// Leave out the notes about ab's formulas
    #[arg(long)]
    no_notes: bool,
    url: String,
    #[command(flatten)]
    common: Common,
}

pub(super) fn run(words: Vec<OsString>) -> Result<u8, Problem> {
    let args = Args::try_parse_from(words)?;
    args.refuse_unsupported().map_err(Problem::Usage)?;
    let plan = args.plan().map_err(Problem::Usage)?;
    let mut common = args.common.clone();
    common.quiet |= args.silent;
    let mut session = Session::begin(&plan, &common)?;
    let run = session.measure(&plan)?;
    let options = view::ab::Options {
        percentiles: !args.no_percentiles,
        notes: !args.no_notes,
        post: args.post.is_some() || args.put.is_some(),
    };
    print(&view::ab::render(&plan, run, options));
    if let Some(path) = &args.percentiles {
        super::write(path, &view::ab::percentile_csv(run))?;
    }
    session.finish(&common)
}

impl Args {
    fn refuse_unsupported(&self) -> Result<(), String> {
        let refuse =
            |flag: &str, why: &str| Err(format!("--as ab: {flag} is not supported: {why}"));
        if self.gnuplot.is_some() {
            return refuse(
                "-g",
                "no raw samples are kept; --csv FILE has the time series, --json FILE the histograms",
            );
        }
        if self.html {
            return refuse("-w", "use --json FILE");
        }
        if self.proxy.is_some() {
            return refuse("-X", "load the proxy itself, with -H \"Host: …\"");
        }
        if self.source.is_some() {
            return refuse("-B", "use the routing table");
        }
        if self.concurrency == 0 || self.requests == 0 {
            return Err("--as ab: -n and -c must be above 0".into());
        }
        if self.timelimit.is_none() && self.concurrency > self.requests {
            return Err(
                "Cannot use concurrency level greater than total number of requests".into(),
            );
        }
        Ok(())
    }

    fn plan(&self) -> Result<Plan, String> {
        let (url, target) = self.common.target(&self.url)?;
        let keep_alive = if self.keep_alive {
            KeepAlive::On
        } else {
            KeepAlive::Off
        };
        let mut expect = Expect::default();
        if !self.variable_length {
            expect.same_length();
        }
        expect.any_status();
        let tls = if url.tls {
            Some(make_tls(&Trust::Anyone, &url, false, true)?)
        } else {
            None
        };
        let limit = if self.timelimit.is_some() && self.requests == 1 {
            50_000
        } else {
            self.requests
        };
        let request = Request::new(&url, self.parts()?, Http::V1_0, keep_alive)?;
        Ok(Plan {
            connections: self.concurrency as usize,
            threads: threads(target.place).min(1),
            request_limit: Some(limit),
            duration: self.timelimit.map(Duration::from_secs),
            keep_alive,
            http: Http::V1_0,
            timeout: Duration::from_secs(self.timeout),
            expect,
            tls,
            seed: self.common.seed,
            watch: self.common.watch(),
            ..Plan::new(target, vec![request])
        })
    }

    fn parts(&self) -> Result<Parts, String> {
        let file = self.post.as_ref().or(self.put.as_ref());
        let body = file
            .map(|path| std::fs::read(path).map_err(|error| format!("{}: {error}", path.display())))
            .transpose()?;
        let mut headers: Vec<(String, String)> = Vec::new();
        if body.is_some() {
            headers.push(("Content-Type".into(), self.content_type.clone()));
        }
        headers.extend(self.auth.as_deref().map(basic_auth));
        if !self.cookies.is_empty() {
            headers.push(("Cookie".into(), self.cookies.join("; ")));
        }
        for header in &self.headers {
            headers.push(parse_header(header)?);
        }
        let method = self.method.clone().or_else(|| {
            if self.head {
                Some("HEAD".into())
            } else {
                self.put.is_some().then(|| "PUT".into())
            }
        });
        Ok(Parts {
            method,
            headers,
            body,
            chunked: false,
            weight: 1.0,
        })
    }
}
