//! `X-Forwarded-*` and `Forwarded`.

use testkit::Server;

use super::{SEEN, request};
use crate::support::modes::modes;
use crate::support::{hearth, ok, one_worker};

const FROM_HTTPS: &str = "X-Forwarded-For: 6.6.6.6, 203.0.113.9\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: www.example\r\n";

#[test]
fn a_trusted_proxy_says_who_asks_in_every_mode() {
    for (name, server) in modes(SEEN) {
        let server = server.args(["--trusted-proxies", "127.0.0.1"]).start();
        let client = &mut server.connect();
        let seen = "203.0.113.9 0 on https 443 www.example www.example 127.0.0.1";
        assert_eq!(request(client, FROM_HTTPS), seen, "{name}");
        // The next request of the proxy's connection is another client's.
        let standard = "Forwarded: for=\"[2001:db8::9]:4711\";proto=http;host=\"b.example:81\"\r\n";
        let seen = "2001:db8::9 4711 - http 81 b.example:81 b.example 127.0.0.1";
        assert_eq!(request(client, standard), seen, "{name}");
        let port = client.stream().local_addr().expect("an address").port();
        let own = server.address().replace("127.0.0.1:", "");
        let seen = format!("127.0.0.1 {port} - http {own} shop.example shop.example 127.0.0.1");
        assert_eq!(request(client, ""), seen, "{name}");
        server.stop();
    }
}

#[test]
fn others_say_nothing_in_every_mode() {
    for (name, server) in modes(SEEN) {
        let server = server
            .args([
                "--trusted-proxies",
                "127.0.0.2",
                "--trusted-proxies",
                "unix",
            ])
            .start();
        let client = &mut server.connect();
        let port = client.stream().local_addr().expect("an address").port();
        let own = server.address().replace("127.0.0.1:", "");
        let seen = format!("127.0.0.1 {port} - http {own} shop.example shop.example 127.0.0.1");
        assert_eq!(request(client, FROM_HTTPS), seen, "{name}");
        assert_eq!(
            request(client, "Forwarded: for=203.0.113.9;proto=https\r\n"),
            seen,
            "{name}"
        );
        server.stop();
    }
}

#[test]
fn a_handler_has_it_from_its_request() {
    let code = "return fn (Hearth\\Request $request) => [$request->client(), $request->isSecure(), $request->header('x-forwarded-for')];";
    for dispatch in ["direct", "balanced"] {
        let server = one_worker(code)
            .args(["--dispatch", dispatch, "--trusted-proxies", "private"])
            .start();
        let seen = r#"["203.0.113.9",true,"203.0.113.9"]"#;
        assert_eq!(
            request(&mut server.connect(), FROM_HTTPS),
            seen,
            "{dispatch}"
        );
        server.stop();
    }
}

/// One of the two is the client's, and nothing says which.
#[test]
fn contradictions_and_malformed_fields_are_refused() {
    for dispatch in ["direct", "balanced"] {
        let server = one_worker("return fn () => 'ran';")
            .args(["--dispatch", dispatch, "--trusted-proxies", "127.0.0.1"])
            .start();
        for (lines, why) in [
            (
                "X-Forwarded-For: 203.0.113.9\r\nForwarded: for=6.6.6.6\r\n",
                "contradict each other",
            ),
            (
                "Forwarded: for=\"6.6.6.6, for=203.0.113.9\r\n",
                "The Forwarded field is malformed",
            ),
            ("X-Forwarded-Host: a/b\r\n", "with a valid host"),
        ] {
            let mut client = server.connect();
            client.send(format!("GET / HTTP/1.1\r\nHost: x\r\n{lines}\r\n"));
            let answer = client.response();
            assert_eq!(answer.status, 400, "{dispatch}: {lines}");
            assert_eq!(answer.header("connection"), Some("close"));
            assert!(answer.text().contains(why), "{}", answer.text());
            server.expect_log(why);
        }
        server.stop();
    }
}

