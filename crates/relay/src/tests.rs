//! Tests of both sides in one process: in every order of events, each request is answered once or known to be lost.

mod model;
mod queues;
mod threads;

use std::collections::HashSet;
use std::os::fd::OwnedFd;

use crate::layout::{RINGS, SLOT_CAPACITY};
use crate::{Completion, Consumer, Dispatcher, Notify, Priority, RequestKey};

fn post(dispatcher: &Dispatcher, priority: Priority, bytes: &[u8]) -> RequestKey {
    let slot = dispatcher.reserve().expect("there is room");
    dispatcher.write(&slot, bytes);
    dispatcher.post(slot, priority)
}

fn completions(dispatcher: &Dispatcher) -> Vec<Completion> {
    let mut all = Vec::new();
    dispatcher.drain_completions(|completion| all.push(completion));
    all
}

fn worker(dispatcher: &Dispatcher, memory: &OwnedFd) -> (u16, Consumer) {
    let consumer = dispatcher.add_consumer().expect("a consumer");
    (
        consumer,
        Consumer::take(memory, consumer).expect("its memory"),
    )
}

/// Claims a request of this queue alone.
fn claim(consumer: &Consumer) -> Option<RequestKey> {
    let key = (0..RINGS).find_map(|priority| consumer.claim_of(priority))?;
    consumer.begins(crate::memory::now());
    Some(key)
}

fn read(dispatcher: &Dispatcher, key: RequestKey) -> Vec<u8> {
    let mut bytes = Vec::new();
    dispatcher.read(key, &mut bytes);
    bytes
}

#[test]
fn bytes_go_there_and_back() {
    let (dispatcher, memory) = Dispatcher::open().unwrap();
    let (_, consumer) = worker(&dispatcher, &memory);
    for length in [0, 1, 7, 8, 9, 1000, SLOT_CAPACITY] {
        let sent: Vec<u8> = (0..length).map(|n| n as u8).collect();
        let key = post(&dispatcher, Priority::Normal, &sent);
        assert_eq!(claim(&consumer), Some(key));
        let mut got = b"x".to_vec();
        consumer.read(key, &mut got);
        assert_eq!(got[1..], sent);
        got.truncate(SLOT_CAPACITY);
        assert_eq!(consumer.answer(key, &got, true), Notify::No);
        let all = completions(&dispatcher);
        let (answered, ended) = (true, true);
        assert_eq!(
            all,
            [Completion {
                key,
                answered,
                ended
            }]
        );
        assert!(read(&dispatcher, key) == got);
        dispatcher.free(key);
    }
}

#[test]
fn first_come_first_served_but_for_retries() {
    let (dispatcher, memory) = Dispatcher::open().unwrap();
    let (_, consumer) = worker(&dispatcher, &memory);
    let orders = [1, 2, 3].map(|n| post(&dispatcher, Priority::Normal, &[n]));
    let again = post(&dispatcher, Priority::Retry, &[4]);
    assert!(dispatcher.try_withdraw(orders[1]) && !dispatcher.try_withdraw(orders[1]));
    assert_eq!(claim(&consumer), Some(again));
    assert_eq!(claim(&consumer), Some(orders[0]));
    assert!(!dispatcher.try_withdraw(orders[0]), "it is claimed");
    assert_eq!(claim(&consumer), Some(orders[2]));
    assert_eq!(claim(&consumer), None);
    let mut passed = Vec::new();
    dispatcher.drain_dequeued(|key| passed.push(key));
    assert_eq!(passed, [again, orders[0], orders[1], orders[2]]);
}

#[test]
fn what_was_taken_back_uses_up_nothing() {
    let (dispatcher, memory) = Dispatcher::open().unwrap();
    let (_, consumer) = worker(&dispatcher, &memory);
    for _ in 0..20_000 {
        let key = post(&dispatcher, Priority::Normal, b"x");
        assert!(dispatcher.try_withdraw(key));
        dispatcher.drain_dequeued(|_| {});
    }
    let key = post(&dispatcher, Priority::Normal, b"y");
    assert_eq!(claim(&consumer), Some(key));
}

