//! Pages made from the tables in the code, so that they cannot say anything else than the code does.

use std::fs;
use std::path::Path;

use crate::{Problems, state_page};

/// (path, content) of every generated page.
fn pages(checkout: &Path) -> Vec<(&'static str, String)> {
    vec![
        ("docs/reference/options.md", config::reference()),
        ("docs/concepts/state.md", state_page::page(checkout)),
    ]
}

pub(crate) fn write(checkout: &Path) -> Problems {
    let written = pages(checkout).into_iter().map(|(path, content)| {
        let place = checkout.join(path);
        fs::create_dir_all(place.parent().unwrap_or(checkout))
            .and_then(|()| fs::write(&place, content))
            .map_err(|error| format!("{path}: {error}"))
    });
    written.filter_map(Result::err).collect()
}

pub(crate) fn check(checkout: &Path) -> Problems {
    let stale = pages(checkout).into_iter().filter(|(path, content)| {
        fs::read_to_string(checkout.join(path)).ok().as_ref() != Some(content)
    });
    stale
        .map(|(path, _)| {
            format!("{path} is not what the code says: run `cargo run -p xtask -- gen`")
        })
        .collect()
}
