//! Requests recorded paths again, without and with a list: only the time may differ.

use std::collections::BTreeSet;

use ::preload::Replay;

use super::Failed;
use super::site::Site;
use crate::http_client::Response;

/// The result of a comparison.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    pub(super) paths: usize,
    /// Bodies that differ from request to request anyway: only the lines that do not differ were compared.
    pub(super) varying: usize,
    /// The changes that the list causes.
    pub(super) differences: Vec<Difference>,
}

/// A change that the list causes.
#[derive(Debug)]
pub(super) struct Difference {
    /// The number of the path; `None` for a message in PHP's log.
    pub(super) path: Option<usize>,
    pub(super) what: String,
}

/// The answers without a list.
#[derive(Debug)]
pub(super) struct Expected<'a> {
    replays: &'a [Replay],
    answers: Vec<[Response; 2]>,
    messages: BTreeSet<String>,
}

impl Expected<'_> {
    /// Requests each path, twice after the first time, to find what varies.
    pub(super) fn of<'a>(site: &Site, replays: &'a [Replay]) -> Result<Expected<'a>, Failed> {
        let mut answers = Vec::with_capacity(replays.len());
        for replay in replays {
            let get = || site.get(&replay.host, &replay.uri);
            // The first request fills caches of the app.
            get()?;
            answers.push([get()?, get()?]);
        }
        Ok(Expected {
            replays,
            answers,
            messages: messages(&site.log_text()).collect(),
        })
    }

    /// The number of paths that fail without a list, too, and the first of them.
    pub(super) fn failing(&self) -> Option<(usize, String)> {
        let fails = |answers: &[Response; 2]| answers[0].status >= 500;
        let first = self.answers.iter().position(fails)?;
        let count = self.answers.iter().filter(|answers| fails(answers)).count();
        let (path, answer) = (&self.replays[first].uri, &self.answers[first][0]);
        Some((count, format!("GET {path}: status {}", answer.status)))
    }

    /// Compares with the answers of a site that has a list.
    pub(super) fn compare(&self, site: &Site) -> Result<Comparison, Failed> {
        let mut compared = Comparison {
            paths: self.replays.len(),
            ..Comparison::default()
        };
        for (number, (replay, [one, two])) in self.replays.iter().zip(&self.answers).enumerate() {
            site.get(&replay.host, &replay.uri)?;
            let other = site.get(&replay.host, &replay.uri)?;
            compared.varying += usize::from(one.body != two.body);
            if let Some(what) = difference(one, two, &other) {
                compared.differences.push(Difference {
                    path: Some(number),
                    what: format!("GET {}: {what}", replay.uri),
                });
            }
        }
        let new: BTreeSet<String> = messages(&site.log_text())
            .filter(|message| !self.messages.contains(message))
            .collect();
        let new = new.into_iter().take(10);
        compared
            .differences
            .extend(new.map(|what| Difference { path: None, what }));
        Ok(compared)
    }

    /// Whether a path is answered, and logged, as without a list.
    pub(super) fn holds(&self, site: &Site, path: usize) -> Result<bool, Failed> {
        let one = Expected {
            replays: &self.replays[path..=path],
            answers: vec![self.answers[path].clone()],
            messages: self.messages.clone(),
        };
        Ok(one.compare(site)?.differences.is_empty())
    }
}

/// Returns the difference between two answers without a list and one with it.
fn difference(one: &Response, two: &Response, other: &Response) -> Option<String> {
    if one.status != other.status {
        return Some(format!("status {} instead of {}", other.status, one.status));
    }
    if one.body == two.body {
        return (one.body != other.body).then(|| {
            format!(
                "another body, {} bytes instead of {}",
                other.body.len(),
                one.body.len()
            )
        });
    }
    // Tokens and times differ anyway: lines that are in both must be in the third.
    let lines = |answer: &Response| -> BTreeSet<Vec<u8>> {
        let lines = answer.body.split(|byte| *byte == b'\n');
        lines.map(<[u8]>::to_vec).collect()
    };
    let (one, two, other) = (lines(one), lines(two), lines(other));
    let missing = one.intersection(&two).find(|line| !other.contains(*line))?;
    let missing: String = String::from_utf8_lossy(missing).chars().take(80).collect();
    Some(format!("a line is not in its body: {}", missing.trim()))
}

/// Returns PHP's messages in a log, without timestamps and request ids.
fn messages(log: &str) -> impl Iterator<Item = String> + '_ {
    let kinds = [
        "PHP Fatal error:",
        "PHP Parse error:",
        "PHP Warning:",
        "PHP Deprecated:",
        "PHP Notice:",
    ];
    log.lines().filter_map(move |line| {
        let start = kinds.iter().filter_map(|kind| line.find(kind)).min()?;
        let line = &line[start..];
        let line = line.rsplit_once(" request=").map_or(line, |(line, _)| line);
        Some(line.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, body: &str) -> Response {
        Response {
            status,
            body: body.into(),
        }
    }

    fn between(bodies: [&str; 3]) -> Option<String> {
        let [one, two, other] = bodies.map(|body| answer(200, body));
        difference(&one, &two, &other)
    }

    #[test]
    fn what_varies_anyway_is_no_difference() {
        assert_eq!(between(["a\nb", "a\nb", "a\nb"]), None);
        assert_eq!(
            between(["a\nb", "a\nb", "a\nc\n"]).as_deref(),
            Some("another body, 4 bytes instead of 3")
        );
        assert_eq!(
            between(["page\ntoken 1", "page\ntoken 2", "page\ntoken 3"]),
            None
        );
        assert_eq!(
            between(["page\ntoken 1", "page\ntoken 2", "token 3"]).as_deref(),
            Some("a line is not in its body: page")
        );
    }

    #[test]
    fn a_message_is_the_same_in_each_request() {
        let log = "2026 info x\nPHP Warning:  careful in a.php on line 1 request=07\nPHP Warning:  careful in a.php on line 1 request=08\n";
        let all: BTreeSet<String> = messages(log).collect();
        assert_eq!(
            all,
            ["PHP Warning:  careful in a.php on line 1".to_owned()].into()
        );
    }
}
