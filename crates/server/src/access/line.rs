//! The formats of the access log's lines: NCSA common and combined, and JSON.

use std::io::Write as _;
use std::time::Duration;

use config::AccessFormat;
use http1::{Rejection, RequestParts};

use super::time_text::TimeText;
use super::{RequestTimes, Served};

/// The parts of a request's line that are known when the request begins, kept until it is over.
pub struct Entry {
    format: AccessFormat,
    text: Vec<u8>,
    /// The offset in `text` of what follows status and bytes.
    middle: usize,
}

/// Bytes of a usual line.
const LENGTH: usize = 192;

impl Entry {
    pub(super) fn of(head: &RequestParts, format: AccessFormat) -> Entry {
        let mut text = Vec::with_capacity(LENGTH);
        if format == AccessFormat::Json {
            json_request(&mut text, head);
            return Entry {
                format,
                text,
                middle: 0,
            };
        }
        text.push(b'"');
        for part in [head.method(), b" ", head.target(), b" "] {
            escape(&mut text, part);
        }
        text.extend_from_slice(head.version.as_str().as_bytes());
        text.push(b'"');
        let middle = text.len();
        if format == AccessFormat::Combined {
            for name in ["Referer", "User-Agent"] {
                text.extend_from_slice(b" \"");
                escape(&mut text, head.fields.get(name).unwrap_or(b"-"));
                text.push(b'"');
            }
        }
        Entry {
            format,
            text,
            middle,
        }
    }

    pub(super) fn write(&self, out: &mut Vec<u8>, time: &mut TimeText, served: &Served<'_>) {
        if self.format == AccessFormat::Json {
            return json(out, time, &self.text, served);
        }
        let exchange = served.exchange;
        let (request, rest) = self.text.split_at(self.middle);
        let answer = (exchange.status_or_gone(), exchange.sent);
        ncsa(out, time, served.client, request, answer);
        out.extend_from_slice(rest);
        out.push(b'\n');
    }
}

