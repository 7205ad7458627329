//! Requests, encoded once before the run.
//!
//! The hot path only copies their bytes to a socket. The one part that may differ from request to request, the Cookie
//! field of a cookie jar, is inserted at a known offset.

use crate::plan::Http;
use crate::target::Url;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use measure::KeepAlive;

/// A request ready to be sent.
#[derive(Clone, Debug)]
pub struct Request {
    /// Method and path, for display.
    pub name: String,
    /// Relative frequency.
    pub weight: f64,
    /// The complete request in HTTP/1.
    pub bytes: Vec<u8>,
    /// Offset in `bytes` of the empty line after the fields.
    pub head_end: usize,
    /// Whether the response has no body (HEAD).
    pub bodiless: bool,
    /// The head of the same request for HTTP/2.
    pub h2: http::Request<()>,
    /// Body for HTTP/2.
    pub body: Bytes,
}

/// The parts of a request.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    /// Method; if none, POST with a body and GET without.
    pub method: Option<String>,
    /// Fields in order; a later one replaces a default of the same name.
    pub headers: Vec<(String, String)>,
    /// Body.
    pub body: Option<Vec<u8>>,
    /// Whether the body is sent in chunks, without its length.
    pub chunked: bool,
    /// Relative frequency.
    pub weight: f64,
}

