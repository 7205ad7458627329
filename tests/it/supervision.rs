//! What the supervisor does: ports, sockets, the admin server, lost zygotes, deadlines, configuration on reload.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::Output;
use std::time::Instant;

use rustix::process::Signal;
use testkit::http::Client;
use testkit::{Server, ServerBuilder, kill};

use crate::support::{
    ServiceManager, TIMEOUT, UNTIL_GO, admin, eventually, hearth, let_go, ok, one_worker,
    until_handled,
};

const PID: &str = "return fn () => (string) getmypid();";

fn output_text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_port_of_another_hearth_is_not_shared_and_its_process_is_named() {
    let first = Server::script(PID).start();
    let second = Server::script(PID)
        .args(["--listen", &first.address()])
        .try_start()
        .expect_err("the port is taken");
    assert_eq!(second.status.code(), Some(1), "{}", second.log);
    let expected = format!(
        "cannot listen on {}: the address is in use by process {} (hearth)",
        first.address(),
        first.pid()
    );
    assert!(second.log.contains(&expected), "{}", second.log);
    first.stop();
}

#[test]
fn one_server_per_app_and_control_socket() {
    let server = one_worker(PID).start();
    let words = ["serve", "app.php", "--listen", "127.0.0.1:0"];
    let again = hearth(&server, &words);
    assert_eq!(again.status.code(), Some(1));
    assert!(
        output_text(&again).contains("is running already"),
        "{}",
        output_text(&again)
    );
    ok(&server.get("/"));
    server.stop();
}

