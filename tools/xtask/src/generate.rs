//! Pages and headers that are generated from tables and stubs, so that they always agree.

use std::fs;
use std::path::Path;

use crate::{Problems, arginfo, bindings, state_page};

/// Returns (path, content) of every generated file.
fn pages(checkout: &Path) -> Result<Vec<(String, String)>, String> {
    let mut pages = vec![
        ("docs/reference/options.md".to_owned(), config::reference()),
        (
            "docs/concepts/state.md".to_owned(),
            state_page::page(checkout),
        ),
    ];
    pages.extend(arginfo::pages(checkout)?);
    pages.extend(bindings::page(checkout)?);
    Ok(pages)
}

pub(crate) fn write(checkout: &Path) -> Problems {
    let pages = match pages(checkout) {
        Ok(pages) => pages,
        Err(problem) => return vec![problem],
    };
    let written = pages.into_iter().map(|(path, content)| {
        let place = checkout.join(&path);
        fs::create_dir_all(place.parent().unwrap_or(checkout))
            .and_then(|()| fs::write(&place, content))
            .map_err(|error| format!("{path}: {error}"))
    });
    written.filter_map(Result::err).collect()
}

pub(crate) fn check(checkout: &Path) -> Problems {
    let pages = match pages(checkout) {
        Ok(pages) => pages,
        Err(problem) => return vec![problem],
    };
    let stale = pages.into_iter().filter(|(path, content)| {
        fs::read_to_string(checkout.join(path)).ok().as_ref() != Some(content)
    });
    stale
        .map(|(path, _)| {
            format!("{path} is not what it is made from: run `cargo run -p xtask -- gen`")
        })
        .collect()
}
