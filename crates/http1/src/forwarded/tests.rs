use super::*;
use crate::parse::Limits;

fn head(fields: &str) -> RequestHead {
    let text = format!(
        "GET / HTTP/1.1\r\nHost: inner:8080\r\n{}\r\n",
        fields.replace('\n', "\r\n")
    );
    let parsed = RequestHead::parse(text.as_bytes(), Limits::default());
    parsed.expect("a head").expect("all of it").0
}

/// Returns what PHP sees behind a proxy at 10.0.0.1, as text, with its Host.
fn seen(fields: &str) -> Result<String, ForwardedError> {
    let mut trusted = TrustedProxies::default();
    trusted.add("10.0.0.0/8").expect("a network");
    let mut head = head(fields);
    let origin = Origin::take(&mut head, &trusted)?;
    let of = Endpoints::parse("p 10.0.0.1:5000 10.0.0.2:8080").expect("endpoints");
    let host = head.fields.text("Host").expect("a host");
    Ok(match origin {
        None => "-".to_owned(),
        Some(origin) => format!("{} {host}", origin.endpoints(of, &head.fields)),
    })
}

#[test]
fn the_client_is_the_first_from_the_right_that_is_no_proxy() {
    for (list, client) in [
        ("203.0.113.9", "203.0.113.9:0"),
        ("1.1.1.1, 203.0.113.9", "203.0.113.9:0"),
        ("1.1.1.1, 203.0.113.9, 10.9.9.9", "203.0.113.9:0"),
        ("203.0.113.9:4711,10.9.9.9:1", "203.0.113.9:4711"),
        ("2001:db8::9", "[2001:db8::9]:0"),
        ("[2001:db8::9]:4711", "[2001:db8::9]:4711"),
        ("::ffff:203.0.113.9", "203.0.113.9:0"),
        // If all are proxies, the farthest is the client; an address before one that is invalid does not count.
        ("10.3.3.3, 10.9.9.9", "10.3.3.3:0"),
        ("203.0.113.9, unknown, 10.9.9.9", "10.9.9.9:0"),
    ] {
        let expected = Ok(format!("p {client} 10.0.0.2:8080 inner:8080"));
        assert_eq!(
            seen(&format!("X-Forwarded-For: {list}\n")),
            expected,
            "{list}"
        );
        let lines = list.replace(", ", "\nX-Forwarded-For: ");
        assert_eq!(
            seen(&format!("X-Forwarded-For: {lines}\n")),
            expected,
            "{lines}"
        );
    }
    for list in [
        "unknown",
        "203.0.113.9, unknown",
        "1.2.3",
        "[::1",
        "\u{fc}",
        "",
    ] {
        assert_eq!(
            seen(&format!("X-Forwarded-For: {list}\n")),
            Ok("-".into()),
            "{list}"
        );
    }
}

#[test]
fn scheme_host_and_port() {
    for (fields, expected) in [
        (
            "X-Forwarded-Proto: https\n",
            "s 10.0.0.1:5000 10.0.0.2:8080 inner:8080",
        ),
        (
            "X-Forwarded-Proto: https\nX-Forwarded-Host: shop.example\n",
            "s 10.0.0.1:5000 10.0.0.2:443 shop.example",
        ),
        (
            "X-Forwarded-Proto: HTTP\nX-Forwarded-Host: shop.example\n",
            "p 10.0.0.1:5000 10.0.0.2:80 shop.example",
        ),
        (
            "X-Forwarded-Host: shop.example:8443\n",
            "p 10.0.0.1:5000 10.0.0.2:8443 shop.example:8443",
        ),
        (
            "X-Forwarded-Host: [2001:db8::1]\nX-Forwarded-Proto: wss\n",
            "s 10.0.0.1:5000 10.0.0.2:443 [2001:db8::1]",
        ),
        (
            "X-Forwarded-Port: 444\nX-Forwarded-Proto: https\n",
            "s 10.0.0.1:5000 10.0.0.2:444 inner:8080",
        ),
        // A list as long as that of the hops has the client's value at the client's position; otherwise the last value is
        // the nearest proxy's.
        (
            "X-Forwarded-For: 6.6.6.6, 203.0.113.9, 10.1.1.1\nX-Forwarded-Proto: http, https, http\nX-Forwarded-Host: evil, shop.example, inner\n",
            "s 203.0.113.9:0 10.0.0.2:443 shop.example",
        ),
        (
            "X-Forwarded-For: 203.0.113.9\nX-Forwarded-Proto: http, https\n",
            "s 203.0.113.9:0 10.0.0.2:8080 inner:8080",
        ),
        ("X-Forwarded-Proto: gopher\n", "-"),
        ("X-Forwarded-Port: http\n", "-"),
    ] {
        assert_eq!(seen(fields), Ok(expected.to_owned()), "{fields}");
    }
}

