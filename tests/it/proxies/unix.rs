//! Behind a proxy on a Unix socket.

use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::process::Command;

use testkit::{Server, ServerBuilder};

use super::SEEN;
use crate::support::modes::modes;
use crate::support::{as_other_user, one_worker};

fn on_a_socket(server: ServerBuilder) -> ServerBuilder {
    server.args(["--listen", "127.0.0.1:0", "--listen", "unix:web.sock"])
}

fn request(server: &Server, lines: &str) -> String {
    let mut stream =
        UnixStream::connect(server.directory().join("web.sock")).expect("the socket accepts");
    let head = format!("GET / HTTP/1.1\r\nHost: shop.example\r\nConnection: close\r\n{lines}\r\n");
    stream.write_all(head.as_bytes()).expect("the head is sent");
    let mut answer = String::new();
    stream
        .read_to_string(&mut answer)
        .expect("the answer comes");
    answer.rsplit("\r\n").next().expect("a body").to_owned()
}

const FORWARDED: &str = "X-Forwarded-For: 203.0.113.9\r\nX-Forwarded-Proto: https\r\n";

#[test]
fn a_peer_has_the_address_of_this_machine_in_every_mode() {
    for (name, server) in modes(SEEN) {
        let server = on_a_socket(server).start();
        let seen = "127.0.0.1 0 - http 80 shop.example shop.example 127.0.0.1";
        assert!(
            request(&server, FORWARDED).contains(seen),
            "{name}: {}",
            request(&server, "")
        );
        server.stop();
    }
}

#[test]
fn a_trusted_peer_says_who_asks_in_every_mode() {
    for (name, server) in modes(SEEN) {
        let server = on_a_socket(server)
            .args(["--trusted-proxies", "unix"])
            .start();
        let seen = "203.0.113.9 0 on https 443 shop.example shop.example 127.0.0.1";
        assert!(
            request(&server, FORWARDED).contains(seen),
            "{name}: {}",
            request(&server, FORWARDED)
        );
        server.stop();
    }
}

/// Whether a process with this user and group can connect.
fn connects(server: &Server, user: &str, group: &str) -> bool {
    let ids = ["--reuid", user, "--regid", group, "--clear-groups"];
    let code = "exit(@stream_socket_client('unix://' . $argv[1]) ? 0 : 1);";
    let php = ["php", "-r", code];
    let socket = server.directory().join("web.sock");
    let mut command = Command::new("setpriv");
    let command = command.args(ids).args(php).arg(socket);
    command.status().expect("setpriv starts").success()
}

#[test]
fn mode_owner_and_group_decide_who_may_connect() {
    if !as_other_user(&["true"]) {
        return eprintln!("skipped: only root has other users' files and processes");
    }
    let access = |words: &[&str]| {
        let server = on_a_socket(one_worker("return fn () => 'ran';"));
        let server = words
            .iter()
            .fold(server, |server, word| server.arg(*word))
            .start();
        // Others may enter the directory; the socket is what is asked about.
        let open = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(server.directory(), open).expect("it is ours");
        let file = server
            .directory()
            .join("web.sock")
            .metadata()
            .expect("the socket is there");
        let by = |user: &str, group: &str| connects(&server, user, group);
        let seen = (
            file.mode() & 0o777,
            file.uid(),
            file.gid(),
            by("54321", "54321"),
            by("54321", "54322"),
        );
        server.stop();
        seen
    };
    assert_eq!(access(&[]), (0o660, 0, 0, false, false));
    assert_eq!(
        access(&["--socket-mode", "0666"]),
        (0o666, 0, 0, true, true)
    );
    assert_eq!(
        access(&["--socket-group", "54322"]),
        (0o660, 0, 54_322, false, true)
    );
    assert_eq!(
        access(&["--socket-owner", "54321"]),
        (0o660, 54_321, 0, true, true)
    );
    let www = access(&["--socket-owner", "root", "--socket-group", "www-data"]);
    assert_eq!((www.0, www.1, www.2), (0o660, 0, 33));
}

#[test]
fn what_cannot_be_is_refused_with_its_option() {
    let refused = |words: &[&str]| {
        let server = on_a_socket(one_worker("return fn () => 'ran';"));
        let server = words.iter().fold(server, |server, word| server.arg(*word));
        server.try_start().expect_err("it does not start").log
    };
    let log = refused(&["--socket-group", "no-such-group"]);
    assert!(
        log.contains("socket.group: there is no group \"no-such-group\" on this machine"),
        "{log}"
    );
    let log = refused(&["--socket-mode", "440"]);
    assert!(
        log.contains("--socket-mode: \"440\" is not a mode of three octal digits"),
        "{log}"
    );
}
