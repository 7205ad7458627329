//! Forwarding fields of proxies.

use std::rc::Rc;

use http1::{Endpoints, Limits, Peer, RequestHead, TrustedProxies};

/// Reads the fields of a request that a trusted proxy passes on.
///
/// The fields that PHP gets mean the same to a framework that trusts its peer, and the client is an address that can be
/// passed to a worker.
///
/// # Panics
/// If that does not hold.
pub fn requests(bytes: &[u8]) {
    let text = [b"GET / HTTP/1.1\r\nHost: inner\r\n", bytes, b"\r\n\r\n"].concat();
    let Ok(Some((mut head, _))) = RequestHead::parse(&text, Limits::default()) else {
        return;
    };
    let peer = proxy();
    let Ok(first) = peer.of_request(&mut head) else {
        return;
    };
    // An invalid host is refused.
    if !head.names_one_host() {
        return;
    }
    let again = peer.of_request(&mut head).expect("it was believed before");
    assert_eq!(first.map(seen), again.map(seen), "{head:?}");
    if let Some(endpoints) = first {
        assert_eq!(Endpoints::parse(&endpoints.to_string()), Some(endpoints));
    }
}

/// Returns the endpoints without the client's port, which none of the remaining fields contains.
fn seen(endpoints: Endpoints) -> impl PartialEq + std::fmt::Debug {
    let client = endpoints.client.map(|client| client.ip());
    (client, endpoints.local, endpoints.secure)
}

fn proxy() -> Peer {
    let mut trusted = TrustedProxies::default();
    trusted.add("private").expect("a word");
    let ends = Endpoints::parse("p 10.0.0.1:5000 10.0.0.2:8080").expect("two addresses");
    Peer::new(ends, Rc::new(trusted))
}
