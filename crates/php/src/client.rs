//! The addresses of a request's connection.

use std::cell::OnceCell;
use std::net::SocketAddr;

use http1::Endpoints;

/// The client's address, and the local address that it connected to.
#[derive(Debug, Clone, Default)]
pub struct Client {
    endpoints: Endpoints,
    /// Both addresses as text, made when one is first asked for.
    texts: OnceCell<[String; 2]>,
}

impl Client {
    #[must_use]
    pub fn new(endpoints: &Endpoints) -> Client {
        Client {
            endpoints: *endpoints,
            texts: OnceCell::new(),
        }
    }

    #[must_use]
    pub fn endpoints(&self) -> &Endpoints {
        &self.endpoints
    }

    /// The client's address and port, if known.
    #[must_use]
    pub fn socket(&self) -> Option<SocketAddr> {
        self.endpoints.client
    }

    /// The client's address as text; empty if it is not known.
    #[must_use]
    pub fn address_text(&self) -> &str {
        &self.texts()[0]
    }

    /// The local address as text; empty if it is not known.
    #[must_use]
    pub(crate) fn local_text(&self) -> &str {
        &self.texts()[1]
    }

    fn texts(&self) -> &[String; 2] {
        let Endpoints { client, local, .. } = self.endpoints;
        let text = |address: Option<SocketAddr>| {
            address.map_or(String::new(), |address| address.ip().to_string())
        };
        self.texts.get_or_init(|| [client, local].map(text))
    }
}
