//! Content codings, and the choice by the client's `Accept-Encoding` (RFC 9110, section 12.5.3).

use http1::Fields;

/// A content coding. Where a client has no preference, the first one is chosen: it makes files smallest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    Brotli,
    Zstandard,
    Gzip,
}

impl Encoding {
    pub(crate) const ALL: [Encoding; 3] = [Encoding::Brotli, Encoding::Zstandard, Encoding::Gzip];

    /// Returns the name in `Content-Encoding`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Encoding::Brotli => "br",
            Encoding::Zstandard => "zstd",
            Encoding::Gzip => "gzip",
        }
    }

    /// Returns the suffix of the file's name.
    pub(crate) fn suffix(self) -> &'static str {
        match self {
            Encoding::Brotli => ".br",
            Encoding::Zstandard => ".zst",
            Encoding::Gzip => ".gz",
        }
    }
}

/// A set of content codings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Encodings(u8);

impl Encodings {
    pub(crate) fn insert(&mut self, encoding: Encoding) {
        self.0 |= 1 << encoding as u8;
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    fn contains(self, encoding: Encoding) -> bool {
        self.0 & 1 << encoding as u8 != 0
    }

    /// Returns the coding in this set that the client prefers; `None` if the client accepts none, or prefers the file as it
    /// is.
    pub(crate) fn preferred(self, fields: &Fields) -> Option<Encoding> {
        let weights = Weights::of(fields)?;
        let mut best = None;
        for encoding in Encoding::ALL.into_iter().filter(|one| self.contains(*one)) {
            let weight = weights.of_coding(encoding.name().as_bytes());
            if weight > best.map_or(0, |(_, weight)| weight) {
                best = Some((encoding, weight));
            }
        }
        let (encoding, weight) = best?;
        (weight >= weights.named(b"identity").unwrap_or(0)).then_some(encoding)
    }
}

/// The content of `Accept-Encoding`: codings and their weights in thousandths.
struct Weights<'a>(Vec<(&'a [u8], u16)>);

impl Weights<'_> {
    fn of(fields: &Fields) -> Option<Weights<'_>> {
        let mut values = fields.get_all("Accept-Encoding").peekable();
        values.peek()?;
        let elements = values.flat_map(|value| value.split(|byte| *byte == b','));
        Some(Weights(elements.filter_map(element).collect()))
    }

    fn named(&self, coding: &[u8]) -> Option<u16> {
        let mut all = self.0.iter();
        all.find(|(name, _)| name.eq_ignore_ascii_case(coding))
            .map(|(_, weight)| *weight)
    }

    fn of_coding(&self, coding: &[u8]) -> u16 {
        self.named(coding).or_else(|| self.named(b"*")).unwrap_or(0)
    }
}

/// Parses `gzip;q=0.5`. A malformed element is ignored.
fn element(text: &[u8]) -> Option<(&[u8], u16)> {
    let mut parts = text.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
    let name = parts.next().filter(|name| !name.is_empty())?;
    let weight = match parts.next() {
        None => 1000,
        Some(parameter) => weight(parameter)?,
    };
    Some((name, weight))
}

/// Parses `q=0.123`; returns thousandths.
fn weight(parameter: &[u8]) -> Option<u16> {
    let text = std::str::from_utf8(parameter).ok()?;
    let (name, value) = text.split_once('=')?;
    let weight: f32 = value.trim().parse().ok()?;
    let is_weight = name.trim().eq_ignore_ascii_case("q") && (0.0..=1.0).contains(&weight);
    // The product is from 0 to 1000.
    is_weight.then_some((weight * 1000.0) as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn preferred(accepted: Option<&str>, available: &[Encoding]) -> Option<&'static str> {
        let fields: Fields = accepted
            .into_iter()
            .map(|value| ("Accept-Encoding", value))
            .collect();
        let mut encodings = Encodings::default();
        available.iter().for_each(|one| encodings.insert(*one));
        encodings.preferred(&fields).map(Encoding::name)
    }

    #[test]
    fn what_a_client_takes() {
        for (accepted, expected) in [
            ("gzip, deflate, br, zstd", Some("br")),
            ("gzip, deflate", Some("gzip")),
            ("GZIP", Some("gzip")),
            ("zstd , gzip", Some("zstd")),
            ("gzip;q=1.0, br;q=0.5", Some("gzip")),
            ("br;q=0, gzip;q=0.1", Some("gzip")),
            ("br;q=0.0, gzip; q=0", None),
            ("*", Some("br")),
            ("*;q=0.5, br;q=0", Some("zstd")),
            ("gzip, *;q=0", Some("gzip")),
            ("identity", None),
            ("identity, gzip", Some("gzip")),
            ("identity;q=1, *;q=0", None),
            ("identity;q=1, gzip;q=0.5", None),
            ("identity;q=0.5, gzip;q=0.6", Some("gzip")),
            ("gzip;q=x, br;q=2, zstd;level=3", None),
            ("gzip;q=1.001", None),
            ("br;q=0.001", Some("br")),
            ("", None),
            (",;,", None),
            ("compress, x", None),
        ] {
            assert_eq!(
                preferred(Some(accepted), &Encoding::ALL),
                expected,
                "{accepted}"
            );
        }
        assert_eq!(preferred(None, &Encoding::ALL), None);
        assert_eq!(preferred(Some("br, gzip"), &[Encoding::Gzip]), Some("gzip"));
        assert_eq!(preferred(Some("br"), &[Encoding::Gzip]), None);
        assert_eq!(preferred(Some("br"), &[]), None);
    }
}