#[test]
fn no_more_is_reserved_than_the_ring_has_room_for() {
    let (dispatcher, _memory) = Dispatcher::open().unwrap();
    for priority in [Priority::Normal, Priority::Retry] {
        for _ in 0..crate::layout::RING_CAPACITY - 3 {
            assert!(dispatcher.try_withdraw(post(&dispatcher, priority, b"x")));
        }
        let reserved: Vec<_> = std::iter::from_fn(|| dispatcher.reserve()).collect();
        assert_eq!(reserved.len(), 3, "{priority:?}");
        let posted: Vec<_> = reserved
            .into_iter()
            .map(|slot| dispatcher.post(slot, priority))
            .collect();
        assert!(posted.into_iter().all(|key| dispatcher.try_withdraw(key)));
        assert!(dispatcher.reserve().is_none());
        dispatcher.drain_dequeued(|_| {});
    }
}

#[test]
fn who_was_given_up_writes_nowhere() {
    let (dispatcher, memory) = Dispatcher::open().unwrap();
    let ((_, late), (_, other)) = (worker(&dispatcher, &memory), worker(&dispatcher, &memory));
    let lost = post(&dispatcher, Priority::Normal, b"lost");
    assert_eq!(claim(&late), Some(lost));
    dispatcher.free(lost);
    let key = post(&dispatcher, Priority::Normal, b"next");
    assert_eq!(key.slot, lost.slot);
    for is_claimed in [false, true] {
        if is_claimed {
            assert_eq!(claim(&other), Some(key));
        }
        let _ = late.answer(lost, b"too late", false);
        let _ = late.end(lost);
        assert_eq!(completions(&dispatcher), [], "claimed: {is_claimed}");
    }
    assert_eq!(read(&dispatcher, key), b"next");
    let _ = other.answer(key, b"answer", true);
    assert_eq!(completions(&dispatcher).len(), 1);
}

#[test]
fn who_sleeps_is_woken_and_who_is_closed_claims_nothing() {
    let (dispatcher, memory) = Dispatcher::open().unwrap();
    let ((_, a), (_, b)) = (worker(&dispatcher, &memory), worker(&dispatcher, &memory));
    a.set_capacity(1);
    b.set_capacity(1);
    assert_eq!((dispatcher.idle_capacity(), dispatcher.wake()), (0, None));
    assert!(a.sleep() && b.sleep());
    assert_eq!(dispatcher.idle_capacity(), 2);
    let key = post(&dispatcher, Priority::Normal, b"x");
    assert_eq!(dispatcher.wake(), Some(0));
    assert_eq!(
        dispatcher.idle_capacity(),
        2,
        "woken, but it has claimed nothing yet"
    );
    assert_eq!(claim(&a), Some(key));
    assert_eq!(
        (dispatcher.idle_capacity(), dispatcher.active(u64::MAX)),
        (1, (1, 1))
    );
    let then = a.answer(key, b"y", true);
    assert_eq!(then, Notify::No);
    post(&dispatcher, Priority::Normal, b"z");
    assert!(!a.sleep(), "there is something to do");
    dispatcher.close(1);
    assert_eq!((dispatcher.wake(), claim(&b)), (None, None));
    assert!(b.is_closed() && b.sleep());
    assert_eq!(dispatcher.idle_capacity(), 0);
    dispatcher.remove_consumer(1);
    let (consumer, b) = worker(&dispatcher, &memory);
    assert_eq!(consumer, 1, "used again");
    assert!(claim(&b).is_some());
}

