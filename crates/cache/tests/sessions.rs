//! Sessions: locks, expiry, eviction.
#![forbid(unsafe_code)]

mod support;

use cache::{Cache, Claim, Locked, Owner, Refused, Stored};
use support::{cache, fake_clock, get, pass, set};

const SECOND: u64 = 1_000_000;
const LIFE: u64 = 1440 * SECOND;

fn lock<'a>(cache: &Cache, key: &'a [u8]) -> Locked<'a> {
    match cache.lock_session(key, Owner::here(0)) {
        Ok(Claim::Taken(token)) => Locked { key, token },
        other => panic!("{other:?}"),
    }
}

/// Does what a request does: opens the session, appends `more` bytes, and closes it. Returns the number of bytes before.
fn visit(cache: &Cache, key: &[u8], more: usize) -> Result<usize, Refused> {
    let session = lock(cache, key);
    let mut data = Vec::new();
    let result = cache.read_session(session, LIFE, &mut data).and_then(|_| {
        let before = data.len();
        data.resize(before + more, b'x');
        cache.write_session(session, &data, LIFE)?;
        Ok(before)
    });
    assert_eq!(cache.unlock_session(session), Ok(true));
    result
}

#[test]
fn a_session_keeps_what_each_request_adds() {
    let cache = cache(1 << 20).with_clock(fake_clock);
    assert_eq!(cache.has_session(b"s"), Ok(false));
    for n in 0..5 {
        assert_eq!(visit(&cache, b"s", 1), Ok(n));
    }
    assert_eq!(cache.has_session(b"s"), Ok(true));
    // A session is no key of the cache, and `clear` does not end it.
    assert_eq!(get(&cache, b"s"), None);
    cache.clear().expect("not stuck");
    assert_eq!(visit(&cache, b"s", 1), Ok(5));
    assert_eq!(cache.destroy_session(b"s", None), Ok(true));
    assert_eq!(cache.destroy_session(b"s", None), Ok(false));
    assert_eq!((cache.stats().sessions, cache.stats().used), (0, 0));
}

/// A session that is destroyed or ended while a request has it open is not written again by that request.
#[test]
fn what_is_destroyed_stays_so() {
    let cache = cache(1 << 20);
    let open = || {
        let session = lock(&cache, b"s");
        let mut data = Vec::new();
        cache.read_session(session, LIFE, &mut data).expect("room");
        (session, data.len())
    };
    let by_another: [fn(&Cache); 2] = [
        |cache| assert_eq!(cache.destroy_session(b"s", None), Ok(true)),
        |cache| assert_eq!(cache.end_sessions(), Ok(1)),
    ];
    for destroy in by_another {
        visit(&cache, b"s", 1).expect("room");
        let (session, length) = open();
        assert_eq!(length, 1);
        destroy(&cache);
        assert_eq!(cache.write_session(session, b"late", LIFE), Ok(0));
        assert_eq!(cache.touch_session(session, LIFE), Ok(true));
        assert_eq!(cache.has_session(b"s"), Ok(false));
        // If it is read anew, it is a new one.
        let mut data = Vec::new();
        assert_eq!(cache.read_session(session, LIFE, &mut data), Ok(false));
        assert_eq!(cache.write_session(session, b"new", LIFE), Ok(0));
        assert_eq!(cache.unlock_session(session), Ok(true));
        assert_eq!(visit(&cache, b"s", 0), Ok(3));
        assert_eq!(cache.destroy_session(b"s", None), Ok(true));
    }
    // The holder itself may go on with it, and so may the next one.
    let (session, _) = open();
    assert_eq!(cache.destroy_session(b"s", Some(session.token)), Ok(true));
    assert_eq!(cache.write_session(session, b"own", LIFE), Ok(0));
    assert_eq!(cache.destroy_session(b"s", None), Ok(true));
    assert_eq!(cache.unlock_session(session), Ok(true));
    assert_eq!(visit(&cache, b"s", 1), Ok(0));
    assert_eq!(visit(&cache, b"s", 1), Ok(1));
}

#[test]
fn only_the_holder_of_the_lock_reads_and_writes() {
    let cache = cache(1 << 20);
    let session = lock(&cache, b"s");
    assert_eq!(
        cache.lock_session(b"s", Owner::here(7)),
        Ok(Claim::Held(Owner::here(0)))
    );
    let other = Locked {
        token: session.token + 1,
        ..session
    };
    let mut data = Vec::new();
    assert_eq!(
        cache.write_session(other, b"x", LIFE),
        Err(Refused::NotHeld)
    );
    assert_eq!(
        cache.read_session(other, LIFE, &mut data),
        Err(Refused::NotHeld)
    );
    assert_eq!(cache.touch_session(other, LIFE), Err(Refused::NotHeld));
    assert_eq!(cache.unlock_session(other), Ok(false));
    assert_eq!(cache.unlock_session(session), Ok(true));
    assert_eq!(
        cache.write_session(session, b"x", LIFE),
        Err(Refused::NotHeld)
    );
    // A process that has ended holds no lock.
    let ended = Owner {
        process: 0x7fff_ffff,
        ..Owner::here(0)
    };
    assert!(matches!(
        cache.lock_session(b"s", ended),
        Ok(Claim::Taken(_))
    ));
    lock(&cache, b"s");
}

