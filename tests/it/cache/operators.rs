//! `hearth cache`, `hearth status` and the metrics.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use super::workers;
use crate::support::{admin, hearth, run};

#[test]
fn status_and_metrics_show_it() {
    let server = workers(1).args(["--admin", "127.0.0.1:0"]).start();
    run(
        &server,
        "$cache->set('k', 1); $cache->get('k'); $cache->get('none'); $cache->stats();",
    );
    let page = admin(&server, "/metrics").text();
    for line in [
        "hearth_cache_entries 1",
        "hearth_cache_misses_total 1",
        "hearth_cache_writes_total 1",
        "hearth_cache_removed_total{reason=\"evicted\"} 0",
    ] {
        assert!(page.contains(line), "{line}: {page}");
    }
    let status = hearth(&server, &["status", "app.php"]);
    let text = String::from_utf8_lossy(&status.stdout).into_owned();
    assert!(text.contains("cache       1 entries"), "{text}");
    server.stop();
}

#[test]
fn operators_see_and_change_it() {
    let server = workers(1).start();
    let cmd = |words: &[&str]| {
        let output = hearth(&server, &[&["cache"], words].concat());
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(text).expect("text"))
    };
    let done = |text: &str| (Some(0), format!("{text}\n"));
    run(
        &server,
        "$cache->set('k', ['a' => [1, null]]); $cache->namespace('shop')->set('k', 'in'); $cache->set('o', new ArrayObject([1]));",
    );
    assert_eq!(cmd(&["get", "k", "app.php"]), done("[\"a\" => [1, null]]"));
    assert_eq!(
        cmd(&["get", "k", "app.php", "--namespace", "shop"]),
        done("\"in\"")
    );
    assert!(cmd(&["get", "o", "app.php"]).1.contains("ArrayObject"));
    assert_eq!(
        cmd(&["get", "none", "app.php"]),
        (
            Some(1),
            "hearth: there is no value with the key none\n".into()
        )
    );
    assert_eq!(
        cmd(&["set", "n", "41", "app.php", "--as-json", "--ttl", "100"]),
        done("n is written")
    );
    assert_eq!(run(&server, "return $cache->increment('n');"), "42");
    assert_eq!(cmd(&["set", "t", "41", "app.php"]), done("t is written"));
    assert_eq!(run(&server, "return $cache->get('t');"), "\"41\"");
    assert_eq!(cmd(&["set", "n", "{", "app.php", "--as-json"]).0, Some(2));
    let top = cmd(&["top", "app.php"]).1;
    assert!(
        top.contains("shop: k") && top.contains("expires in"),
        "{top}"
    );
    assert!(cmd(&["stats", "app.php"]).1.contains("evicted      0"));
    assert_eq!(cmd(&["delete", "n", "app.php"]), done("n is deleted"));
    assert_eq!(cmd(&["delete", "n", "app.php"]).0, Some(1));
    assert_eq!(
        cmd(&["clear", "app.php", "--namespace", "shop"]),
        done("the namespace shop is empty")
    );
    assert_eq!(
        run(
            &server,
            "return [$cache->namespace('shop')->get('k'), $cache->get('t')];"
        ),
        "[null,\"41\"]"
    );
    assert_eq!(cmd(&["clear", "app.php"]), done("the cache is empty"));
    assert_eq!(run(&server, "return $cache->get('t');"), "null");
    server.stop();
}

/// A namespace within another: its names in order. What is written there ends with each of them.
#[test]
fn operators_name_namespaces_within_namespaces() {
    let server = workers(1).start();
    let cmd = |words: &str| {
        let words: Vec<&str> = words.split(' ').collect();
        let output = hearth(&server, &[&["cache"][..], &words].concat());
        String::from_utf8([output.stdout, output.stderr].concat()).expect("text")
    };
    let cart = "app.php --namespace shop --namespace cart";
    let read = "return $cache->namespace('shop')->namespace('cart')->get('k');";
    run(
        &server,
        "$cache->namespace('shop')->namespace('cart')->set('k', 'in');",
    );
    assert_eq!(cmd(&format!("get k {cart}")), "\"in\"\n");
    assert!(
        cmd("get k app.php --namespace cart --namespace shop")
            .contains("in the namespace cart: shop")
    );
    assert_eq!(
        cmd(&format!("clear {cart}")),
        "the namespace shop: cart is empty\n"
    );
    assert_eq!(run(&server, read), "null");
    for clear in [
        "$cache->namespace('shop')->clear();",
        "$cache->namespace('shop')->namespace('cart')->clear();",
    ] {
        assert_eq!(cmd(&format!("set k 7 {cart}")), "k is written\n");
        assert_eq!(run(&server, read), "\"7\"");
        run(&server, clear);
        assert_eq!(run(&server, read), "null", "{clear}");
    }
    server.stop();
}

/// What is wrong with a question, and keys that are no text.
#[test]
fn mistakes_of_operators_are_told() {
    let server = workers(1).start();
    let cmd = |words: &[&OsStr]| {
        let mut command = Command::new(testkit::hearth());
        command.arg("cache").args(words);
        command
            .env("XDG_RUNTIME_DIR", server.directory())
            .current_dir(server.directory());
        let output = command.output().expect("hearth starts");
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(text).expect("text"))
    };
    let cmd_line = |words: &str| cmd(&words.split(' ').map(OsStr::new).collect::<Vec<_>>());
    for ttl in ["nan", "inf", "1e400", "0", "-5", "soon"] {
        let (code, text) = cmd_line(&format!("set k v app.php --ttl {ttl}"));
        assert!(
            code == Some(2) && text.contains("a number of seconds greater than 0"),
            "{text}"
        );
    }
    let brackets = "[".repeat(10_000);
    let (code, text) = cmd_line(&format!("set k {brackets} app.php --as-json"));
    assert!(code == Some(2) && text.len() < 300, "{text}");
    assert!(text.contains("[\"… is not JSON: recursion limit"), "{text}");
    for question in ["get", "delete"] {
        let (code, text) = cmd(&[question, "", "app.php"].map(OsStr::new));
        assert!(
            code == Some(1) && text.contains("a key has 1 to 1024 bytes"),
            "{text}"
        );
    }
    assert_eq!(cmd_line("clear app.php --namespace=").0, Some(2));
    let bytes = OsStr::from_bytes(b"k\xff\n");
    let [app, value] = ["app.php", "v"].map(OsStr::new);
    let done = |text: &str| (Some(0), format!("{text}\n"));
    assert_eq!(
        cmd(&[OsStr::new("set"), bytes, value, app]),
        done(r"k\xff\n is written")
    );
    assert_eq!(run(&server, r#"return $cache->get("k\xff\n");"#), "\"v\"");
    assert!(cmd_line("top app.php").1.contains(r"k\xff\n"));
    assert_eq!(
        cmd(&[OsStr::new("delete"), bytes, app]),
        done(r"k\xff\n is deleted")
    );
    server.stop();
}

#[test]
fn a_server_without_a_cache_says_so() {
    let none = workers(1).args(["--cache-size", "0"]).start();
    let output = hearth(&none, &["cache", "stats", "app.php"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("cache.size is 0"));
    none.stop();
}
