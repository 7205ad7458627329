//! Generates `docs/concepts/state.md`, the table of engine state as a page.

use std::fmt::Write;
use std::path::Path;

#[path = "../../../crates/php-sys/build/state_table.rs"]
mod state_table;

use state_table::{Field, Globals, Module, Scope, State, Table, Treatment, read_table};

fn rows<'a>(
    table: &'a Table,
    wanted: impl Fn(&State) -> bool + 'a,
) -> impl Iterator<Item = &'a State> + 'a {
    table.states.iter().filter(move |state| wanted(state))
}

/// Renders a table: `| what | code | why |`.
fn list(states: Vec<&State>) -> String {
    let mut out = String::from("| state | PHP code | |\n|---|---|---|\n");
    for state in states {
        let since = state
            .since
            .as_ref()
            .map(|version| format!(" (PHP {version})"));
        let alone = match state.alone {
            Some(Treatment::Kept) => "; available with `--concurrency 1`",
            _ => "",
        };
        let _ = writeln!(
            out,
            "| {}{} | {} | {}{alone} |",
            state.name,
            since.unwrap_or_default(),
            state.code,
            state.why
        );
    }
    out
}

fn is_owned(state: &State, scope: Scope) -> bool {
    state.scope == scope && matches!(state.treatment, Treatment::Exchanged | Treatment::Reset)
}

/// Returns the owner of an extension's state.
fn owner(module: &Module) -> String {
    let of = |scope: Scope| -> Vec<&str> {
        let fields = module
            .fields
            .iter()
            .filter(move |field: &&Field| field.scope == scope);
        fields.map(|field| field.name.as_str()).collect()
    };
    match module.globals {
        Globals::Exchange => "a request's".to_owned(),
        Globals::Task => "a coroutine's".to_owned(),
        Globals::Fields if of(Scope::Task).is_empty() => "a request's".to_owned(),
        Globals::Fields if of(Scope::Request).is_empty() => "a coroutine's".to_owned(),
        Globals::Fields => "a request's and a coroutine's".to_owned(),
        Globals::Keep => "kept".to_owned(),
        Globals::None => "none".to_owned(),
    }
}

fn modules(table: &Table) -> String {
    let mut out = String::from("| extension | package | state | |\n|---|---|---|---|\n");
    for module in &table.modules {
        let why = module.why.replace('|', "\\|");
        let _ = writeln!(
            out,
            "| {} | {} | {} | {why} |",
            module.name,
            module.package,
            owner(module)
        );
    }
    out
}

/// Renders the whole page.
pub(crate) fn page(checkout: &Path) -> String {
    let folder = checkout.join("crates/php-sys/state");
    let table = read_table(&folder).unwrap_or_else(|problem| panic!("{problem}"));
    let text = std::fs::read_to_string(folder.join("page.md"))
        .unwrap_or_else(|error| panic!("page.md: {error}"));
    let treated = |treatment| rows(&table, move |state| state.treatment == treatment).collect();
    text.replace(
        "{request}\n",
        &list(rows(&table, |state| is_owned(state, Scope::Request)).collect()),
    )
    .replace(
        "{task}\n",
        &list(rows(&table, |state| is_owned(state, Scope::Task)).collect()),
    )
    .replace("{worker}\n", &list(treated(Treatment::Kept)))
    .replace("{refused}\n", &list(treated(Treatment::Refused)))
    .replace("{modules}\n", &modules(&table))
}
