//! `cache.redis`: servers on several machines share one cache by way of a Redis. Here all are on one machine.

mod lost_answers;
mod valkey;

use std::time::Duration;

use testkit::service::Redis;
use testkit::{Server, ServerBuilder};

use crate::cache::RUN;
use crate::support::{admin, at_once, encoded, eventually, hearth, ok, run, same};

fn with(redis: &Redis, workers: &str) -> ServerBuilder {
    let url = format!("redis://127.0.0.1:{}", redis.port);
    Server::script(RUN).args(["--workers", workers, "--cache-redis", &url])
}

fn started(redis: &Redis) -> Server {
    let server = with(redis, "2")
        .args(["--admin", "127.0.0.1:0"])
        .start()
        .takes_connections();
    until_redis(&server, "there");
    server
}

fn until_redis(server: &Server, state: &str) {
    eventually(&format!("redis is {state}"), || {
        let status = hearth(server, &["status", "app.php"]);
        String::from_utf8_lossy(&status.stdout).contains(&format!("{state} since"))
    });
}

#[track_caller]
fn comes(server: &Server, code: &str, expected: &str) {
    eventually(&format!("{code} is {expected}"), || {
        run(server, code) == expected
    });
}

#[test]
fn three_servers_share_one_cache() {
    three_servers(&Redis::start());
}

fn three_servers(redis: &Redis) {
    let [a, b, c] = [(); 3].map(|()| started(redis));
    run(
        &a,
        "$cache->set('k', ['n' => [1, null, 2.5], 's' => 'text']);",
    );
    for server in [&a, &b, &c] {
        for _ in 0..4 {
            assert_eq!(
                run(server, "return $cache->get('k');"),
                r#"{"n":[1,null,2.5],"s":"text"}"#
            );
        }
    }
    run(
        &b,
        "$cache->set('o', new ArrayObject([7]), tags: ['t']); $cache->set('k', 2);",
    );
    comes(&a, "return $cache->get('k');", "2");
    assert_eq!(run(&c, "return $cache->get('o')[0];"), "7");
    run(&a, "$cache->deleteTag('t');");
    comes(&c, "return $cache->get('o');", "null");
    let add = encoded("for ($i = 0; $i < 50; $i++) $cache->increment('n');");
    std::thread::scope(|scope| {
        for server in [&a, &b, &c] {
            scope.spawn(|| at_once(server, &same(&add, 4)));
        }
    });
    comes(&a, "return $cache->get('n');", "600");
    assert_eq!(
        run(
            &b,
            "return $cache->lock('l', 60, owner: 'me')->token() > 0;"
        ),
        "true"
    );
    assert_eq!(
        run(
            &c,
            "return [$cache->lock('l', 60), $cache->heldLock('l', 'me')->release()];"
        ),
        "[null,true]"
    );
    let set = hearth(&c, &["cache", "set", "k", "5", "app.php", "--as-json"]);
    assert!(set.status.success(), "{set:?}");
    comes(&b, "return $cache->get('k');", "5");
    // One is killed in the middle, and the others do not notice.
    b.killed();
    run(&a, "$cache->set('k', 6);");
    comes(&c, "return $cache->get('k');", "6");
}

#[test]
fn a_value_is_computed_once_over_servers() {
    computed_once(&Redis::start());
}

fn computed_once(redis: &Redis) {
    let [a, b] = [(); 2].map(|()| started(redis));
    let code = encoded(
        "return $cache->remember('slow', 60, function () use ($cache) { $cache->increment('computed'); usleep(300000); return 'x'; }, tags: ['t']);",
    );
    std::thread::scope(|scope| {
        for server in [&a, &b] {
            scope.spawn(|| {
                let (answers, _) = at_once(server, &same(&code, 6));
                answers
                    .iter()
                    .for_each(|answer| assert_eq!(ok(answer), "\"x\""));
            });
        }
    });
    comes(&a, "return $cache->get('computed');", "1");
}

/// Another task runs while Redis is told.
#[test]
fn a_lock_that_ends_with_its_object_is_no_longer_found() {
    lock_ends_with_object(&Redis::start());
}

fn lock_ends_with_object(redis: &Redis) {
    let server = started(redis);
    let code = "$lock = $cache->lock('l', 60); $weak = WeakReference::create($lock);
        [, $found] = Hearth\\parallel([function () use (&$lock) { $lock = null; }, fn () => $weak->get()?->isHeld()]);
        return [$found, $cache->lock('l', 60)?->isHeld()];";
    assert_eq!(run(&server, code), "[null,true]");
    server.stop();
}

#[test]
fn other_requests_go_on_while_redis_is_waited_for() {
    let redis = Redis::start();
    let server = with(&redis, "1")
        .args(["--cache-redis-timeout", "2"])
        .start()
        .takes_connections();
    until_redis(&server, "there");
    redis.pause();
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| run(&server, "return $cache->set('k', 1);"));
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(run(&server, "return 1;"), "1");
        assert!(!waits.is_finished());
        redis.resume();
        assert_eq!(waits.join().unwrap(), "true");
    });
}

