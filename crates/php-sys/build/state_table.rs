//! The table of engine state, as `state/*.toml` has it: what PHP and its extensions keep, and what happens to it.
//!
//! `build.rs` makes C code of it, `xtask` the page `docs/concepts/state.md`.

use std::path::Path;

use serde::Deserialize;

/// Whose the state is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Scope {
    Task,
    Request,
    #[serde(alias = "kept")]
    Worker,
}

/// What happens to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Treatment {
    Exchanged,
    Reset,
    Kept,
    Refused,
}

/// One row of `engine.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "one program makes C code of it, the other a page")]
pub(crate) struct State {
    pub(crate) name: String,
    pub(crate) code: String,
    pub(crate) scope: Scope,
    pub(crate) treatment: Treatment,
    /// The treatment with one request at a time, where it is another.
    pub(crate) alone: Option<Treatment>,
    pub(crate) why: String,
    #[serde(default)]
    pub(crate) fields: Vec<(String, String, String)>,
    #[serde(default)]
    pub(crate) ranges: Vec<(String, String)>,
    #[serde(default)]
    pub(crate) sentinels: Vec<(String, String)>,
    pub(crate) release: Option<String>,
    pub(crate) apply: Option<String>,
    #[serde(default)]
    pub(crate) dropped: bool,
    /// A Fiber takes it along: it belongs to a call on the Fiber's stack.
    #[serde(default)]
    pub(crate) with_fiber: bool,
    pub(crate) since: Option<String>,
}

/// What happens to the globals of an extension as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Globals {
    /// They are a request's.
    Exchange,
    /// They are a coroutine's.
    Task,
    /// Only some fields are.
    Fields,
    Keep,
    None,
}

/// Whether the end of a request calls the extension's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Rshutdown {
    Call,
    No,
    None,
}

/// A field of an extension's globals, by its place in them.
#[derive(Debug, Deserialize)]
#[allow(dead_code, reason = "one program makes C code of it, the other a page")]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) scope: Scope,
    #[serde(default)]
    pub(crate) offset_82: Option<u32>,
    #[serde(default)]
    pub(crate) size_82: u32,
    #[serde(default)]
    pub(crate) offset_84: Option<u32>,
    #[serde(default)]
    pub(crate) size_84: u32,
}

/// One row of `modules.toml`.
#[derive(Debug, Deserialize)]
#[allow(dead_code, reason = "one program makes C code of it, the other a page")]
pub(crate) struct Module {
    pub(crate) name: String,
    pub(crate) package: String,
    pub(crate) globals: Globals,
    pub(crate) rshutdown: Rshutdown,
    pub(crate) why: String,
    #[serde(default)]
    pub(crate) fields: Vec<Field>,
    #[serde(default)]
    pub(crate) leaves: Vec<String>,
    /// Where the globals are when the module entry does not say so: behind the entry of this setting, or at this symbol.
    pub(crate) base_ini: Option<String>,
    pub(crate) base_symbol: Option<String>,
    #[serde(default)]
    pub(crate) globals_82: u32,
    #[serde(default)]
    pub(crate) globals_84: u32,
}

#[derive(Debug, Deserialize)]
struct Engine {
    state: Vec<State>,
}

#[derive(Debug, Deserialize)]
struct Modules {
    module: Vec<Module>,
}

/// The whole table.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) states: Vec<State>,
    pub(crate) modules: Vec<Module>,
}

fn read<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, String> {
    let text =
        std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    toml::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
}

/// Read the table from its folder.
///
/// # Errors
/// A file that cannot be read, or a row that is not as this file describes it; the text says which.
pub(crate) fn read_table(folder: &Path) -> Result<Table, String> {
    let engine: Engine = read(&folder.join("engine.toml"))?;
    let modules: Modules = read(&folder.join("modules.toml"))?;
    Ok(Table {
        states: engine.state,
        modules: modules.module,
    })
}
