//! The command line as scripts and service managers use it: exit codes, prefixes, what holds, and an end that is one.

use std::process::{Command, Output, Stdio};

use rustix::process::Signal;
use testkit::{Server, ServerBuilder};

use crate::support::{TIMEOUT, UNTIL_GO, hearth, let_go, ok, until_handled};

const APP: &str = "return fn () => 'x';";

fn output_text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// `hearth` with these words in a folder of its own, in which `app.php` is a handler.
fn alone(words: &[&str]) -> Output {
    let directory = testkit::temporary();
    std::fs::write(directory.path().join("app.php"), format!("<?php {APP}")).expect("a file");
    Command::new(testkit::hearth())
        .args(words)
        .current_dir(directory.path())
        .env("XDG_RUNTIME_DIR", directory.path())
        .output()
        .expect("hearth starts")
}

/// The state of a process that its parent has not waited for yet is that of a zombie.
fn has_ended(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.map_or(true, |stat| {
        stat.rsplit_once(") ")
            .is_some_and(|(_, rest)| rest.starts_with('Z'))
    })
}

#[test]
fn stop_returns_when_the_server_is_gone() {
    for round in 0..8 {
        let server = Server::script(APP).args(["--workers", "1"]).start();
        let stop = hearth(&server, &["stop", "app.php"]);
        let (ended, sockets) = (has_ended(server.pid()), server.directory().join("hearth"));
        assert!(stop.status.success(), "{}", output_text(&stop));
        assert!(ended, "round {round}: the server still runs");
        let left = std::fs::read_dir(sockets).expect("a directory").count();
        assert_eq!(left, 0, "round {round}: the control socket is there");
        server.stop();
    }
}

fn slow() -> ServerBuilder {
    Server::script(&format!(
        "return function () {{ {UNTIL_GO} return 'done'; }};"
    ))
    .args(["--workers", "2"])
}

#[test]
fn a_signal_to_all_processes_at_once_is_one_wish_to_stop() {
    for dispatch in ["balanced", "direct"] {
        let mut server = slow().args(["--dispatch", dispatch]).start();
        let mut client = server.connect();
        client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        until_handled(&server, 1);
        // As `timeout` does: its child, and then the group; and as a service manager does: everything of the unit.
        server.signal(Signal::TERM);
        server.expect_log("stopping");
        server.signal(Signal::TERM);
        for pid in testkit::in_session(server.pid()) {
            testkit::kill(pid, Signal::TERM);
        }
        let_go(&server);
        assert_eq!(ok(&client.response()), "done", "{dispatch}");
        let status = server.wait_exit(TIMEOUT).expect("it ends");
        assert_eq!(status.code(), Some(0));
        server.stop();
    }
}

#[test]
fn programs_that_php_starts_end_by_a_signal() {
    let server = Server::script(
        "return function () { $p = proc_open(['sleep', '60'], [], $pipes); proc_terminate($p); \
         while (proc_get_status($p)['running']) { usleep(1000); } return (string) proc_close($p); };",
    )
    .args(["--workers", "1"])
    .start();
    ok(&server.get("/"));
    server.stop();
}

#[test]
fn a_reader_that_has_left_is_no_crash() {
    for words in [
        ["config", "--workers", "bad"].as_slice(),
        &["serve", "nowhere.php"],
        &["run", "-y"],
        &["serve", "--no-such-flag"],
    ] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let status = Command::new(testkit::hearth())
            .args(words)
            .stdout(writer.try_clone().expect("a copy"))
            .stderr(writer)
            .stdin(Stdio::null())
            .status()
            .expect("hearth starts");
        assert_eq!(status.code(), Some(2), "{words:?}: {status}");
    }
}

