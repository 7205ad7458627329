//! The adapters for PSR-6, PSR-16, Symfony and Laravel, and the guide's examples.

use std::path::Path;
use std::process::Command;

use testkit::Server;

use super::RUN;
use crate::support::{at_once, encoded, eventually, example, ok, one_worker, run};

/// The tests that caches of PSR-6 and PSR-16 have in common, in full, and those of the contracts of Symfony and Laravel. They wait for
/// values to expire most of the time: all suites at once.
#[test]
fn the_suites_of_the_psrs() {
    let folder = testkit::checkout().join("php/tests/Cache");
    let suites = std::fs::read_dir(folder).expect("the suites");
    let suites: Vec<_> = suites.map(|entry| entry.expect("a file").path()).collect();
    let passed: usize = std::thread::scope(|scope| {
        let runs: Vec<_> = suites
            .iter()
            .map(|suite| scope.spawn(|| tests_passed(suite)))
            .collect();
        runs.into_iter()
            .map(|run| run.join().expect("it passes"))
            .sum()
    });
    assert_eq!(passed, 464);
}

/// How many tests of a suite there are, all of which pass.
fn tests_passed(suite: &Path) -> usize {
    let output = Command::new(testkit::hearth())
        .args([
            "run",
            "/usr/bin/phpunit",
            "--no-configuration",
            "--do-not-cache-result",
        ])
        .arg(suite)
        .output()
        .expect("hearth starts");
    let text = String::from_utf8_lossy(&output.stdout);
    // PHPUnit 11 has issues with suites written for PHPUnit 9: their annotations are deprecated.
    let is_whole = !["Skipped:", "Incomplete:", "Risky:"]
        .iter()
        .any(|short| text.contains(short));
    let count = ["OK (", "issues!\nTests: "]
        .iter()
        .find_map(|before| text.split(before).nth(1))
        .and_then(|rest| rest.split([' ', ',']).next()?.parse().ok());
    assert!(output.status.success() && is_whole, "{text}");
    count.expect(&text)
}

