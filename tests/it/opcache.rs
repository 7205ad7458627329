//! opcache in classic mode, where workers keep its lock from one request to the next.

use testkit::{Server, ServerBuilder};

use crate::load::{Done, meanwhile};
use crate::support::{at_once, eventually, ok, same};

/// Clears the cache, or says how often that has happened.
const CACHE: &str = "<?php if (isset($_GET['reset'])) exit(opcache_reset() ? 'reset' : 'refused');
    $of = opcache_get_status(false)['opcache_statistics']; echo $of['manual_restarts'];";

fn site() -> ServerBuilder {
    Server::app(".")
        .args(["--dispatch", "direct", "--workers", "4"])
        .args(["--ini", "opcache.file_update_protection=0"])
        .file("cache.php", CACHE)
        .file(
            "index.php",
            "<?php echo opcache_is_script_cached(__FILE__) ? 'cached' : 'new';",
        )
}

fn restarts(server: &Server) -> u32 {
    ok(&server.get("/cache.php")).parse().unwrap()
}

/// A worker that rests must not hold up who clears the cache.
#[test]
fn the_cache_is_cleared_while_workers_rest() {
    let server = site().start();
    for n in 1..=3 {
        assert!(
            at_once(&server, &same("/", 40))
                .0
                .iter()
                .all(|a| a.status == 200)
        );
        assert_eq!(ok(&server.get("/cache.php?reset")), "reset");
        eventually("the cache is cleared", || restarts(&server) == n);
        eventually("and filled again", || ok(&server.get("/")) == "cached");
    }
    server.stop();
}

/// Nor may one that has always something to do.
#[test]
fn the_cache_is_cleared_under_load() {
    let server = site().start();
    let ask = |_, done: &Done| {
        let mut client = server.connect();
        while !done.yet() {
            assert_ne!(ok(&client.get("/")), "");
        }
    };
    meanwhile(8, ask, || {
        for n in 1..=10 {
            // opcache refuses for a moment, between counting that it was cleared and being in use again.
            eventually("it is to be cleared", || {
                ok(&server.get("/cache.php?reset")) == "reset"
            });
            eventually("the cache is cleared", || restarts(&server) == n);
        }
    });
    server.stop();
}
