//! What can be kept: objects, values whose own code fails, and what is refused.

use std::process::Command;

use super::RUN;
use super::scripts::without_settings;
use crate::support::{hearth, one_worker, run};

#[test]
fn mistakes_are_told() {
    let server = one_worker(RUN).args(["--cache-size", "1M"]).start();
    for (code, told) in [
        ("$cache->setMultiple(['' => 1])", "must not be empty"),
        ("$cache->getMultiple(['k', 1.5])", "float given"),
        (
            "$cache->setMultiple(['k' => fopen('php://memory', 'r')])",
            "has a resource",
        ),
        (
            "$cache->setMultiple(['a' => 1, 'k' => str_repeat('x', 1 << 20)])",
            "half of cache.size",
        ),
        ("$cache->set('', 1)", "must not be empty"),
        ("$cache->get(str_repeat('k', 1025))", "1025 bytes"),
        ("$cache->set(\"a\\0b\", 1)", "NUL byte"),
        (
            "$cache->set('k', fopen('php://memory', 'r'))",
            "has a resource",
        ),
        (
            "$cache->set('k', [fn () => 1])",
            "Serialization of 'Closure' is not allowed",
        ),
        (
            "$cache->set('k', str_repeat('x', 1 << 20))",
            "half of cache.size",
        ),
        ("$cache->set('k', 1, NAN)", "number of seconds"),
        (
            "$cache->set('k', 1, 1, [7])",
            "must be a list of strings, int given",
        ),
        (
            "$cache->set('k', 'x') && $cache->increment('k')",
            "is no int",
        ),
        (
            "$cache->set('i', PHP_INT_MAX) && $cache->increment('i')",
            "is no int: the number is left",
        ),
        ("$cache->lock('l', 0)", "greater than 0"),
        ("$cache->lock('l', 1, owner: '')", "must not be empty"),
    ] {
        let text = run(
            &server,
            &format!("try {{ {code}; }} catch (Throwable $e) {{ return $e->getMessage(); }}"),
        );
        assert!(text.contains(told), "{code}: {text}");
    }
    server.stop();
    let none = one_worker(RUN).args(["--cache-size", "0"]).start();
    let text = run(
        &none,
        "try { $cache->get('k'); } catch (Error $e) { return $e->getMessage(); }",
    );
    assert_eq!(text, "\"There is no cache: cache.size is 0\"");
    none.stop();
}

/// With igbinary, where it is installed, and without, as with it before.
#[test]
fn objects_go_by_igbinary_where_it_is() {
    let code = "class P { public $x = [1]; public ?P $p = null; function __construct(public string $s) {} }
        $cache = new Hearth\\Cache(); $p = new P('text'); $p->p = $p;
        $cache->set('o', [$p, $p, new ArrayObject(['a'])]); $o = $cache->get('o');
        echo json_encode([extension_loaded('igbinary'), $o[0] === $o[1], $o[0]->p === $o[0], $o[0] !== $p, $o[0]->s, $o[0]->x, $o[2]['a' === 'a' ? 0 : 1],
            $cache->compareAndSwap('o', $o, 1), $cache->get('o')]);
        try { $cache->set('f', [new ArrayObject([fn () => 1])]); } catch (Exception $e) { echo get_class($e); }";
    for (options, loaded) in [
        (&["-n"][..], "false"),
        (&["-n", "-d", "extension=igbinary.so"], "true"),
    ] {
        let output = Command::new(testkit::hearth())
            .arg("run")
            .args(options)
            .args(["-r", code])
            .output()
            .expect("hearth starts");
        let expected = format!("[{loaded},true,true,true,\"text\",[1],\"a\",true,1]Exception");
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            expected,
            "{output:?}"
        );
    }
}