#[test]
fn wrong_usage_is_2_and_every_line_says_who_speaks() {
    for (words, parts) in [
        (["serve", "nowhere.php"].as_slice(), "there is no app at "),
        (&["check", "nowhere.php"], "there is no app at "),
        (&["config", "nowhere.php"], "there is no app at "),
        (&["serve"], "APP: no app given: name a script"),
        (
            &["serve", "--no-such-flag"],
            "unexpected argument '--no-such-flag' found",
        ),
        (
            &["serve", "--port", "80"],
            "tip: the address and the port are one option: --listen ",
        ),
        (
            &["serve", "app.php", "--ini", "memory_limit"],
            "is not KEY=VALUE",
        ),
        (&["nonsense"], "unrecognized subcommand 'nonsense'"),
        (&["load"], "required arguments were not provided"),
        (
            &["bench", "--rounds", "x"],
            "invalid value 'x' for '--rounds <N>'",
        ),
    ] {
        let output = alone(words);
        let text = output_text(&output);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {text}");
        let speaker = ["hearth: ", "hearth load: ", "hearth bench: "];
        assert!(
            speaker.iter().any(|speaker| text.starts_with(speaker)),
            "{words:?}: {text}"
        );
        assert!(text.contains(parts), "{words:?}: {text}");
        assert!(!text.contains("error:"), "{words:?}: {text}");
        assert!(!text.contains("as a value"), "{words:?}: {text}");
    }
}

#[test]
fn config_shows_what_will_hold() {
    let lines = |words: &[&str]| {
        let output = alone(words);
        assert!(output.status.success(), "{}", output_text(&output));
        let text = String::from_utf8(output.stdout).expect("text");
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        text.lines().map(words).collect::<Vec<_>>()
    };
    let (site, handler) = (lines(&["config", "."]), lines(&["config", "app.php"]));
    let has = |lines: &[String], expected: &str| {
        assert!(
            lines.iter().any(|line| line.starts_with(expected)),
            "no {expected} in {lines:#?}"
        );
    };
    has(&site, "mode classic default: the app is a folder");
    has(&site, "workers.concurrency 1 default: classic mode");
    has(&site, "workers.dispatch balanced default");
    has(&handler, "mode resident default: the app is a script");
    has(&handler, "workers.concurrency 256 default: for a handler");
    for line in site.iter().chain(&handler) {
        assert!(!line.starts_with("workers.count auto"), "{line}");
    }
    let cpus = std::thread::available_parallelism()
        .expect("a number")
        .get();
    has(
        &handler,
        &format!("workers.count {cpus} default: one per CPU"),
    );
    has(
        &site,
        &format!("workers.count {} default: four per CPU", 4 * cpus),
    );
    let path = handler
        .iter()
        .find(|line| line.starts_with("control "))
        .expect("a line");
    assert!(
        path.contains(".sock default: from the path of the app"),
        "{path}"
    );
}

#[test]
fn what_has_no_effect_is_told_by_serve_check_and_config() {
    let words = ["app.php", "--idle-timeout", "5"];
    let expected = "--idle-timeout: workers.idle_timeout has no effect: ";
    for command in ["check", "config"] {
        let output = alone(&[&[command], words.as_slice()].concat());
        assert!(
            output_text(&output).contains(expected),
            "{}",
            output_text(&output)
        );
    }
    let server = Server::script(APP).args(["--idle-timeout", "5"]).start();
    server.expect_log(expected);
    server.stop();
}

/// PHP takes any name.
#[test]
fn a_setting_that_php_does_not_have_is_told() {
    for app in ["app.php", "site"] {
        let server = Server::app(app)
            .file("app.php", "<?php return fn () => 'fine';")
            .file("site/index.php", "fine")
            .args([
                "-d",
                "memroy_limit=256M",
                "-d",
                "memory_limit=64M",
                "-d",
                "hearth.apcu=1",
            ])
            .start();
        let line = server.expect_log("has the setting memroy_limit: is it mistyped");
        assert!(line.starts_with("hearth: php.ini: "), "{line}");
        assert_eq!(server.log().text().matches("has the setting").count(), 1);
        assert_eq!(ok(&server.get("/")), "fine");
        server.stop();
    }
}

