//! What a file declares and does, as the engine compiled it, and how it may be preloaded.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// A class, interface, trait or enum.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Class {
    pub name: String,
    /// Declared when the file is loaded, whatever its code does.
    pub top: bool,
    /// Parent, interfaces and traits.
    pub needs: Vec<String>,
    /// Classes that constant expressions and types of properties name.
    pub uses: Vec<String>,
}

/// As `inspect.php` prints it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    pub file: String,
    pub size: u64,
    pub hash: String,
    #[serde(default)]
    pub classes: Vec<Class>,
    /// Declared when the file is loaded.
    #[serde(default)]
    pub functions: Vec<String>,
    /// Declared when its code gets there.
    #[serde(default)]
    pub conditional: Vec<String>,
    /// What the code does besides declaring: `echo`, `call:define`, `constant:PHP_VERSION_ID`, `defined:ABSPATH`, `loads:A\B`,
    /// `op:ZEND_ASSIGN`.
    #[serde(default)]
    pub code: Vec<String>,
}

/// How a file is preloaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Treatment {
    /// `opcache_compile_file`: its code is not run.
    Compile,
    /// `require`: what it declares depends on its code. Only after a child has shown that it does nothing else.
    Require,
    /// Not at all, and why.
    Leave(String),
}

/// Functions whose result is the same at boot and in each request. `function_exists` and its like are none: what a request has
/// loaded or can autoload decides them, and at boot nothing is.
const QUESTIONS: [&str; 3] = ["extension_loaded", "version_compare", "phpversion"];

impl Facts {
    /// What its code says about it; for [`Treatment::Require`] a trial is still to come.
    pub fn treatment(&self) -> Treatment {
        let conditional =
            !self.conditional.is_empty() || self.classes.iter().any(|class| !class.top);
        let top = self.classes.iter().any(|class| class.top);
        let leave = |why: &str| Treatment::Leave(why.into());
        match (top, conditional) {
            _ if self.classes.is_empty() && self.functions.is_empty() && !conditional => {
                leave("declares nothing: opcache caches it without a list")
            }
            // Its include still runs its code, and what it declares is there before.
            (false, false) => Treatment::Compile,
            (true, false) if self.only_guards() => Treatment::Compile,
            (true, false) => Treatment::Leave(format!(
                "{}; that would not happen if its class is preloaded",
                self.deeds()
            )),
            (_, true) if self.only_questions() => Treatment::Require,
            (_, true) => Treatment::Leave(format!(
                "what it declares depends on its code, which {}",
                self.deeds()
            )),
        }
    }

    /// `class_exists(X::class);` loads X early, which is as good later. Not so where X is no class of that name but an alias,
    /// which types are compared with and which no type loads.
    pub fn forget_loads(&mut self, is_declared: impl Fn(&str) -> bool) {
        self.code.retain(|code| {
            let class = code.strip_prefix("loads:");
            !class.is_some_and(|class| is_declared(class.trim_start_matches('\\')))
        });
    }

    /// `defined('ABSPATH') || exit;`
    pub(crate) fn only_guards(&self) -> bool {
        let guard = |code: &String| {
            matches!(code.as_str(), "branch" | "call:exit" | "call:die")
                || code.starts_with("defined:")
        };
        self.code.iter().all(guard)
    }

    fn only_questions(&self) -> bool {
        self.code.iter().all(|code| match code.split_once(':') {
            Some(("call", name)) => QUESTIONS.contains(&name),
            Some(("constant", name)) => name.to_ascii_uppercase().contains("PHP_"),
            _ => code == "branch",
        })
    }

    /// Constants that its guards ask for.
    pub fn guards(&self) -> impl Iterator<Item = &str> {
        let guards = self.code.iter().filter(|_| self.only_guards());
        guards.filter_map(|code| code.strip_prefix("defined:"))
    }