#[test]
fn redis_gone_and_back() {
    gone_and_back(Redis::start());
}

fn gone_and_back(mut redis: Redis) {
    let server = started(&redis);
    run(&server, "$cache->set('k', 1);");
    redis.kill();
    until_redis(&server, "AWAY");
    assert_eq!(
        run(
            &server,
            "$cache->set('w', 2); return [$cache->get('k'), $cache->get('w')];"
        ),
        "[1,2]"
    );
    let failed = run(
        &server,
        "try { $cache->lock('l', 1); } catch (Error $e) { return $e->getMessage(); }",
    );
    assert!(failed.contains("Redis is away"), "{failed}");
    let metrics = ok(&admin(&server, "/metrics"));
    assert!(
        metrics.contains("hearth_redis_up 0\n")
            && metrics.contains("hearth_redis_pending_deletes 1\n"),
        "{metrics}"
    );
    redis.revive();
    until_redis(&server, "there");
    assert_eq!(
        run(&server, "return [$cache->get('k'), $cache->get('w')];"),
        "[null,null]"
    );
    assert!(ok(&admin(&server, "/metrics")).contains("hearth_redis_up 1\n"));
}

#[test]
fn scripts_share_it_and_classic_sites_too() {
    let redis = Redis::start();
    let server = started(&redis);
    let mut command = std::process::Command::new(testkit::hearth());
    command.args([
        "run",
        "--app",
        "app.php",
        "-r",
        r"$c = new Hearth\Cache(); $c->set('k', [8]); echo $c->increment('n', 3);",
    ]);
    command
        .env("XDG_RUNTIME_DIR", server.directory())
        .current_dir(server.directory());
    let output = command.output().expect("hearth starts");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "3", "{output:?}");
    assert_eq!(redis.cli(&["HGET", "hearth:v:n", "v"]), "3");
    assert_eq!(
        run(&server, "return [$cache->get('k'), $cache->get('n')];"),
        "[[8],3]"
    );
}

#[test]
fn a_url_that_is_none_is_told_and_a_password_is_not_shown() {
    let server = Server::script(RUN).args(["--cache-redis", "http://:secret@x"]);
    let refused = server.try_start().expect_err("it is refused");
    let log = refused.log;
    assert!(
        log.contains("not the URL of a Redis") && !log.contains("secret"),
        "{log}"
    );
}

/// How often Redis is asked while this code runs: scripts by themselves, and transactions.
fn calls_of(redis: &Redis, server: &Server, code: &str, expected: &str) -> (u64, u64) {
    redis.cli(&["CONFIG", "RESETSTAT"]);
    assert_eq!(run(server, code), expected, "{code}");
    let text = redis.cli(&["INFO", "commandstats"]);
    let calls = |command: &str| {
        let begin = format!("cmdstat_{command}:calls=");
        let line = text.lines().find_map(|line| line.strip_prefix(&begin));
        line.map_or(0, |line| {
            line.split(',')
                .next()
                .expect("a number")
                .parse()
                .expect("a number")
        })
    };
    (calls("evalsha"), calls("exec"))
}

/// Keys of a batch are asked for in one round trip, by the class and by each adapter.
#[test]
fn a_batch_is_one_round_trip() {
    batches(&Redis::start());
}