#[test]
fn what_is_not_used_for_its_time_expires() {
    let cache = cache(1 << 20).with_clock(fake_clock);
    for key in [b"a", b"b", b"c"] {
        visit(&cache, key, 1).expect("room");
    }
    pass(LIFE - 1);
    let session = lock(&cache, b"b");
    assert_eq!(cache.touch_session(session, LIFE), Ok(true));
    pass(1);
    assert_eq!(cache.has_session(b"a"), Ok(false));
    assert_eq!(cache.has_session(b"b"), Ok(true));
    // No collection is needed: a later write removes expired sessions.
    visit(&cache, b"d", 1).expect("room");
    assert_eq!(cache.stats().sessions, 2);
    pass(2 * LIFE);
    assert_eq!(cache.collect_sessions(), Ok(2));
    assert_eq!(cache.touch_session(session, LIFE), Ok(false));
}

/// Crawlers open a session with each request and never use it again. Their sessions evict each other, but no visitor's.
#[test]
fn a_flood_of_new_sessions_ends_none_that_was_used_again() {
    let cache = cache(1 << 20).with_clock(fake_clock);
    for n in 0..50 {
        visit(&cache, format!("visitor {n}").as_bytes(), 300).expect("room");
    }
    pass(2 * SECOND);
    for n in 0..50 {
        visit(&cache, format!("visitor {n}").as_bytes(), 1).expect("room");
    }
    for n in 0..20_000 {
        visit(&cache, format!("crawler {n}").as_bytes(), 100).expect("room");
    }
    let stats = cache.stats();
    assert!(stats.sessions_evicted > 15_000, "{stats:?}");
    assert!(stats.sessions_used * 2 <= stats.size, "{stats:?}");
    assert_eq!(stats.sessions_refused, 0);
    for n in 0..50 {
        assert_eq!(visit(&cache, format!("visitor {n}").as_bytes(), 0), Ok(301));
    }
}

/// If all sessions were used again, a new one is refused and counted; old ones can still be written.
#[test]
fn a_visitors_session_is_never_evicted() {
    let cache = cache(1 << 20).with_clock(fake_clock);
    let mut count = 0;
    while visit(&cache, format!("visitor {count}").as_bytes(), 1000).is_ok() {
        pass(2 * SECOND);
        visit(&cache, format!("visitor {count}").as_bytes(), 0).expect("it is there");
        count += 1;
    }
    let stats = cache.stats();
    assert_eq!((stats.sessions_evicted, stats.sessions_refused), (0, 1));
    assert!(stats.sessions_used * 100 > stats.size * 49, "{stats:?}");
    for n in 0..count {
        assert_eq!(
            visit(&cache, format!("visitor {n}").as_bytes(), 0),
            Ok(1000)
        );
    }
    // One more: the session that was created and could not be filled.
    assert_eq!(cache.end_sessions(), Ok(count + 1));
    visit(&cache, b"new", 1000).expect("room");
}

#[test]
fn sessions_and_cache_leave_each_other_their_half() {
    let cache = cache(1 << 20).with_clock(fake_clock);
    for n in 0..20_000 {
        assert_eq!(
            set(&cache, format!("{n}").as_bytes(), &[1; 200]),
            Ok(Stored::Yes)
        );
    }
    for n in 0..20_000 {
        visit(&cache, format!("{n}").as_bytes(), 200).expect("room");
        assert_eq!(
            set(&cache, format!("{n}").as_bytes(), &[2; 200]),
            Ok(Stored::Yes)
        );
    }
    let stats = cache.stats();
    assert!(stats.sessions_used * 100 > stats.size * 49, "{stats:?}");
    assert!(stats.sessions_used * 2 <= stats.size, "{stats:?}");
    assert!(
        (0..20_000)
            .rev()
            .take(500)
            .all(|n| get(&cache, format!("{n}").as_bytes()).is_some())
    );
}

#[test]
fn a_session_larger_than_half_of_the_memory_is_refused() {
    let cache = cache(1 << 20);
    visit(&cache, b"s", 1).expect("room");
    assert!(matches!(
        visit(&cache, b"s", 700_000),
        Err(Refused::TooLarge { .. })
    ));
    assert_eq!(visit(&cache, b"s", 0), Ok(1));
}
