//! The paths that a rule applies to, in nginx's terms: `/data` and everything below it, or a regular expression, `~ \.sql$`.

use regex::bytes::{Captures, Regex, RegexBuilder};

use crate::path;

#[derive(Debug)]
pub(crate) enum Location {
    /// A clean path with a slash at its end.
    Below(Vec<u8>),
    Expression(Regex),
}

impl Location {
    /// Returns `None` for texts that the settings reject.
    pub(crate) fn new(text: &str) -> Option<Location> {
        let Some(expression) = text.strip_prefix('~') else {
            let mut path = path::clean(text.as_bytes())?.into_owned();
            if !path.ends_with(b"/") {
                path.push(b'/');
            }
            return Some(Location::Below(path));
        };
        let any_case = expression.strip_prefix('*');
        // Paths are bytes, not text. A line break in a path must not let it evade a rule.
        let built = RegexBuilder::new(any_case.unwrap_or(expression).trim())
            .case_insensitive(any_case.is_some())
            .unicode(false)
            .dot_matches_new_line(true)
            .build();
        built.ok().map(Location::Expression)
    }

    pub(crate) fn holds(&self, clean: &[u8]) -> bool {
        match self {
            Location::Below(path) => clean.starts_with(path) || clean == &path[..path.len() - 1],
            Location::Expression(expression) => expression.is_match(clean),
        }
    }

    /// Returns the groups of an expression's match.
    pub(crate) fn captures<'p>(&self, clean: &'p [u8]) -> Option<Captures<'p>> {
        match self {
            Location::Below(_) => None,
            Location::Expression(expression) => expression.captures(clean),
        }
    }

    /// Returns the length of the path, which orders rules; an expression comes before all paths.
    pub(crate) fn length(&self) -> usize {
        match self {
            Location::Below(path) => path.len(),
            Location::Expression(_) => usize::MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_location_holds() {
        for (location, path, holds) in [
            ("/data", "/data", true),
            ("/data", "/data/", true),
            ("/data/", "/data/x/y", true),
            ("/data", "/database", false),
            ("/data", "/x/data", false),
            ("/", "/x", true),
            ("~ \\.sql$", "/x/dump.sql", true),
            ("~ \\.sql$", "/x/dump.SQL", false),
            ("~* \\.sql$", "/x/dump.SQL", true),
            ("~ ^/a.*\\.txt$", "/a\n\u{fe}.txt", true),
        ] {
            let rule = Location::new(location).unwrap();
            assert_eq!(rule.holds(path.as_bytes()), holds, "{location} {path}");
        }
        assert!(
            Location::new("~ ^/a.*\\.txt$")
                .unwrap()
                .holds(b"/a\xff.txt")
        );
        assert!(Location::new("~ (").is_none());
    }
}
