//! What a file declares and does, as compiled by the engine, and how it may be preloaded.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// A class, interface, trait or enum.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Class {
    pub name: String,
    /// Whether the class is declared whenever the file is loaded, whatever its code does.
    pub top: bool,
    /// The names of parent, interfaces and traits.
    pub needs: Vec<String>,
    /// Classes that are named in constant expressions and in types of properties.
    pub uses: Vec<String>,
}

/// The facts of a file, as printed by `inspect.php`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    pub file: String,
    pub size: u64,
    pub hash: String,
    #[serde(default)]
    pub classes: Vec<Class>,
    /// Functions that are declared whenever the file is loaded.
    #[serde(default)]
    pub functions: Vec<String>,
    /// Functions that are declared only if the code reaches them.
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
    /// By `opcache_compile_file`, which does not run its code.
    Compile,
    /// By `require`, because its declarations depend on its code. Only after a child process has shown that it does nothing
    /// else.
    Require,
    /// Not preloaded, for this reason.
    Leave(String),
}

/// Functions with the same result at boot and in each request. `function_exists` and the like are not among them: their
/// result depends on what a request has loaded or can autoload, and at boot nothing is loaded.
const QUESTIONS: [&str; 3] = ["extension_loaded", "version_compare", "phpversion"];

impl Facts {
    /// Returns the treatment by what the code does; for [`Treatment::Require`] a trial is still required.
    pub fn treatment(&self) -> Treatment {
        let conditional =
            !self.conditional.is_empty() || self.classes.iter().any(|class| !class.top);
        let top = self.classes.iter().any(|class| class.top);
        let leave = |why: &str| Treatment::Leave(why.into());
        match (top, conditional) {
            _ if self.classes.is_empty() && self.functions.is_empty() && !conditional => {
                leave("declares nothing: opcache caches it without a list")
            }
            // Including it still runs its code, and its declarations exist before.
            (false, false) => Treatment::Compile,
            (true, false) if self.only_guards() => Treatment::Compile,
            (true, false) => Treatment::Leave(format!(
                "{}; that would not happen if its class is preloaded",
                self.side_effects()
            )),
            (_, true) if self.only_questions() => Treatment::Require,
            (_, true) => Treatment::Leave(format!(
                "what it declares depends on its code, which {}",
                self.side_effects()
            )),
        }
    }

    /// Forgets early loads such as `class_exists(X::class);`: loading X later has the same effect. That does not hold if X
    /// is not a class of that name but an alias, with which types are compared and which no type loads.
    pub fn forget_loads(&mut self, is_declared: impl Fn(&str) -> bool) {
        self.code.retain(|code| {
            let class = code.strip_prefix("loads:");
            !class.is_some_and(|class| is_declared(class.trim_start_matches('\\')))
        });
    }

    /// Whether the code consists of guards such as `defined('ABSPATH') || exit;`.
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

    /// The constants that the guards check.
    pub fn guards(&self) -> impl Iterator<Item = &str> {
        let guards = self.code.iter().filter(|_| self.only_guards());
        guards.filter_map(|code| code.strip_prefix("defined:"))
    }

    /// Describes for people what the code does.
    fn side_effects(&self) -> String {
        let side_effect = |code: &String| match code.split_once(':') {
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
        let side_effects: BTreeSet<String> = self.code.iter().filter_map(side_effect).collect();
        match side_effects.is_empty() {
            true => "runs code".into(),
            false => side_effects
                .into_iter()
                .take(3)
                .collect::<Vec<_>>()
                .join(", "),
        }
    }

    /// Functions and classes that the file declares or may declare, in lower case; `true` is a class.
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

    /// The facts of a file that declares a class.
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