fn batches(redis: &Redis) {
    let [a, b] = [(); 2].map(|()| with(redis, "1").start().takes_connections());
    until_redis(&a, "there");
    until_redis(&b, "there");
    let names = "$names = array_map(fn ($n) => \"k$n\", range(1, 50)); $values = array_combine($names, range(1, 50));";
    let psr = "foreach (['SimpleCache', 'Cache'] as $psr) require_once \"/usr/share/php/Psr/$psr/autoload.php\";";
    let laravel = "require_once '/usr/share/php/Illuminate/Cache/autoload.php';";
    let simple = format!("{psr} {names} $cache = new Hearth\\Cache\\SimpleCache();");
    let pool = format!("{psr} {names} $pool = new Hearth\\Cache\\Pool();");
    let store = format!("{laravel} {names} $store = new Hearth\\Cache\\LaravelStore();");
    for (begin, write, read) in [
        (names, "return $cache->setMultiple($values);", "return array_sum($cache->getMultiple($names));"),
        (&simple, "return $cache->setMultiple($values, 60);", "return array_sum($cache->getMultiple($names));"),
        (
            &pool,
            "foreach ($values as $key => $value) { $pool->saveDeferred($pool->getItem($key)->set($value)->expiresAfter(60)); }
                return $pool->commit();",
            "return array_sum(array_map(fn ($item) => $item->get(), $pool->getItems($names)));",
        ),
        (&store, "return $store->putMany($values, 60);", "return array_sum($store->many($names));"),
    ] {
        let (write, read) = (format!("{begin} {write}"), format!("{begin} {read}"));
        let (_, transactions) = calls_of(redis, &a, &write, "true");
        assert_eq!(transactions, 1, "{write}");
        assert_eq!(calls_of(redis, &b, &read, "1275"), (1, 0), "{read}");
        assert_eq!(calls_of(redis, &b, &read, "1275"), (0, 0), "{read}");
    }
    let delete = format!("{names} return $cache->deleteMultiple($names);");
    assert_eq!(calls_of(redis, &a, &delete, "50"), (1, 0));
    let delete = format!("{pool} return $pool->deleteItems($names);");
    assert_eq!(calls_of(redis, &a, &delete, "true"), (1, 0));
    let symfony = "require_once '/usr/share/php/Symfony/Contracts/Cache/autoload.php'; $symfony = new Hearth\\Cache\\SymfonyCache();";
    let tags = format!("{psr} {symfony} $tags = array_map(fn ($n) => \"t$n\", range(1, 50));");
    let invalidate = format!("{tags} return $symfony->invalidateTags($tags);");
    redis.cli(&["CONFIG", "RESETSTAT"]);
    assert_eq!(run(&a, &invalidate), "true");
    let commands = redis.cli(&["INFO", "commandstats"]);
    assert!(commands.contains("cmdstat_unlink:calls=1,"), "{commands}");
    comes(
        &b,
        &format!("{names} return array_filter($cache->getMultiple($names));"),
        "[]",
    );
}

/// So are those of APCu's functions, where `hearth.apcu` is on.
#[test]
fn a_batch_of_apcu_is_one_round_trip() {
    let redis = Redis::start();
    let [a, b] = [(); 2].map(|()| {
        let server = with(&redis, "1").args(["--ini", "hearth.apcu=1"]);
        server
            .env("PHP_INI_SCAN_DIR", "/nonexistent")
            .start()
            .takes_connections()
    });
    until_redis(&a, "there");
    until_redis(&b, "there");
    let names = "$names = array_map(fn ($n) => \"k$n\", range(1, 50)); $values = array_combine($names, range(1, 50));";
    let calls = |server, code: &str, expected: &str| {
        calls_of(&redis, server, &format!("{names} {code}"), expected)
    };
    assert_eq!(calls(&a, "return apcu_store($values);", "[]").1, 1);
    let add = "return apcu_add(['k1' => 0, 'new' => 51]);";
    assert_eq!(calls(&b, add, r#"{"k1":-1}"#).1, 1);
    let exist = "return count(apcu_exists([...$names, 'none']));";
    assert_eq!(calls(&b, exist, "50"), (1, 0));
    let sum = "return array_sum(apcu_fetch($names));";
    assert_eq!(calls(&b, sum, "1275"), (0, 0));
    let delete = "return apcu_delete([...$names, 'none', 'k1']);";
    assert_eq!(calls(&a, delete, r#"["none","k1"]"#), (1, 0));
}

/// A miss is asked for once, whichever worker it was, until another server writes the key.
#[test]
fn a_miss_is_remembered_until_another_server_writes() {
    misses(&Redis::start());
}

fn misses(redis: &Redis) {
    let [a, b] = [(); 2].map(|()| started(redis));
    let miss = "for ($i = 0; $i < 20; $i++) { $value = $cache->get('none'); } return $value;";
    assert_eq!(calls_of(redis, &a, miss, "null"), (1, 0));
    for _ in 0..4 {
        assert_eq!(calls_of(redis, &a, miss, "null"), (0, 0));
    }
    run(&b, "$cache->set('none', 'now');");
    comes(&a, "return $cache->get('none');", "\"now\"");
    run(&b, "$cache->delete('none');");
    comes(&a, "return $cache->get('none');", "null");
    run(&a, "$cache->remember('none', 60, fn () => 'computed');");
    assert_eq!(run(&a, "return $cache->get('none');"), "\"computed\"");
    comes(&b, "return $cache->get('none');", "\"computed\"");
}

/// What is wrong with the URL is told when the server starts.
#[test]
fn what_is_wrong_with_the_url_is_told() {
    for (url, expected) in [
        (
            "rediss://127.0.0.1:1?cacert=/none.pem",
            "cannot read cacert /none.pem",
        ),
        ("rediss://127.0.0.1:1?cert=/none.pem", "needs its key"),
        (
            "redis://127.0.0.1:1?cacert=/etc/ssl/certs/ca-certificates.crt",
            "rediss://",
        ),
        ("rediss://127.0.0.1/#insecure", "?cacert=FILE"),
        ("redis://127.0.0.1/one", "database number"),
    ] {
        let server = Server::script(RUN).args(["--cache-redis", url]);
        let refused = server.try_start().expect_err("it is refused");
        assert!(
            refused.log.contains(expected),
            "{expected}: {}",
            refused.log
        );
    }
}
