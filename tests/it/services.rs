//! The services the other tests stand on do answer.

use std::io::{Read, Write};
use std::net::TcpStream;

use testkit::http::Client;
use testkit::service::{Apache, Browser, Fpm, MariaDb, Nginx, Peer, Postgres, Redis};

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

#[test]
fn php_answers_behind_both_usual_servers() {
    let root = testkit::document_root();
    std::fs::write(
        root.path().join("index.php"),
        "<?php echo PHP_SAPI, ' ', ini_get('precision'), ' ', ($_SERVER['PATH_INFO'] ?? '') ?: 'none';",
    )
    .expect("a file can be written");
    let ini = [("precision", "9")];
    let apache = Apache::start(root.path(), &ini, "");
    let fpm = Fpm::start(root.path(), &ini, "");
    let get = |address: &str, target: &str| Client::connect(address).get(target).text();
    assert_eq!(get(&apache.address(), "/"), "apache2handler 9 none");
    assert_eq!(get(&fpm.address(), "/"), "fpm-fcgi 9 none");
    assert_eq!(
        get(&apache.address(), "/index.php/a"),
        "apache2handler 9 /a"
    );
    assert_eq!(get(&fpm.address(), "/index.php/a"), "fpm-fcgi 9 /a");
}

#[test]
fn the_browser_shows_a_page() {
    let nginx = Nginx::start(
        "default_type text/html; location / { return 200 '<form action=/next><input name=word><button>Go</button></form>'; } \
         location /next { return 200 '<p>$arg_word</p><script>document.title = \"run\"</script>'; }",
    );
    let browser = Browser::start();
    browser.open(&nginx.url());
    browser.fill(&[("input[name=word]", "typed")]);
    browser.find("button").click();
    assert_eq!(browser.find("p").text(), "typed");
    assert_eq!(browser.run("return document.title"), "run");
    assert!(browser.url().ends_with("/next?word=typed"));
}

#[test]
fn a_field_that_loses_keys_is_filled_again() {
    let nginx = Nginx::start(
        "default_type text/html; location / { return 200 '<input name=word><script>addEventListener(\"input\", event => { event.target.value = \"\" }, { once: true })</script>'; }",
    );
    let browser = Browser::start();
    browser.open(&nginx.url());
    browser.fill(&[("input[name=word]", "typed")]);
    assert_eq!(
        browser.run("return document.querySelector('input').value"),
        "typed"
    );
}
