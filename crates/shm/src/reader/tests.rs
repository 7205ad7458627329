use std::sync::atomic::AtomicBool;

use proptest::prelude::*;

use super::*;
use crate::Writer;

fn request<'a>(method: &'a [u8], target: &'a [u8], id: u64) -> crate::Begins<'a> {
    let suspect = crate::Suspect {
        fingerprint: id,
        epoch: id,
        again: false,
    };
    crate::Begins {
        method,
        target,
        id,
        suspect,
    }
}

fn pair(slots: u32) -> (Scoreboard, Writer) {
    let board = Scoreboard::create(slots).unwrap();
    let writer = Writer::attach(board.as_fd().try_clone_to_owned().unwrap()).unwrap();
    (board, writer)
}

#[test]
fn a_request_is_listed_from_begin_to_end() {
    let (board, writer) = pair(4);
    let first = writer.begin(request(b"GET", b"/slow?x=1", 17));
    let second = writer.begin(request(b"POST", b"/", 18));
    let listed: Vec<_> = board
        .in_flight()
        .into_iter()
        .map(|r| (r.id, r.method, r.target, r.cut, r.torn))
        .collect();
    assert!(listed.contains(&(17, "GET".into(), "/slow?x=1".into(), false, false)));
    assert!(listed.contains(&(18, "POST".into(), "/".into(), false, false)));
    assert_eq!(board.snapshot().in_flight(), 2);
    writer.end(first, 200);
    writer.end(second, 0);
    assert_eq!(board.in_flight(), []);
    let snapshot = board.snapshot();
    assert_eq!(snapshot.get(Counter::Requests), 2);
    assert_eq!(snapshot.get(Counter::Responses2xx), 1);
    assert_eq!(snapshot.get(Counter::Aborted), 1);
    assert_eq!(snapshot.in_flight(), 0);
}

#[test]
fn more_requests_than_rows_are_counted_and_do_no_harm() {
    let (board, writer) = pair(1);
    let listed = writer.begin(request(b"GET", b"/listed", 1));
    let unlisted = writer.begin(request(b"GET", b"/unlisted", 2));
    assert_eq!(board.in_flight().len(), 1);
    assert_eq!(board.snapshot().get(Counter::Unlisted), 1);
    writer.end(unlisted, 200);
    let mut waits = writer.begin(request(b"GET", b"/waits", 4));
    assert_eq!(board.in_flight()[0].target, "/listed");
    writer.end(listed, 200);
    writer.list(&mut waits, request(b"GET", b"/waits", 4));
    assert_eq!(board.in_flight()[0].target, "/waits");
    writer.end(waits, 200);
    let again = writer.begin(request(b"GET", b"/again", 3));
    assert_eq!(board.in_flight()[0].target, "/again");
    writer.end(again, 200);
}

#[test]
fn a_row_left_half_written_says_so() {
    let (board, writer) = pair(1);
    let ticket = writer.begin(request(b"GET", b"/dies", 9));
    board.mapping[HEADER + ROW_SEQUENCE].fetch_add(1, Ordering::Relaxed);
    let found = board.in_flight();
    assert_eq!(found.len(), 1);
    assert!(found[0].torn);
    writer.end(ticket, 0);
}

#[test]
fn rows_read_while_they_are_written_are_whole_or_torn() {
    let (board, _) = pair(1);
    let stop = AtomicBool::new(false);
    let fd = board.as_fd().try_clone_to_owned().unwrap();
    std::thread::scope(|scope| {
        let stop = &stop;
        scope.spawn(move || {
            let writer = Writer::attach(fd).unwrap();
            let mut n = 0u64;
            while !stop.load(Ordering::Relaxed) {
                let text = [b'a' + (n % 26) as u8; MAX_TARGET];
                let ticket = writer.begin(request(b"GET", &text, n));
                // Otherwise the two threads may keep in step, and the reader never finds a row in flight.
                std::thread::yield_now();
                writer.end(ticket, 200);
                n += 1;
            }
        });
        let mut whole = 0;
        while whole < 1000 {
            for request in board.in_flight().into_iter().filter(|r| !r.torn) {
                let letter = char::from(b'a' + (request.id % 26) as u8);
                assert!(
                    request.target.chars().all(|c| c == letter),
                    "mixed row: {request:?}"
                );
                whole += 1;
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_file_that_is_no_scoreboard_is_refused() {
    let plain = rustix::fs::memfd_create("x", rustix::fs::MemfdFlags::ALLOW_SEALING).unwrap();
    rustix::fs::ftruncate(&plain, 4096).unwrap();
    assert!(
        Writer::attach(plain)
            .unwrap_err()
            .to_string()
            .contains("sealed")
    );
    let sealed = mapping::create_file(c"test", words(1)).unwrap();
    assert!(
        Writer::attach(sealed)
            .unwrap_err()
            .to_string()
            .contains("not a scoreboard of this version")
    );
}

proptest! {
    #[test]
    fn any_bytes_round_trip(method in prop::collection::vec(0x20u8..0x7f, 0..40), target in prop::collection::vec(any::<u8>(), 0..500), id: u64) {
        let (board, writer) = pair(1);
        let ticket = writer.begin(request(&method, &target, id));
        let found = board.in_flight().remove(0);
        prop_assert_eq!(found.id, id);
        prop_assert_eq!(found.method.as_bytes(), &method[..method.len().min(MAX_METHOD)]);
        let kept = &target[..target.len().min(MAX_TARGET)];
        prop_assert_eq!(found.target, String::from_utf8_lossy(kept));
        prop_assert_eq!(found.cut, target.len() > MAX_TARGET);
        writer.end(ticket, 204);
        prop_assert!(board.in_flight().is_empty());
    }
}
