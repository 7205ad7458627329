//! MongoDB: its driver has one socket for a Manager and its cursors. Debian has no MongoDB, so the server is a part of the test.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use super::{first_with, shared};
use crate::support::{ok, one_worker};

/// Documents of BSON: a length, the elements, a zero.
fn document(elements: &[Vec<u8>]) -> Vec<u8> {
    let body = elements.concat();
    let length = u32::try_from(body.len() + 5).expect("a small document");
    [&length.to_le_bytes()[..], &body, &[0]].concat()
}

fn element(kind: u8, name: &str, value: &[u8]) -> Vec<u8> {
    [&[kind], name.as_bytes(), &[0], value].concat()
}

fn number(name: &str, value: i32) -> Vec<u8> {
    element(0x10, name, &value.to_le_bytes())
}

/// The answer that is a cursor with one document; it goes on if `id` is not 0.
fn batch(name: &str, id: i64, value: i32) -> Vec<Vec<u8>> {
    let documents = document(&[element(3, "0", &document(&[number("x", value)]))]);
    let cursor = document(&[
        element(0x12, "id", &id.to_le_bytes()),
        element(2, "ns", b"\x05\0\0\0db.c\0"),
        element(4, name, &documents),
    ]);
    vec![element(3, "cursor", &cursor)]
}

fn greeting() -> Vec<Vec<u8>> {
    vec![
        element(8, "ismaster", &[1]),
        number("minWireVersion", 0),
        number("maxWireVersion", 13),
        number("maxBsonObjectSize", 16_777_216),
        number("maxMessageSizeBytes", 48_000_000),
        number("maxWriteBatchSize", 100_000),
    ]
}

/// Answers the commands of one connection; `getMore` when it is let go.
fn serve(mut stream: &TcpStream, go: &Mutex<Receiver<()>>) -> Option<()> {
    loop {
        let mut header = [0; 16];
        stream.read_exact(&mut header).ok()?;
        let length = u32::from_le_bytes(header[..4].try_into().ok()?) as usize;
        let mut body = vec![0; length - 16];
        stream.read_exact(&mut body).ok()?;
        let is_message = header[12..] == 2013_u32.to_le_bytes();
        // The command is the name of the first element, behind the length of the document and the kind of the element.
        let name = if is_message { &body[10..] } else { b"hello\0" };
        let end = name.iter().position(|byte| *byte == 0)?;
        let mut answer = match &name[..end] {
            b"find" => batch("firstBatch", 5, 1),
            b"getMore" => {
                go.lock().ok()?.recv().ok()?;
                batch("nextBatch", 0, 2)
            }
            _ => greeting(),
        };
        answer.push(element(1, "ok", &1_f64.to_le_bytes()));
        let (code, before) = if is_message {
            (2013_u32, vec![0; 5])
        } else {
            (1, [&[0; 16][..], &[1, 0, 0, 0]].concat())
        };
        let sent = [before, document(&answer)].concat();
        let length = u32::try_from(16 + sent.len()).ok()?;
        let header = [
            &length.to_le_bytes()[..],
            &[0; 4],
            &header[4..8],
            &code.to_le_bytes(),
        ];
        stream
            .write_all(&[&header.concat()[..], &sent].concat())
            .ok()?;
    }
}

/// Returns the port, and what lets one `getMore` go.
fn server() -> (u16, Sender<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = listener.local_addr().expect("an address").port();
    let (go, gone) = channel();
    let gone = Arc::new(Mutex::new(gone));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let gone = Arc::clone(&gone);
            std::thread::spawn(move || serve(&stream, &gone));
        }
    });
    (port, go)
}

#[test]
fn a_cursor_and_its_manager() {
    let (port, go) = server();
    for first in [
        "foreach ($far as $row) { $rows[] = $row->x; } return implode(', ', $rows);",
        "return implode(', ', array_map(fn ($row) => $row->x, $far->toArray()));",
        "return implode(', ', array_map(fn ($row) => $row->x, iterator_to_array($far)));",
    ] {
        let library = testkit::unpacked_extension("mongodb");
        let server = shared(
            "$c = new MongoDB\\Driver\\Manager('mongodb://127.0.0.1:' . getenv('PORT'), [], ['disableClientPersistence' => true]);
            $far = $c->executeQuery('db.c', new MongoDB\\Driver\\Query([])); $statement = $far->getServer();",
            first,
            &[
                ("/ping", "$c->executeCommand('db', new MongoDB\\Driver\\Command(['ping' => 1])); return 'pong';"),
                ("/query", "return (string) count($c->executeQuery('db.c', new MongoDB\\Driver\\Query([]))->toArray());"),
                ("/server", "$statement->executeCommand('db', new MongoDB\\Driver\\Command(['ping' => 1])); return 'pong';"),
                ("/next", "$far->next(); return 'moved';"),
                ("/foreach", "foreach ($far as $row); return 'gone over';"),
            ],
        )
        .args(["--ini", &format!("extension={}", library.display())])
        .env("PORT", port.to_string())
        .start();
        let refused = ["/ping", "/query", "/server", "/next", "/foreach"];
        let answer = first_with(&server, &refused, || go.send(()).expect("it waits"));
        assert_eq!(answer, "1, 2");
        assert_eq!(ok(&server.get("/ping")), "pong");
        assert_eq!(ok(&server.get("/server")), "pong");
        server.stop();
    }
}

/// Under php-fpm the driver forgets them at the end of the request. Those of the entry script hold for every request.
#[test]
fn a_subscriber_of_all_connections_is_told_of_its_own_request() {
    let (port, _go) = server();
    let server = one_worker(
        r"final class Seen implements MongoDB\Driver\Monitoring\CommandSubscriber {
            static array $seen = [];
            function __construct(private string $name) {}
            function commandStarted($event): void { self::$seen[] = $this->name; usleep(1000); }
            function commandSucceeded($event): void {}
            function commandFailed($event): void {}
        }
        $boot = new Seen('boot');
        MongoDB\Driver\Monitoring\addSubscriber($boot);
        return function ($request) use ($boot) {
            if ($request->path === '/add') { MongoDB\Driver\Monitoring\addSubscriber(new Seen('request')); }
            if ($request->path === '/remove') { MongoDB\Driver\Monitoring\removeSubscriber($boot); }
            $manager = new MongoDB\Driver\Manager('mongodb://127.0.0.1:' . getenv('PORT'), [], ['disableClientPersistence' => true]);
            Seen::$seen = [];
            $manager->executeCommand('db', new MongoDB\Driver\Command(['ping' => 1]));
            return implode(' ', Seen::$seen);
        };",
    )
    .args(["--ini", &format!("extension={}", testkit::unpacked_extension("mongodb").display())])
    .env("PORT", port.to_string())
    .start();
    for (path, seen) in [
        ("/add", "boot request"),
        ("/", "boot"),
        ("/remove", ""),
        ("/", "boot"),
        ("/add", "boot request"),
    ] {
        assert_eq!(ok(&server.get(path)), seen, "{path}");
    }
    server.stop();
}
