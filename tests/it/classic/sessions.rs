//! Sessions, in files and in Redis.

use testkit::Server;
use testkit::service::Redis;

use crate::support::ok;

#[test]
fn sessions_last_and_lock() {
    let code =
        "session_start(); $n = $_SESSION['n'] = ($_SESSION['n'] ?? 0) + 1; usleep(50000); echo $n;";
    let server = Server::app(".")
        .args(["--dispatch", "direct", "--workers", "4"])
        .args([
            "--ini",
            "session.save_path=.",
            "--ini",
            "session.use_strict_mode=0",
        ])
        .file("index.php", format!("<?php {code}"))
        .start();
    let mut numbers: Vec<u32> = std::thread::scope(|scope| {
        let one = || {
            let mut client = server.connect();
            client.send("GET / HTTP/1.1\r\nHost: a\r\nCookie: PHPSESSID=abcdefghijklmnopqrstuvwx\r\nConnection: close\r\n\r\n");
            ok(&client.response()).parse().unwrap()
        };
        let all: Vec<_> = (0..8).map(|_| scope.spawn(one)).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    numbers.sort_unstable();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6, 7, 8], "no update is lost");
    server.stop();
}

#[test]
fn sessions_in_redis() {
    let redis = Redis::shared();
    let server = Server::app(".")
        .args(["--dispatch", "direct", "--workers", "2"])
        .arg("--ini=session.save_handler=redis")
        .arg(format!(
            "--ini=session.save_path=tcp://127.0.0.1:{}",
            redis.port
        ))
        .file(
            "index.php",
            "<?php session_start(); echo $_SESSION['n'] = ($_SESSION['n'] ?? 0) + 1;",
        )
        .start();
    let first = server.get("/");
    assert_eq!(ok(&first), "1");
    let cookie = first
        .header("set-cookie")
        .unwrap()
        .split(';')
        .next()
        .unwrap()
        .to_owned();
    for n in 2..6 {
        let mut client = server.connect();
        client.send(format!(
            "GET / HTTP/1.1\r\nHost: a\r\nCookie: {cookie}\r\n\r\n"
        ));
        assert_eq!(ok(&client.response()), n.to_string());
    }
    server.stop();
}
