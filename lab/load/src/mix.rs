//! The choice of the next request, and lists of requests from mix files and access logs.
//!
//! A mix is chosen by weight at random but seeded, so that two runs with one seed send the same requests.

use crate::plan::{Http, Order};
use crate::request::{Parts, Request};
use crate::target::Url;
use measure::KeepAlive;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;

/// The choice of a thread's requests.
#[derive(Debug)]
pub(crate) struct Picker {
    cumulative: Vec<f64>,
    order: Order,
    next: usize,
    /// The source of every other random choice of the thread too.
    pub(crate) rng: SmallRng,
}

impl Picker {
    pub(crate) fn new(requests: &[Request], order: Order, seed: u64, thread: usize) -> Self {
        let total: f64 = requests.iter().map(|request| request.weight).sum();
        let mut sum = 0.0;
        let cumulative = requests
            .iter()
            .map(|request| {
                sum += request.weight / total;
                sum
            })
            .collect();
        let rng =
            SmallRng::seed_from_u64(seed ^ (thread as u64).wrapping_mul(0x517c_c1b7_2722_0a95));
        Self {
            cumulative,
            order,
            next: thread,
            rng,
        }
    }

    /// Returns the index of the next request.
    #[inline]
    pub(crate) fn pick(&mut self) -> usize {
        if self.cumulative.len() == 1 {
            return 0;
        }
        match self.order {
            Order::Listed => {
                self.next += 1;
                (self.next - 1) % self.cumulative.len()
            }
            Order::Weighted => {
                let at: f64 = self.rng.random();
                self.cumulative
                    .partition_point(|sum| *sum <= at)
                    .min(self.cumulative.len() - 1)
            }
        }
    }
}

/// One line of a mix, before it becomes a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Relative frequency.
    pub weight: f64,
    /// Method.
    pub method: Option<String>,
    /// Path or whole URL.
    pub target: String,
    /// Body, `@file`, or `chunked:` and a body.
    pub body: Option<String>,
}

/// Parses a mix file: `[WEIGHT] [METHOD] PATH [BODY|@FILE|chunked:BODY]` per line, `#` comments.
///
/// # Errors
/// If a line is malformed; the text quotes the first such line.
pub(crate) fn parse_file(text: &str) -> Result<Vec<Line>, String> {
    let mut lines = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        lines.push(parse_line(line).map_err(|why| format!("line {}: {why}: {line}", index + 1))?);
    }
    if lines.is_empty() {
        return Err("the file contains no request; a line looks like: 3 GET /path".into());
    }
    Ok(lines)
}

fn parse_line(line: &str) -> Result<Line, String> {
    let mut rest = line;
    let mut weight = 1.0;
    if let Some((first, tail)) = rest.split_once(char::is_whitespace)
        && let Ok(number) = first.parse::<f64>()
    {
        if !number.is_finite() || number <= 0.0 {
            return Err(format!("weight {first} must be above 0"));
        }
        (weight, rest) = (number, tail.trim_start());
    }
    let is_method =
        |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_uppercase());
    let mut method = None;
    if let Some((first, tail)) = rest.split_once(char::is_whitespace)
        && is_method(first)
    {
        (method, rest) = (Some(first.to_owned()), tail.trim_start());
    }
    let (target, body) = rest
        .split_once(char::is_whitespace)
        .map_or((rest, None), |(target, body)| {
            (target, Some(body.trim().to_owned()))
        });
    if !target.starts_with('/') && !target.contains("://") {
        return Err(format!("{target:?} does not start with /"));
    }
    Ok(Line {
        weight,
        method,
        target: target.to_owned(),
        body,
    })
}

/// Parses an access log (common or combined) into distinct requests with their frequencies. Takes only GET and HEAD
/// unless `all_methods`; also returns how many lines were left out.
///
/// # Errors
/// If no line could be used.
pub(crate) fn parse_access_log(
    text: &str,
    all_methods: bool,
) -> Result<(Vec<Line>, usize), String> {
    let mut found: BTreeMap<(String, String), u64> = BTreeMap::new();
    let mut skipped = 0;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        match log_request(line) {
            Some((method, path)) if all_methods || method == "GET" || method == "HEAD" => {
                *found
                    .entry((method.to_owned(), path.to_owned()))
                    .or_default() += 1;
            }
            _ => skipped += 1,
        }
    }
    if found.is_empty() {
        return Err(format!(
            "no GET request found in {skipped} lines; expected the common or combined log format"
        ));
    }
    let mut lines: Vec<Line> = found
        .into_iter()
        .map(|((method, target), times)| Line {
            weight: times as f64,
            method: Some(method),
            target,
            body: None,
        })
        .collect();
    lines.sort_by(|a, b| {
        b.weight
            .total_cmp(&a.weight)
            .then_with(|| a.target.cmp(&b.target))
    });
    Ok((lines, skipped))
}

fn log_request(line: &str) -> Option<(&str, &str)> {
    let quoted = line.split('"').nth(1)?;
    let mut words = quoted.split(' ');
    let (method, path) = (words.next()?, words.next()?);
    let http = words
        .next()
        .is_some_and(|version| version.starts_with("HTTP/"));
    (http && path.starts_with('/') && method.bytes().all(|byte| byte.is_ascii_uppercase()))
        .then_some((method, path))
}