#[test]
fn the_one_with_the_fewest_requests_is_woken_first() {
    let (dispatcher, memory) = Dispatcher::open().unwrap();
    let consumers = [3, 8, 5, 8].map(|room| {
        let (_, consumer) = worker(&dispatcher, &memory);
        consumer.set_capacity(room);
        assert!(consumer.sleep());
        consumer
    });
    assert_eq!(
        (dispatcher.idle_capacity(), counts(&dispatcher)),
        (24, [4, 0, 0])
    );
    consumers[2].set_running(true);
    assert_eq!(counts(&dispatcher), [4, 0, 1]);
    consumers[1].mark_awake();
    assert_eq!(dispatcher.idle_capacity(), 16);
    assert!(consumers[1].sleep());
    let woken: Vec<_> = std::iter::from_fn(|| dispatcher.wake()).collect();
    assert_eq!(woken, [1, 3, 2, 0]);
    assert_eq!(counts(&dispatcher), [4, 4, 4], "they are about to claim");
    consumers[0].begins(1);
    assert_eq!(counts(&dispatcher), [4, 3, 3]);
}

fn counts(dispatcher: &Dispatcher) -> [usize; 3] {
    let counts = dispatcher.worker_counts();
    [counts.workers, counts.claiming, counts.computing]
}

#[test]
fn a_worker_with_several_requests_hears_of_each() {
    let (dispatcher, memory) = Dispatcher::open().unwrap();
    let (number, consumer) = worker(&dispatcher, &memory);
    let orders = [1, 2, 3].map(|n| post(&dispatcher, Priority::Normal, &[n]));
    assert_eq!(orders.map(|_| claim(&consumer)), orders.map(Some));
    let signals = consumer.signals();
    assert_eq!(dispatcher.cancel(orders[1]), Some(number));
    assert_ne!(consumer.signals(), signals);
    assert_eq!(
        orders.map(|key| consumer.is_cancelled(key)),
        [false, true, false]
    );
    let signals = consumer.signals();
    assert_eq!(dispatcher.hold(orders[2], true), Some(number));
    assert_eq!(dispatcher.hold(orders[2], true), None, "it is held already");
    assert_eq!(
        orders.map(|key| consumer.is_held(key)),
        [false, false, true]
    );
    assert_eq!(dispatcher.hold(orders[2], false), Some(number));
    assert!(!consumer.is_held(orders[2]) && consumer.signals() > signals);
    let held = dispatcher.claimed_by(number);
    let held: HashSet<RequestKey> = held.iter().map(|completion| completion.key).collect();
    assert_eq!(held, HashSet::from(orders));
}

#[test]
fn the_front_is_woken_once() {
    let (dispatcher, memory) = Dispatcher::open().unwrap();
    let (_, consumer) = worker(&dispatcher, &memory);
    let orders = [1, 2, 3, 4].map(|n| post(&dispatcher, Priority::Normal, &[n]));
    assert!(orders.iter().all(|_| claim(&consumer).is_some()));
    assert!(dispatcher.sleep());
    assert_eq!(consumer.answer(orders[0], b"", true), Notify::Yes);
    assert_eq!(consumer.answer(orders[1], b"", true), Notify::No);
    assert!(!dispatcher.sleep(), "a completion is there");
    assert_eq!(completions(&dispatcher).len(), 2);
    assert!(dispatcher.sleep());
    dispatcher.mark_awake();
    assert_eq!(consumer.answer(orders[2], b"", true), Notify::No);
    assert_eq!(consumer.end(orders[3]), Notify::No);
    assert_eq!(completions(&dispatcher).len(), 2);
}

#[test]
fn a_request_without_a_client_is_cancelled_where_it_is() {
    let (dispatcher, memory) = Dispatcher::open().unwrap();
    let (number, consumer) = worker(&dispatcher, &memory);
    let key = post(&dispatcher, Priority::Normal, b"");
    assert_eq!(claim(&consumer), Some(key));
    assert!(!consumer.is_cancelled(key));
    assert_eq!(dispatcher.owner_of(key), Some(number));
    assert_eq!(dispatcher.cancel(key), Some(number));
    assert!(consumer.is_cancelled(key));
    let _ = consumer.end(key);
    assert_eq!(dispatcher.cancel(key), None, "it has ended");
    let (answered, ended) = (false, true);
    assert_eq!(
        completions(&dispatcher),
        [Completion {
            key,
            answered,
            ended
        }]
    );
}
