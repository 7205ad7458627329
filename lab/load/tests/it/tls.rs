//! TLS: handshakes are made and counted.

use crate::tool::{has_verdict, run};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

pub(crate) fn tls_config(alpn: &[u8]) -> Arc<ServerConfig> {
    let signed = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(signed.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![signed.cert.der().clone()], key)
        .unwrap();
    config.alpn_protocols = vec![alpn.to_vec()];
    Arc::new(config)
}

/// A TLS server of big answers; it ends when the test does.
fn tls_server() -> SocketAddr {
    let config = tls_config(b"http/1.1");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            std::thread::spawn(move || {
                let mut stream = StreamOwned::new(connection, stream);
                let mut buffer = [0; 4096];
                while stream.read(&mut buffer).is_ok_and(|n| n > 0) {
                    let body = "y".repeat(40_000);
                    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
                    stream
                        .write_all(format!("{head}{body}").as_bytes())
                        .unwrap();
                    stream.flush().unwrap();
                }
            });
        }
    });
    address
}

#[test]
fn tls_works_and_its_handshakes_are_counted() {
    let address = tls_server();
    let result = run(&[
        "-c",
        "2",
        "-n",
        "40",
        "--expect",
        "length=40000",
        &format!("https://localhost:{}/", address.port()),
    ]);
    assert_eq!((result.counts.good, result.latency.tls.count()), (40, 2));
    assert!(
        result
            .setup
            .tls_session
            .as_deref()
            .is_some_and(|session| session.starts_with("TLS 1.3")),
        "{:?}",
        result.setup.tls_session
    );
    let closing = run(&[
        "-c",
        "2",
        "-n",
        "10",
        "--no-keepalive",
        &format!("https://localhost:{}/", address.port()),
    ]);
    assert_eq!(closing.latency.tls.count(), 10);
    assert!(has_verdict(&closing, "D17"));
}
