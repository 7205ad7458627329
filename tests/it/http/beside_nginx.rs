//! Odd and broken requests, byte by byte, beside a real nginx before php-fpm: the same answers, in the same number, and the same end of
//! the connection.
//!
//! A second request follows each in the same write, so what one server takes for a body and the other for a request shows.
//! Every difference must be in the list of [`meant`] ones with its reason; one that is none any more fails as well.

mod cases;
mod meant;

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::Path;
use std::time::Duration;

use testkit::Server;
use testkit::service::Fpm;

use self::cases::{Case, End};
use self::meant::MEANT;

/// What PHP was given: a body that was cut or read twice has another length.
const SCRIPT: &str = "<?php $text = \"$_SERVER[REQUEST_METHOD] $_SERVER[REQUEST_URI] \" . strlen(file_get_contents('php://input'));
header('Content-Length: ' . strlen($text));
echo $text;";

/// The same limits for both; those of nginx are one line's.
const NGINX: &str =
    "large_client_header_buffers 4 32k; client_body_timeout 5s; client_header_timeout 5s;";

const NEXT: &str = "GET /next HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
/// A server that has more to say says it sooner, however busy the machine is.
const SILENCE: Duration = Duration::from_secs(8);

/// What a server made of a case: its answers in turn, and whether the connection stayed open.
fn outcome(address: &str, case: &Case) -> String {
    let mut stream = TcpStream::connect(address).expect("the server listens");
    stream.set_read_timeout(Some(SILENCE)).expect("a time");
    let mut bytes = case.bytes.clone();
    if case.end == End::Next {
        bytes.extend_from_slice(NEXT.as_bytes());
    }
    // One that has seen enough may close before all is sent.
    let _ = stream.write_all(&bytes);
    if case.end == End::Cut {
        let _ = stream.shutdown(Shutdown::Write);
    }
    let mut came = Vec::new();
    let is_open = match stream.read_to_end(&mut came) {
        Ok(_) => false,
        Err(error) => matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
    };
    let mut answers = answers(&came, bytes.starts_with(b"HEAD "));
    if is_open {
        answers.push("open".to_owned());
    }
    answers.join(", ")
}

/// The status of each answer, with what PHP said.
fn answers(mut rest: &[u8], mut is_head: bool) -> Vec<String> {
    let mut answers = Vec::new();
    while !rest.is_empty() {
        let end = rest.windows(4).position(|four| four == b"\r\n\r\n");
        let (Some(end), true) = (end, rest.starts_with(b"HTTP/1.")) else {
            answers.push(format!("without a head: {}", String::from_utf8_lossy(rest)));
            break;
        };
        let head = String::from_utf8_lossy(&rest[..end]).to_lowercase();
        let status = head.get(9..12).unwrap_or_default().to_owned();
        rest = &rest[end + 4..];
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        let length = match (status.starts_with('1'), std::mem::take(&mut is_head)) {
            (false, false) => length.map_or(rest.len(), |length| length.parse().expect("a length")),
            _ => 0,
        };
        let (body, behind) = rest.split_at(length.min(rest.len()));
        answers.push(match (status.as_str(), body) {
            ("200", [_, ..]) => format!("200 {}", String::from_utf8_lossy(body)),
            _ => status,
        });
        rest = behind;
    }
    answers
}

fn hearth(root: &Path, dispatch: &str) -> Server {
    Server::app(root)
        .args([
            "--workers",
            "1",
            "--dispatch",
            dispatch,
            "--max-headers",
            "100",
        ])
        .start()
}

#[test]
fn odd_requests_have_the_same_answers() {
    let root = testkit::document_root();
    std::fs::write(root.path().join("index.php"), SCRIPT).expect("a file can be written");
    let nginx = Fpm::start(root.path(), &[], NGINX);
    let servers = ["direct", "balanced"].map(|dispatch| (dispatch, hearth(root.path(), dispatch)));
    let cases = cases::all();
    let mut problems = Vec::new();
    for case in &cases {
        let peer = outcome(&nginx.address(), case);
        let meant = MEANT.iter().find(|meant| meant.cases.contains(&case.name));
        let expected = meant.map_or(peer.as_str(), |meant| meant.outcome);
        if meant.is_some() && peer == expected {
            problems.push(format!("{}: no difference: {peer}", case.name));
        }
        for (dispatch, server) in &servers {
            let ours = outcome(&server.address(), case);
            if ours != expected {
                problems.push(format!("{}: {dispatch} {ours}; nginx {peer}", case.name));
            }
        }
    }
    let unknown = MEANT.iter().flat_map(|meant| meant.cases).filter(|name| {
        let mut names = cases.iter().map(|case| case.name);
        !names.any(|known| known == **name)
    });
    problems.extend(unknown.map(|name| format!("{name}: a reason for no case")));
    for (_, server) in servers {
        server.stop();
    }
    assert!(
        problems.is_empty(),
        "{} differences:\n{}",
        problems.len(),
        problems.join("\n")
    );
}
