//! Single requests: whether a server is up, and whether its response is the expected one.

use crate::problem::{Problem, Result};
use sha2::{Digest, Sha256};
use std::net::TcpStream;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(10);
const LARGEST: u64 = 64 << 20;

/// A complete response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
    pub(crate) headers: Vec<(String, String)>,
}

/// The body of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sent<'a> {
    Nothing,
    Whole(&'a [u8]),
    Chunked(&'a [u8]),
}

impl Answer {
    /// Returns the value of a header field, or an empty string.
    pub(crate) fn header(&self, name: &str) -> &str {
        let mut found = self.headers.iter().filter(|(one, _)| one == name);
        found.next().map_or("", |(_, value)| value)
    }

    /// Returns the body as text.
    pub(crate) fn text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.body)
    }

    /// Returns the SHA-256 of the body, in hexadecimal digits.
    pub(crate) fn sha256(&self) -> String {
        Sha256::digest(&self.body)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }

    /// Returns the beginning of the body's visible text, for a message.
    pub(crate) fn beginning(&self) -> String {
        let text = self.text();
        let is_page = text.trim_start().starts_with('<');
        let text = match is_page {
            true => without_tags(&text),
            false => text.into_owned(),
        };
        let words: Vec<&str> = text.split_whitespace().collect();
        words.join(" ").chars().take(200).collect()
    }
}

/// Returns the text of an HTML page.
fn without_tags(page: &str) -> String {
    let (mut out, mut rest) = (String::new(), page);
    while let Some((before, tag)) = rest.split_once('<') {
        out += before;
        out.push(' ');
        let hidden = ["style", "script"]
            .into_iter()
            .find(|name| tag.starts_with(name));
        let end = hidden.and_then(|name| tag.find(&format!("</{name}")));
        let tag = &tag[end.map_or(0, |end| end + 1)..];
        rest = tag.split_once('>').map_or("", |(_, after)| after);
    }
    out + rest
}

fn agent(timeout: Duration) -> ureq::Agent {
    let config = ureq::Agent::config_builder()
        .timeout_global(Some(timeout))
        .http_status_as_error(false)
        .max_redirects(0)
        .proxy(None)
        .build();
    config.into()
}

/// Sends one GET on a connection of its own.
pub(crate) fn get(url: &str) -> Result<Answer> {
    send("GET", url, &[], Sent::Nothing)
}

/// Sends one request on a connection of its own.
pub(crate) fn send(
    method: &str,
    url: &str,
    headers: &[(&str, &str)],
    sent: Sent<'_>,
) -> Result<Answer> {
    let failed = |e: &dyn std::fmt::Display| Problem::failed(format!("{method} {url}: {e}"));
    let mut request = ureq::http::Request::builder().method(method).uri(url);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let agent = agent(TIMEOUT);
    let answer = match sent {
        Sent::Nothing => request
            .body(())
            .map_err(|e| failed(&e))
            .map(|request| agent.run(request)),
        Sent::Whole(bytes) => request
            .body(bytes)
            .map_err(|e| failed(&e))
            .map(|request| agent.run(request)),
        Sent::Chunked(mut bytes) => request
            .body(ureq::SendBody::from_reader(&mut bytes))
            .map_err(|e| failed(&e))
            .map(|request| agent.run(request)),
    }?;
    whole(answer.map_err(|e| failed(&e))?).map_err(|e| failed(&e))
}

fn whole(mut answer: ureq::http::Response<ureq::Body>) -> std::result::Result<Answer, ureq::Error> {
    let headers = answer
        .headers()
        .iter()
        .map(|(name, value)| (name.to_string(), value.to_str().unwrap_or("").to_owned()))
        .collect();
    let body = answer
        .body_mut()
        .with_config()
        .limit(LARGEST)
        .read_to_vec()?;
    Ok(Answer {
        status: answer.status().as_u16(),
        body,
        headers,
    })
}

/// Returns whether any HTTP response arrives from `url`; for TLS, whether the port accepts connections.
pub(crate) fn answers(url: &str) -> bool {
    if let Some(rest) = url.strip_prefix("https://") {
        return TcpStream::connect(rest.split('/').next().unwrap_or_default()).is_ok();
    }
    agent(Duration::from_secs(2)).get(url).call().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_quoted_by_its_text() {
        let of = |body: &str| {
            let answer = Answer {
                status: 500,
                body: body.into(),
                headers: Vec::new(),
            };
            answer.beginning()
        };
        let page =
            "<!DOCTYPE html><style>a > b {}</style><title>Error</title>\n<p>No <b>database</b>";
        assert_eq!(of(page), "Error No database");
        assert_eq!(of("a < b\nc"), "a < b c");
        assert_eq!(of("<p>half <b"), "half");
    }
}
