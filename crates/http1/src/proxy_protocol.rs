//! The PROXY protocol, versions 1 and 2: a header with the client's address, which a TCP load balancer sends first.

use std::net::SocketAddr;

use ppp::v2::{Command, Type};
use ppp::{v1, v2};

use crate::endpoints::Endpoints;

/// The result of looking at the first bytes of a connection.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Beginning {
    /// More bytes are needed to tell.
    Incomplete,
    /// There is no header: the connection is the peer's own.
    Absent,
    /// A header of this length in bytes; `None` if the connection is the load balancer's own, as for a health check.
    Header(usize, Option<Endpoints>),
    Malformed,
}

/// `PP2_CLIENT_SSL`: the client connected over TLS. A bit of the field `client` of the TLV `PP2_TYPE_SSL`.
const IS_TLS: u8 = 1;

impl Beginning {
    pub(crate) fn of(bytes: &[u8]) -> Beginning {
        if begins_as(bytes, v2::PROTOCOL_PREFIX) {
            return binary(bytes);
        }
        if begins_as(bytes, b"PROXY ") {
            return text(bytes);
        }
        Beginning::Absent
    }
}

/// Returns whether `bytes` begins with `prefix`, or is the beginning of it.
fn begins_as(bytes: &[u8], prefix: &[u8]) -> bool {
    let length = bytes.len().min(prefix.len());
    bytes[..length] == prefix[..length]
}

/// Bytes of the longest line of version 1.
const LONGEST_LINE: usize = 107;

fn text(bytes: &[u8]) -> Beginning {
    let beginning = &bytes[..bytes.len().min(LONGEST_LINE)];
    let Some(end) = beginning.iter().position(|byte| *byte == b'\n') else {
        return match beginning.len() < LONGEST_LINE {
            true => Beginning::Incomplete,
            false => Beginning::Malformed,
        };
    };
    let Ok(header) = v1::Header::try_from(&bytes[..=end]) else {
        return Beginning::Malformed;
    };
    let endpoints = match header.addresses {
        v1::Addresses::Unknown => None,
        v1::Addresses::Tcp4(ends) => Some(tcp(
            (ends.source_address, ends.source_port),
            (ends.destination_address, ends.destination_port),
        )),
        v1::Addresses::Tcp6(ends) => Some(tcp(
            (ends.source_address, ends.source_port),
            (ends.destination_address, ends.destination_port),
        )),
    };
    Beginning::Header(end + 1, endpoints)
}

fn tcp(client: impl Into<SocketAddr>, local: impl Into<SocketAddr>) -> Endpoints {
    Endpoints::tcp(client.into(), local.into())
}

fn binary(bytes: &[u8]) -> Beginning {
    let header = match v2::Header::try_from(bytes) {
        Ok(header) => header,
        Err(v2::ParseError::Incomplete(_) | v2::ParseError::Partial(..)) => {
            return Beginning::Incomplete;
        }
        Err(_) => return Beginning::Malformed,
    };
    let endpoints = match header.addresses {
        _ if header.command == Command::Local => None,
        v2::Addresses::Unspecified | v2::Addresses::Unix(_) => None,
        v2::Addresses::IPv4(ends) => Some(tcp(
            (ends.source_address, ends.source_port),
            (ends.destination_address, ends.destination_port),
        )),
        v2::Addresses::IPv6(ends) => Some(tcp(
            (ends.source_address, ends.source_port),
            (ends.destination_address, ends.destination_port),
        )),
    };
    let secure = is_tls(&header);
    let endpoints = endpoints.map(|endpoints| Endpoints {
        secure,
        ..endpoints
    });
    Beginning::Header(header.len(), endpoints)
}

fn is_tls(header: &v2::Header<'_>) -> bool {
    let fields = header.tlvs().map_while(Result::ok);
    let mut tls = fields.filter(|field| field.kind == Type::SSL as u8);
    tls.any(|field| field.value.first().is_some_and(|bits| bits & IS_TLS != 0))
}

#[cfg(test)]
mod tests;
