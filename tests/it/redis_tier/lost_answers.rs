//! Locks and computations whose answer no task has read.

use std::time::{Duration, Instant};

use testkit::Server;
use testkit::service::Redis;

use super::{until_redis, with};
use crate::support::run;

fn one_worker(redis: &Redis, timeout: &str) -> Server {
    let server = with(redis, "1")
        .args(["--cache-redis-timeout", timeout])
        .start()
        .takes_connections();
    until_redis(&server, "there");
    server
}

/// Runs the code while Redis does not answer.
fn run_paused(redis: &Redis, server: &Server, code: &str) -> String {
    redis.pause();
    let answer = run(server, code);
    redis.resume();
    answer
}

/// Nothing else would end them before their time is over, because the process lives.
#[test]
fn what_a_cancelled_task_has_claimed_is_free() {
    let redis = Redis::start();
    let server = one_worker(&redis, "2");
    run(&server, "$cache->get('k');");
    for code in [
        "$cache->lock('l', 60)",
        "$cache->lock('named', 60, owner: 'job')",
        "$cache->remember('k', 60, fn () => 1)",
    ] {
        let code = format!(
            "try {{ Hearth\\timeout(0.05, fn () => {code}); }} catch (Hearth\\TimeoutError) {{ return 'late'; }}"
        );
        assert_eq!(run_paused(&redis, &server, &code), "\"late\"");
    }
    let begin = Instant::now();
    let code = "return [$cache->lock('l', 60, 5) !== null, $cache->lock('named', 60, 5) !== null, $cache->remember('k', 60, fn () => 2)];";
    assert_eq!(run(&server, code), "[true,true,2]");
    assert!(begin.elapsed() < Duration::from_secs(5));
    server.stop();
}
