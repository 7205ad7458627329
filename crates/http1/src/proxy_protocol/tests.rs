use ppp::v2::{Addresses, Builder, Protocol, Version};
use proptest::prelude::*;

use super::*;

fn endpoints(text: &str) -> Option<Endpoints> {
    Some(Endpoints::parse(text).expect("endpoints"))
}

fn built(command: Command, addresses: impl Into<Addresses>, tls: Option<&[u8]>) -> Vec<u8> {
    let mut header =
        Builder::with_addresses(Version::Two | command, Protocol::Stream, addresses.into());
    if let Some(value) = tls {
        header = header.write_tlv(Type::SSL, value).expect("a short value");
    }
    header.build().expect("a header")
}

/// Returns the bytes of whole headers, each with the endpoints that it gives.
fn headers() -> Vec<(Vec<u8>, Option<Endpoints>)> {
    let v4 = v2::IPv4::new([192, 0, 2, 1], [198, 51, 100, 7], 56_324, 443);
    let v6 = v2::IPv6::new(
        [0x2001, 0xdb8, 0, 0, 0, 0, 0, 1],
        [0, 0, 0, 0, 0, 0, 0, 1],
        1,
        80,
    );
    let unix = v2::Unix::new([b'a'; 108], [b'b'; 108]);
    let lines: [(&str, Option<Endpoints>); 4] = [
        (
            "TCP4 192.0.2.1 198.51.100.7 56324 443",
            endpoints("p 192.0.2.1:56324 198.51.100.7:443"),
        ),
        (
            "TCP6 2001:db8::1 ::1 1 80",
            endpoints("p [2001:db8::1]:1 [::1]:80"),
        ),
        ("UNKNOWN", None),
        ("UNKNOWN ffff:f:1 what:ever 1 2", None),
    ];
    let lines = lines.map(|(line, expected)| (format!("PROXY {line}\r\n").into_bytes(), expected));
    let binary = [
        (
            built(Command::Proxy, v4, None),
            endpoints("p 192.0.2.1:56324 198.51.100.7:443"),
        ),
        (
            built(Command::Proxy, v4, Some(&[1, 0, 0, 0, 0])),
            endpoints("s 192.0.2.1:56324 198.51.100.7:443"),
        ),
        (
            built(Command::Proxy, v4, Some(&[0, 0, 0, 0, 1])),
            endpoints("p 192.0.2.1:56324 198.51.100.7:443"),
        ),
        (
            built(Command::Proxy, v6, None),
            endpoints("p [2001:db8::1]:1 [::1]:80"),
        ),
        (built(Command::Proxy, unix, None), None),
        (built(Command::Local, v4, None), None),
        (built(Command::Proxy, Addresses::Unspecified, None), None),
    ];
    lines.into_iter().chain(binary).collect()
}

#[test]
fn headers_say_whose_connection_it_is_however_they_come() {
    for (bytes, expected) in headers() {
        let shown = bytes.escape_ascii().to_string();
        for end in 0..bytes.len() {
            assert_eq!(
                Beginning::of(&bytes[..end]),
                Beginning::Incomplete,
                "{shown} to {end}"
            );
        }
        let whole = Beginning::Header(bytes.len(), expected);
        assert_eq!(Beginning::of(&bytes), whole, "{shown}");
        let with_request = [&bytes[..], b"GET / HTTP/1.1\r\n\r\n"].concat();
        assert_eq!(Beginning::of(&with_request), whole, "{shown}");
    }
}

#[test]
fn requests_are_no_headers() {
    for bytes in [
        "GET / HTTP/1.1\r\n",
        "PROPFIND /",
        "\r\nGET /",
        "\r\n\r\nP",
        "\x16\x03\x01",
    ] {
        assert_eq!(
            Beginning::of(bytes.as_bytes()),
            Beginning::Absent,
            "{bytes}"
        );
    }
}

#[test]
fn what_only_begins_as_a_header_is_malformed() {
    let mut version = built(Command::Local, Addresses::Unspecified, None);
    version[12] = 0x31;
    let mut command = built(Command::Local, Addresses::Unspecified, None);
    command[12] = 0x2f;
    let mut short = built(Command::Proxy, v2::IPv4::new([0; 4], [0; 4], 1, 2), None);
    short[15] = 4;
    for bytes in [version, command, short] {
        assert_eq!(Beginning::of(&bytes), Beginning::Malformed);
    }
    let endless = format!("PROXY TCP4 {}", "1".repeat(200));
    for line in [
        "PROXY / HTTP/1.1\r\n",
        "PROXY TCP4 1.2.3.4 1.2.3.4 1\r\n",
        "PROXY TCP4 1.2.3.4 ::1 1 2\r\n",
        "PROXY TCP4 1.2.3.4 1.2.3.4 1 65536\r\n",
        "PROXY TCP4 1.2.3.4 1.2.3.4 1 2\n",
        endless.as_str(),
    ] {
        assert_eq!(
            Beginning::of(line.as_bytes()),
            Beginning::Malformed,
            "{line}"
        );
    }
}

proptest! {
    #[test]
    fn more_bytes_change_nothing(at in 0usize..11, length in 0usize..300, noise: Vec<u8>, more: Vec<u8>) {
        let (header, _) = headers().swap_remove(at);
        let beginning = [&header[..length.min(header.len())], &noise].concat();
        let seen = Beginning::of(&beginning);
        if seen != Beginning::Incomplete {
            prop_assert_eq!(Beginning::of(&[&beginning[..], &more].concat()), seen);
        }
    }
}