    /// For people.
    fn deeds(&self) -> String {
        let deed = |code: &String| match code.split_once(':') {
            Some(("call", name)) => Some(format!("calls {}()", name.trim_start_matches('\\'))),
            Some(("loads", name)) => Some(format!("loads {name}, which may be an alias")),
            Some(("op", _)) => Some("runs code".into()),
            Some(("defined", name)) => Some(format!("asks whether {name} is defined")),
            Some((_, name)) => Some(format!("reads the constant {name}")),
            None => match code.as_str() {
                "echo" => Some("prints".into()),
                "include" => Some("includes other files".into()),
                "const" => Some("defines constants".into()),
                _ => None,
            },
        };
        let deeds: BTreeSet<String> = self.code.iter().filter_map(deed).collect();
        match deeds.is_empty() {
            true => "runs code".into(),
            false => deeds.into_iter().take(3).collect::<Vec<_>>().join(", "),
        }
    }

    /// Functions and classes that it declares or may declare, in lower case; `true` is a class.
    pub(crate) fn names(&self) -> impl Iterator<Item = (bool, String)> + '_ {
        let classes = self
            .classes
            .iter()
            .map(|class| (true, class.name.to_ascii_lowercase()));
        let functions = self
            .functions
            .iter()
            .chain(&self.conditional)
            .map(|name| (false, name.to_ascii_lowercase()));
        classes.chain(functions)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A file that declares one class.
    pub(crate) fn class(file: &str, name: &str, needs: &[&str]) -> Facts {
        let needs = needs.iter().map(|name| (*name).to_owned()).collect();
        Facts {
            classes: vec![Class {
                name: name.into(),
                top: true,
                needs,
                uses: Vec::new(),
            }],
            ..empty(file)
        }
    }

    pub(crate) fn empty(file: &str) -> Facts {
        Facts {
            file: file.into(),
            size: 1,
            hash: "h".into(),
            classes: Vec::new(),
            functions: Vec::new(),
            conditional: Vec::new(),
            code: Vec::new(),
        }
    }

    fn with(facts: Facts, code: &[&str]) -> Treatment {
        let code = code.iter().map(|one| (*one).to_owned()).collect();
        Facts { code, ..facts }.treatment()
    }

    #[test]
    fn a_class_that_is_loaded_early_is_no_deed() {
        let mut facts = class("a.php", "A", &[]);
        facts.code = vec!["loads:\\N\\B".into(), "loads:Old".into()];
        facts.forget_loads(|name| name == "N\\B");
        assert_eq!(facts.code, ["loads:Old"]);
        let Treatment::Leave(why) = facts.treatment() else {
            panic!("{facts:?}");
        };
        assert!(why.starts_with("loads Old, which may be an alias"));
        facts.forget_loads(|_| true);
        assert_eq!(facts.treatment(), Treatment::Compile);
    }

    #[test]
    fn a_file_is_treated_by_what_it_does() {
        let class = || class("a.php", "A", &[]);
        let functions = || Facts {
            functions: vec!["f".into()],
            ..empty("f.php")
        };
        let conditional = || Facts {
            conditional: vec!["f".into()],
            ..empty("c.php")
        };
        assert_eq!(with(class(), &[]), Treatment::Compile);
        assert_eq!(
            with(class(), &["defined:ABSPATH", "branch", "call:exit"]),
            Treatment::Compile
        );
        assert_eq!(with(functions(), &["echo"]), Treatment::Compile);
        assert_eq!(
            with(conditional(), &["constant:PHP_VERSION_ID", "branch"]),
            Treatment::Require
        );
        let left = |treatment: Treatment| match treatment {
            Treatment::Leave(why) => why,
            other => panic!("{other:?}"),
        };
        assert!(left(with(class(), &["call:class_alias"])).starts_with("calls class_alias()"));
        assert!(left(with(class(), &["const"])).starts_with("defines constants"));
        assert!(
            left(with(conditional(), &["call:function_exists", "branch"]))
                .contains("calls function_exists()")
        );
        assert!(
            left(with(conditional(), &["defined:WP_DEBUG", "branch"]))
                .contains("asks whether WP_DEBUG is defined")
        );
        assert!(
            left(with(empty("config.php"), &["op:ZEND_ASSIGN"])).starts_with("declares nothing")
        );
    }
}
