//! `Hearth\Cache`: one cache for all workers, as requests, classic sites and scripts see it.

mod adapters;
mod computations;
mod locks;
mod mistakes;
mod operators;
mod scripts;
mod sharing;
mod values;

use std::collections::BTreeSet;

use testkit::{Server, ServerBuilder};

use crate::support::{at_once, encoded, ok, same};

/// Runs the code that is in the query, with `$cache`.
pub(crate) const RUN: &str = r"return function ($request) { $cache = new Hearth\Cache(); return json_encode(eval($request->query('code'))); };";

/// Several workers that take turns, each with one request at a time.
pub(crate) fn workers(count: u32) -> ServerBuilder {
    Server::script(RUN).args(["--workers", &count.to_string(), "--concurrency", "1"])
}

/// The code in each of the workers, by many requests at once; what they answered.
#[track_caller]
pub(crate) fn everywhere(server: &Server, code: &str) -> BTreeSet<String> {
    let code = encoded(&format!("usleep(20000); {code}"));
    let (answers, _) = at_once(server, &same(&code, 12));
    answers.iter().map(ok).collect()
}

#[track_caller]
pub(crate) fn assert_everywhere(server: &Server, code: &str, expected: &str) {
    assert_eq!(
        everywhere(server, code),
        BTreeSet::from([expected.to_owned()]),
        "{code}"
    );
}

/// The same code in a classic site.
pub(crate) fn classic() -> ServerBuilder {
    let code = r"<?php $cache = new Hearth\Cache(); echo json_encode(eval($_GET['code']));";
    Server::app(".").file("index.php", code)
}
