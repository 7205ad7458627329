//! The client's address, scheme and host as trusted proxies give them: `X-Forwarded-*`, or `Forwarded` (RFC 7239).
//!
//! Each proxy appends what it has seen on the right, so the client is the first address from the right that is no trusted
//! proxy. Values to its left were sent by the client itself and prove nothing. PHP gets the fields without them, because a
//! framework may read the fields again.

mod rfc7239;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use crate::endpoints::Endpoints;
use crate::fields::Fields;
use crate::head::RequestHead;
use crate::trusted_proxies::TrustedProxies;

const FOR: &str = "X-Forwarded-For";
const PROTO: &str = "X-Forwarded-Proto";
const HOST: &str = "X-Forwarded-Host";
const PORT: &str = "X-Forwarded-Port";
const FORWARDED: &str = "Forwarded";

/// Why a proxy's fields are rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForwardedError {
    /// Both kinds of fields are there and contradict each other: one of them comes from the client.
    Conflict,
    /// A `Forwarded` field is malformed.
    Malformed,
}

impl ForwardedError {
    /// Returns the text for the client and the log.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            ForwardedError::Conflict => {
                "Forwarded and X-Forwarded-* contradict each other: the proxy must remove those that it does not set.\n"
            }
            ForwardedError::Malformed => "The Forwarded field is malformed.\n",
        }
    }
}

/// Returns whether some proxy names its client in these fields.
pub(crate) fn is_in(fields: &Fields) -> bool {
    fields.contains(FOR) || fields.contains(FORWARDED)
}

/// What the fields tell about the client's request, as far as they do.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Origin {
    client: Option<SocketAddr>,
    secure: Option<bool>,
    host: Option<String>,
    port: Option<u16>,
}

impl Origin {
    /// Reads the fields, and leaves in them only the values that were used. `None` if they tell nothing.
    pub(crate) fn take(
        head: &mut RequestHead,
        trusted: &TrustedProxies,
    ) -> Result<Option<Origin>, ForwardedError> {
        let usual = x_forwarded(&head.fields, trusted);
        let standard = rfc7239::origin(&head.fields, trusted)?;
        let origin = match (usual, standard) {
            (Some(usual), Some(standard)) if usual.contradicts(&standard) => {
                return Err(ForwardedError::Conflict);
            }
            (Some(usual), _) => {
                head.fields.remove(FORWARDED);
                usual.leave_in(&mut head.fields);
                usual
            }
            (None, Some(standard)) => {
                head.fields.set(FORWARDED, standard.to_string());
                standard
            }
            (None, None) => {
                // The nearest hop is no address, so nothing is known.
                Origin::default().leave_in(&mut head.fields);
                head.fields.remove(FORWARDED);
                return Ok(None);
            }
        };
        if let Some(host) = &origin.host {
            head.fields.set("Host", host);
        }
        Ok(Some(origin))
    }

    fn contradicts(&self, other: &Origin) -> bool {
        fn differ<T: PartialEq>(a: Option<T>, b: Option<T>) -> bool {
            a.is_some() && b.is_some() && a != b
        }
        let client = |origin: &Origin| origin.client.map(|client| client.ip());
        let host = |origin: &Origin| origin.host.as_ref().map(|host| host.to_ascii_lowercase());
        differ(client(self), client(other))
            || differ(self.secure, other.secure)
            || differ(host(self), host(other))
    }

    fn leave_in(&self, fields: &mut Fields) {
        leave(
            fields,
            FOR,
            self.client.map(|client| client.ip().to_string()),
        );
        leave(
            fields,
            PROTO,
            self.secure.map(|secure| scheme_name(secure).to_owned()),
        );
        leave(fields, HOST, self.host.clone());
        leave(fields, PORT, self.port.map(|port| port.to_string()));
    }

    /// Returns the endpoints that PHP sees: those of the connection, with these values in place of them. A Unix socket has
    /// no addresses; PHP sees the ones that other servers show there.
    pub(crate) fn endpoints(&self, of: Endpoints, fields: &Fields) -> Endpoints {
        let localhost = IpAddr::from(Ipv4Addr::LOCALHOST);
        let secure = self.secure.unwrap_or(of.secure);
        let has_own_origin = self.secure.is_some() || self.host.is_some() || self.port.is_some();
        let port = match of.local {
            Some(local) if !has_own_origin => local.port(),
            _ => {
                let known = self.port.or_else(|| port_of(fields.text("Host")?));
                known.unwrap_or(if secure { 443 } else { 80 })
            }
        };
        let client = self.client.or(of.client);
        Endpoints {
            secure,
            client: Some(client.unwrap_or_else(|| SocketAddr::new(localhost, 0))),
            local: Some(SocketAddr::new(
                of.local.map_or(localhost, |local| local.ip()),
                port,
            )),
        }
    }
}

