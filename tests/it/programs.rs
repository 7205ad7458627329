//! Programs that PHP code starts inherit the standard streams, what `proc_open()` hands on, and nothing else.

use std::process::Command;

use testkit::{Server, ServerBuilder};

use crate::support::{ok, one_worker};

/// What a program sees that lists its descriptors, with the one that the listing itself is read from taken off.
const LIST: &str = "ls -l /proc/self/fd | grep -v '/proc/[0-9]*/fd$'";

/// PHP that holds sockets, files, pipes and copies of them.
const HOLD: &str = "$held[] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0); $held[] = fopen(__FILE__, 'r');
    $held[] = stream_socket_server('tcp://127.0.0.1:0'); $held[] = fopen('php://fd/1', 'w'); $held[] = tmpfile();
    $held[] = fopen('php://temp/maxmemory:0', 'w+'); socket_create_pair(AF_UNIX, SOCK_STREAM, 0, $pair); $held[] = $pair;
    $held[] = popen('cat', 'w'); $held[] = new PDO('sqlite:held.db'); end($held)->exec('CREATE TABLE IF NOT EXISTS t (a)');";

fn calls() -> Vec<(&'static str, String)> {
    vec![
        (
            "exec",
            format!("exec(\"{LIST}\", $lines); $text = implode(\"\\n\", $lines);"),
        ),
        ("shell_exec", format!("$text = shell_exec(\"{LIST}\");")),
        ("backticks", format!("$text = `{LIST}`;")),
        (
            "system",
            format!("ob_start(); system(\"{LIST}\"); $text = ob_get_clean();"),
        ),
        (
            "passthru",
            format!("ob_start(); passthru(\"{LIST}\"); $text = ob_get_clean();"),
        ),
        (
            "popen",
            format!("$p = popen(\"{LIST}\", 'r'); $text = stream_get_contents($p); pclose($p);"),
        ),
        (
            "proc_open",
            format!(
                "$p = proc_open(\"{LIST}\", [1 => ['pipe', 'w']], $pipes); $text = stream_get_contents($pipes[1]); proc_close($p);"
            ),
        ),
        (
            "proc_open of a list",
            format!(
                "$p = proc_open(['sh', '-c', \"{LIST}\"], [1 => ['pipe', 'w']], $pipes); $text = stream_get_contents($pipes[1]); proc_close($p);"
            ),
        ),
        (
            "mail",
            "mail('a@example.test', 'x', 'y'); $text = file_get_contents('mailed');".to_owned(),
        ),
    ]
}

/// The numbers of the descriptors in such a list.
fn numbers(list: &str) -> Vec<u32> {
    list.lines()
        .filter_map(|line| line.split(" -> ").next()?.rsplit(' ').next()?.parse().ok())
        .collect()
}

fn assert_only_standard_streams(text: &str, call: &str) {
    let numbers = numbers(text);
    assert!(numbers.len() >= 2, "{call}: {text}");
    assert!(numbers.iter().all(|number| *number <= 2), "{call}: {text}");
}

fn with_mail(server: ServerBuilder) -> ServerBuilder {
    server
        .file(
            "mailer",
            format!("#!/bin/sh\n{LIST} > mailed\ncat > /dev/null\n"),
        )
        .args(["--ini", "sendmail_path=sh ./mailer"])
}

fn body() -> String {
    let cases: String = calls()
        .iter()
        .map(|(name, code)| format!("case '{name}': {code} return $text;\n"))
        .collect();
    format!("switch ($call) {{ {cases} }}")
}

fn check_all(server: &Server) {
    for (name, _) in calls() {
        let target = format!("/?call={}", name.replace(' ', "%20"));
        assert_only_standard_streams(&ok(&server.get(&target)), name);
    }
}

#[test]
fn of_a_request_they_inherit_nothing_of_others() {
    let server = with_mail(one_worker(&format!(
        "$held = []; $list = function ($call) {{ {} }};
        return function ($request) use (&$held, $list) {{ {HOLD} return $list($request->query('call')); }};",
        body()
    )))
    .start();
    check_all(&server);
    server.stop();
}

#[test]
fn of_a_classic_script_they_inherit_nothing() {
    let server = with_mail(
        Server::script(&format!(
            "$held = []; {HOLD} $list = function ($call) {{ {} }}; echo $list($_GET['call']);",
            body()
        ))
        .args(["--mode", "classic", "--workers", "1"]),
    )
    .start();
    check_all(&server);
    server.stop();
}

