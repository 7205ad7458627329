//! Both ends of a request's connection.

use std::cell::OnceCell;
use std::net::SocketAddr;

use http1::Endpoints;

/// The client's address, and the local one it connected to.
#[derive(Debug, Clone, Default)]
pub struct Client {
    endpoints: Endpoints,
    /// Both as text, made when code first asks for one.
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

    /// Its address and port, if they are known.
    #[must_use]
    pub fn socket(&self) -> Option<SocketAddr> {
        self.endpoints.client
    }

    /// Its address as text; empty if it is not known.
    #[must_use]
    pub fn address_text(&self) -> &str {
        &self.texts()[0]
    }

    /// The same of the local one.
    #[must_use]
    pub fn local_text(&self) -> &str {
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
