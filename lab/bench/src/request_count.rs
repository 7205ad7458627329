//! The server's own count of requests, compared with the load generator's. Only nginx and Hearth count without
//! configuration.

use crate::probe;
use std::path::PathBuf;
use std::process::Command;

/// The path under which nginx reports its count.
pub(crate) const NGINX_STATUS: &str = "/bench-status";

/// A source of the server's own count of requests.
#[derive(Clone, Debug)]
pub(crate) enum Counter {
    /// nginx, by its base URL.
    Nginx(String),
    /// Hearth, by the program and the control socket of the server.
    Hearth { program: PathBuf, control: PathBuf },
}

impl Counter {
    /// Returns the number of requests so far. nginx counts the request for its status too.
    pub(crate) fn read(&self) -> Option<u64> {
        match self {
            Self::Nginx(base) => {
                let answer = probe::get(&format!("{base}{NGINX_STATUS}")).ok()?;
                of_nginx(&answer.text())
            }
            Self::Hearth { program, control } => {
                let mut status = Command::new(program);
                status.args(["status", "--json", "--control"]).arg(control);
                of_hearth(&status.output().ok()?.stdout)
            }
        }
    }

    /// Returns the number of requests that one reading adds to the count.
    fn own(&self) -> u64 {
        u64::from(matches!(self, Self::Nginx(_)))
    }

    /// Returns the number of requests between two readings.
    pub(crate) fn between(&self, before: u64, after: u64) -> u64 {
        after.saturating_sub(before).saturating_sub(self.own())
    }
}

/// Returns the third number of the line after "server accepts handled requests".
fn of_nginx(text: &str) -> Option<u64> {
    let line = text
        .lines()
        .skip_while(|line| !line.contains("handled"))
        .nth(1)?;
    line.split_whitespace().nth(2)?.parse().ok()
}

fn of_hearth(json: &[u8]) -> Option<u64> {
    let status: serde_json::Value = serde_json::from_slice(json).ok()?;
    let totals = status["totals"].as_array()?;
    totals.iter().find(|pair| pair[0] == "requests")?[1].as_u64()
}

/// Compares the requests that the load sent with those that the server counted; returns text if they differ by more than
/// one in a thousand plus the requests in flight when the load began and ended.
pub(crate) fn mismatch(sent: u64, under_way: u64, counted: u64) -> Option<String> {
    let allowed = under_way + sent / 1000;
    (sent.abs_diff(counted) > allowed).then(|| {
        format!("the load generator received {sent} answers, the server counted {counted} requests")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read() {
        let nginx = "Active connections: 3 \nserver accepts handled requests\n 12 12 4711 \nReading: 0 Writing: 1 Waiting: 2 \n";
        assert_eq!((of_nginx(nginx), of_nginx("")), (Some(4711), None));
        let hearth = br#"{"totals": [["finished", 7], ["requests", 8]]}"#;
        assert_eq!((of_hearth(hearth), of_hearth(b"{}")), (Some(8), None));
    }

    #[test]
    fn a_count_that_is_not_the_loads_is_told() {
        assert_eq!(mismatch(10_000, 100, 10_090), None);
        assert!(mismatch(10_000, 100, 10_200).is_some_and(|why| why.contains("10200")));
        assert!(mismatch(10_000, 0, 9_000).is_some());
    }
}
