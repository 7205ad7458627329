//! Single requests: is a server there, and does it answer what it should.

use crate::problem::{Problem, Result};
use sha2::{Digest, Sha256};
use std::net::TcpStream;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(10);
const LARGEST: u64 = 64 << 20;

/// An answer, whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
    pub(crate) content_type: String,
}

impl Answer {
    /// SHA-256 of the body, in hexadecimal digits.
    pub(crate) fn sha256(&self) -> String {
        Sha256::digest(&self.body)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }

    /// The beginning of the body, for a message.
    pub(crate) fn beginning(&self) -> String {
        let text: String = String::from_utf8_lossy(&self.body)
            .chars()
            .take(200)
            .collect();
        text.replace('\n', " ")
    }
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

/// One GET on a connection of its own.
pub(crate) fn get(url: &str) -> Result<Answer> {
    ask(agent(TIMEOUT).get(url).call(), url)
}

fn ask(
    answer: std::result::Result<ureq::http::Response<ureq::Body>, ureq::Error>,
    url: &str,
) -> Result<Answer> {
    let mut answer = answer.map_err(|e| Problem::failed(format!("{url}: {e}")))?;
    let header = answer
        .headers()
        .get("content-type")
        .and_then(|value| value.to_str().ok());
    let content_type = header.unwrap_or("").to_owned();
    let body = answer
        .body_mut()
        .with_config()
        .limit(LARGEST)
        .read_to_vec()
        .map_err(|e| Problem::failed(format!("{url}: {e}")))?;
    Ok(Answer {
        status: answer.status().as_u16(),
        body,
        content_type,
    })
}

/// True if anything answers with HTTP there; with TLS, if anything accepts connections.
pub(crate) fn answers(url: &str) -> bool {
    if let Some(rest) = url.strip_prefix("https://") {
        return TcpStream::connect(rest.split('/').next().unwrap_or_default()).is_ok();
    }
    agent(Duration::from_secs(2)).get(url).call().is_ok()
}
