//! The control socket: no other user takes its place, and no other user's server is asked.

use testkit::{Server, Stopped};

use crate::support::{hearth, start_as_other_user};

const APP: &str = "return fn () => 'x';";

#[test]
fn a_directory_of_another_user_in_the_place_of_the_control_directory_is_not_used() {
    let Some(start) = start_as_other_user() else {
        return;
    };
    // The place is the server's to choose, so it is in the temporary folder of this machine.
    let taken = tempfile::Builder::new()
        .prefix("hearth-54321")
        .rand_bytes(0)
        .tempdir_in("/tmp")
        .expect("no other test makes it");
    let start = format!("unset XDG_RUNTIME_DIR; {start}");
    let refused = Server::script(APP).inside(["sh", "-c", &start, "sh"]);
    let Err(Stopped { log, .. }) = refused.try_start() else {
        panic!("it started");
    };
    let message = "/tmp/hearth-54321 belongs to user 0; remove it, or set XDG_RUNTIME_DIR to a directory of this user; choose another place with --control";
    assert!(log.contains(message), "{log}");
    drop(taken);
}

#[test]
fn a_server_of_another_user_is_asked_only_where_root_named_it() {
    let Some(start) = start_as_other_user() else {
        return;
    };
    let server = Server::script(APP)
        .inside(["sh", "-c", &start, "sh"])
        .start();
    let found = hearth(&server, &["status", "app.php"]);
    let message = String::from_utf8_lossy(&found.stderr);
    assert_eq!(found.status.code(), Some(1), "{message}");
    assert!(
        message.contains("a process of user 54321 listens there, so nothing was asked"),
        "{message}"
    );
    assert!(found.stdout.is_empty());
    let path = message.split(": ").nth(2).expect("the path of the socket");
    let named = hearth(&server, &["status", "--control", path]);
    assert!(
        named.status.success(),
        "{}",
        String::from_utf8_lossy(&named.stderr)
    );
    server.stop();
}