#[test]
fn a_unix_socket_serves_and_goes_at_the_end() {
    let server = one_worker(PID)
        .args(["--listen", "127.0.0.1:0", "--listen", "unix:app.sock"])
        .start();
    let path = server.directory().join("app.sock");
    assert_eq!(server.urls()[1], format!("unix:{}", path.display()));
    let mut stream = UnixStream::connect(&path).expect("it listens");
    stream
        .write_all(b"GET / HTTP/1.0\r\n\r\n")
        .expect("a request can be sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.contains(" 200 "), "{answer}");
    let directory = server.directory().to_owned();
    server.signal(Signal::TERM);
    eventually("the socket file is gone", || {
        !path.exists() || !directory.exists()
    });
    server.stop();
}

#[test]
fn the_admin_server_tells_health_and_counts() {
    let server = Server::script(PID)
        .args(["--workers", "2", "--admin", "127.0.0.1:0"])
        .start();
    let admin = |target: &str| admin(&server, target);
    for _ in 0..7 {
        ok(&server.get("/"));
    }
    assert_eq!(ok(&admin("/health")), "running: 2 workers ready, 2 slots\n");
    assert_eq!(ok(&admin("/ready")), "running\n");
    let metrics = ok(&admin("/metrics"));
    assert!(
        metrics.contains("\nhearth_responses_total{class=\"2xx\"} 7\n"),
        "{metrics}"
    );
    assert!(
        metrics.contains("\nhearth_workers{state=\"ready\"} 2\n"),
        "{metrics}"
    );
    assert!(ok(&admin("/status")).contains("\"generation\":1"));
    assert_eq!(admin("/").status, 404);
    // The counts of a worker that has died stay.
    kill(server.workers()[0], Signal::KILL);
    server.expect_log("SIGKILL");
    eventually("healthy again", || admin("/health").status == 200);
    let metrics = ok(&admin("/metrics"));
    assert!(
        metrics.contains("\nhearth_responses_total{class=\"2xx\"} 7\n"),
        "{metrics}"
    );
    assert!(
        metrics.contains("\nhearth_worker_restarts_total 1\n"),
        "{metrics}"
    );
    server.stop();
}

#[test]
fn a_lost_zygote_is_replaced_and_no_request_is_lost() {
    let server = Server::script(&format!(
        "return function ($r) {{ if ($r->path === '/slow') {{ {UNTIL_GO} }} return (string) getmypid(); }};"
    ))
    .args(["--workers", "2"])
    .start();
    let zygote = server.zygotes()[0];
    let before = server.workers();
    let mut slow = server.connect();
    slow.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(&server, 1);
    kill(zygote, Signal::KILL);
    server.expect_log("serving generation=2");
    let_go(&server);
    let pid: u32 = ok(&slow.response()).parse().expect("a pid");
    assert!(before.contains(&pid), "an old worker had begun it");
    eventually("new workers serve", || {
        let pid: u32 = ok(&server.get("/")).parse().expect("a pid");
        !before.contains(&pid)
    });
    server.stop();
}

#[test]
fn what_still_runs_at_the_deadline_is_killed_and_named() {
    let mut server = one_worker("return function () { sleep(60); return 'x'; };")
        .args(["--stop-timeout", "0.2"])
        .start();
    let mut client = server.connect();
    client.send("GET /never HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(&server, 1);
    server.signal(Signal::TERM);
    let status = server.wait_exit(TIMEOUT).expect("it ends");
    assert_eq!(status.code(), Some(0));
    let stopped = server.stop();
    assert!(
        stopped.log.contains("requests=[GET /never "),
        "{}",
        stopped.log
    );
}

#[test]
fn a_reload_reads_the_configuration_again() {
    let server = Server::script("return fn () => ini_get('memory_limit');")
        .file("hearth.toml", "[php.ini]\nmemory_limit = '100M'\n")
        .args(["--workers", "1"])
        .start();
    assert_eq!(ok(&server.get("/")), "100M");
    let file = server.directory().join("hearth.toml");
    std::fs::write(
        &file,
        "listen = '127.0.0.1:1'\n[php.ini]\nmemory_limit = '90M'\n",
    )
    .expect("a file");
    assert_eq!(
        hearth(&server, &["reload", "app.php"]).status.code(),
        Some(0)
    );
    eventually("the new settings hold", || ok(&server.get("/")) == "90M");
    std::fs::write(&file, "[php.ino]\nmemory_limit = '80M'\n").expect("a file");
    let reload = hearth(&server, &["reload", "app.php"]);
    assert_eq!(reload.status.code(), Some(1));
    assert!(
        output_text(&reload).contains("php.ino"),
        "{}",
        output_text(&reload)
    );
    assert_eq!(ok(&server.get("/")), "90M");
    server.stop();
}

#[test]
fn reloads_that_come_together_are_one() {
    let app = format!("if (file_exists('hold')) {{ {UNTIL_GO} }} {PID}");
    let server = one_worker(&app).start();
    // The first of them boots until all have come.
    std::fs::write(server.directory().join("hold"), "").expect("a file");
    server.signal(Signal::HUP);
    server.expect_log("generation=2");
    for _ in 0..9 {
        server.signal(Signal::HUP);
    }
    server.expect_log("another reload follows");
    assert!(hearth(&server, &["status", "app.php"]).status.success());
    let_go(&server);
    server.expect_log("serving generation=3");
    assert!(hearth(&server, &["status", "app.php"]).status.success());
    let served = server
        .log()
        .lines()
        .iter()
        .filter(|l| l.contains("serving generation="))
        .count();
    assert_eq!(served, 3, "{}", server.log().text());
    server.stop();
}

#[test]
fn watch_reloads_when_a_php_file_changes() {
    let server = one_worker("return require __DIR__ . '/handler.php';")
        .file("handler.php", "<?php return fn () => 'one';")
        .arg("--watch")
        .start();
    assert_eq!(ok(&server.get("/")), "one");
    std::fs::write(
        server.directory().join("handler.php"),
        "<?php return fn () => 'two';",
    )
    .expect("a file");
    server.expect_log("serving generation=2");
    // A worker of before may still take a connection that was under way.
    eventually("the new code serves", || ok(&server.get("/")) == "two");
    server.stop();
}

#[test]
fn an_app_that_hangs_at_boot_can_be_stopped_and_has_a_limit() {
    let refused = one_worker("while (true) { usleep(1000); }")
        .args(["--boot-timeout", "0.5"])
        .try_start()
        .expect_err("it never boots");
    assert_eq!(refused.status.code(), Some(1));
    assert!(refused.log.contains("boot.timeout"), "{}", refused.log);
    let began = Instant::now();
    let stopped =
        one_worker("posix_kill(posix_getppid(), SIGTERM); while (true) { usleep(1000); }")
            .args(["--boot-timeout", "300"])
            .try_start()
            .expect_err("it never boots");
    assert!(began.elapsed() < TIMEOUT, "{}", stopped.log);
    assert!(stopped.log.contains("stopping"), "{}", stopped.log);
}

#[test]
fn the_service_manager_is_told() {
    let manager = ServiceManager::new();
    let server = manager.start(one_worker(PID));
    let serving = format!(
        "READY=1\nSTATUS=Serving: 1 worker on {}; generation ",
        server.url()
    );
    assert_eq!(manager.received(), serving.clone() + "1");
    server.signal(Signal::HUP);
    assert!(
        manager
            .received()
            .starts_with("RELOADING=1\nMONOTONIC_USEC=")
    );
    assert_eq!(manager.received(), serving + "2");
    server.signal(Signal::TERM);
    assert_eq!(
        manager.received(),
        "STOPPING=1\nSTATUS=Stopping: 0 requests in flight"
    );
    server.stop();
}

#[test]
fn the_watchdog_of_the_service_manager_is_fed() {
    let manager = ServiceManager::new();
    let server = manager.start(one_worker(PID).env("WATCHDOG_USEC", "200000"));
    assert!(manager.received().starts_with("READY=1\n"));
    for _ in 0..3 {
        assert_eq!(manager.received(), "WATCHDOG=1");
    }
    server.stop();
}

/// As systemd starts a service with sockets: they are its descriptors from 3 on. `names` has as many.
fn with_sockets(server: ServerBuilder, names: &str) -> ServerBuilder {
    let perl = "my $names = shift; my @names = split /:/, $names; $^F = 9; my @open;\n\
        for (@names) { socket(my $s, PF_INET, SOCK_STREAM, 0) or die $!; bind($s, sockaddr_in(0, INADDR_LOOPBACK)) or die $!;\n\
        listen($s, 9) or die $!; push @open, $s; }\n\
        fileno($open[0]) == 3 or die 'not the first descriptor';\n\
        @ENV{'LISTEN_PID', 'LISTEN_FDS', 'LISTEN_FDNAMES'} = ($$, scalar @names, $names); exec @ARGV or die $!;";
    server.inside(["perl", "-MSocket", "-e", perl, names])
}

#[test]
fn sockets_of_the_service_manager_are_served() {
    for flags in [
        ["--dispatch", "balanced", "--front-threads", "2"],
        ["--dispatch", "direct", "--workers", "2"],
    ] {
        let app = Server::script("return fn () => 'own ' . json_encode(getenv('LISTEN_FDS'));");
        let server = with_sockets(app.args(flags), "http:http:admin").start();
        let urls = server.urls();
        assert_eq!(urls.len(), 2, "{urls:?}");
        for url in urls {
            let mut client = Client::connect(url.trim_start_matches("http://"));
            assert_eq!(ok(&client.get("/")), "own false");
        }
        assert!(ok(&admin(&server, "/health")).starts_with("running: "));
        server.expect_log("in place of listen");
        server.stop();
    }
}

#[test]
fn a_php_version_that_is_not_there_is_said() {
    let refused = one_worker(PID)
        .args(["--php", "7.4"])
        .try_start()
        .expect_err("there is none");
    assert_eq!(refused.status.code(), Some(1));
    assert!(refused.log.contains("hearth-php-7.4"), "{}", refused.log);
}

#[test]
fn config_shows_every_value_and_its_origin() {
    let server = one_worker(PID)
        .file("hearth.toml", "[request]\ntimeout = 5\n")
        .start();
    let shown = hearth(&server, &["config", "app.php", "--workers", "3"]);
    assert_eq!(shown.status.code(), Some(0), "{}", output_text(&shown));
    let text = String::from_utf8_lossy(&shown.stdout).into_owned();
    let origin = |key: &str| {
        let line = text
            .lines()
            .find(|line| line.split(' ').next() == Some(key))
            .unwrap_or_default();
        line.split_whitespace()
            .skip(1)
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(origin("workers.count"), "3 --workers");
    assert_eq!(origin("workers.queue"), "1024 default");
    let file = server.directory().join("hearth.toml");
    assert_eq!(origin("request.timeout"), format!("5 {}:2", file.display()));
    server.stop();
}