#[test]
fn the_standard_field() {
    for (value, expected) in [
        (
            "for=203.0.113.9",
            "p 203.0.113.9:0 10.0.0.2:8080 inner:8080",
        ),
        (
            "For=\"203.0.113.9:47\";proto=https;by=10.0.0.1;host=shop.example",
            "s 203.0.113.9:47 10.0.0.2:443 shop.example",
        ),
        (
            "for=\"[2001:db8::9]:47\" ; host=\"a.example:81\"",
            "p [2001:db8::9]:47 10.0.0.2:81 a.example:81",
        ),
        (
            "for=6.6.6.6;host=evil, for=203.0.113.9;proto=https, for=10.1.1.1;host=inner;proto=http",
            "s 203.0.113.9:0 10.0.0.2:443 inner",
        ),
        ("for=203.0.113.9, for=_hidden", "-"),
        (
            "for=unknown;proto=https",
            "s 10.0.0.1:5000 10.0.0.2:8080 inner:8080",
        ),
        (
            "for=\"203\\.0.113.9\"",
            "p 203.0.113.9:0 10.0.0.2:8080 inner:8080",
        ),
        ("proto=https", "s 10.0.0.1:5000 10.0.0.2:8080 inner:8080"),
        (";, ,", "-"),
    ] {
        let seen = seen(&format!("Forwarded: {value}\n"));
        assert_eq!(seen, Ok(expected.to_owned()), "{value}");
    }
    for value in [
        "for",
        "for=\"1.2.3.4",
        "for=\"a\"b",
        "a b=c",
        "for=",
        "x=\"\\\"",
        "for=1.2.3.4\"",
        "for=a b",
    ] {
        let seen = seen(&format!("Forwarded: {value}\n"));
        assert_eq!(seen, Err(ForwardedError::Malformed), "{value}");
    }
}

/// A proxy sets one kind of fields, and may forward the other kind as its client has sent it.
#[test]
fn both_kinds_must_not_contradict() {
    let usual = "X-Forwarded-For: 203.0.113.9\nX-Forwarded-Proto: https\n";
    for other in ["for=6.6.6.6", "for=203.0.113.9;proto=http"] {
        let seen = seen(&format!("{usual}Forwarded: {other}\n"));
        assert_eq!(seen, Err(ForwardedError::Conflict), "{other}");
    }
    let expected = Ok("s 203.0.113.9:0 10.0.0.2:8080 inner:8080".to_owned());
    for other in ["for=203.0.113.9:1;proto=https", "by=10.0.0.1", "host=evil"] {
        assert_eq!(
            seen(&format!("{usual}Forwarded: {other}\n")),
            expected,
            "{other}"
        );
    }
}

/// A framework that trusts its peer reads the fields again, and for PHP the peer is the client.
#[test]
fn nothing_is_left_of_what_the_client_has_said() {
    let mut trusted = TrustedProxies::default();
    trusted.add("private").expect("a word");
    let left = |fields: &str| {
        let mut head = head(fields);
        Origin::take(&mut head, &trusted).expect("no contradiction");
        let fields = head.fields.iter().filter(|(name, _)| *name != b"Host");
        let lines = fields.map(|(name, value)| [name, b": ", value].concat());
        let lines = lines.map(|line| String::from_utf8(line).expect("text"));
        lines.collect::<Vec<_>>().join("\n")
    };
    assert_eq!(
        left(
            "X-Forwarded-For: 6.6.6.6, 203.0.113.9\nX-Forwarded-Proto: http, https\nX-Forwarded-Host: evil, shop\nForwarded: by=a\n"
        ),
        "X-Forwarded-For: 203.0.113.9\nX-Forwarded-Proto: https\nX-Forwarded-Host: shop"
    );
    assert_eq!(
        left("Forwarded: for=6.6.6.6, for=\"[2001:db8::9]:1\";proto=https;host=shop:1\n"),
        "Forwarded: for=\"[2001:db8::9]\";host=\"shop:1\";proto=https"
    );
    assert_eq!(
        left("X-Forwarded-For: 6.6.6.6, unknown\nForwarded: for=6.6.6.6, for=_a\n"),
        ""
    );
    let several = "X-Forwarded-For: 203.0.113.9, 10.1.1.1\nX-Forwarded-Proto: gopher, https\nX-Forwarded-Port: 444, 8080\n";
    assert_eq!(
        left(several),
        "X-Forwarded-For: 203.0.113.9\nX-Forwarded-Port: 444"
    );
    let one = "X-Forwarded-For: 203.0.113.9:5\nX-Forwarded-Port: 443";
    assert_eq!(left(&format!("{one}\n")), one);
}
