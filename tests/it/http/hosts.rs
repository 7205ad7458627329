//! What a Host may be: nothing that nginx refuses, and less than it allows.

use testkit::http::Client;
use testkit::service::Nginx;

use super::echo;

/// Numbers as a linear congruential generator makes them (Knuth, MMIX): the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    fn host(&mut self) -> String {
        let parts = [
            "a", "b.c", "1", ".", "..", ":", ":80", "[", "]", "[::1]", "/", "@", "%41", "-", "_",
            "~", "\\", " ", "\"", "'", ",", "?", "#", "\u{7f}", "\u{1}", "<", "é",
        ];
        (0..=self.below(4))
            .map(|_| parts[self.below(parts.len())])
            .collect()
    }
}

fn is_refused(address: &str, host: &str) -> bool {
    let mut client = Client::connect(address);
    client.send(format!(
        "GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
    ));
    match client.response().status {
        200 => false,
        400 => true,
        other => panic!("{host:?}: {other}"),
    }
}

#[test]
fn what_nginx_refuses_is_refused() {
    let nginx = Nginx::start("location / { return 200 ok; }");
    let server = echo();
    let mut numbers = Numbers(13);
    let mut more = Vec::new();
    for _ in 0..500 {
        let host = numbers.host();
        let here = is_refused(&server.address(), &host);
        let there = is_refused(&format!("127.0.0.1:{}", nginx.port), &host);
        assert!(here || !there, "{host:?} is refused by nginx only");
        if here && !there {
            more.push(host);
        }
    }
    // Only for what no name, address or port has.
    for host in more {
        let name = host.trim_matches(' ').trim_start_matches('[');
        let is_known = |c: char| c.is_ascii_alphanumeric() || "-._~%".contains(c);
        assert!(
            !name.chars().all(is_known) || name.is_empty() || host.contains('['),
            "{host:?} is refused here only"
        );
    }
    server.stop();
}
