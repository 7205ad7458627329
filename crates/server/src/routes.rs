//! Patterns of paths, by which metrics tell requests apart: their number is known beforehand, whatever clients request.

/// A list of path patterns, such as the setting `metrics.routes`.
#[derive(Debug, Clone, Default)]
pub struct Routes(Vec<Vec<Segment>>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Segment {
    Text(Vec<u8>),
    /// `{name}`: any segment that is not empty.
    Any,
    /// `*` at the end: all segments that follow.
    Rest,
}

impl Routes {
    #[must_use]
    pub fn new(patterns: &[String]) -> Routes {
        Routes(patterns.iter().map(|pattern| parse(pattern)).collect())
    }

    /// Returns the number of the first pattern that matches, from 1 on; 0 if none does.
    #[must_use]
    pub fn of(&self, path: &[u8]) -> usize {
        let fits = |pattern: &Vec<Segment>| fits(pattern, path);
        self.0.iter().position(fits).map_or(0, |at| at + 1)
    }
}

fn parse(pattern: &str) -> Vec<Segment> {
    let segments = pattern.trim_start_matches('/').split('/');
    let segments = segments.map(|segment| match segment {
        "*" => Segment::Rest,
        named if named.starts_with('{') && named.ends_with('}') => Segment::Any,
        text => Segment::Text(text.into()),
    });
    segments.collect()
}

fn fits(pattern: &[Segment], path: &[u8]) -> bool {
    let Some(path) = path.strip_prefix(b"/") else {
        return false;
    };
    let mut parts = path.split(|byte| *byte == b'/');
    for segment in pattern {
        let part = parts.next();
        let fits = match (segment, part) {
            (Segment::Rest, part) => return part.is_some(),
            (Segment::Any, Some(part)) => !part.is_empty(),
            (Segment::Text(text), Some(part)) => text == part,
            (_, None) => false,
        };
        if !fits {
            return false;
        }
    }
    parts.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_pattern_that_fits() {
        let patterns = [
            "/",
            "/blog/new",
            "/blog/{slug}",
            "/blog/{slug}/edit",
            "/api/*",
        ];
        let routes = Routes::new(&patterns.map(str::to_owned));
        for (path, number) in [
            ("/", 1),
            ("/blog/new", 2),
            ("/blog/old", 3),
            ("/blog/", 0),
            ("/blog", 0),
            ("/blog/a/edit", 4),
            ("/blog/a/edit/", 0),
            ("/api/", 5),
            ("/api/v1/users/7", 5),
            ("/api", 0),
            ("/x", 0),
            ("", 0),
            ("*", 0),
        ] {
            assert_eq!(routes.of(path.as_bytes()), number, "{path}");
        }
        assert_eq!(Routes::default().of(b"/"), 0);
    }
}
