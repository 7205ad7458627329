//! `hearth load URL`: the native command line.

use super::common::Common;
use super::units;
use crate::expect::Expect;
use crate::mix;
use crate::plan::{Http, Order, Pace, Plan, Think, Tls, Warmup};
use crate::procfs;
use crate::request::{Parts, Request, basic_auth, multipart, parse_header};
use crate::schedule::{Spacing, Stage};
use crate::target::{Target, Url};
use crate::tls::{self, Trust};
use clap::{Parser, ValueEnum};
use measure::{KeepAlive, Place};
use rustls::pki_types::ServerName;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Generate load and report honestly.
#[derive(Debug, Parser)]
#[command(name = "hearth load", version, after_help = EXAMPLES, disable_help_subcommand = true)]
pub(crate) struct Args {
    /// http://…, https://… or unix:/path.sock:/uri
    #[arg(required_unless_present_any = ["self_test", "bare_server"])]
    pub(crate) url: Option<String>,

    /// Connections; a list is a sweep (open loop: at most so many) [default: 10, open loop 100]
    #[arg(short, long, value_name = "N[,N…]")]
    pub(crate) connections: Option<String>,
    /// Stop after this many requests
    #[arg(short = 'n', long, value_name = "N", value_parser = units::count)]
    pub(crate) requests: Option<u64>,
    /// Stop after this long [default: 10s, without -n]
    #[arg(short, long, value_name = "TIME", value_parser = units::duration)]
    pub(crate) duration: Option<Duration>,
    /// Open loop: requests per second in all, whatever the server does; a list is a sweep
    #[arg(short, long, value_name = "RATE[,RATE…]")]
    pub(crate) rate: Option<String>,
    /// Open loop whose rate changes, such as 30s@50,1m@50..200
    #[arg(long, value_name = "LIST", value_parser = units::stages, conflicts_with = "rate")]
    pub(crate) stages: Option<StageList>,
    /// Open loop: independent arrivals instead of evenly spaced ones
    #[arg(long)]
    pub(crate) poisson: bool,
    /// Client threads [default: half of the processors for a local target, else all]
    #[arg(short, long, value_name = "N", value_parser = units::count)]
    pub(crate) threads: Option<u64>,
    /// Load before measuring: a time, or auto until three seconds agree within 5 %
    #[arg(long, value_name = "TIME|auto", value_parser = warmup)]
    pub(crate) warmup: Option<Warmup>,
    /// Open the connections over this long
    #[arg(long, value_name = "TIME", value_parser = units::duration)]
    pub(crate) ramp: Option<Duration>,
    /// Pause after each answer; exp:TIME for an exponential one
    #[arg(long, value_name = "TIME", value_parser = units::think)]
    pub(crate) think: Option<Think>,
    /// A connection for each request
    #[arg(long, conflicts_with = "requests_per_connection")]
    pub(crate) no_keepalive: bool,
    /// Close each connection after so many requests
    #[arg(long, value_name = "N", value_parser = units::count)]
    pub(crate) requests_per_connection: Option<u64>,
    /// Raise -c until the rate no longer rises
    #[arg(long, conflicts_with_all = ["rate", "stages"])]
    pub(crate) find_max: bool,
    /// Do the whole run so many times (6 or more for a comparison)
    #[arg(long, value_name = "N", default_value = "1", value_parser = units::count)]
    pub(crate) repeat: u64,

    /// Method [default: GET, or POST with a body]
    #[arg(short, long, value_name = "NAME")]
    pub(crate) method: Option<String>,
    /// A header, "Name: value"
    #[arg(short = 'H', long = "header", value_name = "HEADER")]
    pub(crate) headers: Vec<String>,
    /// Body: text, or @FILE
    #[arg(short, long, value_name = "TEXT|@FILE")]
    pub(crate) body: Option<String>,
    /// A multipart field, name=value or name=@FILE[;type=TYPE]
    #[arg(short = 'F', long, value_name = "FIELD", conflicts_with = "body")]
    pub(crate) form: Vec<String>,
    /// Basic authentication
    #[arg(short = 'u', long, value_name = "USER:PASSWORD")]
    pub(crate) auth: Option<String>,
    /// A cookie, name=value
    #[arg(long, value_name = "COOKIE")]
    pub(crate) cookie: Vec<String>,
    /// Keep the cookies that the server sets, for each connection by itself
    #[arg(long)]
    pub(crate) cookie_jar: bool,
    /// Requests from a file: [WEIGHT] [METHOD] PATH [BODY|@FILE] on each line
    #[arg(long, value_name = "FILE", conflicts_with = "access_log")]
    pub(crate) mix: Option<PathBuf>,
    /// Requests as frequent as in an access log (GET and HEAD)
    #[arg(long, value_name = "FILE")]
    pub(crate) access_log: Option<PathBuf>,
    /// With --access-log: other methods too
    #[arg(long, requires = "access_log")]
    pub(crate) unsafe_methods: bool,
    /// Order of a mix
    #[arg(long, value_enum, default_value = "weighted")]
    pub(crate) order: OrderArg,