/// Writes the line of a rejection, for which there is no request head.
pub(super) fn refused(
    out: &mut Vec<u8>,
    time: &mut TimeText,
    format: AccessFormat,
    client: &str,
    rejection: &Rejection<'_>,
) {
    let status = rejection.status.unwrap_or_default();
    let mut request = Vec::with_capacity(LENGTH);
    if format == AccessFormat::Json {
        json_text(&mut request, "request_line", &rejection.request);
        json_time(out, time, client);
        out.extend_from_slice(&request);
        let sent = rejection.sent;
        return json_answer(out, status, (0, sent), Duration::ZERO, true, None);
    }
    request.push(b'"');
    match rejection.request.is_empty() {
        true => request.push(b'-'),
        false => escape(&mut request, &rejection.request),
    }
    request.push(b'"');
    ncsa(out, time, client, &request, (status, rejection.sent));
    if format == AccessFormat::Combined {
        out.extend_from_slice(br#" "-" "-""#);
    }
    out.push(b'\n');
}

/// Writes a line in NCSA format up to the number of bytes.
fn ncsa(
    out: &mut Vec<u8>,
    time: &mut TimeText,
    client: &str,
    request: &[u8],
    (status, sent): (u16, u64),
) {
    let client = if client.is_empty() { "-" } else { client };
    let time = time.update().common();
    for part in [client, " - - [", time, "] "] {
        out.extend_from_slice(part.as_bytes());
    }
    out.extend_from_slice(request);
    out.push(b' ');
    number(out, u64::from(status));
    out.push(b' ');
    number(out, sent);
}

/// Escapes as nginx does: bytes that are not printable ASCII, quotes and backslashes become `\xHH`.
fn escape(out: &mut Vec<u8>, bytes: &[u8]) {
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
    if bytes.iter().all(is_plain) {
        return out.extend_from_slice(bytes);
    }
    for byte in bytes {
        match is_plain(byte) {
            true => out.push(*byte),
            false => put(out, format_args!("\\x{byte:02X}")),
        }
    }
}

// ---- JSON ----

fn json_request(out: &mut Vec<u8>, head: &RequestParts) {
    json_text(out, "method", head.method());
    json_text(out, "target", head.target());
    json_text(out, "protocol", head.version.as_str().as_bytes());
    for (key, name) in [
        ("host", "Host"),
        ("referer", "Referer"),
        ("user_agent", "User-Agent"),
    ] {
        if let Some(value) = head.fields.get(name) {
            json_text(out, key, value);
        }
    }
}

fn json(out: &mut Vec<u8>, time: &mut TimeText, request: &[u8], served: &Served<'_>) {
    let exchange = served.exchange;
    json_time(out, time, served.client);
    if served.id != 0 {
        json_key(out, "request");
        put(out, format_args!("\"{:016x}\"", served.id));
    }
    out.extend_from_slice(request);
    let bytes = (exchange.received, exchange.sent);
    let status = exchange.status_or_gone();
    let took = exchange.time();
    let spent = Some(&served.spent);
    json_answer(out, status, bytes, took, exchange.is_complete, spent);
}

fn json_time(out: &mut Vec<u8>, time: &mut TimeText, client: &str) {
    let (iso, milliseconds) = time.update().iso();
    for part in ["{\"time\":\"", iso, "."] {
        out.extend_from_slice(part.as_bytes());
    }
    padded(out, milliseconds.into(), 3);
    out.extend_from_slice(b"Z\"");
    json_text(out, "client", client.as_bytes());
}

/// Writes a JSON line from the status to its end.
fn json_answer(
    out: &mut Vec<u8>,
    status: u16,
    (received, sent): (u64, u64),
    took: Duration,
    is_complete: bool,
    spent: Option<&RequestTimes>,
) {
    for (key, value) in [
        ("status", u64::from(status)),
        ("bytes_in", received),
        ("bytes_out", sent),
    ] {
        json_key(out, key);
        number(out, value);
    }
    json_seconds(out, "seconds", took);
    if let Some(spent) = spent {
        json_seconds(out, "queue_seconds", spent.queue);
        json_seconds(out, "php_seconds", spent.php);
        json_seconds(out, "cpu_seconds", spent.cpu);
    }
    json_key(out, "complete");
    let end = if is_complete { "true}\n" } else { "false}\n" };
    out.extend_from_slice(end.as_bytes());
}

fn json_key(out: &mut Vec<u8>, key: &str) {
    out.extend_from_slice(b",\"");
    out.extend_from_slice(key.as_bytes());
    out.extend_from_slice(b"\":");
}

fn json_seconds(out: &mut Vec<u8>, key: &str, time: Duration) {
    json_key(out, key);
    number(out, time.as_secs());
    out.push(b'.');
    padded(out, time.subsec_micros().into(), 6);
}

/// Writes a JSON string. Bytes that are not UTF-8 are replaced, because JSON allows nothing else.
fn json_text(out: &mut Vec<u8>, key: &str, text: &[u8]) {
    json_key(out, key);
    out.push(b'"');
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
    if text.iter().all(is_plain) {
        out.extend_from_slice(text);
    } else {
        for c in String::from_utf8_lossy(text).chars() {
            match c {
                '"' | '\\' => out.extend_from_slice(&[b'\\', c as u8]),
                c if c.is_control() => put(out, format_args!("\\u{:04x}", u32::from(c))),
                c => put(out, format_args!("{c}")),
            }
        }
    }
    out.push(b'"');
}

fn number(out: &mut Vec<u8>, number: u64) {
    padded(out, number, 1);
}

/// Writes a number with at least `width` digits. By hand: `write!` takes several times as long, and a line has a dozen
/// numbers.
fn padded(out: &mut Vec<u8>, mut number: u64, width: usize) {
    let mut digits = [b'0'; 20];
    let mut at = digits.len();
    while number > 0 || digits.len() - at < width {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
    }
    out.extend_from_slice(&digits[at..]);
}

fn put(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    // Writing to memory does not fail.
    let _ = out.write_fmt(text);
}

#[cfg(test)]
mod tests {
    use http1::{Exchange, Limits, RequestHead};

    use super::*;

    fn head(text: &[u8]) -> RequestHead {
        let limits = Limits {
            head: 1000,
            target: 1000,
            fields: 10,
        };
        RequestHead::parse(text, limits)
            .ok()
            .flatten()
            .expect("a head")
            .0
    }

    fn exchange(status: Option<u16>) -> Exchange {
        Exchange {
            began: std::time::Instant::now(),
            status,
            received: 3,
            sent: 1234,
            is_complete: status.is_some(),
        }
    }

    fn line(format: AccessFormat, request: &[u8], status: Option<u16>) -> String {
        let mut out = Vec::new();
        let served = Served {
            client: "192.0.2.1",
            id: 0x2a,
            exchange: &exchange(status),
            spent: RequestTimes::default(),
        };
        Entry::of(&head(request), format).write(&mut out, &mut TimeText::default(), &served);
        String::from_utf8(out).expect("text")
    }

    /// Returns the line with its time replaced.
    fn timeless(line: &str) -> String {
        let (before, rest) = line.split_once('[').expect("a time");
        let (_, after) = rest.split_once(']').expect("its end");
        format!("{before}[]{after}")
    }

    #[test]
    fn numbers() {
        let mut out = Vec::new();
        for (number, width) in [(0, 1), (0, 3), (7, 3), (1234, 3), (u64::MAX, 1)] {
            padded(&mut out, number, width);
            out.push(b' ');
        }
        assert_eq!(out, b"0 000 007 1234 18446744073709551615 ");
    }

    #[test]
    fn common_and_combined() {
        let request = b"GET /a?b=\"\\\xff HTTP/1.1\r\nHost: h\r\nUser-Agent: x \"y\"\t\r\n\r\n";
        let common = line(AccessFormat::Common, request, Some(200));
        let expected = r#"192.0.2.1 - - [] "GET /a?b=\x22\x5C\xFF HTTP/1.1" 200 1234"#;
        assert_eq!(timeless(&common), format!("{expected}\n"));
        let combined = line(AccessFormat::Combined, request, None);
        let expected =
            r#"192.0.2.1 - - [] "GET /a?b=\x22\x5C\xFF HTTP/1.1" 499 1234 "-" "x \x22y\x22""#;
        assert_eq!(timeless(&combined), format!("{expected}\n"));
    }

    #[test]
    fn json_is_json() {
        let request = b"POST /\xc3\xa4\xff\" HTTP/1.0\r\nHost: h\r\nReferer: a\\b\r\n\r\n";
        let line = line(AccessFormat::Json, request, Some(201));
        let value: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        for (key, expected) in [
            ("client", "192.0.2.1"),
            ("request", "000000000000002a"),
            ("method", "POST"),
            ("target", "/ä\u{fffd}\""),
            ("protocol", "HTTP/1.0"),
            ("host", "h"),
            ("referer", "a\\b"),
        ] {
            assert_eq!(value[key], expected, "{key}");
        }
        assert_eq!(
            (&value["status"], &value["bytes_in"]),
            (&201.into(), &3.into())
        );
        assert!(value["seconds"].is_f64() && value["cpu_seconds"] == 0.0);
        assert_eq!(
            (value.get("user_agent"), &value["complete"]),
            (None, &true.into())
        );
    }

    #[test]
    fn what_is_no_request() {
        let rejection = Rejection {
            status: Some(400),
            why: "why".into(),
            request: b"\x16\x03 nonsense".as_slice().into(),
            sent: 12,
        };
        let text = |format| {
            let mut out = Vec::new();
            refused(&mut out, &mut TimeText::default(), format, "", &rejection);
            String::from_utf8(out).expect("text")
        };
        assert_eq!(
            timeless(&text(AccessFormat::Combined)),
            "- - - [] \"\\x16\\x03 nonsense\" 400 12 \"-\" \"-\"\n"
        );
        let value: serde_json::Value =
            serde_json::from_str(&text(AccessFormat::Json)).expect("JSON");
        assert_eq!(value["request_line"], "\u{16}\u{3} nonsense");
        assert_eq!(
            (&value["status"], &value["bytes_out"]),
            (&400.into(), &12.into())
        );
    }
}
