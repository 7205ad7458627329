//! The effects of a `.htaccess` under Apache that a site under Hearth needs rules for; the server itself never reads such
//! files.
//!
//! Directives are read one by one. Those that neither deny nor rewrite (headers, types, caching) are ignored, and so is the
//! usual rule for a front controller, which always applies here.

use super::rewrite_rule::{self, RewriteRule};

/// An effect that matters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Denies everything in the directory and below; perhaps except for some files.
    Denies { but_some: bool },
    /// Denies files whose names match this expression.
    DeniesFiles(String),
    /// Asks for a password.
    Password,
    /// Keeps scripts below the directory from running.
    NoScripts,
    /// A rule for `[site.rewrite]`.
    Rewrites(String, String),
    /// Denies a path, as an expression for `site.deny`.
    DeniesPath(String),
    /// A rule without an equivalent here.
    Unknown(String),
}

/// A section that contains a directive.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Section {
    /// For files whose names match.
    Files(String),
    /// For paths that match.
    Path(String),
    /// Only for some methods, addresses and so on.
    Sometimes,
    /// Always applies: modules are assumed to be loaded.
    Always,
    /// For the case that a module is not loaded.
    Never,
}

/// Returns the effects of a file's text. `place` is the path of its directory, without a slash at the end.
pub(crate) fn effects(text: &str, place: &str) -> Vec<Effect> {
    let mut reader = Reader {
        sections: Vec::new(),
        rules: rewrite_rule::Reader::new(place),
        effects: Vec::new(),
        grants_some: false,
    };
    for line in text.replace("\\\n", " ").lines() {
        reader.line(line.trim());
    }
    reader.end()
}

struct Reader {
    sections: Vec<Section>,
    rules: rewrite_rule::Reader,
    effects: Vec<Effect>,
    grants_some: bool,
}

impl Reader {
    fn line(&mut self, line: &str) {
        if line.is_empty() || line.starts_with('#') {
            return;
        }
        if let Some(section) = line.strip_prefix('<') {
            return self.section(section.trim_end_matches('>'));
        }
        if self.sections.contains(&Section::Never) {
            return;
        }
        let words = words(line);
        let directive = words[0].to_ascii_lowercase();
        let rest: Vec<&str> = words[1..].iter().map(String::as_str).collect();
        let arguments = rest.join(" ").to_ascii_lowercase();
        match (directive.as_str(), arguments.as_str()) {
            ("require", "all denied") | ("deny", "from all") => self.denies(),
            ("require", "all granted") | ("allow", "from all") => {
                self.grants_some |= self.files().is_some();
            }
            ("require", who) if who.starts_with("valid-user") || who.starts_with("user ") => {
                self.add(Effect::Password);
            }
            ("php_flag" | "php_admin_flag" | "php_value", "engine off" | "engine 0")
            | ("sethandler", "none" | "default-handler") => self.add(Effect::NoScripts),
            ("removehandler" | "removetype", types) if types.contains("php") => {
                self.add(Effect::NoScripts);
            }
            ("redirectmatch", _) => self.redirect_match(&rest),
            _ => self.rewriting(&directive, &rest, line),
        }
    }

    fn section(&mut self, head: &str) {
        if head.starts_with('/') {
            self.sections.pop();
            return;
        }
        let words = words(head);
        let name = words[0].to_ascii_lowercase();
        let argument = words.last().filter(|_| words.len() > 1);
        let section = match (name.as_str(), argument) {
            ("filesmatch", Some(expression)) => Section::Files(expression.clone()),
            ("files", Some(expression)) if words[1] == "~" => Section::Files(expression.clone()),
            ("files", Some(name)) => Section::Files(of_wildcards(name)),
            ("ifmodule", Some(module)) if module.starts_with('!') => Section::Never,
            ("if", Some(condition)) => match path_of(condition) {
                Some(expression) => Section::Path(expression),
                None => Section::Sometimes,
            },
            ("ifmodule" | "ifversion" | "requireall" | "requireany", _) => Section::Always,
            _ => Section::Sometimes,
        };
        self.sections.push(section);
    }

    fn files(&self) -> Option<&str> {
        self.sections
            .iter()
            .rev()
            .find_map(|section| match section {
                Section::Files(names) => Some(names.as_str()),
                _ => None,
            })
    }

    fn denies(&mut self) {
        let effect = match (self.files(), self.sections.last()) {
            (_, Some(Section::Path(expression))) => Effect::DeniesPath(format!("~ {expression}")),
            (Some(names), _) => Effect::DeniesFiles(names.to_owned()),
            (None, _) => Effect::Denies { but_some: false },
        };
        self.add(effect);
    }

    /// Adds an effect, once, and only if it applies to all requests.
    fn add(&mut self, effect: Effect) {
        let is_sometimes = self.sections.contains(&Section::Sometimes);
        if !is_sometimes && !self.effects.contains(&effect) {
            self.effects.push(effect);
        }
    }

    fn redirect_match(&mut self, rest: &[&str]) {
        if let [status @ ("403" | "404" | "410"), expression] = rest {
            self.add(match *status {
                "403" => Effect::DeniesPath(format!("~ {expression}")),
                status => Effect::Rewrites(format!("~ {expression}"), format!("={status}")),
            });
        }
    }

    fn rewriting(&mut self, directive: &str, rest: &[&str], line: &str) {
        match self.rules.directive(directive, rest) {
            RewriteRule::None => {}
            RewriteRule::Denies(place) if config::is_location(&place) => {
                self.add(Effect::DeniesPath(place));
            }
            RewriteRule::Rewrites(place, words) if config::is_location(&place) => {
                self.add(Effect::Rewrites(place, words));
            }
            // Expressions with look-ahead or look-behind are not supported here.
            RewriteRule::Denies(_) | RewriteRule::Rewrites(..) | RewriteRule::Unknown => {
                self.add(Effect::Unknown(line.to_owned()))
            }
        }
    }

    fn end(mut self) -> Vec<Effect> {
        for effect in &mut self.effects {
            if let Effect::Denies { but_some } = effect {
                *but_some = self.grants_some;
            }
        }
        self.effects
    }
}

/// Returns the expression in a section's condition `%{REQUEST_URI} =~ m#expression#`.
fn path_of(condition: &str) -> Option<String> {
    let matched = condition.strip_prefix("%{REQUEST_URI} =~ ")?;
    let (mark, rest) = match matched.strip_prefix('m') {
        Some(rest) => (rest.chars().next()?, rest),
        None => ('/', matched),
    };
    let expression = rest.strip_prefix(mark)?.strip_suffix(mark)?;
    Some(expression.to_owned())
}

/// Splits at blanks, but not within quotes.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (None, '"' | '\'') if word.is_empty() => quote = Some(c),
            (Some(open), c) if c == open => {
                quote = None;
                words.push(std::mem::take(&mut word));
            }
            (None, c) if c.is_whitespace() => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            (_, c) => word.push(c),
        }
    }
    if !word.is_empty() || words.is_empty() {
        words.push(word);
    }
    words
}

/// Translates wildcards such as `*.log` into an expression.
fn of_wildcards(name: &str) -> String {
    let mut expression = String::from("^");
    for c in name.chars() {
        match c {
            '*' => expression.push_str(".*"),
            '?' => expression.push('.'),
            c if c.is_alphanumeric() || "_- ".contains(c) => expression.push(c),
            c => {
                expression.push('\\');
                expression.push(c);
            }
        }
    }
    expression.push('$');
    expression
}

#[cfg(test)]
mod tests;
