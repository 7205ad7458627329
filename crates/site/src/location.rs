//! The paths that a rule is for, in nginx's words: `/data` and what is below it, or what an expression matches, `~ \.sql$`.

use regex::bytes::{Captures, Regex, RegexBuilder};

use crate::path;

#[derive(Debug)]
pub(crate) enum Location {
    /// A clean path with a slash at its end.
    Below(Vec<u8>),
    Expression(Regex),
}

impl Location {
    /// `None` for what the settings would have refused.
    pub(crate) fn new(text: &str) -> Option<Location> {
        let Some(expression) = text.strip_prefix('~') else {
            let mut path = path::clean(text.as_bytes())?.into_owned();
            if !path.ends_with(b"/") {
                path.push(b'/');
            }
            return Some(Location::Below(path));
        };
        let any_case = expression.strip_prefix('*');
        // Bytes, as paths are; and a line break in a path helps it past no rule.
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

    /// What the groups of an expression matched.
    pub(crate) fn captures<'p>(&self, clean: &'p [u8]) -> Option<Captures<'p>> {
        match self {
            Location::Below(_) => None,
            Location::Expression(expression) => expression.captures(clean),
        }
    }

    /// How much of a path it names; an expression comes before all of these.
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
