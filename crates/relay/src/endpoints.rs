//! The addresses of a request's connection, which the front passes on as text: `SCHEME PEER LOCAL`.
//!
//! `p` for plain or `s` for TLS; the client's address and ours, `-` on a Unix socket. All are the same for every request of
//! a client's connection, so they are written and read once.

use std::net::SocketAddr;

/// Both ends of a client's connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Endpoints {
    pub secure: bool,
    pub client: Option<SocketAddr>,
    pub local: Option<SocketAddr>,
}

impl Endpoints {
    pub fn parse(text: &str) -> Option<Endpoints> {
        let mut words = text.split(' ');
        let secure = words.next()? == "s";
        let mut address = || match words.next() {
            Some("-") => Some(None),
            Some(text) => text.parse().ok().map(Some),
            None => None,
        };
        Some(Endpoints {
            secure,
            client: address()?,
            local: address()?,
        })
    }
}

impl std::fmt::Display for Endpoints {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.secure { "s" } else { "p" })?;
        for address in [self.client, self.local] {
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
        let tcp = Endpoints {
            secure: false,
            client: "192.0.2.1:4711".parse().ok(),
            local: "[::1]:80".parse().ok(),
        };
        let unix = Endpoints {
            secure: true,
            client: None,
            local: None,
        };
        for endpoints in [tcp, unix] {
            assert_eq!(Endpoints::parse(&endpoints.to_string()), Some(endpoints));
        }
    }

    #[test]
    fn what_no_front_wrote_is_refused() {
        for text in ["", "p", "p -", "p 1.2.3.4 -"] {
            assert_eq!(Endpoints::parse(text), None, "{text}");
        }
    }
}
