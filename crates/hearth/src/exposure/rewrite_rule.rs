//! Translates Apache's `RewriteRule` into words of `[site.rewrite]`, where that is possible.

use super::expression;

/// The translation of a directive.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RewriteRule {
    /// The directive has no effect, or one that always applies here.
    None,
    /// An expression for `site.deny`.
    Denies(String),
    /// A location, and its words.
    Rewrites(String, String),
    /// The directive depends on something that rules here do not support.
    Unknown,
}

/// The `RewriteCond` directives since the last rule.
#[derive(Debug, Default)]
struct Conditions {
    not_a_file: bool,
    not_a_directory: bool,
    exists: bool,
    /// An expression that the whole path must match.
    path: Option<String>,
    others: bool,
}

#[derive(Debug)]
pub(crate) struct Reader {
    /// The path of the file's directory, without a slash at the end.
    place: String,
    /// The path to which relative targets are relative.
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

    /// Reads a directive, whose name is in lower case.
    pub(crate) fn directive(&mut self, directive: &str, words: &[&str]) -> RewriteRule {
        match (directive, words) {
            ("rewriteengine", [state, ..]) => self.is_off = state.eq_ignore_ascii_case("off"),
            ("rewritebase", [base, ..]) => {
                base.trim_end_matches('/').clone_into(&mut self.base);
            }
            ("rewritecond", [what, how, flags @ ..]) => self.condition(what, how, flags),
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

    fn condition(&mut self, what: &str, how: &str, flags: &[&str]) {
        let all = &mut self.conditions;
        match (what, how) {
            ("%{REQUEST_FILENAME}" | "%{SCRIPT_FILENAME}", "-f" | "-d" | "-s" | "-l") => {
                all.exists = true;
            }
            ("%{REQUEST_FILENAME}", "!-f" | "!-s") => all.not_a_file = true,
            ("%{REQUEST_FILENAME}", "!-d") => all.not_a_directory = true,
            ("%{REQUEST_FILENAME}", "!-l") => {}
            ("%{REQUEST_URI}", expression)
                if flags.is_empty()
                    && all.path.is_none()
                    && !expression.starts_with(['!', '=']) =>
            {
                all.path = Some(expression.to_owned());
            }
            _ => all.others = true,
        }
    }

    fn rule(
        &self,
        pattern: &str,
        target: &str,
        flags: &[&str],
        conditions: &Conditions,
    ) -> RewriteRule {
        let pattern = &expression::without_well_known(pattern);
        let target = &target
            .replace("%{ENV:CWD}", &format!("{}/", self.base))
            .replace("%{ENV:BASE}", &self.base);
        let refusal = match target.as_str() {
            "-" => refusal(flags),
            _ if has(flags, &["F", "FORBIDDEN"]) => Some("=403"),
            _ => None,
        };
        if refusal.is_some() && expression::is_of_hidden_names(pattern)
            || is_needless(pattern, target, flags)
        {
            return RewriteRule::None;
        }
        let depends_on_others =
            begins_with(flags, &["S=", "SKIP="]) || has(flags, &["C", "CHAIN", "N", "NEXT"]);
        if depends_on_others || pattern.starts_with('!') {
            return RewriteRule::Unknown;
        }
        let Some((location, target)) = self.located(pattern, target, flags, conditions) else {
            return RewriteRule::Unknown;
        };
        match (refusal, target.as_str()) {
            (Some("=403"), _) => RewriteRule::Denies(location),
            (Some(words), _) => RewriteRule::Rewrites(location, words.into()),
            // Existing files are served in any case, and so is index.php if it is named.
            (None, "-")
                if conditions.exists
                    || pattern == "^index\\.php$"
                    || expression::is_all(pattern) =>
            {
                RewriteRule::None
            }
            (None, "-") => RewriteRule::Rewrites(location, "$uri $uri/ =404".into()),
            (None, target) if target.contains('%') => RewriteRule::Unknown,
            (None, target) => {
                RewriteRule::Rewrites(location, self.words(target, flags, conditions))
            }
        }
    }

    /// Returns the location, and the target with its groups; `None` if the rule depends on something else.
    fn located(
        &self,
        pattern: &str,
        target: &str,
        flags: &[&str],
        conditions: &Conditions,
    ) -> Option<(String, String)> {
        if conditions.others {
            return None;
        }
        let any_case = match flags.contains(&"NC") || flags.contains(&"NOCASE") {
            true => "*",
            false => "",
        };
        match &conditions.path {
            Some(path) if expression::is_all(pattern) => {
                let target = (1..10).fold(target.to_owned(), |target, group| {
                    target.replace(&format!("%{group}"), &format!("${group}"))
                });
                Some((format!("~{any_case} {path}"), target))
            }
            Some(_) => None,
            None => {
                let path = expression::of_path(&self.place, pattern);
                Some((format!("~{any_case} {path}"), target.to_owned()))
            }
        }
    }

    fn words(&self, target: &str, flags: &[&str], conditions: &Conditions) -> String {
        // A group that matches the whole path begins with a slash.
        let is_whole = conditions.path.is_some() && target.starts_with('$');
        let mut target = match is_whole || target.starts_with('/') || target.contains("://") {
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

fn has(flags: &[&str], known: &[&str]) -> bool {
    flags.iter().any(|flag| known.contains(flag))
}

fn begins_with(flags: &[&str], starts: &[&str]) -> bool {
    let begins = |flag: &&str| starts.iter().any(|start| flag.starts_with(start));
    flags.iter().any(begins)
}

/// Whether the rule's effect applies anyway, or changes no path.
fn is_needless(pattern: &str, target: &str, flags: &[&str]) -> bool {
    target == "-" && begins_with(flags, &["E=", "T=", "ENV="])
        || is_served_compressed(target)
        // Such a rule removes a slash.
        || target == "%1"
        || is_front_controller(pattern, target)
}

/// Returns the status of a rule without a target.
fn refusal(flags: &[&str]) -> Option<&'static str> {
    flags.iter().find_map(|flag| match *flag {
        "F" | "FORBIDDEN" | "R=403" => Some("=403"),
        "G" | "GONE" | "R=410" => Some("=410"),
        "R=404" => Some("=404"),
        _ => None,
    })
}

/// Whether the target is a compressed file, which is sent without a rule.
fn is_served_compressed(target: &str) -> bool {
    target.ends_with(".gz") || target.ends_with(".br")
}

/// Whether the rule sends everything to `index.php`, which is so without a rule.
fn is_front_controller(pattern: &str, target: &str) -> bool {
    let is_all = expression::is_all(pattern);
    // Such a pattern excludes what no expression here can; but missing files are answered by index.php all the same.
    let is_all = is_all || pattern.contains("(?!");
    let script = target.split('?').next().unwrap_or_default();
    let passes_nothing = !target.contains("?q=") && !target.contains("=$");
    is_all && passes_nothing && (script == "index.php" || script.ends_with("/index.php"))
}
