//! Servers in every mode in which PHP runs.

use testkit::{Server, ServerBuilder};

/// Returns a server of each mode, by name, that responds with the value of this PHP expression.
pub(crate) fn modes(expression: &str) -> Vec<(&'static str, ServerBuilder)> {
    let handler = || Server::script(&format!("return fn () => {expression};"));
    let one_by_one =
        format!("while (frankenphp_handle_request(function () {{ echo {expression}; }})) {{}}");
    let site = || Server::app(".").file("index.php", format!("<?php echo {expression};"));
    let direct = ["--dispatch", "direct"];
    let modes = vec![
        ("a handler", handler()),
        ("a handler, direct", handler().args(direct)),
        ("one at a time", handler().args(["--concurrency", "1"])),
        ("a worker script of FrankenPHP", Server::script(&one_by_one)),
        ("classic", site()),
        ("classic, direct", site().args(direct)),
    ];
    modes
        .into_iter()
        .map(|(name, server)| (name, server.args(["--workers", "2"])))
        .collect()
}
