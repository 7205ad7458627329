//! What a script changes of its process.

use super::site;
use crate::support::{eventually, ok};

const FACTS: &str = r#"
    $status = preg_grep('/^(Uid|Gid|Groups|SigBlk|SigIgn|SigCgt|Cpus_allowed|Umask):/', file('/proc/self/status'));
    echo json_encode([array_values($status), pcntl_alarm(0), pcntl_getpriority(), posix_getrlimit(), posix_getpgid(0), getmypid()]);
"#;

const CHANGES: &str = r#"
    pcntl_alarm(600);
    pcntl_async_signals(true);
    pcntl_signal(SIGTERM, SIG_IGN);
    pcntl_signal(SIGALRM, SIG_IGN);
    pcntl_signal(SIGUSR2, function () {});
    pcntl_sigprocmask(SIG_BLOCK, [SIGUSR2, SIGHUP]);
    posix_setrlimit(POSIX_RLIMIT_NOFILE, 200, posix_getrlimit()['hard openfiles'] === 'unlimited' ? -1 : posix_getrlimit()['hard openfiles']);
    umask(0);
    if (posix_geteuid() === 0) {
        proc_nice(1);
        posix_setegid(65534);
        posix_seteuid(65534);
    }
    switch ($_GET['end']) {
        case 'exit': exit('changed');
        case 'fatal': eval('class A {} class A {}');
    }
    echo 'changed';
"#;

#[test]
fn what_a_script_changes_of_its_process_is_put_back() {
    let server = site(&[("facts.php", FACTS), ("changes.php", CHANGES)]).start();
    let before = ok(&server.get("/facts.php"));
    for (end, status) in [("", 200), ("exit", 200), ("fatal", 500)] {
        assert_eq!(
            server.get(&format!("/changes.php?end={end}")).status,
            status
        );
        assert_eq!(ok(&server.get("/facts.php")), before, "after {end}");
    }
    server.stop();
}

#[test]
fn a_worker_that_cannot_be_put_back_is_replaced() {
    let server = site(&[
        ("pid.php", "echo getmypid();"),
        (
            "session.php",
            "echo posix_setsid() > 0 ? 'left' : 'failed';",
        ),
    ])
    .start();
    let first = ok(&server.get("/pid.php"));
    assert_eq!(ok(&server.get("/session.php")), "left");
    eventually("another worker answers", || {
        let answer = server.get("/pid.php");
        answer.status == 200 && answer.text() != first
    });
    server.expect_log(
        "worker leaves: a request has changed the session or process group of the process for good requests=[GET /session.php request=",
    );
    server.stop();
}