/// A release may have removed the class of a value or of a part of it, or changed it so that PHP refuses the value.
#[test]
fn a_value_whose_class_is_gone_or_has_changed_is_none() {
    let server = one_worker(RUN).start();
    run(
        &server,
        "eval('class Gone { public $x = 1; } class Changed { public int $x = 1; }');
        $cache->setMultiple(['gone' => new Gone, 'part' => ['a' => [new Gone]], 'changed' => new Changed, 'whole' => new ArrayObject([7])]);",
    );
    assert!(hearth(&server, &["reload", "app.php"]).status.success());
    let read = "eval('class Changed { public array $x = []; }');
        $values = $cache->getMultiple(['gone', 'part', 'changed'], 'none');
        return [...array_values($values), $cache->get('whole')[0]];";
    assert_eq!(run(&server, read), r#"["none","none","none",7]"#);
    for key in ["gone", "part", "changed"] {
        server.expect_log(&format!(
            "a value of the cache cannot be read any more and was deleted: its class is gone or has changed key={key}"
        ));
    }
    let again = "return [$cache->get('part', 'none'), $cache->remember('gone', 60, fn () => 'made again')];";
    assert_eq!(run(&server, again), r#"["none","made again"]"#);
    server.stop();
}

/// Objects without a class that are no part of the value: of its own code, and of another task while it waits.
#[test]
fn what_others_unserialize_meanwhile_makes_no_value_less() {
    let server = one_worker(RUN).start();
    let code = "eval('class Legacy {
            public $old;
            public function __serialize(): array { return [serialize(new ArrayObject)]; }
            public function __unserialize(array $data): void {
                usleep(20000);
                $this->old = unserialize($data[0], [\"allowed_classes\" => false]);
            } }');
        $cache->set('legacy', [new Legacy]);
        [$read] = Hearth\\parallel([
            fn () => $cache->get('legacy'),
            function () { usleep(5000); unserialize('O:7:\"Nowhere\":0:{}'); },
        ]);
        return $read[0]->old::class;";
    assert_eq!(run(&server, code), "\"__PHP_Incomplete_Class\"");
    server.stop();
}

/// What the code of a value throws is its caller's, and what was under the key stays.
#[test]
fn a_value_whose_own_code_throws_is_not_kept() {
    let begin = "if (!class_exists('Throws')) {
            eval('class Throws { public $then = false;
                public function __serialize(): array { return $this->then ? [] : throw new DomainException(\"no\"); }
                public function __unserialize(array $data): void { throw new DomainException(\"not again\"); } }');
            foreach (['SimpleCache', 'Cache'] as $psr) require_once \"/usr/share/php/Psr/$psr/autoload.php\";
        }
        $told = fn ($call) => (function () use ($call) { try { return $call(); } catch (DomainException $e) { return $e->getMessage(); } })();
        $value = new Throws;";
    let server = one_worker(RUN).args(["--cache-size", "1M"]).start();
    for (code, expected) in [
        (
            "$cache->set('k', 'before'); return [$told(fn () => $cache->set('k', $value)), $told(fn () => $cache->add('new', [$value])),
                $told(fn () => $cache->setMultiple(['first' => 1, 'k' => $value])), $told(fn () => $cache->compareAndSwap('k', 'before', $value)),
                $cache->get('k'), $cache->get('new'), $cache->get('first')];",
            r#"["no","no","no","no","before",null,null]"#,
        ),
        (
            "$simple = new Hearth\\Cache\\SimpleCache; return [$simple->set('k', $value), $simple->set('k', fn () => 1),
                $simple->setMultiple(['a' => 1, 'k' => $value]), $simple->get('a'), $simple->set('k', str_repeat('x', 1 << 20))];",
            "[false,false,false,null,false]",
        ),
        (
            "$pool = new Hearth\\Cache\\Pool; foreach (['a' => 1, 'k' => $value, 'b' => 2] as $key => $one) { $pool->saveDeferred($pool->getItem($key)->set($one)); }
                return [$pool->commit(), $pool->save($pool->getItem('k')->set($value)), $pool->getItem('a')->get(), $pool->getItem('k')->isHit(), $pool->getItem('b')->get()];",
            "[false,false,1,false,2]",
        ),
        (
            "$value->then = true; $cache->set('later', $value); $cache->set('whole', 1);
                return [$told(fn () => $cache->get('later')), $told(fn () => $cache->getMultiple(['whole', 'later'])), $cache->get('whole')];",
            r#"["not again",{"whole":1,"later":null},1]"#,
        ),
        (
            "return [$told(fn () => $cache->remember('r', 60, fn () => $value)), strlen($cache->remember('large', 60, fn () => str_repeat('x', 1 << 20))),
                $cache->get('large')];",
            r#"["no",1048576,null]"#,
        ),
    ] {
        assert_eq!(run(&server, &format!("{begin} {code}")), expected, "{code}");
    }
    server.expect_log("Hearth\\Cache did not keep a value: no");
    server.stop();
}

/// A value's code runs while it is written or read, and may take away what it was called for.
#[test]
fn code_of_values_may_write_to_the_callers_variables() {
    let value = r"class Takes {
            public function __construct(private ?Closure $then) {}
            public function __serialize(): array { ($this->then)(); return []; }
            public function __unserialize(array $data): void { ($GLOBALS['then'])(); }
        }
        $cache = new Hearth\Cache(); $text = str_repeat('y', 60);";
    let written = "$value = ['x' => new Takes(function () use (&$value) { $value = null; $GLOBALS['z'] = str_repeat('z', 290); }), 'y' => [$text, $text], 'z' => $text];
        $then = fn () => 0;
        echo json_encode([$cache->setMultiple(['a' => &$value]), array_slice($cache->get('a'), 1)]);";
    assert_eq!(
        without_settings(&format!("{value}{written}")),
        format!(
            "[true,{{\"y\":[\"{0}\",\"{0}\"],\"z\":\"{0}\"}}]",
            "y".repeat(60)
        )
    );
    let read =
        "apcu_store('key of it', new Takes(fn () => 0)); $key = implode(' ', ['key', 'of', 'it']);
        $then = function () use (&$key) { $key = [1, 2]; };
        echo json_encode(array_map(get_debug_type(...), apcu_fetch([&$key])));";
    assert_eq!(
        without_settings(&format!("{value}{read}")),
        r#"{"key of it":"Takes"}"#
    );
}
