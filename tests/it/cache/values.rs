//! What can be kept: objects, values whose own code fails, and what is refused.

use std::process::Command;

use super::RUN;
use super::scripts::{printed, without_settings};
use crate::support::{hearth, one_worker, run};

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
        $cache->namespace('shop')->set('inner', new Gone);
        $cache->setMultiple(['gone' => new Gone, 'part' => ['a' => [new Gone]], 'changed' => new Changed, 'whole' => new ArrayObject([7])]);",
    );
    assert!(hearth(&server, &["reload", "app.php"]).status.success());
    let read = "eval('class Changed { public array $x = []; }');
        $values = $cache->getMultiple(['gone', 'part', 'changed'], 'none');
        $cache->namespace('shop')->get('inner');
        return [...array_values($values), $cache->get('whole')[0]];";
    assert_eq!(run(&server, read), r#"["none","none","none",7]"#);
    for key in ["gone", "part", "changed error=", "shop: inner"] {
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

/// A value that cannot be read is deleted, but not what was written under its key while it was read, here by an autoloader.
#[test]
fn what_is_written_while_a_value_is_found_unreadable_stays() {
    let server = one_worker(RUN).start();
    run(
        &server,
        "eval('class Left {}'); return $cache->setMultiple(['a' => [new Left], 'b' => [new Left]]);",
    );
    assert!(hearth(&server, &["reload", "app.php"]).status.success());
    for (key, read) in [
        ("a", "$cache->get('a', 'none')"),
        ("b", "$cache->getMultiple(['b', 'n'], 'none')['b']"),
    ] {
        let code = format!(
            "$write = fn () => $cache->set('{key}', 'newer'); spl_autoload_register($write);
            try {{ return [{read}, $cache->get('{key}')]; }} finally {{ spl_autoload_unregister($write); }}"
        );
        assert_eq!(run(&server, &code), r#"["none","newer"]"#);
    }
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
                return [$told(fn () => $cache->get('later')), $told(fn () => $cache->getMultiple(['whole', 'later'])),
                $told(fn () => $cache->remember('later', 60, fn () => 1)), $cache->add('later', 1), $cache->get('whole')];",
            r#"["not again","not again","not again",false,1]"#,
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

/// What app code throws while a value is read, be it an Error or an Exception without more, is not about the value: a later read has it.
/// What PHP finds wrong with it is.
#[test]
fn a_value_stays_when_the_apps_own_code_throws() {
    let server = one_worker(RUN).start();
    let code = "if (!class_exists('Reads')) { eval('class Reads { public static ?Closure $then = null; public int $n = 1;
            public function __serialize(): array { return [$this->n]; }
            public function __unserialize(array $data): void { $this->n = (self::$then)($data); } }'); }
        $cache->set('k', [new Reads]);
        $told = function ($then) use ($cache) {
            Reads::$then = $then;
            try { $read = $cache->get('k', 'none'); } catch (Throwable $e) { $read = get_class($e) . ' ' . $e->getMessage(); }
            Reads::$then = fn ($data) => $data[0];
            return [$read, $cache->get('k', 'gone')[0]->n ?? 'gone'];
        };
        $thrown = fn ($e) => $told(fn () => throw $e);
        return [$thrown(new Exception('a')), $thrown(new Error('b')), $thrown(new TypeError('c')), $told(fn () => new DateTime('no time')),
            $told(fn () => (function () { try { null(); } finally { throw new Exception('d'); } })()),
            $told(fn ($data) => (function () use ($data) { try { return null(); } catch (Error) { return $data[0]; } })()), $told(fn () => 'text')];";
    let read = run(&server, code);
    for kept in ["\"Exception a\",1", "\"Error b\",1", "\"TypeError c\",1"] {
        assert!(read.contains(kept), "{kept}: {read}");
    }
    assert!(
        read.contains("no time") && read.contains("[\"Exception d\",1]"),
        "{read}"
    );
    assert!(
        read.ends_with(r#",[[{"n":1}],1],["none","gone"]]"#),
        "{read}"
    );
    server.stop();
}

/// Such a value is freed once: its parts, and what the reader has got before.
#[test]
fn what_cannot_be_read_leaves_nothing_in_the_readers_hands() {
    let code = r"class Throws {
            public array $part;
            public function __construct() { $this->part = [str_repeat('p', 100), new ArrayObject([1])]; }
            public function __unserialize(array $data): void { throw new DomainException('no'); }
        }
        class Wakes { public array $part = [[1]]; public function __wakeup(): void { throw new DomainException('no'); } }
        $cache = new Hearth\Cache();
        $values = [new Throws, [1, new Throws, [new ArrayObject([new stdClass])]], new Wakes, [new stdClass, new Wakes]];
        $thrown = 0;
        foreach ([...$values, ...$values] as $value) {
            foreach ([fn () => $cache->get('k'), fn () => [$cache->get('k', 'x')], fn () => $cache->has('k'), fn () => $cache->getMultiple(['k']),
                fn () => $cache->remember('k', 60, fn () => 1), fn () => array_map($cache->get(...), ['k'])] as $read) {
                $cache->set('k', $value);
                try { $read(); } catch (DomainException) { $thrown++; }
                $taken[] = [str_repeat('t', 72), [1]];
            }
        }
        echo $thrown;";
    assert_eq!(without_settings(code), "48");
    assert_eq!(
        printed(Command::new(testkit::hearth()).args(["run", "-r", code])),
        "48"
    );
}

/// It is read again later: nothing is the matter with it.
#[test]
fn a_value_whose_code_a_time_limit_or_an_exit_ends_stays() {
    let server = one_worker(RUN).start();
    let code = "if (!class_exists('Slow')) { eval('class Slow { public static ?Closure $then = null; public $n = 1;
            public function __wakeup(): void { (self::$then)(); } }'); }
        $cache->set('k', [new Slow]);
        Slow::$then = fn () => usleep(5000000);
        try { Hearth\\timeout(0.02, fn () => $cache->get('k')); } catch (Hearth\\TimeoutError) { $ended = 'ended'; }
        Slow::$then = function () { exit; };
        Hearth\\async(fn () => $cache->get('k'));
        usleep(0);
        Slow::$then = fn () => 0;
        return [$ended, $cache->get('k', 'gone')[0]->n ?? 'gone'];";
    assert_eq!(run(&server, code), r#"["ended",1]"#);
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

/// One reference at two places of an array stays one, as after `unserialize()`; readers share none.
#[test]
fn references_in_an_array_are_kept() {
    let server = one_worker(RUN).start();
    for (code, expected) in [
        (
            "$a = [1]; $a['same'] = &$a[0]; $cache->set('k', $a); $b = $cache->get('k'); $b[0] = 5; return [$b, $cache->get('k')];",
            r#"[{"0":5,"same":5},{"0":1,"same":1}]"#,
        ),
        (
            "$a = ['row' => [1, 2]]; foreach ($a['row'] as &$one) {} $cache->set('k', $a); $b = $cache->get('k'); $b['row'][1] = 9; return [$b, $a, $one];",
            r#"[{"row":[1,9]},{"row":[1,2]},2]"#,
        ),
        (
            "$a = [1]; $a['self'] = &$a; $cache->set('k', $a); $b = $cache->getMultiple(['k'])['k']; return [$b['self']['self'][0], count($b['self'])];",
            "[1,2]",
        ),
        (
            "$a = [1]; $a['self'] = &$a; return $cache->compareAndSwap('k', $a, 'swapped');",
            "true",
        ),
    ] {
        assert_eq!(run(&server, code), expected, "{code}");
    }
    server.stop();
}

/// Also with bits that PHP does not tell apart, and keys that look like numbers.
#[test]
fn values_come_back_as_they_were() {
    let server = one_worker(RUN).start();
    let code = r#"
        if (!enum_exists('Suit')) { eval('enum Suit: string { case Hearts = "H"; } enum Unit { case A; }
            final class Point { public function __construct(public readonly int $x, public readonly ?Point $next = null) {} }'); }
        $values = [NAN, INF, -INF, -0.0, 0.0, 5e-324, PHP_INT_MIN, PHP_INT_MAX, '', '0', "\0\xff", null, true, false, [],
            [5 => 'a', '6' => 'b', 'x' => 'c', -1 => 'd', '' => 'e', '07' => 'f'], [[[]]], Suit::Hearts, [Suit::Hearts, 'u' => [Unit::A]],
            new Point(1, new Point(2)), new ArrayObject([1, 'k' => new ArrayObject]), new DateTimeImmutable('2000-01-01 00:00:00.123456 Europe/Rome')];
        $wrong = [];
        foreach ([fn ($n, $v) => $cache->set("v$n", $v), fn ($n, $v) => $cache->setMultiple(["v$n" => $v])] as $set) {
            foreach ($values as $n => $value) {
                $set($n, $value);
                foreach ([$cache->get("v$n"), $cache->get("v$n"), $cache->getMultiple(["v$n"])["v$n"]] as $read) {
                    if (serialize($read) !== serialize($value)) { $wrong[] = [$n, serialize($read)]; }
                }
            }
        }
        return [$wrong, $cache->get('v17') === Suit::Hearts];"#;
    for _ in 0..2 {
        assert_eq!(run(&server, code), "[[],true]");
    }
    server.stop();
}

/// What an `unserialize()` has met so far is not what a value read in the middle of it means.
#[test]
fn a_value_may_be_read_within_an_unserialize() {
    let server = one_worker(RUN).start();
    let code = r#"if (!class_exists('Reads')) { eval('class Reads implements Serializable {
            public $read;
            public function serialize() { (new Hearth\Cache)->set("w", [$this->read, $this->read]); return ""; }
            public function unserialize($text) { $this->read = (new Hearth\Cache)->get("o"); } }'); }
        $shared = new ArrayObject(['inner']);
        $cache->set('o', [$shared, $shared]);
        $outer = unserialize(@serialize([new stdClass, new Reads, new stdClass]));
        return [$outer[1]->read[0] === $outer[1]->read[1], $outer[1]->read[0][0], get_class($outer[2])];"#;
    assert_eq!(run(&server, code), r#"[true,"inner","stdClass"]"#);
    server.stop();
}

/// Of a new number too.
#[test]
fn what_is_over_before_it_begins_is_not_there() {
    let server = one_worker(RUN).start();
    let code = "return [$cache->increment('n', 5, -1), $cache->get('n'), $cache->increment('n', 2, 0), $cache->get('n'), $cache->set('n', 1),
        $cache->increment('n', 2, -1), $cache->get('n'), $cache->set('n', 1, 0), $cache->has('n'), $cache->add('n', 1, -5), $cache->has('n')];";
    assert_eq!(
        run(&server, code),
        "[5,null,2,null,true,3,3,true,false,false,false]"
    );
    server.stop();
}
