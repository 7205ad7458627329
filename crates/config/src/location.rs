//! Rules for the paths of a site: locations and rewrites. Errors describe what is expected.

use regex::bytes::{Regex, RegexBuilder};

/// Statuses that end a rule without a path, and those that redirect to one.
const STATUSES: [&str; 3] = ["403", "404", "410"];
const REDIRECTS: [&str; 4] = ["301", "302", "307", "308"];

/// Parses `/path`, `~ EXPRESSION` or `~* EXPRESSION`.
pub(crate) fn location(text: &str) -> Result<String, String> {
    if text.starts_with('~') {
        return expression(text).map(|_| text.into());
    }
    path(text).map_err(|what| format!("{what}, nor an expression, such as ~ \\.sql$"))
}

/// Whether `site.deny` and `[site.rewrite]` accept this location.
#[must_use]
pub fn is_location(text: &str) -> bool {
    location(text).is_ok()
}

/// Parses `/path`.
pub(crate) fn path(text: &str) -> Result<String, String> {
    match text.starts_with('/') && !text.trim_end_matches('/').is_empty() {
        true => Ok(text.into()),
        false => Err(format!(
            "\"{text}\" is not a path of the site that begins with /, such as /data"
        )),
    }
}

fn expression(text: &str) -> Result<Regex, String> {
    let expression = text.trim_start_matches('~').trim_start_matches('*').trim();
    // The site compiles it in the same way.
    let built = RegexBuilder::new(expression).unicode(false).build();
    built.map_err(|e| {
        let why = e.to_string();
        let why = why.lines().last().unwrap_or_default();
        format!(
            "\"{text}\" is not a regular expression: {}",
            why.trim_start_matches("error: ")
        )
    })
}

/// Parses a location and the words of its rule.
pub(crate) fn rewrite(text: &str) -> Result<(String, String), String> {
    let (place, words) = text.split_once('=').ok_or_else(|| {
        format!("\"{text}\" is not LOCATION=WORDS, such as /app=$uri /app/index.php?$args")
    })?;
    let (place, words) = (place.trim(), words.trim());
    let groups = match place.starts_with('~') {
        true => expression(place)?.captures_len() - 1,
        false if place == "/" => 0,
        false => location(place).map(|_| 0)?,
    };
    let mut rest = words.split_whitespace().peekable();
    if rest.peek().is_none() {
        return Err(format!(
            "no word says what answers at {place}; write {place}=WORDS"
        ));
    }
    while let Some(word) = rest.next() {
        match word.strip_prefix('=') {
            None => names_something(word, groups)?,
            Some(status) => {
                let to = rest.next();
                to.map_or(Ok(()), |to| names_something(to, groups))?;
                ends(status, to.is_some() && rest.next().is_none(), to.is_none())?;
                break;
            }
        }
    }
    Ok((place.into(), words.into()))
}

/// Checks that the word is a path whose variables exist.
fn names_something(word: &str, groups: usize) -> Result<(), String> {
    if !word.starts_with(['/', '$']) && !word.starts_with("http") {
        return Err(format!(
            "\"{word}\" is neither a path that begins with / nor a variable"
        ));
    }
    for after in word.split('$').skip(1) {
        let group = after.chars().next().and_then(|c| c.to_digit(10));
        let is_known = match group {
            Some(group) => group as usize <= groups,
            None => ["uri", "args", "query_string", "is_args"]
                .iter()
                .any(|name| after.starts_with(name)),
        };
        if !is_known {
            return Err(format!(
                "there is no ${after} in \"{word}\": known are $uri, $args, $is_args, and as many of $1 to $9 as the expression has groups"
            ));
        }
    }
    Ok(())
}

fn ends(status: &str, has_one_place: bool, has_none: bool) -> Result<(), String> {
    let is_known = match has_none {
        true => STATUSES.contains(&status),
        false => REDIRECTS.contains(&status) && has_one_place,
    };
    match is_known {
        true => Ok(()),
        false => Err(format!(
            "a rule ends with a path, with one of =403, =404 and =410, or with =301 (302, 307, 308) and one path; not with ={status}"
        )),
    }
}
