//! Requests of which each worker gets one.

use testkit::{Server, ServerBuilder};

use super::{at_once, ok, same};

pub(crate) const WORKERS: usize = 3;

/// Returns a server with three workers that run one request at a time. Its entry script has `meet()`, which returns when
/// all workers are in a call of it with the same name.
pub(crate) fn three_workers(code: &str) -> ServerBuilder {
    let meet = "function meet(string $name): void {
            touch(\"met-$name-\" . getmypid());
            while (count(glob(\"met-$name-*\")) < 3) { usleep(2000); }
        }";
    Server::script(&format!("{meet}\n{code}")).args([
        "--dispatch",
        "balanced",
        "--workers",
        "3",
        "--concurrency",
        "1",
    ])
}

/// Sends a request to each worker; the handler must call `meet()`.
#[track_caller]
pub(crate) fn of_each(server: &Server, target: &str) -> Vec<String> {
    let (answers, _) = at_once(server, &same(target, WORKERS));
    answers.iter().map(ok).collect()
}