    /// A good answer: status=200, status=2xx, body=TEXT, contains=TEXT, sha256=HEX, length=BYTES
    #[arg(long, value_name = "KIND=VALUE")]
    pub(crate) expect: Vec<String>,
    /// A slower answer is a failure
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = units::duration)]
    pub(crate) timeout: Duration,
    /// Wait so long for what is in flight at the end [default: 2s, open loop: the timeout]
    #[arg(long, value_name = "TIME", value_parser = units::duration)]
    pub(crate) drain: Option<Duration>,
    /// Protocol
    #[arg(long, value_enum, default_value = "1.1")]
    pub(crate) http: HttpArg,
    /// Requests at once on each HTTP/2 connection
    #[arg(long, value_name = "N", default_value = "1", value_parser = units::count)]
    pub(crate) streams: u64,
    /// Accept any certificate (the default on this machine)
    #[arg(short = 'k', long)]
    pub(crate) insecure: bool,
    /// Trust the certificates in this file
    #[arg(long, value_name = "FILE")]
    pub(crate) cacert: Option<PathBuf>,
    /// Full handshakes only
    #[arg(long)]
    pub(crate) no_tls_resumption: bool,

    /// Print fewer lines
    #[arg(long)]
    pub(crate) brief: bool,
    /// Print every step of the latency spectrum
    #[arg(long)]
    pub(crate) spectrum: bool,
    /// Measure this client's own ceiling on this machine
    #[arg(long)]
    pub(crate) self_test: bool,
    /// Serve a fixed answer until killed (the server of --self-test)
    #[arg(long, hide = true, value_name = "ADDRESS")]
    pub(crate) bare_server: Option<std::net::SocketAddr>,
    #[command(flatten)]
    pub(crate) common: Common,
}

type StageList = Vec<Stage>;

const EXAMPLES: &str = "\
Examples:
  hearth load -c 100 -d 30s http://127.0.0.1:8080/          closed loop, like wrk
  hearth load -r 2000 -d 30s http://127.0.0.1:8080/         open loop, like wrk2
  hearth load -c 1,10,100,1000 http://127.0.0.1:8080/       sweep
  hearth load --as ab -n 10000 -c 100 -k http://127.0.0.1:8080/
  hearth load --as wrk -t 2 -c 64 -d 10s --latency http://127.0.0.1:8080/
  hearth load compare before.json after.json";

/// Protocols by their number.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum HttpArg {
    /// HTTP/1.0
    #[value(name = "1.0")]
    V1_0,
    /// HTTP/1.1
    #[value(name = "1.1")]
    V1_1,
    /// HTTP/2
    #[value(name = "2")]
    V2,
}

/// Orders by name.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum OrderArg {
    /// By weight, at random
    Weighted,
    /// As listed
    Listed,
}

fn warmup(text: &str) -> Result<Warmup, String> {
    match text {
        "auto" => Ok(Warmup::UntilSteady),
        "none" | "0" => Ok(Warmup::None),
        time => units::duration(time).map(Warmup::For),
    }
}

impl Args {
    /// The runs asked for: one, or a sweep, each repeated.
    pub(crate) fn plans(&self) -> Result<Vec<Plan>, String> {
        let text = self.url.as_deref().unwrap_or_default();
        let (url, target) = self.common.target(text)?;
        let paces = self.paces()?;
        let usual = if matches!(paces[0], Pace::Closed) {
            10
        } else {
            100
        };
        let sizes = self
            .connections
            .as_deref()
            .map_or(Ok(vec![usual]), units::counts)?;
        let base = self.base(&url, target)?;
        let mut plans = Vec::new();
        for size in &sizes {
            for pace in &paces {
                for _ in 0..self.repeat {
                    plans.push(with(
                        &base,
                        usize::try_from(*size).unwrap_or(usize::MAX),
                        pace.clone(),
                        self.drain,
                    ));
                }
            }
        }
        Ok(plans)
    }

    fn paces(&self) -> Result<Vec<Pace>, String> {
        let spacing = if self.poisson {
            Spacing::Poisson
        } else {
            Spacing::Constant
        };
        if let Some(stages) = &self.stages {
            return Ok(vec![Pace::Open {
                stages: stages.clone(),
                spacing,
            }]);
        }
        let Some(rates) = &self.rate else {
            if self.poisson {
                return Err("--poisson needs a rate: -r or --stages".into());
            }
            return Ok(vec![Pace::Closed]);
        };
        let level = |rate| {
            vec![Stage {
                length: Duration::ZERO,
                from: rate,
                to: rate,
            }]
        };
        Ok(units::rates(rates)
            .map_err(|why| format!("--rate: {why}"))?
            .into_iter()
            .map(|rate| Pace::Open {
                stages: level(rate),
                spacing,
            })
            .collect())
    }

    fn keep_alive(&self) -> KeepAlive {
        match self.requests_per_connection {
            _ if self.no_keepalive => KeepAlive::Off,
            Some(1) => KeepAlive::Off,
            Some(n) => KeepAlive::Requests(n),
            None => KeepAlive::On,
        }
    }

