//! `session.save_handler = hearth` and `Hearth\Session`: sessions in the cache that all workers share.

mod calls;
mod ends;
mod locking;
mod visitors;

use testkit::http::Client;
use testkit::{Server, ServerBuilder};

use crate::support::{UNTIL_GO, encoded};

const HANDLER: [&str; 2] = ["--ini", "session.save_handler=hearth"];
const ANY_ID: [&str; 2] = ["--ini", "session.use_strict_mode=0"];

/// Runs the code that is in the query; `$count` is what most of it does: read a number, wait, write the next.
const RUN: &str = r"
    $count = function (int $wait = 0) { session_id('shared'); session_start(); $n = ($_SESSION['n'] ?? 0) + 1; $wait && usleep($wait); $_SESSION['n'] = $n; return $n; };";

fn resident() -> ServerBuilder {
    let code = format!(
        "return function ($request) {{ {RUN} return json_encode(eval(str_replace('UNTIL_GO', \"{UNTIL_GO}\", $request->query('code')))); }};"
    );
    Server::script(&code).args(HANDLER).args(ANY_ID)
}

fn classic() -> ServerBuilder {
    let code = format!(
        "<?php {RUN} echo json_encode(eval(str_replace('UNTIL_GO', \"{UNTIL_GO}\", $_GET['code'])));"
    );
    Server::app(".")
        .file("index.php", code)
        .args(HANDLER)
        .args(ANY_ID)
}

/// A request that is under way.
fn begun(server: &Server, code: &str) -> Client {
    let mut client = server.connect();
    // A POST is not repeated where its worker dies.
    client.send(format!(
        "POST {} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
        encoded(code)
    ));
    client
}

/// In one worker with many tasks, in workers with one each, and in classic mode.
fn ways() -> [ServerBuilder; 3] {
    [
        resident().args(["--workers", "1"]),
        resident().args(["--workers", "3", "--concurrency", "1"]),
        classic().args(["--workers", "3"]),
    ]
}