#[test]
fn of_the_app_at_boot_they_inherit_nothing() {
    let server = with_mail(one_worker(&format!(
        "$list = function ($call) {{ {} }}; $texts = [];
        foreach (['exec', 'system', 'popen', 'proc_open', 'proc_open of a list'] as $call) {{ $texts[] = $list($call); }}
        return fn () => implode(\"=====\\n\", $texts);",
        body()
    )))
    .start();
    for text in ok(&server.get("/")).split("=====\n") {
        assert_only_standard_streams(text, "at boot");
    }
    server.stop();
}

/// Descriptors of `proc_open()` by a pipe, a file and a stream, also where the number is that of something open.
const SPEC: &str = "file_put_contents('three', 'from a file'); $stream = fopen('seven', 'w+');
    $p = proc_open(['bash', '-c', 'cat <&3; cat <&4; echo to a stream >&7; echo to a pipe >&12'],
        [1 => ['pipe', 'w'], 3 => ['file', 'three', 'r'], 4 => ['pipe', 'r'], 7 => $stream, 12 => ['pipe', 'w']], $pipes);
    fwrite($pipes[4], ', from a pipe, '); fclose($pipes[4]);
    $text = stream_get_contents($pipes[1]) . stream_get_contents($pipes[12]) . proc_close($p) . file_get_contents('seven');";

const HANDED_ON: &str = "from a file, from a pipe, to a pipe\n0to a stream\n";

#[test]
fn what_proc_open_hands_on_arrives() {
    let server = one_worker(&format!(
        "return function () {{ $held = []; {HOLD} {SPEC} return $text; }};"
    ))
    .start();
    assert_eq!(ok(&server.get("/")), HANDED_ON);
    server.stop();
    let classic = Server::script(&format!("{SPEC} echo $text;"))
        .args(["--mode", "classic"])
        .start();
    assert_eq!(ok(&classic.get("/")), HANDED_ON);
    classic.stop();
}

/// Each number from 3 to 40 once, over whatever is open there.
#[test]
fn what_proc_open_hands_on_arrives_under_any_number() {
    let code = "$texts = [];
        foreach (range(3, 40) as $n) {
            $file = fopen(__FILE__, 'r');
            $p = proc_open(['bash', '-c', \"head -c 5 <&$n\"], [1 => ['pipe', 'w'], $n => $file], $pipes);
            $texts[] = stream_get_contents($pipes[1]); proc_close($p);
        }
        return implode(',', array_unique($texts));";
    let server = one_worker(&format!("return function () {{ {code} }};")).start();
    assert_eq!(ok(&server.get("/")), "<?php");
    server.stop();
}

/// A command in a shell that has descriptors 5 and 9 open, by the php command and by `hearth run`.
fn both(code: &str) -> (String, String) {
    let directory = testkit::temporary();
    let hearth = testkit::hearth();
    let run = |program: &str| {
        let output = Command::new("sh")
            .args([
                "-c",
                &format!("exec 5</dev/null 9<word; exec {program} -r \"$CODE\""),
                "sh",
            ])
            .env("CODE", code)
            .current_dir(directory.path())
            .output()
            .expect("a shell");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    std::fs::write(directory.path().join("word"), "from the shell").expect("a file");
    (run("php"), run(&format!("{} run", hearth.display())))
}

#[test]
fn what_the_shell_opened_is_inherited_as_from_php() {
    for call in [
        "echo shell_exec('cat <&9');",
        "$p = proc_open('cat <&9', [1 => ['pipe', 'w']], $pipes); echo stream_get_contents($pipes[1]); proc_close($p);",
        "passthru('cat <&9');",
    ] {
        let (php, hearth) = both(call);
        assert_eq!(php, "from the shell", "{call}");
        assert_eq!(hearth, php, "{call}");
    }
}

#[test]
fn what_a_script_opened_is_not_inherited() {
    let (of_the_shell, _) = both(&format!("passthru(\"{LIST}\");"));
    let of_the_shell = numbers(&of_the_shell);
    assert!(of_the_shell.contains(&9), "{of_the_shell:?}");
    for (name, call) in calls().into_iter().filter(|(name, _)| *name != "mail") {
        let hold = HOLD.replace("__FILE__", "'word'");
        let (_, text) = both(&format!("$held = []; {hold} {call} echo $text;"));
        assert_eq!(numbers(&text), of_the_shell, "{name}: {text}");
    }
}
