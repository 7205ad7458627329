//! The addresses of a request's connection, which the front passes on as text: `SCHEME PEER LOCAL`.
//!
//! `p` for plain or `s` for TLS; the client's address and ours, `-` on a Unix socket. Most requests of a connection have the
//! same, so they are written once and read once.

use std::fmt;
use std::net::SocketAddr;

/// Both ends of a client's connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Endpoints {
    pub secure: bool,
    pub client: Option<SocketAddr>,
    pub local: Option<SocketAddr>,
}

impl Endpoints {
    /// Of a TCP connection. An IPv4 address that came in on an IPv6 socket is shown as what it is.
    #[must_use]
    pub fn tcp(client: SocketAddr, local: SocketAddr) -> Endpoints {
        let canonical =
            |address: SocketAddr| SocketAddr::new(address.ip().to_canonical(), address.port());
        Endpoints {
            secure: false,
            client: Some(canonical(client)),
            local: Some(canonical(local)),
        }
    }

    /// From its [`Display`](fmt::Display).
    #[must_use]
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

impl fmt::Display for Endpoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
            ..Endpoints::default()
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

    #[test]
    fn an_ipv4_address_is_one() {
        let address = |text: &str| text.parse().expect("an address");
        let endpoints = Endpoints::tcp(address("[::ffff:192.0.2.1]:5"), address("[::1]:80"));
        assert_eq!(endpoints.to_string(), "p 192.0.2.1:5 [::1]:80");
    }
}
