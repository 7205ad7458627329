use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;
use rustix::io::FdFlags;

use super::*;
use crate::{Boot, BootFailure, Booted, Drain, FromWorker, FromZygote, ToWorker, ToZygote};

fn round_trip<T: Serialize + DeserializeOwned>(message: &T) -> T {
    let (a, b) = Channel::pair().unwrap();
    a.send(message, &[]).unwrap();
    let (got, fds) = b.recv().unwrap().unwrap();
    assert!(fds.is_empty());
    got
}

/// Makes the settings of `hearth serve app.php`, with some values that are hard to send.
fn settings() -> impl Strategy<Value = config::Settings> {
    let ini = prop::collection::vec(("[a-z.]{1,12}", ".{0,40}"), 0..6);
    let time = prop_oneof![
        Just(Duration::ZERO),
        Just(Duration::MAX),
        any::<u32>().prop_map(|n| Duration::from_nanos(u64::from(n) * 7)),
    ];
    ("/[^\0]{0,80}", ini, prop::option::of(any::<u32>()), time).prop_map(
        |(app, ini, concurrency, time)| {
            let environment = [("HEARTH_APP".to_owned(), "app.php".to_owned())];
            let raw = config::Raw::gather(Vec::new(), environment, Path::new("/"));
            config::Settings {
                app: app.into(),
                ini,
                concurrency,
                request_timeout: time,
                ..config::resolve(&raw, Path::new("/")).unwrap()
            }
        },
    )
}

fn boot() -> impl Strategy<Value = Boot> {
    (".{0,20}", settings()).prop_map(|(build, settings)| Boot {
        build,
        handler: "callable".to_owned(),
        settings,
    })
}

fn from_zygote() -> impl Strategy<Value = FromZygote> {
    prop_oneof![
        (any::<u32>(), ".*", ".*", prop::option::of(".*"), ".*").prop_map(
            |(concurrency, build, php, cold, handler)| {
                let app = Booted {
                    php,
                    cold,
                    concurrency,
                    post_limit: u64::from(concurrency) << 20,
                    revalidates: concurrency % 3 == 0,
                    app: format!("/{handler}").into(),
                    root: (concurrency % 2 == 0).then(|| format!("/{handler}").into()),
                    handler,
                };
                FromZygote::Booted { build, app }
            }
        ),
        "(?s).{0,200}".prop_map(|why| FromZygote::BootFailed(BootFailure::NoHandler(why))),
        "(?s).{0,200}".prop_map(|why| FromZygote::BootFailed(BootFailure::Failed(why))),
        (any::<u32>(), any::<u32>()).prop_map(|(slot, pid)| FromZygote::Forked { slot, pid }),
        (any::<u32>(), any::<i32>()).prop_map(|(pid, status)| FromZygote::Exited { pid, status }),
    ]
}

proptest! {
    #[test]
    fn to_zygote_round_trips(boot in boot(), slot: u32, generation: u32) {
        let boot = ToZygote::Boot(Box::new(boot));
        prop_assert_eq!(round_trip(&boot), boot);
        let fork = ToZygote::Fork { slot, generation, has_front: slot % 2 == 0, balancing: slot / 2 };
        prop_assert_eq!(round_trip(&fork), fork);
    }

    #[test]
    fn from_zygote_round_trips(message in from_zygote()) {
        prop_assert_eq!(round_trip(&message), message);
    }

    #[test]
    fn worker_messages_round_trip(linger: bool, deadline in 0.0..1e6f64, text in "(?s).*") {
        let drain = ToWorker::Drain(Drain { linger, deadline });
        prop_assert_eq!(round_trip(&drain), drain);
        for message in [FromWorker::Ready, FromWorker::Draining { reason: text.clone() }, FromWorker::Failed { message: text.clone() }] {
            prop_assert_eq!(round_trip(&message), message);
        }
    }
}

#[test]
fn any_length_up_to_the_limit_round_trips() {
    for length in [
        0,
        1,
        INLINE - 3,
        INLINE - 2,
        INLINE - 1,
        INLINE * 3,
        MAX_MESSAGE - 2,
    ] {
        let text = "x".repeat(length);
        assert!(round_trip(&text) == text, "{length}");
    }
}

