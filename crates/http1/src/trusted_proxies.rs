//! The proxies whose information about their clients is trusted: the option `http.trusted_proxies`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use serde::{Deserialize, Serialize};

/// The addresses of `private`: RFC 1918, RFC 4193, loopback and link-local ones.
const PRIVATE: [IpNet; 8] = [
    v4([10, 0, 0, 0], 8),
    v4([172, 16, 0, 0], 12),
    v4([192, 168, 0, 0], 16),
    v4([127, 0, 0, 0], 8),
    v4([169, 254, 0, 0], 16),
    v6([0, 0, 0, 0, 0, 0, 0, 1], 128),
    v6([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7),
    v6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10),
];

const fn v4([a, b, c, d]: [u8; 4], prefix: u8) -> IpNet {
    IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), prefix))
}

const fn v6([a, b, c, d, e, f, g, h]: [u16; 8], prefix: u8) -> IpNet {
    let address = Ipv6Addr::new(a, b, c, d, e, f, g, h);
    IpNet::V6(Ipv6Net::new_assert(address, prefix))
}

/// The set of trusted proxies; empty by default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustedProxies {
    networks: Vec<IpNet>,
    /// Whether peers on a Unix socket are trusted.
    unix: bool,
}

impl TrustedProxies {
    /// Adds an address, a network, `private` or `unix`.
    ///
    /// # Errors
    /// If the text is none of these; the error says what is expected.
    pub fn add(&mut self, text: &str) -> Result<(), String> {
        match text {
            "unix" => self.unix = true,
            "private" => self.networks.extend(PRIVATE),
            text => self.networks.push(network(text)?),
        }
        Ok(())
    }

    /// Returns whether the peer of a connection is trusted; `None` is a peer on a Unix socket.
    #[must_use]
    pub fn trusts(&self, peer: Option<IpAddr>) -> bool {
        match peer {
            Some(address) => self.networks.iter().any(|net| net.contains(&address)),
            None => self.unix,
        }
    }
}

/// Returns whether `private` contains the address.
pub(crate) fn is_private(address: IpAddr) -> bool {
    PRIVATE.iter().any(|net| net.contains(&address))
}

fn network(text: &str) -> Result<IpNet, String> {
    let parsed = match text.parse::<IpAddr>() {
        Ok(address) => Some(address.to_canonical().into()),
        Err(_) => text.parse().ok(),
    };
    parsed.ok_or_else(|| {
        format!(
            "\"{text}\" is not an address, a network such as 10.0.0.0/8, \"private\" or \"unix\""
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trusting(words: &[&str]) -> TrustedProxies {
        let mut proxies = TrustedProxies::default();
        for word in words {
            proxies.add(word).expect(word);
        }
        proxies
    }

    fn trusts(proxies: &TrustedProxies, address: &str) -> bool {
        proxies.trusts(Some(address.parse().expect("an address")))
    }

    #[test]
    fn addresses_and_networks() {
        let proxies = trusting(&[
            "192.0.2.7",
            "198.51.100.0/24",
            "2001:db8::/32",
            "::ffff:203.0.113.1",
        ]);
        for address in [
            "192.0.2.7",
            "198.51.100.255",
            "2001:db8:1::1",
            "203.0.113.1",
        ] {
            assert!(trusts(&proxies, address), "{address}");
        }
        for address in [
            "192.0.2.8",
            "198.51.101.0",
            "2001:db9::",
            "127.0.0.1",
            "::1",
        ] {
            assert!(!trusts(&proxies, address), "{address}");
        }
        assert!(!proxies.trusts(None));
    }

    #[test]
    fn words() {
        let proxies = trusting(&["private"]);
        for address in [
            "10.1.2.3",
            "172.31.0.1",
            "192.168.1.1",
            "127.0.0.9",
            "169.254.1.1",
            "::1",
            "fd00::1",
            "fe80::1",
        ] {
            assert!(trusts(&proxies, address), "{address}");
        }
        for address in [
            "11.0.0.1",
            "172.32.0.1",
            "192.169.0.1",
            "8.8.8.8",
            "2001:db8::1",
        ] {
            assert!(!trusts(&proxies, address), "{address}");
        }
        assert!(!proxies.trusts(None));
        assert!(trusting(&["unix"]).trusts(None));
        assert!(!trusts(&trusting(&["unix"]), "127.0.0.1"));
    }

    #[test]
    fn nothing_else() {
        for word in [
            "",
            "*",
            "localhost",
            "10.0.0",
            "10.0.0.0/33",
            "10.0.0.1:80",
            "[::1]",
            "Private",
        ] {
            assert!(TrustedProxies::default().add(word).is_err(), "{word}");
        }
    }
}
