//! The target of a request (RFC 9112, section 3.2): which of its four forms it has, and its parts.
//!
//! Browsers and crawlers send bytes that RFC 3986 wants escaped; nginx, Apache and PHP accept them, and so does Hearth. Only
//! the form and the characters of a host are checked.

use crate::fields::{Fields, Span};

/// The positions of a target's parts, in the buffer of the head's fields.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Target {
    pub(crate) resource: Span,
    pub(crate) path: Span,
    pub(crate) query: Span,
    pub(crate) authority: Option<Span>,
}

impl Target {
    /// Returns `None` if the target has none of the forms, or one that its method must not have.
    pub(crate) fn parse(
        method: &[u8],
        (start, end): (usize, usize),
        fields: &mut Fields,
    ) -> Option<Target> {
        let bytes = &fields.bytes()[start..end];
        if method == b"CONNECT" {
            return is_authority(bytes).then(Target::default);
        }
        match bytes {
            [b'/', ..] => Some(Target::of_resource(bytes, start, None)),
            b"*" if method == b"OPTIONS" => Some(Target::of_resource(bytes, start, None)),
            _ => Target::absolute(start, end, fields),
        }
    }

    fn of_resource(bytes: &[u8], start: usize, authority: Option<Span>) -> Target {
        let path = bytes
            .iter()
            .position(|byte| matches!(byte, b'?' | b'#'))
            .unwrap_or(bytes.len());
        let rest = &bytes[path..];
        // A fragment concerns only the client. One that is sent all the same is not meant as a part of a value.
        let query = match rest.first() {
            Some(b'?') => {
                rest.iter()
                    .position(|byte| *byte == b'#')
                    .unwrap_or(rest.len())
                    - 1
            }
            _ => 0,
        };
        let query_start = start + path + usize::from(query > 0);
        Target {
            resource: Span::new(start, start + bytes.len()),
            path: Span::new(start, start + path),
            query: Span::new(query_start, query_start + query),
            authority,
        }
    }

    fn absolute(start: usize, end: usize, fields: &mut Fields) -> Option<Target> {
        let bytes = &fields.bytes()[start..end];
        let colon = bytes.iter().position(|byte| *byte == b':')?;
        let (scheme, rest) = (&bytes[..colon], bytes[colon..].strip_prefix(b"://")?);
        let is_scheme_byte = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
        if !scheme.first()?.is_ascii_alphabetic() || !scheme.iter().all(is_scheme_byte) {
            return None;
        }
        let length = rest
            .iter()
            .position(|byte| matches!(byte, b'/' | b'?' | b'#'))
            .unwrap_or(rest.len());
        let (named, resource) = rest.split_at(length);
        let user = named
            .iter()
            .rposition(|byte| *byte == b'@')
            .map_or(0, |at| at + 1);
        if !is_authority(named) || named.len() == user {
            return None;
        }
        let named_start = end - rest.len();
        let authority = Some(Span::new(named_start + user, named_start + length));
        if resource.first() == Some(&b'/') {
            return Some(Target::of_resource(
                resource,
                named_start + length,
                authority,
            ));
        }
        let resource = [b"/", resource].concat();
        let start = fields.bytes().len();
        fields.append_bytes(&resource);
        Some(Target::of_resource(&resource, start, authority))
    }
}

fn is_authority(bytes: &[u8]) -> bool {
    let is_byte =
        |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@[]%".contains(byte);
    !bytes.is_empty() && bytes.iter().all(is_byte)
}
