//! The field `Forwarded` (RFC 7239, section 4).

use std::net::SocketAddr;

use super::{FORWARDED, ForwardedError, Origin, client_of, is_secure, node};
use crate::fields::{Fields, is_token, is_value};
use crate::trusted_proxies::TrustedProxies;

/// What one proxy tells about the request that it received.
#[derive(Debug, Default)]
struct Element {
    client: Option<SocketAddr>,
    host: Option<String>,
    secure: Option<bool>,
}

/// Returns what the fields tell about the client's request.
pub(super) fn origin(
    fields: &Fields,
    trusted: &TrustedProxies,
) -> Result<Option<Origin>, ForwardedError> {
    let mut elements = Vec::new();
    for value in fields.get_all(FORWARDED) {
        let text = std::str::from_utf8(value).ok();
        let some = text.and_then(parse).ok_or(ForwardedError::Malformed)?;
        elements.extend(some);
    }
    let hops: Vec<_> = elements.iter().map(|element| element.client).collect();
    let client = client_of(&hops, trusted);
    let Some(at) = client.or(elements.len().checked_sub(1)) else {
        return Ok(None);
    };
    // A parameter that is missing in the client's own element is taken from the next proxy's.
    let nearer = &elements[at..];
    let origin = Origin {
        client: client.and_then(|at| hops[at]),
        secure: nearer.iter().find_map(|element| element.secure),
        host: nearer.iter().find_map(|element| element.host.clone()),
        port: None,
    };
    Ok((origin != Origin::default()).then_some(origin))
}

/// Parses the elements; `None` if the field is malformed.
fn parse(text: &str) -> Option<Vec<Element>> {
    let elements = split(text, ',')?;
    let named = elements.into_iter().filter(|element| !element.is_empty());
    named.map(element).collect()
}

fn element(text: &str) -> Option<Element> {
    let mut element = Element::default();
    for pair in split(text, ';')?
        .into_iter()
        .filter(|pair| !pair.is_empty())
    {
        let (name, value) = pair.split_once('=')?;
        let value = value_of(value)?;
        match name.to_ascii_lowercase().as_str() {
            "for" => element.client = node(&value),
            "host" => element.host = Some(value),
            "proto" => element.secure = is_secure(&value),
            name if is_token(name.as_bytes()) => {}
            _ => return None,
        }
    }
    Some(element)
}

/// Splits at separators that are not quoted; `None` if a quote is not closed.
fn split(text: &str, separator: char) -> Option<Vec<&str>> {
    let (mut parts, mut start) = (Vec::new(), 0);
    let (mut is_quoted, mut is_escaped) = (false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            c if c == separator && !is_quoted => {
                parts.push(text[start..at].trim_ascii());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim_ascii());
    (!is_quoted).then_some(parts)
}

/// Returns a token, or the content of a quoted string. A bare address with colons is no token, but some proxies write it so.
fn value_of(text: &str) -> Option<String> {
    let Some(quoted) = text.strip_prefix('"') else {
        let is_bare = |byte: u8| is_token(&[byte]) || b":[]".contains(&byte);
        let is_fine = !text.is_empty() && text.bytes().all(is_bare);
        return is_fine.then(|| text.to_owned());
    };
    let (mut value, mut rest) = (String::new(), quoted.chars());
    loop {
        match rest.next()? {
            '"' => break,
            '\\' => value.push(rest.next()?),
            c => value.push(c),
        }
    }
    (rest.as_str().is_empty() && is_value(value.as_bytes())).then_some(value)
}
