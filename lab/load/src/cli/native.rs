//! `hearth load URL`: the native command line.

use super::options::{Args, HttpArg, OrderArg};
use super::units;
use crate::expect::Expect;
use crate::mix;
use crate::plan::{Http, Order, Pace, Plan, Tls, Warmup};
use crate::procfs;
use crate::request::{Parts, Request, basic_auth, multipart, parse_header};
use crate::schedule::{Spacing, Stage};
use crate::target::{Target, Url};
use crate::tls::{self, Trust};
use measure::{KeepAlive, Place};
use rustls::pki_types::ServerName;
use std::sync::Arc;
use std::time::Duration;

impl Args {
    /// Returns the requested runs: one, or a sweep, each repeated.
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

    /// Refuses options that the version of HTTP does not have.
    fn fits(&self, http: Http) -> Result<(), String> {
        if http == Http::V2 && self.no_keepalive {
            return Err(
                "--no-keepalive is not possible with HTTP/2; use --requests-per-connection".into(),
            );
        }
        if http == Http::V2 && self.cookie_jar {
            return Err("--cookie-jar works with HTTP/1 only".into());
        }
        if http != Http::V1_1 && self.pipeline.is_some() {
            return Err("--pipeline works with HTTP/1.1 only; HTTP/2 has --streams".into());
        }
        Ok(())
    }

    fn base(&self, url: &Url, target: Target) -> Result<Plan, String> {
        let http = self.http();
        self.fits(http)?;
        let pipelined = self.pipeline.unwrap_or(1) as usize;
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
        let requests = self.requests(url, http)?.into_iter();
        let requests = requests.map(|request| request.pipelined(pipelined));
        Ok(Plan {
            order: match self.order {
                OrderArg::Weighted => Order::Weighted,
                OrderArg::Listed => Order::Listed,
            },
            streams: if http == Http::V2 {
                self.streams as usize
            } else {
                pipelined
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
            ..Plan::new(target, requests.collect())
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
            chunked: false,
            weight: 1.0,
        })
    }
}

fn read(file: &std::path::Path) -> Result<String, String> {
    std::fs::read_to_string(file)
        .map_err(|error| format!("cannot read {}: {error}", file.display()))
}

/// Returns the TLS settings for `url`.
pub(crate) fn make_tls(trust: &Trust, url: &Url, h2: bool, resume: bool) -> Result<Tls, String> {
    let name = ServerName::try_from(url.host.clone())
        .map_err(|_| format!("{} cannot be a TLS server name", url.host))?;
    Ok(Tls {
        config: Arc::new(tls::config(trust, h2, resume)?),
        name,
    })
}

/// Returns the default number of threads: a local server needs half of the machine.
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
