//! The peer of a connection: a client, or a proxy that speaks for clients.

use std::cell::Cell;
use std::net::{IpAddr, Ipv6Addr};
use std::rc::Rc;

use crate::endpoints::Endpoints;
use crate::forwarded::{self, ForwardedError, Origin};
use crate::head::RequestHead;
use crate::trusted_proxies::{TrustedProxies, is_private};

/// The peer of one connection.
#[derive(Debug)]
pub struct Peer {
    endpoints: Cell<Endpoints>,
    is_proxy: Cell<bool>,
    /// Whether the peer is on a Unix socket or in a private network, as proxies are.
    is_near: Cell<bool>,
    trusted: Rc<TrustedProxies>,
}

impl Peer {
    #[must_use]
    pub fn new(endpoints: Endpoints, trusted: Rc<TrustedProxies>) -> Peer {
        Peer {
            is_proxy: Cell::new(is_proxy(&endpoints, &trusted)),
            is_near: Cell::new(is_near(&endpoints)),
            endpoints: Cell::new(endpoints),
            trusted,
        }
    }

    /// Returns the connection's addresses, or those that the PROXY protocol header gave instead.
    #[must_use]
    pub fn endpoints(&self) -> Endpoints {
        self.endpoints.get()
    }

    /// Returns whether the peer is a trusted proxy: it may name its client, by the PROXY protocol or in each request.
    #[must_use]
    pub fn is_proxy(&self) -> bool {
        self.is_proxy.get()
    }

    /// Returns the address whose connections are counted (`http.max_connections_per_address`). None for a proxy, which has
    /// the connections of many clients.
    #[must_use]
    pub fn counted_address(&self) -> Option<IpAddr> {
        let client = self.endpoints.get().client.filter(|_| !self.is_proxy());
        client.map(|client| network_of(client.ip()))
    }

    /// Takes the addresses that the peer's PROXY protocol header gave. From here on the connection counts as that client's
    /// own.
    pub fn stands_for(&self, endpoints: Endpoints) {
        self.is_proxy.set(is_proxy(&endpoints, &self.trusted));
        self.is_near.set(false);
        self.endpoints.set(endpoints);
    }

    /// Returns a line for the log if a peer that is near, but not trusted, names a client: most likely a proxy that is
    /// missing in the configuration.
    #[must_use]
    pub fn advice(&self, head: &RequestHead) -> Option<String> {
        let is_forgotten = self.is_near.get() && !self.is_proxy() && forwarded::is_in(&head.fields);
        is_forgotten.then(|| {
            let address = self.endpoints.get().client.map(|client| client.ip());
            let peer = address.map_or("unix".to_owned(), |address| address.to_string());
            format!(
                "X-Forwarded-For or Forwarded is ignored, PHP sees the peer as the client: if it is your proxy, add it to \
                 http.trusted_proxies peer={peer}"
            )
        })
    }

    /// Returns the addresses that PHP sees, where they differ from [`Peer::endpoints`]. A host that the proxy names becomes
    /// the head's Host.
    ///
    /// # Errors
    /// If the proxy's fields are malformed or contradict each other.
    pub fn of_request(&self, head: &mut RequestHead) -> Result<Option<Endpoints>, ForwardedError> {
        let endpoints = self.endpoints.get();
        let origin = match self.is_proxy() {
            true => Origin::take(head, &self.trusted)?,
            false => None,
        };
        match (origin, endpoints.client) {
            (None, Some(_)) => Ok(None),
            (origin, _) => {
                let origin = origin.unwrap_or_default();
                Ok(Some(origin.endpoints(endpoints, &head.fields)))
            }
        }
    }
}

fn is_proxy(endpoints: &Endpoints, trusted: &TrustedProxies) -> bool {
    trusted.trusts(endpoints.client.map(|client| client.ip()))
}

/// Returns the address to count: for IPv6 the /64 network, because a client can use any address of its own.
fn network_of(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
    }
}

fn is_near(endpoints: &Endpoints) -> bool {
    endpoints
        .client
        .is_none_or(|client| is_private(client.ip()))
}
