//! What an extension has made of a connection, and which uses it without being it: channels, files of SFTP, large objects.

use testkit::ServerBuilder;
use testkit::service::{Postgres, Ssh};

use super::{first_with, shared};
use crate::support::{at_once, ok, one_worker};

/// A server whose `/open` connects `$c`, makes its SFTP `$statement`, and begins a program, whose stream is `$far`.
fn with_ssh(ssh: &Ssh, first: &str, second: &[(&str, &str)]) -> ServerBuilder {
    let library = testkit::unpacked_extension("ssh2");
    shared(
        "$c = ssh2_connect('127.0.0.1', (int) getenv('PORT'));
        ssh2_auth_pubkey_file($c, posix_getpwuid(posix_geteuid())['name'], getenv('KEY') . '.pub', getenv('KEY'))
            || throw new Exception('not let in');
        $statement = ssh2_sftp($c); $far = ssh2_exec($c, 'echo far; cat'); stream_set_blocking($far, true);",
        first,
        second,
    )
    .args(["--ini", &format!("extension={}", library.display())])
    .env("PORT", ssh.port.to_string())
    .env("KEY", ssh.key().display().to_string())
}

const OTHERS: [(&str, &str); 8] = [
    ("/exec", "ssh2_exec($c, 'true'); return 'run';"),
    ("/read", "return 'got ' . fgets($far);"),
    ("/write", "return 'sent ' . fwrite($far, 'x');"),
    (
        "/sftp",
        "return (string) ssh2_sftp_stat($statement, '/')['mode'];",
    ),
    (
        "/url",
        "return strlen(file_get_contents(\"ssh2.sftp://$statement/etc/passwd\")) > 0 ? 'read' : 'empty';",
    ),
    (
        "/stat",
        "return var_export(is_dir('ssh2.sftp://' . (int) $statement . '/etc'), true);",
    ),
    (
        "/directory",
        "$d = opendir(\"ssh2.sftp://$statement/etc\"); $name = readdir($d); closedir($d); return gettype($name);",
    ),
    ("/close", "fclose($far); return 'closed';"),
];

/// A byte that another task sends in the middle, or fails to send, would end the session for all.
#[test]
fn a_session_of_ssh2_its_channels_and_its_files() {
    let ssh = Ssh::start();
    let run = "$run = function ($command) use ($c) { $s = ssh2_exec($c, $command); stream_set_blocking($s, true); return stream_get_contents($s); };";
    let server = with_ssh(
        &ssh,
        &format!("{run} return $run('sleep 1; echo mine') . $run('echo again');"),
        &OTHERS,
    )
    .start();
    let refused = OTHERS.map(|(path, _)| path);
    assert_eq!(first_with(&server, &refused, || {}), "mine\nagain\n");
    let after = OTHERS.map(|(path, _)| ok(&server.get(path)));
    assert_eq!(
        after[1..5],
        ["got far\n", "sent 1", "16877", "read"],
        "{after:?}"
    );
    assert_eq!(after[5..], ["true", "string", "closed"], "{after:?}");
    server.stop();
}

/// The file is a FIFO, so the server opens it when something opens the other end. The function that waits has no connection among
/// its arguments.
#[test]
fn a_file_of_ssh2_that_a_url_names() {
    let ssh = Ssh::start();
    let fifo = ssh.key().with_file_name("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, 0o600.into()).expect("a FIFO can be made");
    let server = with_ssh(
        &ssh,
        "return get_resource_type(fopen(\"ssh2.sftp://$statement\" . dirname(getenv('KEY')) . '/fifo', 'r'));",
        &OTHERS,
    )
    .start();
    let refused = OTHERS.map(|(path, _)| path);
    let answer = first_with(&server, &refused, || {
        std::fs::write(&fifo, "").expect("the other end is opened");
    });
    assert_eq!(answer, "stream");
    assert_eq!(ok(&server.get("/exec")), "run");
    assert_eq!(ok(&server.get("/sftp")), "16877");
    server.stop();
}

#[test]
fn a_large_object_of_pdo_pgsql() {
    let server = shared(
        "$c = new PDO(getenv('DSN')); $c->beginTransaction(); $far = $c->pgsqlLOBOpen($c->pgsqlLOBCreate(), 'w+'); fwrite($far, 'text');",
        "return $c->query(\"SELECT 'mine' FROM pg_sleep(0.5)\")->fetchColumn();",
        &[
            ("/write", "return 'wrote ' . fwrite($far, 'more');"),
            ("/rewind", "return rewind($far) ? 'at the beginning' : 'not';"),
            ("/read", "return 'got ' . stream_get_contents($far);"),
            ("/close", "fclose($far); return 'closed';"),
        ],
    )
    .env("DSN", Postgres::shared().dsn())
    .start();
    let refused = ["/write", "/rewind", "/read", "/close"];
    assert_eq!(first_with(&server, &refused, || {}), "mine");
    assert_eq!(ok(&server.get("/rewind")), "at the beginning");
    assert_eq!(ok(&server.get("/read")), "got text");
    server.stop();
}

/// The streams and the SFTP end after the session that libssh2 made them of. Requests at once take that memory.
#[test]
fn what_is_left_of_a_session_of_ssh2_when_it_is_disconnected() {
    let ssh = Ssh::start();
    let library = testkit::unpacked_extension("ssh2");
    let code = "return function () {
        $c = ssh2_connect('127.0.0.1', (int) getenv('PORT'));
        ssh2_auth_pubkey_file($c, posix_getpwuid(posix_geteuid())['name'], getenv('KEY') . '.pub', getenv('KEY'))
            || throw new Exception('not let in');
        $sftp = ssh2_sftp($c); $file = fopen(\"ssh2.sftp://$sftp/etc/passwd\", 'r'); fgets($file);
        $s = ssh2_exec($c, 'sleep 0.05; echo out'); stream_set_blocking($s, true); $error = ssh2_fetch_stream($s, SSH2_STREAM_STDERR);
        $text = trim(stream_get_contents($s));
        return $text . json_encode([ssh2_disconnect($c), ...array_map(is_resource(...), [$c, $s, $error, $file, $sftp])]);
    };";
    let server = one_worker(code)
        .args(["--ini", &format!("extension={}", library.display())])
        .env("PORT", ssh.port.to_string())
        .env("KEY", ssh.key().display().to_string())
        .start();
    for _ in 0..5 {
        for answer in at_once(&server, &["/"; 4]).0 {
            assert_eq!(ok(&answer), "out[true,false,false,false,false,false]");
        }
    }
    server.stop();
}