#[test]
fn php_settings_are_given_as_to_the_php_command() {
    let server = Server::script("return fn () => ini_get('memory_limit') . ini_get('user_agent');")
        .args(["-d", "memory_limit=77M", "-duser_agent=x"])
        .start();
    assert_eq!(ok(&server.get("/")), "77Mx");
    server.stop();
}

#[test]
fn variables_of_kubernetes_and_of_images_do_not_keep_it_from_starting() {
    let server = Server::script(APP)
        .env("HEARTH_PORT", "tcp://10.0.0.1:80")
        .env("HEARTH_PORT_80_TCP", "tcp://10.0.0.1:80")
        .env("HEARTH_WEB_SERVICE_HOST", "10.0.0.1")
        .env("HEARTH_VERSION", "1")
        .start();
    server.expect_log("HEARTH_VERSION: is set, but Hearth has no such option");
    let log = server.stop().log;
    assert!(
        !log.contains("HEARTH_PORT") && !log.contains("HEARTH_WEB"),
        "{log}"
    );
}

#[test]
fn a_unix_socket_that_cannot_be_made_says_why() {
    let output = alone(&["serve", "app.php", "--listen", "unix:nowhere/a.sock"]);
    let text = output_text(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("; its directory must exist"), "{text}");
    assert!(!text.contains("CAP_NET_BIND_SERVICE"), "{text}");
}

/// Of a shell that has read them: what it offers behind these words.
fn completed(words: &str) -> String {
    let script = format!(
        "source <(\"$0\" completions bash); COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
         _hearth hearth \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD - 1]}}\"; echo \"${{COMPREPLY[@]}}\""
    );
    let output = Command::new("bash")
        .args(["-c", &script])
        .arg(testkit::hearth())
        .output()
        .expect("bash starts");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

#[test]
fn manual_pages_have_the_options_of_each_command() {
    let place = testkit::temporary();
    let output = alone(&["man", &place.path().display().to_string()]);
    assert!(output.status.success(), "{}", output_text(&output));
    for (page, option) in [
        ("hearth", r"\-\-version"),
        ("hearth-serve", r"\-\-workers"),
        ("hearth-run", r"\-\-app"),
        ("hearth-load", r"\-\-connections"),
        ("hearth-bench", r"\-\-against"),
    ] {
        let text = std::fs::read_to_string(place.path().join(format!("{page}.1"))).expect("a page");
        let (synopsis, options) = text.split_once(".SH DESCRIPTION").expect("both");
        assert!(options.contains(option), "{page}: {text}");
        assert!(synopsis.matches(r"\-\-version").count() <= 1, "{synopsis}");
    }
}

#[test]
fn help_and_version_are_words_too() {
    for (words, same) in [
        (["help"].as_slice(), ["--help"].as_slice()),
        (&["help", "serve"], &["serve", "--help"]),
        (&["help", "load"], &["load", "--help"]),
        (&["help", "cache"], &["cache", "--help"]),
        (&["version"], &["--version"]),
    ] {
        let (one, other) = (alone(words), alone(same));
        assert!(one.status.success(), "{words:?}: {}", output_text(&one));
        assert_eq!(one.stdout, other.stdout, "{words:?}");
        assert!(!one.stdout.is_empty(), "{words:?}");
    }
}

#[test]
fn completions_have_the_options_of_each_command() {
    for (words, offered) in [
        ("hearth ca", "cache"),
        ("hearth cache t", "top"),
        ("hearth load --conn", "--connections"),
        ("hearth load --find", "--find-max"),
        ("hearth serve --slow", "--slow-after --slow-file"),
        ("hearth status --wa", "--watch"),
        ("hearth bench --qui", "--quick --quiet"),
        ("hearth run --a", "--app"),
    ] {
        assert_eq!(completed(words), offered, "{words}");
    }
}
