//! `RewriteRule` of Apache in the words of `[site.rewrite]`, where that has them.

/// Of one directive.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RewriteRule {
    /// It says nothing, or what always holds here.
    None,
    /// An expression for `site.deny`.
    Denies(String),
    /// A location, and its words.
    Rewrites(String, String),
    /// It depends on what rules here do not know.
    Unknown,
}

/// The conditions so far.
#[derive(Debug, Default)]
struct Conditions {
    not_a_file: bool,
    not_a_directory: bool,
    others: bool,
}

#[derive(Debug)]
pub(crate) struct Reader {
    /// The path of its directory, without a slash at its end.
    place: String,
    /// What a relative target is relative to.
    base: String,
    is_off: bool,
    conditions: Conditions,
}

impl Reader {
    pub(crate) fn new(place: &str) -> Reader {
        Reader {
            place: place.to_owned(),
            base: place.to_owned(),
            is_off: false,
            conditions: Conditions::default(),
        }
    }

    /// `directive` is in small letters.
    pub(crate) fn directive(&mut self, directive: &str, words: &[&str]) -> RewriteRule {
        match (directive, words) {
            ("rewriteengine", [state, ..]) => self.is_off = state.eq_ignore_ascii_case("off"),
            ("rewritebase", [base, ..]) => {
                base.trim_end_matches('/').clone_into(&mut self.base);
            }
            ("rewritecond", [what, how, ..]) => self.condition(what, how),
            ("rewriterule", [pattern, target, rest @ ..]) => {
                let conditions = std::mem::take(&mut self.conditions);
                let flags = rest.first().copied().unwrap_or_default();
                let flags = flags.trim_matches(['[', ']']).to_ascii_uppercase();
                let flags: Vec<&str> = flags.split(',').map(str::trim).collect();
                if !self.is_off {
                    return self.rule(pattern, target, &flags, &conditions);
                }
            }
            _ => {}
        }
        RewriteRule::None
    }

    fn condition(&mut self, what: &str, how: &str) {
        match (what, how) {
            ("%{REQUEST_FILENAME}", "!-f" | "!-s") => self.conditions.not_a_file = true,
            ("%{REQUEST_FILENAME}", "!-d") => self.conditions.not_a_directory = true,
            ("%{REQUEST_FILENAME}", "!-l") => {}
            _ => self.conditions.others = true,
        }
    }

    fn rule(
        &self,
        pattern: &str,
        target: &str,
        flags: &[&str],
        conditions: &Conditions,
    ) -> RewriteRule {
        let has = |flag: &str| flags.contains(&flag);
        if has("F") || has("FORBIDDEN") {
            return match conditions.others {
                true => RewriteRule::Unknown,
                false => RewriteRule::Denies(self.location(pattern, flags)),
            };
        }
        if has("G") || has("GONE") {
            return RewriteRule::Rewrites(self.location(pattern, flags), "=410".into());
        }
        // It sets a variable, or leaves the path as it is; or it takes a slash away.
        if target == "-" || target == "%1" || is_front_controller(pattern, target) {
            return RewriteRule::None;
        }
        if conditions.others || target.contains('%') || pattern.starts_with('!') {
            return RewriteRule::Unknown;
        }
        let words = self.words(target, flags, conditions);
        RewriteRule::Rewrites(self.location(pattern, flags), words)
    }

    /// The pattern is compared with what follows the directory's own path.
    fn location(&self, pattern: &str, flags: &[&str]) -> String {
        let any_case = match flags.contains(&"NC") || flags.contains(&"NOCASE") {
            true => "*",
            false => "",
        };
        let (anchored, rest) = match pattern.strip_prefix('^') {
            Some(rest) => ("", rest),
            None => (".*", pattern),
        };
        let rest = rest.strip_prefix("/?").unwrap_or(rest);
        let place = &self.place;
        format!("~{any_case} ^{place}/{anchored}{rest}")
    }

    fn words(&self, target: &str, flags: &[&str], conditions: &Conditions) -> String {
        let mut target = match target.starts_with('/') || target.contains("://") {
            true => target.to_owned(),
            false => format!("{}/{}", self.base, target.trim_start_matches("./")),
        };
        if !target.contains('?') {
            target.push_str("$is_args$args");
        } else if flags.contains(&"QSA") || flags.contains(&"QSAPPEND") {
            target.push_str("&$args");
        }
        let redirect = flags
            .iter()
            .find(|flag| **flag == "R" || flag.starts_with("R="));
        if let Some(redirect) = redirect {
            let status = redirect.strip_prefix("R=").unwrap_or("302");
            return format!("={status} {target}");
        }
        let file = if conditions.not_a_file { "$uri " } else { "" };
        let directory = if conditions.not_a_directory {
            "$uri/ "
        } else {
            ""
        };
        format!("{file}{directory}{target}")
    }
}

/// Everything goes to `index.php`, which is so without a rule.
fn is_front_controller(pattern: &str, target: &str) -> bool {
    let is_all = ["^", ".", ".*", "^.*$", "^(.*)$", "(.*)", "^(.*)", "^.*"].contains(&pattern);
    let script = target.split('?').next().unwrap_or_default();
    let passes_nothing = !target.contains("?q=") && !target.contains("=$");
    is_all && passes_nothing && (script == "index.php" || script.ends_with("/index.php"))
}