impl fmt::Display for Origin {
    /// Writes a `Forwarded` field of one element.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let client = self.client.map(|client| match client.ip() {
            IpAddr::V4(address) => format!("for={address}"),
            IpAddr::V6(address) => format!("for=\"[{address}]\""),
        });
        let host = self.host.as_ref().map(|host| format!("host=\"{host}\""));
        let proto = self
            .secure
            .map(|secure| format!("proto={}", scheme_name(secure)));
        let pairs: Vec<String> = [client, host, proto].into_iter().flatten().collect();
        f.write_str(&pairs.join(";"))
    }
}

/// Leaves only `value` in a field with several, or removes the field if `value` is `None`.
fn leave(fields: &mut Fields, name: &str, value: Option<String>) {
    match value {
        Some(value) if list(fields, name).nth(1).is_some() => fields.set(name, value),
        Some(_) => {}
        None => _ = fields.remove(name),
    }
}

fn x_forwarded(fields: &Fields, trusted: &TrustedProxies) -> Option<Origin> {
    let hops: Vec<_> = list(fields, FOR).map(node).collect();
    let client = client_of(&hops, trusted);
    // A proxy that appends to one list appends to all; one that does not has replaced the whole field.
    let of_client = |name| {
        let values: Vec<_> = list(fields, name).collect();
        let at = client.filter(|_| values.len() == hops.len());
        values
            .get(at.unwrap_or(values.len().checked_sub(1)?))
            .copied()
    };
    let origin = Origin {
        client: client.and_then(|at| hops[at]),
        secure: of_client(PROTO).and_then(is_secure),
        host: of_client(HOST).map(str::to_owned),
        port: of_client(PORT).and_then(|port| port.parse().ok()),
    };
    (origin != Origin::default()).then_some(origin)
}

/// Returns the values of comma-separated lists; a value that is not UTF-8 is empty.
fn list<'f>(fields: &'f Fields, name: &'f str) -> impl Iterator<Item = &'f str> {
    let values = fields.get_all(name);
    let parts = values.flat_map(|value| value.split(|byte| *byte == b','));
    parts.map(|part| std::str::from_utf8(part).unwrap_or_default().trim_ascii())
}

/// Returns the client's position: the first from the right that is no trusted proxy, or the last one before a value that is
/// no address.
fn client_of(hops: &[Option<SocketAddr>], trusted: &TrustedProxies) -> Option<usize> {
    let mut client = None;
    for (at, hop) in hops.iter().enumerate().rev() {
        let Some(address) = hop else { break };
        client = Some(at);
        if !trusted.trusts(Some(address.ip())) {
            break;
        }
    }
    client
}

/// Parses an address with or without a port; without one, the port is 0.
fn node(text: &str) -> Option<SocketAddr> {
    let (address, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (address, port) = rest.split_once(']')?;
            let port = if port.is_empty() {
                None
            } else {
                Some(port.strip_prefix(':')?)
            };
            (IpAddr::V6(address.parse().ok()?), port)
        }
        None => match text.parse() {
            Ok(address) => (address, None),
            Err(_) => {
                let (address, port) = text.split_once(':')?;
                (IpAddr::V4(address.parse().ok()?), Some(port))
            }
        },
    };
    // RFC 7239 allows an obfuscated name in place of a port.
    let port = port.and_then(|port| port.parse().ok()).unwrap_or(0);
    Some(SocketAddr::new(address.to_canonical(), port))
}

fn is_secure(scheme: &str) -> Option<bool> {
    let is = |names: [&str; 2]| names.iter().any(|name| scheme.eq_ignore_ascii_case(name));
    match (is(["https", "wss"]), is(["http", "ws"])) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

fn scheme_name(secure: bool) -> &'static str {
    if secure { "https" } else { "http" }
}

/// Returns the port of `HOST:PORT`.
fn port_of(host: &str) -> Option<u16> {
    let (name, port) = host.rsplit_once(':')?;
    let is_inside = name.starts_with('[') && !name.ends_with(']');
    (!is_inside).then(|| port.parse().ok())?
}

#[cfg(test)]
mod tests;