    fn http(&self) -> Http {
        match self.http {
            HttpArg::V1_0 => Http::V1_0,
            HttpArg::V1_1 => Http::V1_1,
            HttpArg::V2 => Http::V2,
        }
    }

    fn base(&self, url: &Url, target: Target) -> Result<Plan, String> {
        let http = self.http();
        if http == Http::V2 && self.no_keepalive {
            return Err(
                "--no-keepalive is not possible with HTTP/2; use --requests-per-connection".into(),
            );
        }
        if http == Http::V2 && self.cookie_jar {
            return Err("--cookie-jar works with HTTP/1 only".into());
        }
        let mut expect = Expect::default();
        self.expect.iter().try_for_each(|one| expect.add(one))?;
        let length = self
            .stages
            .as_ref()
            .map(|stages| stages.iter().map(|stage| stage.length).sum());
        let duration = self
            .duration
            .or(length)
            .or(self.requests.is_none().then_some(Duration::from_secs(10)));
        let place = target.place;
        Ok(Plan {
            requests: Arc::new(self.requests(url, http)?),
            order: match self.order {
                OrderArg::Weighted => Order::Weighted,
                OrderArg::Listed => Order::Listed,
            },
            pace: Pace::Closed,
            connections: 1,
            streams: if http == Http::V2 {
                self.streams as usize
            } else {
                1
            },
            threads: self
                .threads
                .map_or_else(|| threads(place), |threads| threads as usize),
            request_limit: self.requests,
            duration,
            warmup: self.warmup.unwrap_or(Warmup::None),
            keep_alive: self.keep_alive(),
            http,
            think: self.think,
            ramp: self.ramp.unwrap_or_default(),
            timeout: self.timeout,
            drain: self.drain.unwrap_or(Duration::from_secs(2)),
            expect,
            tls: self.tls(url, place)?,
            cookie_jar: self.cookie_jar,
            seed: self.common.seed,
            watch: self.common.watch(),
            target,
        })
    }

    fn tls(&self, url: &Url, place: Place) -> Result<Option<Tls>, String> {
        if !url.tls {
            return Ok(None);
        }
        let trust = match &self.cacert {
            Some(file) => Trust::File(file.clone()),
            None if self.insecure || place != Place::Remote => Trust::Anyone,
            None => Trust::System,
        };
        make_tls(
            &trust,
            url,
            self.http() == Http::V2,
            !self.no_tls_resumption,
        )
        .map(Some)
    }

    fn requests(&self, url: &Url, http: Http) -> Result<Vec<Request>, String> {
        let parts = self.parts()?;
        if let Some(file) = &self.mix {
            let text = read(file)?;
            let lines =
                mix::parse_file(&text).map_err(|why| format!("--mix {}: {why}", file.display()))?;
            return mix::requests(lines, url, &parts, http, self.keep_alive());
        }
        if let Some(file) = &self.access_log {
            let text = read(file)?;
            let (lines, _) = mix::parse_access_log(&text, self.unsafe_methods)
                .map_err(|why| format!("--access-log {}: {why}", file.display()))?;
            return mix::requests(lines, url, &parts, http, self.keep_alive());
        }
        Ok(vec![Request::new(url, parts, http, self.keep_alive())?])
    }

    fn parts(&self) -> Result<Parts, String> {
        let mut headers = Vec::new();
        headers.extend(self.auth.as_deref().map(basic_auth));
        if !self.cookie.is_empty() {
            headers.push(("Cookie".into(), self.cookie.join("; ")));
        }
        let mut body = self.body.as_deref().map(mix::read_body).transpose()?;
        if !self.form.is_empty() {
            let (kind, bytes) = multipart(&self.form)?;
            headers.push(("Content-Type".into(), kind));
            body = Some(bytes);
        }
        for header in &self.headers {
            headers.push(parse_header(header)?);
        }
        Ok(Parts {
            method: self.method.clone(),
            headers,
            body,
            weight: 1.0,
        })
    }
}

fn read(file: &std::path::Path) -> Result<String, String> {
    std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))
}

/// TLS for `url`.
pub(crate) fn make_tls(trust: &Trust, url: &Url, h2: bool, resume: bool) -> Result<Tls, String> {
    let name = ServerName::try_from(url.host.clone())
        .map_err(|_| format!("{} cannot be a TLS server name", url.host))?;
    Ok(Tls {
        config: Arc::new(tls::config(trust, h2, resume)?),
        name,
    })
}

/// Threads when none were asked for: a local server needs its half of the machine.
pub(crate) fn threads(place: Place) -> usize {
    let all = procfs::processors();
    if place == Place::Remote {
        all
    } else {
        (all / 2).max(1)
    }
}

fn with(base: &Plan, connections: usize, pace: Pace, drain: Option<Duration>) -> Plan {
    let open = !matches!(pace, Pace::Closed);
    let drain = drain.unwrap_or(if open {
        base.timeout
    } else {
        Duration::from_secs(2)
    });
    Plan {
        connections,
        pace,
        drain,
        ..base.clone()
    }
}