#[test]
fn a_message_over_the_limit_is_refused_and_the_channel_stays_usable() {
    let (a, b) = Channel::pair().unwrap();
    let error = a.send(&"x".repeat(MAX_MESSAGE), &[]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "message of 1048578 bytes is longer than the limit of 1048576 bytes"
    );
    a.send(&7u32, &[]).unwrap();
    assert_eq!(b.recv::<u32>().unwrap().unwrap().0, 7);
}

#[test]
fn descriptors_arrive_in_order_open_and_closed_on_exec() {
    let (a, b) = Channel::pair().unwrap();
    for text in ["short".to_owned(), "long".repeat(INLINE)] {
        let (first_read, first_write) = std::io::pipe().unwrap();
        let (second_read, second_write) = std::io::pipe().unwrap();
        a.send(&text, &[first_write.as_fd(), second_read.as_fd()])
            .unwrap();
        drop((first_write, second_read));
        let (got, mut fds) = b.recv::<String>().unwrap().unwrap();
        assert_eq!(got, text);
        assert_eq!(fds.len(), 2, "one descriptor for each that was sent");
        for fd in &fds {
            assert!(
                rustix::io::fcntl_getfd(fd)
                    .unwrap()
                    .contains(FdFlags::CLOEXEC)
            );
        }
        let mut reader = std::io::PipeReader::from(fds.pop().unwrap());
        let mut writer = std::io::PipeWriter::from(fds.pop().unwrap());
        writer.write_all(b"one").unwrap();
        drop(writer);
        let mut first = String::new();
        { first_read }.read_to_string(&mut first).unwrap();
        assert_eq!(first, "one");
        { second_write }.write_all(b"two").unwrap();
        let mut second = String::new();
        reader.read_to_string(&mut second).unwrap();
        assert_eq!(second, "two");
    }
}

#[test]
fn the_most_descriptors_fit_and_one_more_is_refused() {
    let (a, b) = Channel::pair().unwrap();
    let (end, _other) = std::io::pipe().unwrap();
    let most = vec![end.as_fd(); MAX_DESCRIPTORS];
    a.send(&"x".repeat(INLINE + 1), &most).unwrap();
    assert_eq!(
        b.recv::<String>().unwrap().unwrap().1.len(),
        MAX_DESCRIPTORS
    );
    let error = a
        .send(&0, &vec![end.as_fd(); MAX_DESCRIPTORS + 1])
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "129 descriptors beside one message are more than the limit of 128"
    );
}

#[test]
fn what_was_sent_before_the_end_is_received_then_the_end() {
    let (a, b) = Channel::pair().unwrap();
    b.send(&"never read", &[]).unwrap();
    a.send(&1, &[]).unwrap();
    a.send(&2, &[]).unwrap();
    drop(a);
    assert_eq!(b.recv::<u8>().unwrap().unwrap().0, 1);
    assert_eq!(b.recv::<u8>().unwrap().unwrap().0, 2);
    assert!(b.recv::<u8>().unwrap().is_none());
    assert!(b.recv::<u8>().unwrap().is_none());
    assert!(b.send(&3, &[]).unwrap_err().is_closed());
}

#[test]
fn try_calls_do_not_wait() {
    let (a, b) = Channel::pair().unwrap();
    assert!(b.try_recv::<u8>().unwrap_err().is_would_block());
    let mut sent = 0;
    let full = loop {
        match a.try_send(&sent, &[]) {
            Ok(()) => sent += 1,
            Err(error) => break error,
        }
    };
    assert!(full.is_would_block(), "{full}");
    for n in 0..sent {
        assert_eq!(b.try_recv::<i32>().unwrap().unwrap().0, n);
    }
    assert!(b.try_recv::<i32>().unwrap_err().is_would_block());
}

#[test]
fn a_message_of_another_kind_is_an_error_that_says_so() {
    let (a, b) = Channel::pair().unwrap();
    a.send(&"text", &[]).unwrap();
    assert!(matches!(b.recv::<ToWorker>(), Err(Error::Malformed(_))));
    rustix::net::send(&a, b"zzz", SendFlags::NOSIGNAL).unwrap();
    assert_eq!(
        b.recv::<u8>().unwrap_err().to_string(),
        "a packet is not one of ours: unknown tag"
    );
}
