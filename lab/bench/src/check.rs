//! Checks that all servers do the same work: the reference that their responses are compared with.

use crate::load::{Amount, Load};
use crate::probe::{self, Answer, Sent};
use crate::problem::{Problem, Result};
use crate::scenarios::{Arm, Scenario};
use crate::trial::Trials;
use std::collections::BTreeMap;

/// The response of the first server, which all others must send too.
#[derive(Debug, Default)]
pub(crate) struct Reference {
    pub(crate) sha256: Option<String>,
    from: String,
    pub(crate) length: u64,
    /// Status by path, for the user's own site.
    statuses: BTreeMap<String, u16>,
}

impl Reference {
    /// Returns the reference for a body that the scenario specifies, if any.
    pub(crate) fn of_body(body: Option<&str>) -> Self {
        let Some(body) = body else {
            return Self::default();
        };
        let answer = Answer {
            status: 200,
            body: body.into(),
            headers: Vec::new(),
        };
        Self {
            sha256: Some(answer.sha256()),
            from: "the scenario".to_owned(),
            length: body.len() as u64,
            ..Self::default()
        }
    }

    /// Checks that the response is good and has the same bytes as the others; the first response becomes the reference.
    pub(crate) fn compare(&mut self, answer: &Answer, of: &str) -> Result<()> {
        if answer.status != 200 {
            return Err(Problem::failed(format!(
                "answers {} instead of 200: {}",
                answer.status,
                answer.beginning()
            )));
        }
        let sha256 = answer.sha256();
        match &self.sha256 {
            Some(wanted) if *wanted == sha256 => Ok(()),
            Some(_) => Err(Problem::failed(format!(
                "sends {} bytes that are not the {} of {}: {}",
                answer.body.len(),
                self.length,
                self.from,
                answer.beginning()
            ))),
            None => {
                self.sha256 = Some(sha256);
                of.clone_into(&mut self.from);
                self.length = answer.body.len() as u64;
                Ok(())
            }
        }
    }

    /// Checks that no page of a site is a server error, and that each has the same status as under the first server.
    /// Bodies may differ, because pages contain times and tokens.
    pub(crate) fn compare_site(&mut self, base: &str, paths: &[String], of: &str) -> Result<()> {
        for path in paths {
            let answer = probe::get(&format!("{base}{path}"))?;
            if answer.status >= 500 {
                return Err(Problem::failed(format!(
                    "{path} answers {}: {}",
                    answer.status,
                    answer.beginning()
                )));
            }
            let wanted = *self.statuses.entry(path.clone()).or_insert(answer.status);
            if wanted != answer.status {
                return Err(Problem::failed(format!(
                    "{path} answers {}, but {wanted} under {}",
                    answer.status, self.from
                )));
            }
        }
        if self.from.is_empty() {
            of.clone_into(&mut self.from);
        }
        Ok(())
    }
}

/// A server that has just started, to be checked before it is measured.
pub(crate) struct Check<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) arm: &'a Arm,
    /// `http://127.0.0.1:PORT`.
    pub(crate) base: &'a str,
    /// URL of the scenario's app.
    pub(crate) entry: &'a str,
    /// Pages of the user's own site.
    pub(crate) paths: &'a [String],
}

impl Check<'_> {
    /// Checks that the server follows the scenario's rules and sends the same bytes as the others. Returns the names of
    /// the response's header fields.
    pub(crate) fn run(&self, trials: &Trials<'_>, reference: &mut Reference) -> Result<String> {
        let runtime = self.arm.runtime.id();
        let url = format!("{}{}", self.entry, self.scenario.check);
        if let Some(rules) = self.scenario.rules {
            rules(self.base)?;
        }
        if self.arm.tls {
            with_tls(&url, trials, reference)?;
            return Ok(String::new());
        }
        if self.arm.site.is_some() {
            reference.compare_site(self.base, self.paths, runtime)?;
            return Ok(String::new());
        }
        let answer = probe::get(&url)?;
        let of = format!("{runtime} of {}", self.scenario.name);
        reference.compare(&answer, &of)?;
        self.head(&answer, &url)?;
        Ok(fields(&answer))
    }

    /// Checks the header fields that change what a client does with a response, or how much work the response is: the
    /// media type if the scenario specifies one, the coding, and fields that make a client send another request.
    fn head(&self, answer: &Answer, url: &str) -> Result<()> {
        let sent = answer.header("content-type").to_owned();
        let media_type = |text: &str| text.split(';').next().unwrap_or("").trim().to_lowercase();
        if let Some(wanted) = self.arm.content.content_type
            && media_type(&sent) != media_type(wanted)
        {
            return Err(Problem::failed(format!(
                "sends its answer as {sent:?}, not as {wanted:?}"
            )));
        }
        for unwanted in ["content-encoding", "set-cookie", "location"] {
            let value = answer.header(unwanted);
            if !value.is_empty() {
                return Err(Problem::failed(format!(
                    "sends {unwanted}: {value}, which was not asked for"
                )));
            }
        }
        if !self.arm.compress {
            return Ok(());
        }
        let packed = probe::send("GET", url, &[("accept-encoding", "gzip")], Sent::Nothing)?;
        match packed.header("content-encoding") {
            "gzip" => Ok(()),
            other => Err(Problem::failed(format!(
                "is asked for gzip and sends {:?}",
                if other.is_empty() { "identity" } else { other }
            ))),
        }
    }
}

/// Returns the names of a response's header fields, sorted.
fn fields(answer: &Answer) -> String {
    let mut names: Vec<&str> = answer
        .headers
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    names.sort_unstable();
    names.join(", ")
}

/// Checks a server with TLS by the load generator, which accepts the certificate that this run made.
fn with_tls(url: &str, trials: &Trials<'_>, reference: &Reference) -> Result<()> {
    let load = Load {
        amount: Amount::Requests(1, 5.0),
        sha256: reference.sha256.clone(),
        ..Load::closed(url, 1, 5.0)
    };
    let run = trials.run(&load, &[])?;
    let why = run.error_samples.first().map_or_else(
        || "no answer".to_owned(),
        |sample| format!("{}: {}", sample.class.name(), sample.text),
    );
    if run.counts.good == 1 {
        Ok(())
    } else {
        Err(Problem::Failed(why))
    }
}
