//! Keep-alive, counting, TLS, Unix sockets, HTTP/2, bodies, mixes.

use crate::tool::{run, says};
use crate::truth::Truth;
use bytes::Bytes;
use measure::KeepAlive;
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixListener;
use std::sync::Arc;

#[test]
fn exactly_n_requests_whatever_the_shape() {
    for shape in [
        &["-c", "7", "-t", "3"][..],
        &["-c", "1"],
        &["-c", "5", "-t", "2", "-r", "5000"],
        &["-c", "50", "-t", "2", "-r", "5000", "--poisson"],
    ] {
        let server = Truth::start();
        let url = server.url("/ok");
        let mut args = shape.to_vec();
        args.extend(["-n", "1003", &url]);
        let result = run(&args);
        assert_eq!(
            (result.counts.good, server.served()),
            (1_003, 1_003),
            "{shape:?}"
        );
    }
}

#[test]
fn connections_are_kept_or_not_as_asked() {
    let server = Truth::start();
    let kept = run(&["-c", "3", "-n", "300", &server.url("/ok")]);
    assert_eq!((kept.connections.opened, server.connections()), (3, 3));
    assert_eq!(kept.counts.on_reused_connection, 297);
    let server = Truth::start();
    let single = run(&["-c", "3", "-n", "300", "--no-keepalive", &server.url("/ok")]);
    assert_eq!(
        (
            single.connections.opened,
            server.connections(),
            single.connections.closed_by_client
        ),
        (300, 300, 300)
    );
    assert_eq!(single.setup.keep_alive, KeepAlive::Off);
    assert!(says(&single, "D06"));
    let server = Truth::start();
    let ten = run(&[
        "-c",
        "1",
        "-n",
        "300",
        "--requests-per-connection",
        "10",
        &server.url("/ok"),
    ]);
    assert_eq!((ten.connections.opened, server.connections()), (30, 30));
    assert_eq!(ten.connections.requests_per_connection[&10], 30);
}

#[test]
fn a_server_that_closes_after_n_is_found_out() {
    let server = Truth::start();
    let result = run(&["-c", "1", "-n", "200", &server.url("/close-after/10")]);
    assert_eq!(result.counts.good, 200);
    assert_eq!(
        (
            result.connections.closed_by_server,
            result.connections.requests_per_connection[&10]
        ),
        (20, 20)
    );
    assert!(says(&result, "D07"), "{:?}", result.verdicts);
}

#[test]
fn a_body_that_ends_with_the_connection_is_good() {
    let server = Truth::start();
    let result = run(&[
        "-c",
        "2",
        "-n",
        "20",
        "--expect",
        "body=to the end",
        &server.url("/until-close"),
    ]);
    assert_eq!(
        (result.counts.good, result.connections.closed_by_server),
        (20, 20)
    );
}

#[test]
fn large_bodies_are_counted_to_the_byte() {
    let server = Truth::start();
    let result = run(&["-c", "2", "-n", "10", &server.url("/big/1000003")]);
    assert_eq!((result.counts.good, result.bytes.body), (10, 10_000_030));
}

#[test]
fn starved_connections_are_seen() {
    let server = Truth::with_slots(2);
    let result = run(&[
        "-c",
        "6",
        "-d",
        "1500ms",
        "--drain",
        "0",
        &server.url("/ok"),
    ]);
    assert_eq!(
        result.connections.never_answered, 4,
        "{:?}",
        result.connections
    );
    assert_eq!(
        result.counts.unfinished,
        4 + 2 - (2 - (result.counts.unfinished - 4))
    );
    assert!(says(&result, "D08") && result.connections.fairness < 0.5);
}