/// They stand for many clients.
#[test]
fn connections_of_proxies_are_not_counted_for_their_address() {
    let server = |proxy| {
        one_worker("return fn () => 'ran';")
            .args([
                "--max-connections-per-address",
                "1",
                "--trusted-proxies",
                proxy,
            ])
            .start()
    };
    let trusting = server("127.0.0.1");
    let _first = trusting.connect();
    assert_eq!(ok(&trusting.get("/")), "ran");
    trusting.stop();
    let other = server("127.0.0.2");
    let mut first = other.connect();
    assert_eq!(ok(&first.get("/")), "ran");
    assert_eq!(other.get("/").status, 503);
    drop(first);
    other.stop();
}

#[test]
fn a_reload_changes_who_is_trusted() {
    let server = Server::script(&format!("return fn () => {SEEN};"))
        .file("hearth.toml", "http.trusted_proxies = '127.0.0.2'\n")
        .start();
    assert!(request(&mut server.connect(), FROM_HTTPS).starts_with("127.0.0.1 "));
    let file = server.directory().join("hearth.toml");
    std::fs::write(file, "http.trusted_proxies = ['10.0.0.0/8', 'private']\n")
        .expect("a file can be written");
    let reload = hearth(&server, &["reload", "app.php"]);
    assert!(reload.status.success(), "{reload:?}");
    assert!(request(&mut server.connect(), FROM_HTTPS).starts_with("203.0.113.9 "));
    server.stop();
}

#[test]
fn the_access_log_has_the_client() {
    for dispatch in ["direct", "balanced"] {
        let server = one_worker("return fn () => 'ran';")
            .args(["--dispatch", dispatch, "--trusted-proxies", "127.0.0.1"])
            .args(["--access-log", "stderr"])
            .start();
        assert_eq!(request(&mut server.connect(), FROM_HTTPS), "ran");
        let line = server.expect_log("\"GET / HTTP/1.1\" 200");
        assert!(line.starts_with("203.0.113.9 "), "{dispatch}: {line}");
        server.stop();
    }
}

#[test]
fn the_log_advises_once_where_a_proxy_was_forgotten() {
    for dispatch in ["direct", "balanced"] {
        let server = one_worker("return fn () => 'ran';")
            .args(["--dispatch", dispatch])
            .start();
        let client = &mut server.connect();
        request(client, "");
        request(client, FROM_HTTPS);
        request(client, "Forwarded: for=203.0.113.9\r\n");
        let advice = "if it is your proxy, add it to http.trusted_proxies peer=127.0.0.1";
        server.expect_log(advice);
        assert_eq!(server.stop().log.matches(advice).count(), 1, "{dispatch}");
    }
}

/// A framework that trusts its peer, whatever that is, as `TrustProxies` of Laravel does with `*`: the peer is the client now.
#[test]
fn frameworks_that_trust_their_peer_see_the_same_client() {
    let code = r"<?php
        require '/usr/share/php/Symfony/Component/HttpFoundation/autoload.php';
        use Symfony\Component\HttpFoundation\Request;
        $all = ['x' => Request::HEADER_X_FORWARDED_FOR | Request::HEADER_X_FORWARDED_HOST | Request::HEADER_X_FORWARDED_PROTO,
            'f' => Request::HEADER_FORWARDED];
        Request::setTrustedProxies(['REMOTE_ADDR'], $all[$_GET['trusts']]);
        $request = Request::createFromGlobals();
        echo json_encode([$request->getClientIp(), $request->getSchemeAndHttpHost()], JSON_UNESCAPED_SLASHES);";
    let server = Server::app(".")
        .file("index.php", code)
        .args(["--trusted-proxies", "127.0.0.1"])
        .start();
    let standard =
        "Forwarded: for=6.6.6.6;host=evil, for=203.0.113.9;proto=https;host=www.example\r\n";
    for (trusts, lines) in [("x", FROM_HTTPS), ("f", standard)] {
        let mut client = server.connect();
        client.send(format!(
            "GET /?trusts={trusts} HTTP/1.1\r\nHost: inner\r\n{lines}\r\n"
        ));
        assert_eq!(
            ok(&client.response()),
            r#"["203.0.113.9","https://www.example"]"#,
            "{trusts}"
        );
    }
    server.stop();
}
