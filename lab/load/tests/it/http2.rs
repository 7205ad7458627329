//! HTTP/2, over TLS and without.

use crate::tls::tls_config;
use crate::tool::run;
use bytes::Bytes;
use measure::Run;
use rustls::ServerConfig;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

/// An HTTP/2 server, over TLS if configured.
fn h2_server(tls: Option<Arc<ServerConfig>>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            while let Ok((stream, _)) = listener.accept().await {
                match &tls {
                    None => tokio::spawn(serve_h2(stream)),
                    Some(config) => {
                        let acceptor = tokio_rustls::TlsAcceptor::from(Arc::clone(config));
                        tokio::spawn(async move {
                            if let Ok(stream) = acceptor.accept(stream).await {
                                serve_h2(stream).await;
                            }
                        })
                    }
                };
            }
        });
    });
    address
}

async fn serve_h2<S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin>(stream: S) {
    let Ok(mut connection) = h2::server::handshake(stream).await else {
        return;
    };
    while let Some(Ok((request, mut respond))) = connection.accept().await {
        let reset = request.uri().path() == "/reset";
        if reset {
            respond.send_reset(h2::Reason::INTERNAL_ERROR);
            continue;
        }
        let response = http::Response::builder().status(200).body(()).unwrap();
        if let Ok(mut send) = respond.send_response(response, false) {
            let _ = send.send_data(Bytes::from_static(b"ok"), true);
        }
    }
}

/// Sends requests by eight streams on each of two connections.
fn streams(options: &str, url: &str) -> Run {
    http2(&format!("-c 2 --streams 8 {options}"), url)
}

fn http2(options: &str, url: &str) -> Run {
    let options = ["--http", "2"].into_iter().chain(options.split(' '));
    run(&options.chain([url]).collect::<Vec<_>>())
}

#[test]
fn a_warm_up_adds_nothing_to_the_number_of_requests() {
    let url = format!("http://localhost:{}/", h2_server(None).port());
    for _ in 0..5 {
        let result = streams("-n 300 --warmup 50ms", &url);
        assert_eq!(result.counts.good, 300);
    }
}

#[test]
fn http_2_carries_many_streams_on_few_connections() {
    for (address, scheme) in [
        (h2_server(None), "http"),
        (h2_server(Some(tls_config(b"h2"))), "https"),
    ] {
        let url = format!("{scheme}://localhost:{}/", address.port());
        let result = streams("-n 1000 --expect body=ok", &url);
        assert_eq!(
            (result.counts.good, result.connections.opened),
            (1_000, 2),
            "{:?}",
            result.error_samples
        );
        assert!(
            result.concurrency.achieved > 4.0,
            "{:?}",
            result.concurrency
        );
        let open = streams("-r 500 -d 1s", &url);
        assert!((490..=501).contains(&open.counts.good), "{:?}", open.counts);
        let reset = http2("-n 10", &format!("{url}reset"));
        crate::tool::only(&reset, measure::ErrorClass::Http2);
        let capped = http2("-c 1 -n 20 --requests-per-connection 5", &url);
        assert_eq!((capped.counts.good, capped.connections.opened), (20, 4));
    }
}
