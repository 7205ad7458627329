//! Whose request it is that the front passes on: one private header of the connections between front and worker.
//!
//! `ID VERSION SCHEME PEER LOCAL`: the request's id as 16 hexadecimal digits; `0` for HTTP/1.0, else `1`; `p` for plain
//! or `s` for TLS; the client's address and ours, `-` on a Unix socket. All but the first two are the same for every
//! request of a client's connection, so they are made and read once.

use std::net::SocketAddr;

/// The header. A worker believes it on connections from the front only, and never shows it to PHP.
pub const CLIENT_HEADER: &str = "hearth-client";
/// What a worker tells the front beside a response: some of [`MORE`], [`CLOSE`], [`LEAVE`].
pub const WORKER_HEADER: &str = "hearth-worker";
/// The request goes on after its response: the worker is not free before [`crate::FromDoor::Ended`].
pub const MORE: &str = "more";
/// The app wants the client's connection closed.
pub const CLOSE: &str = "close";
/// The worker takes no further request.
pub const LEAVE: &str = "leave";

/// Both ends of a client's connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ends {
    pub secure: bool,
    pub peer: Option<SocketAddr>,
    pub local: Option<SocketAddr>,
}

/// One request's header, taken apart. `ends` is the text for [`Ends::parse`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin<'a> {
    pub id: u64,
    pub is_http10: bool,
    pub ends: &'a str,
}

impl<'a> Origin<'a> {
    /// `None` if a front did not write this.
    pub fn parse(text: &'a str) -> Option<Origin<'a>> {
        let (id, rest) = text.split_once(' ')?;
        let (version, ends) = rest.split_once(' ')?;
        Some(Origin {
            id: u64::from_str_radix(id, 16).ok()?,
            is_http10: version == "0",
            ends,
        })
    }
}

impl std::fmt::Display for Origin<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let version = u8::from(!self.is_http10);
        write!(f, "{:016x} {version} {}", self.id, self.ends)
    }
}

impl Ends {
    pub fn parse(text: &str) -> Option<Ends> {
        let mut words = text.split(' ');
        let secure = words.next()? == "s";
        let mut address = || match words.next() {
            Some("-") => Some(None),
            Some(text) => text.parse().ok().map(Some),
            None => None,
        };
        Some(Ends {
            secure,
            peer: address()?,
            local: address()?,
        })
    }
}

impl std::fmt::Display for Ends {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.secure { "s" } else { "p" })?;
        for address in [self.peer, self.local] {
            match address {
                Some(address) => write!(f, " {address}")?,
                None => f.write_str(" -")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_comes_back_as_it_went() {
        let tcp = Ends {
            secure: false,
            peer: "192.0.2.1:4711".parse().ok(),
            local: "[::1]:80".parse().ok(),
        };
        let unix = Ends {
            secure: true,
            peer: None,
            local: None,
        };
        for ends in [tcp, unix] {
            let text = ends.to_string();
            let origin = Origin {
                id: 0xabc,
                is_http10: true,
                ends: &text,
            };
            let line = origin.to_string();
            let parsed = Origin::parse(&line).unwrap();
            assert_eq!(parsed, origin);
            assert_eq!(Ends::parse(parsed.ends), Some(ends));
        }
    }

    #[test]
    fn what_no_front_wrote_is_refused() {
        for text in ["", "x 1 p - -", "00"] {
            assert_eq!(Origin::parse(text), None, "{text}");
        }
        for text in ["", "p", "p -", "p 1.2.3.4 -"] {
            assert_eq!(Ends::parse(text), None, "{text}");
        }
    }
}
