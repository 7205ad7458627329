//! The expectations that decide whether a response is good, beyond having arrived.
//!
//! Without any expectation every status below 400 is good, whatever the body.

use crate::http1::{Keep, Reader};
use measure::ErrorClass;
use sha2::{Digest, Sha256};

/// Largest body that can be compared.
const MAX_BODY: usize = 64 * 1024 * 1024;
/// Bytes of an error response's body that are kept, to show them.
const SHOWN: usize = 400;

/// All expectations of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expect {
    statuses: Vec<(u16, u16)>,
    body: Option<Vec<u8>>,
    contains: Vec<Vec<u8>>,
    sha256: Option<Vec<u8>>,
    length: Option<u64>,
    any_status: bool,
    same_length: bool,
    words: Vec<String>,
}

impl Expect {
    /// Adds `status=200`, `status=2xx`, `body=ok`, `contains=text`, `sha256=hex` or `length=N`.
    ///
    /// # Errors
    /// If `text` is none of these.
    pub fn add(&mut self, text: &str) -> Result<(), String> {
        let (kind, value) = text.split_once('=').ok_or_else(|| unknown(text))?;
        match kind {
            "status" => {
                for one in value.split(',') {
                    self.statuses.push(status_range(one).ok_or_else(|| {
                        format!("--expect {text}: {one:?} is not a status such as 200 or 2xx")
                    })?);
                }
            }
            "body" => self.body = Some(value.as_bytes().to_vec()),
            "contains" => self.contains.push(value.as_bytes().to_vec()),
            "sha256" => {
                self.sha256 = Some(
                    hex(value)
                        .ok_or_else(|| format!("--expect {text}: not 64 hexadecimal digits"))?,
                )
            }
            "length" => {
                self.length =
                    Some(value.parse().map_err(|_| {
                        format!("--expect {text}: {value:?} is not a number of bytes")
                    })?)
            }
            _ => return Err(unknown(text)),
        }
        self.words.push(text.to_owned());
        Ok(())
    }

    /// Accepts every status as good (ab counts failures that way).
    pub(crate) fn any_status(&mut self) {
        self.any_status = true;
    }

    /// Rejects a body whose length differs from that of the first (ab without `-l`).
    pub(crate) fn same_length(&mut self) {
        self.same_length = true;
    }

    /// Returns whether the engine must compare each body's length with the first body's.
    pub(crate) fn wants_same_length(&self) -> bool {
        self.same_length
    }

    /// Returns the expectations as typed.
    #[must_use]
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// Returns how much of each response must be kept to judge it.
    pub(crate) fn keep(&self) -> Keep {
        let body = self.body.is_some() || !self.contains.is_empty() || self.sha256.is_some();
        Keep {
            body: if body { MAX_BODY } else { 0 },
            error_body: SHOWN,
            head: false,
        }
    }

    /// Returns what is wrong with a complete response, if anything.
    #[inline]
    pub(crate) fn judge(&self, answer: &Reader) -> Option<ErrorClass> {
        self.judge_parts(answer.status, answer.body_bytes, &answer.body)
    }

    /// Judges a response given in parts, as [`Self::judge`] does.
    #[inline]
    pub(crate) fn judge_parts(&self, status: u16, length: u64, body: &[u8]) -> Option<ErrorClass> {
        if self.statuses.is_empty() {
            if status >= 400 && !self.any_status {
                return Some(ErrorClass::Non2xx);
            }
        } else if !self
            .statuses
            .iter()
            .any(|(low, high)| (*low..=*high).contains(&status))
        {
            return Some(if status >= 400 {
                ErrorClass::Non2xx
            } else {
                ErrorClass::StatusMismatch
            });
        }
        if self.length.is_some_and(|wanted| wanted != length) || !self.body_is_good(body) {
            return Some(ErrorClass::BodyMismatch);
        }
        None
    }

    fn body_is_good(&self, body: &[u8]) -> bool {
        self.body.as_ref().is_none_or(|wanted| wanted == body)
            && self
                .contains
                .iter()
                .all(|part| memchr::memmem::find(body, part).is_some())
            && self
                .sha256
                .as_ref()
                .is_none_or(|wanted| Sha256::digest(body).as_slice() == wanted)
    }
}

fn unknown(text: &str) -> String {
    format!(
        "--expect {text}: write status=200, status=2xx, body=TEXT, contains=TEXT, sha256=HEX or length=BYTES"
    )
}

fn status_range(text: &str) -> Option<(u16, u16)> {
    if let Some(class) = text.strip_suffix("xx") {
        let class: u16 = class.parse().ok().filter(|class| (1..=5).contains(class))?;
        return Some((class * 100, class * 100 + 99));
    }
    text.parse()
        .ok()
        .filter(|status| (100..600).contains(status))
        .map(|status| (status, status))
}

fn hex(text: &str) -> Option<Vec<u8>> {
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    (0..64)
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expect(all: &[&str]) -> Expect {
        let mut expect = Expect::default();
        all.iter().for_each(|one| expect.add(one).unwrap());
        expect
    }

    #[test]
    fn statuses() {
        let none = expect(&[]);
        assert_eq!(none.judge_parts(302, 0, b""), None);
        assert_eq!(none.judge_parts(404, 0, b""), Some(ErrorClass::Non2xx));
        let only = expect(&["status=404,5xx"]);
        assert_eq!(only.judge_parts(404, 0, b""), None);
        assert_eq!(only.judge_parts(503, 0, b""), None);
        assert_eq!(
            only.judge_parts(200, 0, b""),
            Some(ErrorClass::StatusMismatch)
        );
    }

    #[test]
    fn bodies() {
        assert_eq!(expect(&["body=ok"]).judge_parts(200, 2, b"ok"), None);
        assert_eq!(
            expect(&["body=ok"]).judge_parts(200, 2, b"no"),
            Some(ErrorClass::BodyMismatch)
        );
        assert_eq!(expect(&["contains=k"]).judge_parts(200, 2, b"ok"), None);
        assert_eq!(
            expect(&["length=3"]).judge_parts(200, 2, b""),
            Some(ErrorClass::BodyMismatch)
        );
        let sha = "sha256=2689367b205c16ce32ed4200942b8b8b1e262dfc70d9bc9fbc77c49699a4f1df";
        assert_eq!(expect(&[sha]).judge_parts(200, 2, b"ok"), None);
        assert_eq!(
            expect(&[sha]).judge_parts(200, 2, b"ko"),
            Some(ErrorClass::BodyMismatch)
        );
    }

    #[test]
    fn mistakes() {
        for text in ["200", "status=abc", "sha256=12", "length=x", "colour=red"] {
            assert!(Expect::default().add(text).is_err(), "{text}");
        }
    }
}