#[test]
fn what_was_asked_for_is_sent() {
    let server = Truth::start();
    let url = server.url("/post");
    run(&[
        "-n",
        "1",
        "-b",
        "a=1&b=2",
        "-H",
        "X-Test: yes",
        "-u",
        "me:secret",
        "--cookie",
        "k=v",
        &url,
    ]);
    let record = server.record();
    assert_eq!(record.bodies, [b"a=1&b=2"]);
    let head = &record.heads[0];
    for part in [
        "POST /post HTTP/1.1\r\n",
        "X-Test: yes\r\n",
        "Authorization: Basic bWU6c2VjcmV0\r\n",
        "Cookie: k=v\r\n",
        "Content-Length: 7\r\n",
    ] {
        assert!(head.contains(part), "{part:?} not in {head}");
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.txt");
    std::fs::write(&file, "file content").unwrap();
    run(&[
        "-n",
        "1",
        "-F",
        "name=x",
        "-F",
        &format!("up=@{};type=text/plain", file.display()),
        &url,
    ]);
    let body = String::from_utf8(server.record().bodies.remove(0)).unwrap();
    assert!(
        body.contains(
            "name=\"up\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\nfile content\r\n"
        ),
        "{body}"
    );
}

#[test]
fn a_cookie_jar_belongs_to_its_connection() {
    let server = Truth::start();
    run(&["-c", "1", "-n", "3", "--cookie-jar", &server.url("/cookie")]);
    let heads = server.record().heads;
    assert!(!heads[0].contains("Cookie:"));
    assert!(
        heads[1].contains("Cookie: visit=1\r\n") && heads[2].contains("Cookie: visit=2\r\n"),
        "{heads:?}"
    );
}

#[test]
fn mixes_come_from_files_and_logs() {
    let server = Truth::start();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mix");
    std::fs::write(&file, "3 /a\n1 POST /b hello\n").unwrap();
    let result = run(&[
        "-n",
        "2000",
        "--mix",
        file.to_str().unwrap(),
        &server.url("/"),
    ]);
    let record = server.record();
    let share = record.requests["GET /a"] as f64 / 2_000.0;
    assert!((share - 0.75).abs() < 0.05, "{share}");
    assert_eq!(
        record.requests["GET /a"] + record.requests["POST /b"],
        2_000
    );
    assert_eq!(result.setup.requests.len(), 2);
    std::fs::write(
        &file,
        "1.1.1.1 - - [x] \"GET /x?y HTTP/1.1\" 200 1\n1.1.1.1 - - [x] \"POST /z HTTP/1.1\" 200 1\n",
    )
    .unwrap();
    run(&[
        "-n",
        "10",
        "--access-log",
        file.to_str().unwrap(),
        &server.url("/"),
    ]);
    assert_eq!(server.record().requests["GET /x?y"], 10);
}

#[test]
fn unix_sockets_work() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let listener = UnixListener::bind(&path).unwrap();
    let server = std::thread::spawn(move || {
        listener.accept().unwrap(); // the probe
        let (mut stream, _) = listener.accept().unwrap();
        let mut buffer = [0; 4096];
        while stream.read(&mut buffer).is_ok_and(|n| n > 0) {
            stream
                .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                .unwrap();
        }
    });
    let result = run(&[
        "-c",
        "1",
        "-n",
        "100",
        &format!("unix:{}:/x", path.display()),
    ]);
    assert_eq!(result.counts.good, 100);
    server.join().unwrap();
}

fn tls_config(alpn: &[u8]) -> Arc<ServerConfig> {
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
    assert!(says(&closing, "D17"));
}

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

#[test]
fn http_2_carries_many_streams_on_few_connections() {
    for (address, scheme) in [
        (h2_server(None), "http"),
        (h2_server(Some(tls_config(b"h2"))), "https"),
    ] {
        let url = format!("{scheme}://localhost:{}/", address.port());
        let result = run(&[
            "--http",
            "2",
            "-c",
            "2",
            "--streams",
            "8",
            "-n",
            "1000",
            "--expect",
            "body=ok",
            &url,
        ]);
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
        let open = run(&[
            "--http",
            "2",
            "-c",
            "2",
            "--streams",
            "8",
            "-r",
            "500",
            "-d",
            "1s",
            &url,
        ]);
        assert!((490..=501).contains(&open.counts.good), "{:?}", open.counts);
        let reset = run(&["--http", "2", "-n", "10", &format!("{url}reset")]);
        crate::tool::only(&reset, measure::ErrorClass::Http2);
        let capped = run(&[
            "--http",
            "2",
            "-c",
            "1",
            "-n",
            "20",
            "--requests-per-connection",
            "5",
            &url,
        ]);
        assert_eq!((capped.counts.good, capped.connections.opened), (20, 4));
    }
}

/// Answers a batch only when all of it is there, so that a client which waits for each answer gets none.
fn batches_of(size: usize) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            std::thread::spawn(move || {
                let (mut bytes, mut buffer) = (Vec::new(), [0; 65536]);
                while let Ok(n @ 1..) = stream.read(&mut buffer) {
                    bytes.extend_from_slice(&buffer[..n]);
                    let text = String::from_utf8_lossy(&bytes).into_owned();
                    if text.matches("\r\n\r\n").count() == size {
                        bytes.clear();
                        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".repeat(size);
                        // In two parts, neither of which ends with an answer.
                        let (first, rest) = answer.split_at(answer.len() / 2 + 7);
                        let written = stream.write_all(first.as_bytes());
                        std::thread::sleep(std::time::Duration::from_millis(1));
                        if written
                            .and_then(|()| stream.write_all(rest.as_bytes()))
                            .is_err()
                        {
                            return;
                        }
                    }
                }
            });
        }
    });
    address
}

#[test]
fn pipelined_requests_are_sent_at_once() {
    let url = format!("http://{}/", batches_of(16));
    let result = run(&[
        "-c",
        "3",
        "-d",
        "400ms",
        "--pipeline",
        "16",
        "--expect",
        "length=2",
        &url,
    ]);
    assert!(result.counts.good >= 48, "{:?}", result.counts);
    assert_eq!(result.counts.failed, 0, "{:?}", result.error_samples);
    assert_eq!(result.setup.streams, 16);
    // What was never answered is counted by the request, not by the batch.
    let lonely = format!("http://{}/", batches_of(99));
    let result = run(&[
        "-c",
        "2",
        "-d",
        "300ms",
        "--drain",
        "0s",
        "--pipeline",
        "16",
        &lonely,
    ]);
    assert_eq!(
        (result.counts.good, result.counts.unfinished),
        (0, 32),
        "{:?}",
        result.counts
    );
}
