//! Rewrite rules: a path is looked up under other names, as with nginx's `try_files`.
//!
//! Of the words of a rule, the first that names an existing file or directory is used; the last is used in any case.

use regex::bytes::Captures;

use crate::location::Location;
use crate::path;

/// The rules in the order in which they are tried: expressions as they were written, then the longest path.
#[derive(Debug, Default)]
pub(crate) struct Rewrites(Vec<Rewrite>);

#[derive(Debug)]
pub(crate) struct Rewrite {
    location: Location,
    /// The words before the last, with their variables; a slash at the end means a directory.
    pub(crate) candidates: Vec<String>,
    pub(crate) last: Last,
}

#[derive(Debug)]
pub(crate) enum Last {
    /// A path, with or without a query.
    Path(String),
    /// `=404`.
    Status(u16),
    /// `=301 /elsewhere`.
    Redirect(u16, String),
}

/// The values of a rule's variables.
pub(crate) struct Variables<'a> {
    clean: &'a [u8],
    query: &'a [u8],
    captures: Option<Captures<'a>>,
}

impl Rewrites {
    pub(crate) fn new(rules: &[(String, String)]) -> Rewrites {
        let mut rules: Vec<Rewrite> = rules
            .iter()
            .filter_map(|(location, words)| Rewrite::new(location, words))
            .collect();
        rules.sort_by_key(|rule| std::cmp::Reverse(rule.location.length()));
        Rewrites(rules)
    }

    pub(crate) fn find(&self, clean: &[u8]) -> Option<&Rewrite> {
        self.0.iter().find(|rule| rule.location.holds(clean))
    }
}

impl Rewrite {
    fn new(location: &str, words: &str) -> Option<Rewrite> {
        let location = Location::new(location)?;
        let mut words: Vec<&str> = words.split_whitespace().collect();
        let status = words.iter().position(|word| word.starts_with('='));
        let last = match status.map(|at| words.split_off(at)).as_deref() {
            None => Last::Path(words.pop()?.to_owned()),
            Some([status]) => Last::Status(status[1..].parse().ok()?),
            Some([status, to, ..]) => Last::Redirect(status[1..].parse().ok()?, (*to).to_owned()),
            Some([]) => return None,
        };
        Some(Rewrite {
            location,
            candidates: words.into_iter().map(str::to_owned).collect(),
            last,
        })
    }

    pub(crate) fn variables<'a>(&self, clean: &'a [u8], query: Option<&'a [u8]>) -> Variables<'a> {
        Variables {
            clean,
            query: query.unwrap_or_default(),
            captures: self.location.captures(clean),
        }
    }
}

impl Variables<'_> {
    /// Returns the clean path; `None` if it leads above the root.
    pub(crate) fn path(&self, template: &str) -> Option<Vec<u8>> {
        let path = self.expand(template, false);
        path::clean(path::encode(&path).as_bytes()).map(std::borrow::Cow::into_owned)
    }

    /// Returns the path and the query of the last word. As in nginx, the request's query is lost if the word does not
    /// contain it.
    pub(crate) fn target(&self, template: &str) -> Option<(Vec<u8>, Vec<u8>)> {
        let ends = [template.find('?'), template.find("$is_args")];
        let end = ends.into_iter().flatten().min().unwrap_or(template.len());
        let (path, query) = template.split_at(end);
        let query = self.encoded(query);
        Some((
            self.path(path)?,
            query.strip_prefix(b"?").unwrap_or(&query).to_vec(),
        ))
    }

    /// Expands a template for a query or a `Location` field.
    pub(crate) fn encoded(&self, template: &str) -> Vec<u8> {
        self.expand(template, true)
    }

    fn expand(&self, template: &str, encoded: bool) -> Vec<u8> {
        let mut text = Vec::new();
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('$') {
            text.extend_from_slice(before.as_bytes());
            let is_name = |c: char| c == '_' || c.is_ascii_alphabetic();
            let length = match after.starts_with(|c: char| c.is_ascii_digit()) {
                true => 1,
                false => after.find(|c| !is_name(c)).unwrap_or(after.len()),
            };
            let (name, behind) = after.split_at(length);
            self.value(name, encoded, &mut text);
            rest = behind;
        }
        text.extend_from_slice(rest.as_bytes());
        text
    }

    fn value(&self, name: &str, encoded: bool, text: &mut Vec<u8>) {
        let value: &[u8] = match name {
            "uri" => self.clean,
            "args" | "query_string" => return text.extend_from_slice(self.query),
            "is_args" if self.query.is_empty() => return,
            "is_args" => return text.push(b'?'),
            group => {
                let captures = self.captures.as_ref();
                let group = group.parse().ok().and_then(|group| captures?.get(group));
                group.map_or(b"", |group| group.as_bytes())
            }
        };
        match encoded {
            true => text.extend_from_slice(path::encode_value(value).as_bytes()),
            false => text.extend_from_slice(value),
        }
    }
}
