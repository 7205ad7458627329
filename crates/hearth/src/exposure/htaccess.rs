//! What a `.htaccess` does under Apache, as far as Hearth would have to do it too; nothing here reads it while it serves.
//!
//! Directives are read one by one. What is no denial and no rewriting (headers, types, caching) has no place here, nor has the
//! usual rule for a front controller, which always holds.

use super::rewrite_rule::{self, RewriteRule};

/// One that matters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Everything in its directory and below; perhaps but for some files.
    Denies { but_some: bool },
    /// Files with names that match this expression.
    DeniesFiles(String),
    /// It asks for a password.
    Password,
    /// Scripts below it do not run.
    NoScripts,
    /// A rule for `[site.rewrite]`.
    Rewrites(String, String),
    /// A path that is refused, as an expression for `site.deny`.
    DeniesPath(String),
    /// A rule that has no equal here.
    Unknown(String),
}

/// Where a directive stands.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Section {
    /// Of files whose names match.
    Files(String),
    /// Of paths that match.
    Path(String),
    /// For some methods, addresses … only.
    Sometimes,
    /// Modules are taken to be there.
    Always,
    /// For where one is not there.
    Never,
}

/// Everything in the text of one that lies at `place`, the path of its directory without a slash at its end.
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

    /// Once; and not what is for some requests only.
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
            // Expressions that look ahead or behind are not known here.
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

/// The expression in `%{REQUEST_URI} =~ m#expression#`, as the condition of a section.
fn path_of(condition: &str) -> Option<String> {
    let matched = condition.strip_prefix("%{REQUEST_URI} =~ ")?;
    let (mark, rest) = match matched.strip_prefix('m') {
        Some(rest) => (rest.chars().next()?, rest),
        None => ('/', matched),
    };
    let expression = rest.strip_prefix(mark)?.strip_suffix(mark)?;
    Some(expression.to_owned())
}

/// Divided at blanks, but not within quotes.
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

/// `*.log` as an expression.
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
