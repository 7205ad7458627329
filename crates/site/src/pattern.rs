//! Patterns of paths: `*` matches any text, slashes included.

#[derive(Debug)]
pub(crate) struct Pattern {
    text: Vec<u8>,
}

impl Pattern {
    pub(crate) fn new(text: &str) -> Pattern {
        Pattern {
            text: text.as_bytes().to_vec(),
        }
    }

    /// Returns whether the pattern matches the whole path. The time is at most proportional to the product of both lengths.
    pub(crate) fn fits(&self, path: &[u8]) -> bool {
        let (mut at, mut from) = (0, 0);
        // The position of the last `*`, and the end of the text that it was last tried with.
        let mut star = None;
        while from < path.len() {
            match self.text.get(at) {
                Some(b'*') => {
                    star = Some((at, from));
                    at += 1;
                }
                Some(byte) if *byte == path[from] => {
                    at += 1;
                    from += 1;
                }
                _ => {
                    let Some((place, end)) = star else {
                        return false;
                    };
                    star = Some((place, end + 1));
                    at = place + 1;
                    from = end + 1;
                }
            }
        }
        self.text[at..].iter().all(|byte| *byte == b'*')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_any_text() {
        for (pattern, path, fits) in [
            ("/build/*", "/build/app.js", true),
            ("/build/*", "/build/", true),
            ("/build/*", "/build", false),
            ("/build/*", "/x/build/app.js", false),
            ("/build/*", "/build/js/app.js", true),
            ("*.css", "/a/b.css", true),
            ("*.css", "/a/b.css.map", false),
            ("/a/*/b*c.js", "/a/1/2/bbc.js", true),
            ("/a/*/b*c.js", "/a/b1c.js", false),
            ("*", "/", true),
            ("/index.html", "/index.html", true),
            ("/index.html", "/index.htm", false),
            ("/index.html", "/index.html5", false),
            ("**a**", "/ba", true),
            ("*aab", "/aaaab", true),
        ] {
            assert_eq!(
                Pattern::new(pattern).fits(path.as_bytes()),
                fits,
                "{pattern} {path}"
            );
        }
        let slow = Pattern::new(&"*a".repeat(200));
        assert!(!slow.fits(&b"a".repeat(100)));
    }
}
