//! opcache in classic mode, where workers keep its lock from one request to the next; and resident, beside our own library.

use testkit::{Server, ServerBuilder};

use crate::support::traffic::{Done, meanwhile};
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

/// A worker that rests must not hold up the request that clears the cache.
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
    let request = |_, done: &Done| {
        let mut client = server.connect();
        while !done.is_done() {
            assert_ne!(ok(&client.get("/")), "");
        }
    };
    meanwhile(8, request, || {
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

/// A resident app of which each worker stores other classes, with properties of our classes and of its own.
const RESIDENT: &str = r#"return function (Hearth\Request $request) {
    $n = (int) $request->query('n');
    if (!class_exists("C$n", false)) {
        require __DIR__ . "/c$n.php";
    }
    $c = new ("C$n")();
    $c->limit = new Hearth\Semaphore(1);
    $c->limit->with(static fn () => usleep(1000));
    $c->own = $c;
    try {
        $c->limit = $c;
        return 'not checked';
    } catch (TypeError) {
    }
    try {
        $c->own = $c->limit;
        return 'not checked';
    } catch (TypeError) {
    }
    return opcache_is_script_cached(__DIR__ . "/c$n.php") ? 'stored' : 'not stored';
};"#;

/// Slots that name a class are numbered the same way for our library, which opcache does not have, and for what it has.
#[test]
fn what_opcache_stores_gets_along_with_our_library() {
    let files = (0..40).map(|n| {
        (
            format!("c{n}.php"),
            format!(
                "<?php final class C{n} {{ public ?Hearth\\Semaphore $limit = null; public ?C{n} $own = null; }}"
            ),
        )
    });
    let server = files
        .fold(Server::script(RESIDENT), |server, (name, code)| {
            server.file(&name, &code)
        })
        .args(["--dispatch", "direct", "--workers", "4"])
        .args(["--ini", "opcache.file_update_protection=0"])
        .start();
    for _ in 0..3 {
        let paths: Vec<String> = (0..120).map(|n| format!("/?n={}", n * 7 % 40)).collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        for answer in at_once(&server, &paths).0 {
            assert_eq!(ok(&answer), "stored");
        }
    }
    server.stop();
}

/// What spares our library's code to compare names and look classes up by them.
#[test]
fn the_names_in_our_library_are_interned() {
    for enable in ["1", "0"] {
        let server = Server::script(
            r"return function () { debug_zval_dump((new ReflectionObject(new Hearth\Semaphore(1)))->getName()); };",
        )
        .args(["--ini", &format!("opcache.enable={enable}")])
        .start();
        assert!(ok(&server.get("/")).ends_with("interned\n"));
        server.stop();
    }
}
