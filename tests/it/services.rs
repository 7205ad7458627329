//! The services the other tests stand on do answer.

use std::io::{Read, Write};
use std::net::TcpStream;

use testkit::http::Client;
use testkit::service::{MariaDb, Nginx, Peer, Postgres, Redis};

#[test]
fn the_databases_are_up() {
    let mut greeting = [0; 64];
    let mut mariadb =
        TcpStream::connect(("127.0.0.1", MariaDb::shared().port)).expect("MariaDB accepts");
    let read = mariadb.read(&mut greeting).expect("MariaDB greets");
    assert!(String::from_utf8_lossy(&greeting[..read]).contains("MariaDB"));

    let mut redis = TcpStream::connect(("127.0.0.1", Redis::shared().port)).expect("Redis accepts");
    redis.write_all(b"PING\r\n").expect("a command can be sent");
    let read = redis.read(&mut greeting).expect("Redis answers");
    assert_eq!(&greeting[..read], b"+PONG\r\n");

    TcpStream::connect(("127.0.0.1", Postgres::shared().port)).expect("PostgreSQL accepts");
}

#[test]
fn nginx_and_the_late_peer_answer() {
    let nginx = Nginx::start("location / { return 200 'from nginx'; }");
    assert_eq!(
        Client::connect(&format!("127.0.0.1:{}", nginx.port))
            .get("/")
            .text(),
        "from nginx"
    );
    let peer = Peer::start();
    assert_eq!(
        Client::connect(&format!("127.0.0.1:{}", peer.port))
            .get("/50")
            .text(),
        "late\n"
    );
}