/// Requests share the pool of a container. What one has deferred is saved when it ends, as under php-fpm.
#[test]
fn what_a_request_defers_is_its_own() {
    let server = one_worker(RUN).start();
    let pool = r#"require_once "/usr/share/php/Psr/Cache/autoload.php";
        $pool = $GLOBALS['pool'] ??= new Hearth\Cache\Pool($cache->namespace('p'));
        $until = function ($key) use ($cache) { while (!$cache->get($key)) usleep(1000); };"#;
    let defers = format!(
        "{pool} $cart = (object) ['of' => 'first']; $pool->saveDeferred($pool->getItem('cart')->set($cart)); $cache->set('deferred', 1);
        $until('seen'); return [$cart->of, $pool->getItem('cart')->isHit()];"
    );
    let other = format!(
        "{pool} $until('deferred'); $item = $pool->getItem('cart'); if ($item->isHit()) {{ $item->get()->of = 'second'; }}
        $pool->commit(); $pool->clear(); $cache->set('seen', 1); return [$item->isHit(), $pool->hasItem('cart')];"
    );
    let (answers, _) = at_once(&server, &[encoded(&defers), encoded(&other)]);
    let answers: Vec<_> = answers.iter().map(ok).collect();
    assert_eq!(answers, [r#"["first",true]"#, "[false,false]"]);
    let get = format!("{pool} return $pool->getItem('cart')->get()?->of;");
    eventually("the item is saved", || run(&server, &get) == "\"first\"");
    server.stop();
}

/// Times of any length, in the past too, and what a key that has a NUL byte is told.
#[test]
fn times_and_keys_at_their_limits() {
    let server = one_worker(RUN).start();
    let code = r#"foreach (['SimpleCache', 'Cache'] as $psr) require_once "/usr/share/php/Psr/$psr/autoload.php";
        require_once '/usr/share/php/Symfony/Contracts/Cache/autoload.php';
        $simple = new Hearth\Cache\SimpleCache($cache->namespace('s'));
        $pool = new Hearth\Cache\Pool($cache->namespace('p'));
        $symfony = new Hearth\Cache\SymfonyCache($cache->namespace('y'));
        $past = new DateInterval('PT5S'); $past->invert = 1;
        foreach ([PHP_INT_MAX, new DateInterval('P1M'), new DateInterval('P9999Y'), null, 0, PHP_INT_MIN, $past] as $ttl) {
            $symfony->get('k', fn ($item) => $item->expiresAfter($ttl));
            $kept[] = [$simple->set('k', 1, $ttl), $simple->has('k'), $pool->save($pool->getItem('k')->set(1)->expiresAfter($ttl)), $pool->hasItem('k'),
                $symfony->hasItem('k')];
            foreach ([$simple, $pool, $symfony] as $one) { $one->clear(); }
        }
        try { $simple->get("a\0b"); } catch (Exception $e) { $told = $e->getMessage(); }
        return [array_map(fn ($row) => implode(array_map(intval(...), $row)), $kept), $told];"#;
    assert_eq!(
        run(&server, code),
        r#"[["11111","11111","11111","11111","10100","10100","10100"],"A cache key must not contain a NUL byte"]"#
    );
    server.stop();
}

/// Classic sites have the adapters too; they are compiled where a request names them.
#[test]
fn psr_adapters_in_a_classic_site() {
    let code = r"<?php
        require '/usr/share/php/Psr/SimpleCache/autoload.php'; require '/usr/share/php/Psr/Cache/autoload.php';
        spl_autoload_register(function ($class) { if ($class === 'Mine') { eval('class Mine {}'); } });
        $simple = new Hearth\Cache\SimpleCache(); $pool = new Hearth\Cache\Pool();
        $simple->set('n', $simple->get('n', 0) + 1);
        $pool->save($pool->getItem('k')->set(['v']));
        try { $simple->get('a:b'); } catch (Psr\SimpleCache\InvalidArgumentException $e) { echo get_class($e), ' '; }
        echo $simple->get('n'), $pool->getItem('k')->get()[0], get_class(new Mine), (int) class_exists('Hearth\Response');";
    let server = Server::app(".")
        .file("index.php", code.replace("\\\\", "\\"))
        .args(["--workers", "1"])
        .start();
    for n in 1..4 {
        assert_eq!(
            ok(&server.get("/")),
            format!("Hearth\\Cache\\SimpleCacheMistake {n}vMine0")
        );
    }
    server.stop();
}

/// The guide's examples, in a handler with what they need.
#[test]
fn the_guide() {
    let page = "docs/guide/cache.md";
    let code = |name| example(page, name).replace("<?php", "");
    let server = one_worker(&format!(
        r"function makeReport(): string {{ return 'report'; }}
        function import(int $token): void {{ echo $token > 0 ? 'imported ' : ''; }}
        return function () {{
            $db = new PDO('sqlite::memory:');
            $db->exec('CREATE TABLE news (title TEXT); INSERT INTO news VALUES (\'first\')');
            {}
            {}
            [$id, $author, $page] = [7, 'ada', 'text'];
            {}
            {}
            require_once '/usr/share/php/Psr/SimpleCache/autoload.php';
            require_once '/usr/share/php/Psr/Cache/autoload.php';
            {}
            $simple->set('psr', 'simple');
            echo $rows[0]['title'], ' ', $report, ' ', $cache->get('page:7', 'none'), ' ', $simple->get('psr'), (int) $pool->hasItem('psr');
        }};",
        code("remember"),
        code("stale"),
        code("tags"),
        code("lock"),
        code("psr")
    ))
    .start();
    for _ in 0..2 {
        assert_eq!(ok(&server.get("/")), "imported first report none simple0");
    }
    server.stop();
}

/// Those for Symfony and Laravel, with what the frameworks have in Debian; boot runs them, so requests see what they left.
#[test]
fn the_guide_for_frameworks() {
    let code = |name| example("docs/guide/cache.md", name).replace("<?php", "");
    let server = one_worker(&format!(
        r"require_once '/usr/share/php/Symfony/Contracts/Cache/autoload.php';
        require_once '/usr/share/php/Illuminate/Cache/autoload.php';
        require_once '/usr/share/php/Illuminate/Config/autoload.php';
        $app = new Illuminate\Container\Container();
        $stores = ['hearth' => ['driver' => 'hearth', 'prefix' => 'shop:']];
        $app['config'] = new Illuminate\Config\Repository(['cache' => ['default' => 'hearth', 'stores' => $stores]]);
        $app->singleton('cache', fn ($app) => new Illuminate\Cache\CacheManager($app));
        Illuminate\Support\Facades\Facade::setFacadeApplication($app);
        {}
        {}
        return function () use ($news, $cache) {{
            $stored = (new Hearth\Cache('laravel'))->get('shop:n');
            return json_encode([$news, $cache->hasItem('news'), Cache::increment('n'), $stored, Cache::lock('l', 9)->get(fn () => 'locked')]);
        }};",
        code("symfony"),
        code("laravel").lines().skip(1).collect::<Vec<_>>().join("\n"),
    ))
    .start();
    assert_eq!(ok(&server.get("/")), r#"[["first"],false,1,null,"locked"]"#);
    assert_eq!(ok(&server.get("/")), r#"[["first"],false,2,1,"locked"]"#);
    server.stop();
}
