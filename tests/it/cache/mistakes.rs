//! What a call cannot mean: its exception says what is wrong.

use super::RUN;
use crate::support::{one_worker, run};

/// Code, and a part of the message of its exception.
const MISTAKES: &[(&str, &str)] = &[
    (
        "$cache->setMultiple(['' => 1])",
        "must not contain an empty name",
    ),
    (
        "$cache->getMultiple([''])",
        "must not contain an empty name",
    ),
    (
        "$cache->set('k', 1, null, [\"a\\0b\"])",
        "must not contain a name with a NUL byte",
    ),
    (
        "$cache->deleteTags([str_repeat('t', 1025)])",
        "contains a name that has 1025 bytes",
    ),
    (
        "$cache->set('k', [unserialize('O:4:\"Gone\":0:{}')])",
        "class was missing",
    ),
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
        "is not an int",
    ),
    (
        "$cache->set('i', PHP_INT_MAX) && $cache->increment('i')",
        "is not an int: the number is left",
    ),
    ("$cache->lock('l', 0)", "greater than 0"),
    ("$cache->lock('l', NAN)", "greater than 0"),
    ("$cache->lock('l', 1, owner: '')", "must not be empty"),
];

#[test]
fn mistakes_are_reported() {
    let server = one_worker(RUN).args(["--cache-size", "1M"]).start();
    for (code, expected) in MISTAKES {
        let text = run(
            &server,
            &format!("try {{ {code}; }} catch (Throwable $e) {{ return $e->getMessage(); }}"),
        );
        assert!(text.contains(expected), "{code}: {text}");
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