impl Request {
    /// Encodes a request to `url`.
    ///
    /// # Errors
    /// If the method, the path or a field is invalid.
    pub fn new(url: &Url, parts: Parts, http: Http, keep_alive: KeepAlive) -> Result<Self, String> {
        let method = parts
            .method
            .unwrap_or_else(|| if parts.body.is_some() { "POST" } else { "GET" }.into());
        if parts.chunked && http != Http::V1_1 {
            return Err(format!(
                "{method} {}: a chunked body needs HTTP/1.1 (--http 1.1)",
                url.path
            ));
        }
        let mut headers = defaults(url, http, keep_alive, parts.body.as_ref());
        if parts.chunked {
            headers.retain(|(name, _)| name != "Content-Length");
            headers.push(("Transfer-Encoding".into(), "chunked".into()));
        }
        for (name, value) in parts.headers {
            check_header(&name, &value)?;
            headers.retain(|(known, _)| !known.eq_ignore_ascii_case(&name) || is_repeatable(known));
            headers.push((name, value));
        }
        let version = if http == Http::V1_0 {
            "HTTP/1.0"
        } else {
            "HTTP/1.1"
        };
        let mut bytes = format!("{method} {} {version}\r\n", url.path).into_bytes();
        for (name, value) in &headers {
            bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        let head_end = bytes.len();
        bytes.extend_from_slice(b"\r\n");
        let mut body = parts.body.unwrap_or_default();
        if parts.chunked {
            body = in_chunks(&body);
        }
        bytes.extend_from_slice(&body);
        Ok(Self {
            name: format!("{method} {}", url.path),
            weight: parts.weight,
            head_end,
            bodiless: method == "HEAD",
            h2: h2_request(url, &method, &headers)?,
            bytes,
            body: Bytes::from(body),
        })
    }

    /// Repeats the request `times` times, to be sent at once.
    #[must_use]
    pub fn pipelined(mut self, times: usize) -> Self {
        self.bytes = self.bytes.repeat(times);
        self
    }

    /// Writes the request with a Cookie field to `out`.
    pub(crate) fn with_cookies(&self, cookies: &str, out: &mut Vec<u8>) {
        out.clear();
        out.extend_from_slice(&self.bytes[..self.head_end]);
        if !cookies.is_empty() {
            out.extend_from_slice(b"Cookie: ");
            out.extend_from_slice(cookies.as_bytes());
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(&self.bytes[self.head_end..]);
    }
}

/// Encodes the body as one chunk and the last chunk.
fn in_chunks(body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    if !body.is_empty() {
        bytes.extend_from_slice(format!("{:x}\r\n", body.len()).as_bytes());
        bytes.extend_from_slice(body);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"0\r\n\r\n");
    bytes
}

fn is_repeatable(name: &str) -> bool {
    ![
        "host",
        "connection",
        "user-agent",
        "accept",
        "content-length",
        "content-type",
    ]
    .iter()
    .any(|single| name.eq_ignore_ascii_case(single))
}

fn defaults(
    url: &Url,
    http: Http,
    keep_alive: KeepAlive,
    body: Option<&Vec<u8>>,
) -> Vec<(String, String)> {
    let mut headers = vec![("Host".to_owned(), url.authority())];
    match (http, keep_alive) {
        (Http::V1_1, KeepAlive::Off) => headers.push(("Connection".into(), "close".into())),
        (Http::V1_0, KeepAlive::On | KeepAlive::Requests(_)) => {
            headers.push(("Connection".into(), "Keep-Alive".into()))
        }
        _ => {}
    }
    headers.push((
        "User-Agent".into(),
        concat!("hearth-load/", env!("CARGO_PKG_VERSION")).into(),
    ));
    headers.push(("Accept".into(), "*/*".into()));
    if let Some(body) = body {
        headers.push(("Content-Length".into(), body.len().to_string()));
        headers.push((
            "Content-Type".into(),
            "application/x-www-form-urlencoded".into(),
        ));
    }
    headers
}

fn check_header(name: &str, value: &str) -> Result<(), String> {
    http::HeaderName::try_from(name).map_err(|_| format!("header name {name:?} is not valid"))?;
    if value
        .bytes()
        .any(|byte| byte == b'\r' || byte == b'\n' || byte == 0)
    {
        return Err(format!("the value of header {name} contains a line end"));
    }
    Ok(())
}

fn h2_request(
    url: &Url,
    method: &str,
    headers: &[(String, String)],
) -> Result<http::Request<()>, String> {
    let scheme = if url.tls { "https" } else { "http" };
    let host = headers
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case("host"))
        .map_or("", |(_, value)| value);
    let mut builder = http::Request::builder()
        .method(method)
        .uri(format!("{scheme}://{host}{}", url.path))
        .version(http::Version::HTTP_2);
    for (name, value) in headers {
        if !name.eq_ignore_ascii_case("host") && !name.eq_ignore_ascii_case("connection") {
            builder = builder.header(name.to_ascii_lowercase(), value);
        }
    }
    builder
        .body(())
        .map_err(|error| format!("{method} {}: {error}", url.path))
}

/// Parses `Name: value` as typed after `-H`.
///
/// # Errors
/// If there is no colon.
pub(crate) fn parse_header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text
        .split_once(':')
        .ok_or_else(|| format!("header {text:?} has no colon; write \"Name: value\""))?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

/// Returns the Authorization field for `user:password`.
#[must_use]
pub(crate) fn basic_auth(credentials: &str) -> (String, String) {
    (
        "Authorization".into(),
        format!("Basic {}", STANDARD.encode(credentials)),
    )
}

/// Encodes `name=value`, `name=@file` and `name=@file;type=…` fields as multipart/form-data; returns content type and
/// body.
///
/// # Errors
/// If a field has no `=` or a file cannot be read.
pub fn multipart(fields: &[String]) -> Result<(String, Vec<u8>), String> {
    const BOUNDARY: &str = "hearth-load-7d1f4c2a9b";
    let mut body = Vec::new();
    for field in fields {
        let (name, value) = field.split_once('=').ok_or_else(|| {
            format!("form field {field:?} has no =; write name=value or name=@file")
        })?;
        body.extend_from_slice(
            format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"").as_bytes(),
        );
        match value.strip_prefix('@') {
            Some(file) => add_file(&mut body, file)?,
            None => {
                body.extend_from_slice(b"\r\n\r\n");
                body.extend_from_slice(value.as_bytes());
            }
        }
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{BOUNDARY}--\r\n").as_bytes());
    Ok((format!("multipart/form-data; boundary={BOUNDARY}"), body))
}

fn add_file(body: &mut Vec<u8>, file: &str) -> Result<(), String> {
    let (path, kind) = file
        .split_once(";type=")
        .unwrap_or((file, "application/octet-stream"));
    let content = std::fs::read(path).map_err(|error| format!("form file {path}: {error}"))?;
    let name = std::path::Path::new(path)
        .file_name()
        .map_or_else(|| path.into(), |name| name.to_string_lossy());
    body.extend_from_slice(
        format!("; filename=\"{name}\"\r\nContent-Type: {kind}\r\n\r\n").as_bytes(),
    );
    body.extend_from_slice(&content);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(parts: Parts, http: Http, keep_alive: KeepAlive) -> String {
        let url = Url::parse("http://127.0.0.1:8080/a?b").unwrap();
        String::from_utf8(Request::new(&url, parts, http, keep_alive).unwrap().bytes).unwrap()
    }

    #[test]
    fn a_plain_get() {
        let text = request(Parts::default(), Http::V1_1, KeepAlive::On);
        assert!(
            text.starts_with("GET /a?b HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n"),
            "{text}"
        );
        assert!(text.ends_with("\r\n\r\n") && !text.contains("Connection"));
    }

    #[test]
    fn keep_alive_is_said_where_it_is_not_the_default() {
        assert!(
            request(Parts::default(), Http::V1_0, KeepAlive::On)
                .contains("HTTP/1.0\r\nHost: 127.0.0.1:8080\r\nConnection: Keep-Alive\r\n")
        );
        assert!(
            request(Parts::default(), Http::V1_1, KeepAlive::Off).contains("Connection: close\r\n")
        );
    }

    #[test]
    fn own_headers_replace_the_defaults() {
        let parts = Parts {
            headers: vec![
                ("host".into(), "shop.test".into()),
                ("X-A".into(), "1".into()),
            ],
            ..Parts::default()
        };
        let text = request(parts, Http::V1_1, KeepAlive::On);
        assert!(
            text.contains("host: shop.test\r\n") && !text.contains("Host: 127"),
            "{text}"
        );
    }

    #[test]
    fn a_body_is_a_post_with_its_length() {
        let text = request(
            Parts {
                body: Some(b"a=1".to_vec()),
                ..Parts::default()
            },
            Http::V1_1,
            KeepAlive::On,
        );
        assert!(
            text.starts_with("POST ")
                && text.contains("Content-Length: 3\r\n")
                && text.ends_with("\r\n\r\na=1")
        );
    }

    #[test]
    fn a_chunked_body_has_no_length() {
        let parts = Parts {
            body: Some(b"20".to_vec()),
            chunked: true,
            ..Parts::default()
        };
        let text = request(parts.clone(), Http::V1_1, KeepAlive::On);
        assert!(
            text.contains("Transfer-Encoding: chunked\r\n") && !text.contains("Content-Length"),
            "{text}"
        );
        assert!(text.ends_with("\r\n\r\n2\r\n20\r\n0\r\n\r\n"), "{text}");
        let url = Url::parse("http://h/").unwrap();
        assert!(Request::new(&url, parts, Http::V1_0, KeepAlive::On).is_err());
    }

    #[test]
    fn header_injection_is_refused() {
        let url = Url::parse("http://h/").unwrap();
        let parts = Parts {
            headers: vec![("X".into(), "a\r\nB: c".into())],
            ..Parts::default()
        };
        assert!(Request::new(&url, parts, Http::V1_1, KeepAlive::On).is_err());
        assert!(parse_header("nocolon").is_err());
    }

    #[test]
    fn auth_and_cookies() {
        assert_eq!(
            basic_auth("Aladdin:open sesame").1,
            "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="
        );
        let url = Url::parse("http://h/").unwrap();
        let request = Request::new(
            &url,
            Parts {
                body: Some(b"x".to_vec()),
                ..Parts::default()
            },
            Http::V1_1,
            KeepAlive::On,
        )
        .unwrap();
        let mut out = Vec::new();
        request.with_cookies("a=1; b=2", &mut out);
        assert!(
            String::from_utf8(out)
                .unwrap()
                .ends_with("\r\nCookie: a=1; b=2\r\n\r\nx")
        );
    }

    #[test]
    fn multipart_has_every_field() {
        let (kind, body) = multipart(&["a=1".into(), "b=2".into()]).unwrap();
        let text = String::from_utf8(body).unwrap();
        assert!(kind.starts_with("multipart/form-data; boundary="));
        assert_eq!(text.matches("Content-Disposition").count(), 2);
        assert!(multipart(&["nothing".into()]).is_err());
        assert!(multipart(&["f=@/does/not/exist".into()]).is_err());
    }
}
