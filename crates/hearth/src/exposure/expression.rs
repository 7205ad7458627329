//! Translates expressions of Apache's directives, which match a name or a part of the path, into those of `[site]`, which
//! match the whole path.

/// Translates a pattern of `RewriteRule`, which matches the path below the directory `place`, without the slash between
/// them.
pub(crate) fn of_path(place: &str, pattern: &str) -> String {
    let parts: Vec<String> = alternatives(pattern)
        .into_iter()
        .map(|part| match part.strip_prefix('^') {
            Some(rest) => rest.strip_prefix("/?").unwrap_or(rest).to_owned(),
            None => format!(".*{}", part.strip_prefix("/?").unwrap_or(part)),
        })
        .collect();
    match parts.as_slice() {
        [one] => format!("^{place}/{one}"),
        more => format!("^{place}/(?:{})", more.join("|")),
    }
}

/// Translates a pattern of `FilesMatch`, which matches the names of files below `place`. `None` if it has a `^` in the
/// middle.
pub(crate) fn of_name(place: &str, pattern: &str) -> Option<String> {
    let (mut begins, mut has) = (Vec::new(), Vec::new());
    for part in alternatives(pattern) {
        match part.strip_prefix('^') {
            Some(rest) => begins.push(rest),
            None => has.push(part),
        }
    }
    if begins.iter().chain(&has).any(|part| has_begin(part)) {
        return None;
    }
    let all = [("/", begins), ("/[^/]*", has)]
        .into_iter()
        .filter(|(_, parts)| !parts.is_empty())
        .map(|(before, parts)| format!("{before}(?:{})", parts.join("|")));
    let all: Vec<String> = all.collect();
    Some(match all.as_slice() {
        [one] => format!("^{place}(/.*)?{one}"),
        more => format!("^{place}(/.*)?(?:{})", more.join("|")),
    })
}

/// Whether all alternatives match hidden names, which are never sent.
pub(crate) fn is_of_hidden_names(pattern: &str) -> bool {
    const HIDDEN: [&str; 4] = ["^\\.", "/\\.", "(?:^|/)\\.", "(^|/)\\."];
    let is_hidden = |part: &str| HIDDEN.iter().any(|begin| part.starts_with(begin));
    alternatives(pattern).into_iter().all(is_hidden)
}

/// Whether the pattern matches any path.
pub(crate) fn is_all(pattern: &str) -> bool {
    ["^", ".", ".*", "^.*$", "^(.*)$", "(.*)", "^(.*)", "^.*"].contains(&pattern)
}

/// Removes the exception for `.well-known` from patterns of hidden names: they need no rule.
pub(crate) fn without_well_known(pattern: &str) -> String {
    const BEGIN: &str = "\\.(?!well-known";
    let mut text = pattern.to_owned();
    while let Some(at) = text.find(BEGIN) {
        let Some(end) = text[at..].find(')') else {
            break;
        };
        text.replace_range(at..=at + end, "\\.[^w]");
    }
    text
}

/// Splits at the bars outside of all groups.
fn alternatives(pattern: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut from, mut depth) = (0, 0);
    for (at, c) in significant(pattern) {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            '|' if depth == 0 => {
                parts.push(&pattern[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&pattern[from..]);
    parts
}

fn has_begin(pattern: &str) -> bool {
    significant(pattern).any(|(_, c)| c == '^')
}

/// Returns the characters that are neither escaped nor in a class.
fn significant(pattern: &str) -> impl Iterator<Item = (usize, char)> {
    let (mut is_escaped, mut is_class) = (false, false);
    pattern.char_indices().filter(move |(_, c)| {
        if std::mem::take(&mut is_escaped) {
            return false;
        }
        match c {
            '\\' => is_escaped = true,
            ']' => is_class = false,
            '[' => is_class = true,
            _ => return !is_class,
        }
        false
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alternatives_keep_their_begin() {
        assert_eq!(of_path("/a", "^b|c$"), "^/a/(?:b|.*c$)");
        assert_eq!(of_path("", "^/?(b|c)[|]"), "^/(b|c)[|]");
        assert_eq!(
            of_name("", "\\.(yml|sql)$|^composer\\.json$|^#.*#$").as_deref(),
            Some("^(/.*)?(?:/(?:composer\\.json$|#.*#$)|/[^/]*(?:\\.(yml|sql)$))")
        );
        assert_eq!(
            of_name("/x", "\\.php$").as_deref(),
            Some("^/x(/.*)?/[^/]*(?:\\.php$)")
        );
        assert_eq!(of_name("/x", "(?i:^a|[^b]$)"), None);
    }

    #[test]
    fn hidden_names_need_no_rule() {
        assert!(is_of_hidden_names("^\\.ht|/\\.git"));
        assert!(!is_of_hidden_names("^\\.ht|occ"));
        assert_eq!(
            without_well_known("^(\\.(?!well-known).*|a)$"),
            "^(\\.[^w].*|a)$"
        );
    }
}