/// Returns the URL of a line, which must be on the server of the run.
fn on(base: &Url, target: &str) -> Result<Url, String> {
    let path = if target.contains("://") {
        let other = Url::parse(target)?;
        if (&other.host, other.port, other.tls) != (&base.host, base.port, base.tls) {
            let server = base.authority();
            return Err(format!(
                "{target} is not on {server}; all requests of a run go to one server"
            ));
        }
        other.path
    } else {
        target.to_owned()
    };
    Ok(Url {
        path,
        ..base.clone()
    })
}

/// Turns the lines into requests to `base`.
///
/// # Errors
/// If a line names another host, a file cannot be read or a request cannot be written.
pub(crate) fn requests(
    lines: Vec<Line>,
    base: &Url,
    parts: &Parts,
    http: Http,
    keep_alive: KeepAlive,
) -> Result<Vec<Request>, String> {
    lines
        .into_iter()
        .map(|line| {
            let url = on(base, &line.target)?;
            let typed = line.body.as_deref();
            let in_chunks = typed.and_then(|text| text.strip_prefix("chunked:"));
            let body = match in_chunks.or(typed) {
                None => parts.body.clone(),
                Some(text) => Some(read_body(text)?),
            };
            let chunked = in_chunks.is_some();
            let method = line.method.or_else(|| parts.method.clone());
            Request::new(
                &url,
                Parts {
                    method,
                    body,
                    chunked,
                    weight: line.weight,
                    headers: parts.headers.clone(),
                },
                http,
                keep_alive,
            )
        })
        .collect()
}

/// Reads a body as typed: text, or `@file`.
///
/// # Errors
/// If the file cannot be read.
pub(crate) fn read_body(text: &str) -> Result<Vec<u8>, String> {
    match text.strip_prefix('@') {
        Some(path) => std::fs::read(path).map_err(|error| format!("body file {path}: {error}")),
        None => Ok(text.as_bytes().to_vec()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mix_file() {
        let lines = parse_file(
            "# shop\n\n7 GET /list?page=1\n2 /item/5\nPOST /cart id=5&n=1\n0.5 DELETE /cart\n",
        )
        .unwrap();
        assert_eq!(lines.len(), 4);
        assert_eq!(
            (lines[0].weight, lines[0].target.as_str()),
            (7.0, "/list?page=1")
        );
        assert_eq!(lines[1].method, None);
        assert_eq!(lines[2].body.as_deref(), Some("id=5&n=1"));
        assert_eq!(lines[3].method.as_deref(), Some("DELETE"));
    }

    #[test]
    fn a_wrong_line_is_named() {
        assert!(
            parse_file("/ok\nnonsense here\n")
                .unwrap_err()
                .starts_with("line 2")
        );
        assert!(parse_file("-1 /x").unwrap_err().contains("above 0"));
        assert!(parse_file("# only\n").is_err());
    }

    #[test]
    fn an_access_log() {
        let log = concat!(
            "127.0.0.1 - - [21/Nov/2026:10:00:00 +0000] \"GET /a HTTP/1.1\" 200 5 \"-\" \"x\"\n",
            "127.0.0.1 - - [21/Nov/2026:10:00:01 +0000] \"GET /b?c HTTP/2.0\" 200 5\n",
            "127.0.0.1 - - [21/Nov/2026:10:00:02 +0000] \"GET /a HTTP/1.1\" 200 5\n",
            "127.0.0.1 - - [21/Nov/2026:10:00:03 +0000] \"POST /c HTTP/1.1\" 200 5\n",
            "garbage\n"
        );
        let (lines, skipped) = parse_access_log(log, false).unwrap();
        assert_eq!(skipped, 2);
        assert_eq!(
            lines
                .iter()
                .map(|line| (line.target.as_str(), line.weight))
                .collect::<Vec<_>>(),
            [("/a", 2.0), ("/b?c", 1.0)]
        );
        assert_eq!(parse_access_log(log, true).unwrap().0.len(), 3);
        assert!(parse_access_log("garbage\n", false).is_err());
    }

    #[test]
    fn weights_are_kept_and_seeds_repeat() {
        let url = Url::parse("http://h/").unwrap();
        let lines = parse_file("3 /a\n1 /b\n").unwrap();
        let requests = requests(lines, &url, &Parts::default(), Http::V1_1, KeepAlive::On).unwrap();
        let draw = |seed| {
            let mut p = Picker::new(&requests, Order::Weighted, seed, 0);
            (0..8_000).map(|_| p.pick()).collect::<Vec<_>>()
        };
        let first = draw(7);
        assert_eq!(first, draw(7));
        assert_ne!(first, draw(8));
        let share = first.iter().filter(|index| **index == 0).count() as f64 / 8_000.0;
        assert!((share - 0.75).abs() < 0.03, "{share}");
        let mut listed = Picker::new(&requests, Order::Listed, 1, 0);
        assert_eq!([listed.pick(), listed.pick(), listed.pick()], [0, 1, 0]);
    }
}
