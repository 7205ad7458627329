//! The addresses of a request's connection, and their binary form on the way from the front to a worker.
//!
//! The text form is `SCHEME PEER LOCAL`: `p` for plain or `s` for TLS, the client's address and the server's, each `-` on a
//! Unix socket.

use std::fmt;
use std::net::{IpAddr, SocketAddr, SocketAddrV6};

/// The addresses of both ends of a client's connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Endpoints {
    pub secure: bool,
    pub client: Option<SocketAddr>,
    pub local: Option<SocketAddr>,
}

impl Endpoints {
    /// Returns the endpoints of a TCP connection. An IPv4 client of an IPv6 socket gets its IPv4 address.
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

    /// Returns the binary form, for [`Endpoints::unpack`]: whether the client uses TLS, then for each address its kind, the
    /// port, the bytes and, for IPv6, the scope id.
    #[must_use]
    pub fn pack(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(32);
        out.push(u8::from(self.secure));
        for address in [self.client, self.local] {
            pack(address, &mut out);
        }
        out
    }

    /// Returns `None` if `packed` is not the binary form of endpoints.
    #[must_use]
    pub fn unpack(packed: &[u8]) -> Option<Endpoints> {
        let rest = &mut &*packed;
        let [secure] = take(rest)?;
        Some(Endpoints {
            secure: secure != 0,
            client: unpack(rest)?,
            local: unpack(rest)?,
        })
    }

    /// Parses the text form, see [`Display`](fmt::Display).
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

/// The kinds of addresses in the binary form.
const NONE: u8 = 0;
const IPV4: u8 = 4;
const IPV6: u8 = 6;

fn pack(address: Option<SocketAddr>, out: &mut Vec<u8>) {
    let Some(address) = address else {
        return out.push(NONE);
    };
    out.push(if address.is_ipv4() { IPV4 } else { IPV6 });
    out.extend_from_slice(&address.port().to_le_bytes());
    match address {
        SocketAddr::V4(address) => out.extend_from_slice(&address.ip().octets()),
        SocketAddr::V6(address) => {
            out.extend_from_slice(&address.ip().octets());
            out.extend_from_slice(&address.scope_id().to_le_bytes());
        }
    }
}

#[allow(clippy::option_option, reason = "no address, or no bytes of one")]
fn unpack(rest: &mut &[u8]) -> Option<Option<SocketAddr>> {
    let [kind] = take(rest)?;
    if kind == NONE {
        return Some(None);
    }
    let port = u16::from_le_bytes(take(rest)?);
    Some(Some(match kind {
        IPV4 => SocketAddr::new(IpAddr::from(take::<4>(rest)?), port),
        IPV6 => {
            let address = take::<16>(rest)?.into();
            let scope = u32::from_le_bytes(take(rest)?);
            SocketAddr::V6(SocketAddrV6::new(address, port, 0, scope))
        }
        _ => return None,
    }))
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, left) = rest.split_first_chunk::<N>()?;
    *rest = left;
    Some(*taken)
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
        let link_local = Endpoints {
            client: "[fe80::1%3]:80".parse().ok(),
            ..tcp
        };
        for endpoints in [tcp, unix, link_local] {
            assert_eq!(Endpoints::parse(&endpoints.to_string()), Some(endpoints));
            let packed = endpoints.pack();
            assert_eq!(Endpoints::unpack(&packed), Some(endpoints));
            for end in 0..packed.len() {
                assert_eq!(Endpoints::unpack(&packed[..end]), None);
            }
        }
        assert_eq!(Endpoints::unpack(&[0, 5, 0, 0, 0]), None);
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
