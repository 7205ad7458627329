//! The table of engine state as C macros and one C array.

use std::fmt::Write;

use super::state_table::{Field, Globals, Module, Rshutdown, Scope, State, Table, Treatment};

fn c_string(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// `HEARTH_SINCE_8_4(…)` where the row says so.
fn versioned(state: &State, line: &str) -> String {
    state.since.as_ref().map_or_else(
        || line.to_owned(),
        |version| format!("HEARTH_SINCE_{}({line})", version.replace('.', "_")),
    )
}

fn c_scope(scope: Scope) -> &'static str {
    match scope {
        Scope::Task => "HEARTH_SCOPE_TASK",
        Scope::Request => "HEARTH_SCOPE_REQUEST",
        Scope::Worker => "HEARTH_SCOPE_WORKER",
    }
}

fn c_treatment(treatment: Treatment) -> &'static str {
    match treatment {
        Treatment::Exchanged => "HEARTH_TREATMENT_EXCHANGED",
        Treatment::Reset => "HEARTH_TREATMENT_RESET",
        Treatment::Kept => "HEARTH_TREATMENT_KEPT",
        Treatment::Refused => "HEARTH_TREATMENT_REFUSED",
    }
}

/// `X(lvalue, type, name)` for each field that is saved at every switch.
fn fields(table: &Table, scope: Scope, macro_name: &str) -> String {
    let mut out = format!("#define {macro_name}(X)");
    for state in table.states.iter().filter(|state| state.scope == scope) {
        for (live, kind, name) in &state.fields {
            let _ = write!(
                out,
                " \\\n\t{}",
                versioned(state, &format!("X({live}, {kind}, {name})"))
            );
        }
    }
    out + "\n"
}

/// The functions that release ranges, and `X(row, lvalue, size)` for each range, each followed by `S(row, lvalue)` for its sentinels.
fn ranges(table: &Table) -> String {
    let mut out = String::new();
    for state in &table.states {
        for (verb, name) in [("release", &state.release), ("apply", &state.apply)] {
            if let Some(name) = name {
                let _ = writeln!(out, "void hearth_{verb}_{name}(void);");
            }
        }
    }
    out += "#define HEARTH_STATE_RANGES(X, S)";
    for (row, state) in table.states.iter().enumerate() {
        for (live, size) in &state.ranges {
            let size = if size.is_empty() {
                format!("sizeof({live})")
            } else {
                size.clone()
            };
            let _ = write!(
                out,
                " \\\n\t{}",
                versioned(state, &format!("X({row}, {live}, {size})"))
            );
            for (_, sentinel) in state.sentinels.iter().filter(|(of, _)| of == live) {
                let _ = write!(
                    out,
                    " \\\n\t\t{}",
                    versioned(state, &format!("S({row}, {sentinel})"))
                );
            }
        }
    }
    out + "\n"
}

/// What a Fiber takes along, with a name for each.
fn fiber_fields(table: &Table) -> String {
    let mut out = String::from("#define HEARTH_FIBER_FIELDS(X)");
    for (row, state) in table.states.iter().enumerate() {
        let fields = state.fields.iter().map(|(live, ..)| live);
        let lives = fields.chain(state.ranges.iter().map(|(live, _)| live));
        for (index, live) in lives.enumerate().filter(|_| state.with_fiber) {
            let one = format!("X({live}, row_{row}_{index})");
            let _ = write!(out, " \\\n\t{}", versioned(state, &one));
        }
    }
    out + "\n"
}

fn states(table: &Table) -> String {
    let mut out = String::from("#define HEARTH_STATE_ROWS \\\n");
    for state in &table.states {
        let function = |verb: &str, name: &Option<String>| {
            name.as_ref()
                .map_or_else(|| "NULL".to_owned(), |name| format!("hearth_{verb}_{name}"))
        };
        let _ = writeln!(
            out,
            "\t{{{}, {}, {}, {}, {}, {}}}, \\",
            c_string(&state.name),
            c_scope(state.scope),
            c_treatment(state.treatment),
            function("release", &state.release),
            function("apply", &state.apply),
            state.dropped,
        );
    }
    out + "\n"
}

fn field(field: &Field) -> String {
    let place = |offset: Option<u32>, size: u32| {
        offset.map_or_else(|| "0, 0".to_owned(), |offset| format!("{offset}, {size}"))
    };
    format!(
        "{{{}, {}, HEARTH_BY_VERSION({}, {})}}",
        c_string(&field.name),
        c_scope(field.scope),
        format_args!("HEARTH_PLACE({})", place(field.offset_82, field.size_82)),
        format_args!("HEARTH_PLACE({})", place(field.offset_84, field.size_84)),
    )
}

fn optional(text: Option<&str>) -> String {
    text.map_or_else(|| "NULL".to_owned(), c_string)
}

fn c_globals(globals: Globals) -> &'static str {
    match globals {
        Globals::Exchange => "HEARTH_GLOBALS_REQUEST",
        Globals::Task => "HEARTH_GLOBALS_TASK",
        Globals::Fields => "HEARTH_GLOBALS_FIELDS",
        Globals::Keep | Globals::None => "HEARTH_GLOBALS_KEPT",
    }
}

fn module(module: &Module) -> String {
    let fields: Vec<String> = module.fields.iter().map(field).collect();
    let list = if fields.is_empty() {
        "NULL".to_owned()
    } else {
        format!("(const hearth_module_field[]) {{{}}}", fields.join(", "))
    };
    format!(
        "\t{{{}, {}, {}, {}, {}, HEARTH_BY_VERSION({}, {}), {}, {list}}}, \\\n",
        c_string(&module.name),
        optional(module.base_ini.as_deref()),
        optional(module.base_symbol.as_deref()),
        c_globals(module.globals),
        module.rshutdown == Rshutdown::Call,
        module.globals_82,
        module.globals_84,
        fields.len(),
    )
}

/// The text of `state_table.h`.
pub(crate) fn header(table: &Table) -> String {
    let mut out =
        String::from("/* Made by build.rs from state/engine.toml and state/modules.toml. */\n");
    out += &fields(table, Scope::Task, "HEARTH_TASK_FIELDS");
    out += &fields(table, Scope::Request, "HEARTH_REQUEST_FIELDS");
    out += &fiber_fields(table);
    out += &ranges(table);
    out += &states(table);
    out += "#define HEARTH_MODULE_ROWS \\\n";
    for row in &table.modules {
        out += &module(row);
    }
    out + "\n"
}
