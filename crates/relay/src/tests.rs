//! Both sides in one process: whatever happens in whatever order, each request is answered once or known to be lost.

mod queues;

use std::collections::{HashMap, HashSet};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use proptest::prelude::*;

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

/// From this queue alone.
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
        (dispatcher.idle_capacity(), staff(&dispatcher)),
        (24, [4, 0, 0])
    );
    consumers[2].set_running(true);
    assert_eq!(staff(&dispatcher), [4, 0, 1]);
    consumers[1].mark_awake();
    assert_eq!(dispatcher.idle_capacity(), 16);
    assert!(consumers[1].sleep());
    let woken: Vec<_> = std::iter::from_fn(|| dispatcher.wake()).collect();
    assert_eq!(woken, [1, 3, 2, 0]);
    assert_eq!(staff(&dispatcher), [4, 4, 4], "they are about to claim");
    consumers[0].begins(1);
    assert_eq!(staff(&dispatcher), [4, 3, 3]);
}

fn staff(dispatcher: &Dispatcher) -> [usize; 3] {
    let staff = dispatcher.staff();
    [staff.workers, staff.claiming, staff.computing]
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

/// What may happen next.
#[derive(Debug, Clone)]
enum Step {
    Post(bool),
    TakeBack(usize),
    Cancel(usize),
    Claim(usize),
    /// Claim as a worker that dies before anything else: the queue's head still points there.
    ClaimAndDie(usize),
    /// A worker's request, of several.
    Answer(usize, usize),
    End(usize, usize),
    Die(usize),
    Completion,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => any::<bool>().prop_map(Step::Post),
        1 => any::<usize>().prop_map(Step::TakeBack),
        1 => any::<usize>().prop_map(Step::Cancel),
        4 => (0usize..3).prop_map(Step::Claim),
        1 => (0usize..3).prop_map(Step::ClaimAndDie),
        3 => (0usize..3, any::<usize>()).prop_map(|(n, which)| Step::Answer(n, which)),
        3 => (0usize..3, any::<usize>()).prop_map(|(n, which)| Step::End(n, which)),
        1 => (0usize..3).prop_map(Step::Die),
        2 => Just(Step::Completion),
    ]
}

/// Requests that a worker of the model has at most.
const MOST: usize = 3;

/// What should be the case.
struct Model {
    dispatcher: Dispatcher,
    memory: OwnedFd,
    workers: Vec<(u16, Consumer, Vec<RequestKey>)>,
    posted: Vec<RequestKey>,
    claimed: HashMap<RequestKey, bool>,
    ended: HashSet<RequestKey>,
    lost: usize,
}

impl Model {
    fn new() -> Model {
        let (dispatcher, memory) = Dispatcher::open().unwrap();
        let workers = (0..3).map(|_| worker(&dispatcher, &memory));
        let workers = workers
            .map(|(number, consumer)| (number, consumer, Vec::new()))
            .collect();
        Model {
            dispatcher,
            memory,
            workers,
            posted: Vec::new(),
            claimed: HashMap::new(),
            ended: HashSet::new(),
            lost: 0,
        }
    }

    fn take(&mut self, key: RequestKey, worker: usize) {
        let at = self.posted.iter().position(|other| *other == key);
        self.posted
            .remove(at.expect("claimed once, and only what is posted"));
        self.claimed.insert(key, false);
        self.workers[worker].2.push(key);
    }

    fn drain_completions(&mut self) {
        for completion in completions(&self.dispatcher) {
            let answered = self.claimed.get(&completion.key).copied();
            assert_eq!(
                answered,
                Some(completion.answered),
                "of a request that no worker has"
            );
            if completion.ended {
                assert!(self.ended.remove(&completion.key), "it goes on");
                self.claimed.remove(&completion.key);
                self.dispatcher.free(completion.key);
            }
        }
        assert!(self.ended.is_empty(), "each end has a completion");
    }

    fn die(&mut self, worker: usize) {
        self.drain_completions();
        let (number, _, has) = &mut self.workers[worker];
        let (number, has) = (*number, std::mem::take(has));
        let held = self.dispatcher.claimed_by(number);
        let orders: HashSet<RequestKey> = held.iter().map(|completion| completion.key).collect();
        assert_eq!(orders, HashSet::from_iter(has));
        for completion in held {
            assert_eq!(
                self.claimed.remove(&completion.key),
                Some(completion.answered)
            );
            self.lost += 1;
            self.dispatcher.free(completion.key);
        }
        self.dispatcher.remove_consumer(number);
        let (number, consumer) = self::worker(&self.dispatcher, &self.memory);
        self.workers[worker] = (number, consumer, Vec::new());
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Post(first) => {
                let priority = if first {
                    Priority::Retry
                } else {
                    Priority::Normal
                };
                self.posted
                    .push(post(&self.dispatcher, priority, b"request"));
            }
            Step::TakeBack(n) if !self.posted.is_empty() => {
                let key = self.posted.swap_remove(n % self.posted.len());
                assert!(self.dispatcher.try_withdraw(key));
            }
            Step::Cancel(n) if !self.claimed.is_empty() => {
                let key = *self.claimed.keys().nth(n % self.claimed.len()).unwrap();
                assert_eq!(
                    self.dispatcher.cancel(key).is_none(),
                    self.ended.contains(&key)
                );
            }
            Step::Claim(n) if self.workers[n].2.len() < MOST => match claim(&self.workers[n].1) {
                Some(key) => self.take(key, n),
                None => assert!(self.posted.is_empty(), "it missed some"),
            },
            Step::ClaimAndDie(n) if self.workers[n].2.len() < MOST && !self.posted.is_empty() => {
                let key = self.posted[0];
                assert!(self.workers[n].1.try_claim(key));
                self.take(key, n);
                self.die(n);
            }
            Step::Answer(n, which) if !self.workers[n].2.is_empty() => {
                let (_, consumer, has) = &self.workers[n];
                let key = has[which % has.len()];
                if !self.claimed[&key] {
                    let _ = consumer.answer(key, b"answer", false);
                    self.claimed.insert(key, true);
                }
            }
            Step::End(n, which) if !self.workers[n].2.is_empty() => {
                let (_, consumer, has) = &mut self.workers[n];
                let key = has.swap_remove(which % has.len());
                let _ = consumer.end(key);
                self.ended.insert(key);
            }
            Step::Die(n) => self.die(n),
            Step::Completion => self.drain_completions(),
            _ => {}
        }
    }
}

proptest! {
    #[test]
    fn each_is_answered_once_or_lost_with_its_worker(steps in prop::collection::vec(step(), 1..300)) {
        let mut model = Model::new();
        steps.iter().for_each(|step| model.step(step));
        for n in (0..3).cycle().take(3 * MOST) {
            model.step(&Step::End(n, 0));
        }
        model.drain_completions();
        while !model.posted.is_empty() {
            model.step(&Step::Claim(0));
            model.step(&Step::End(0, 0));
        }
        model.drain_completions();
        prop_assert!(model.claimed.is_empty());
        prop_assert_eq!(model.dispatcher.free_slots(), crate::SLOTS, "a slot is lost");
    }
}

#[test]
fn threads_that_claim_at_the_same_time() {
    const REQUESTS: u32 = if cfg!(miri) { 200 } else { 200_000 };
    let (dispatcher, memory) = Dispatcher::open().unwrap();
    let over = AtomicBool::new(false);
    let slept = AtomicUsize::new(0);
    let mut handles = Vec::new();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            let (number, consumer) = worker(&dispatcher, &memory);
            let (over, slept) = (&over, &slept);
            let handle = scope.spawn(move || {
                let mut bytes = Vec::new();
                while !over.load(Ordering::Relaxed) {
                    if let Some(key) = claim(&consumer) {
                        bytes.clear();
                        consumer.read(key, &mut bytes);
                        bytes.reverse();
                        let _ = consumer.answer(key, &bytes, true);
                    } else if consumer.sleep() {
                        slept.fetch_add(1, Ordering::Relaxed);
                        std::thread::park_timeout(Duration::from_secs(1));
                        consumer.mark_awake();
                    }
                }
            });
            handles.push((number, handle.thread().clone()));
        }
        let mut waiting = HashMap::new();
        let (mut sent, mut got) = (0, 0);
        let began = Instant::now();
        while got < REQUESTS {
            assert!(began.elapsed() < Duration::from_secs(60), "{got} answered");
            while sent < REQUESTS && waiting.len() < 50 {
                let text = format!("request {sent}");
                let key = post(&dispatcher, Priority::Normal, text.as_bytes());
                if sent % 5 == 0 && dispatcher.try_withdraw(key) {
                    got += 1;
                } else {
                    waiting.insert(key, text);
                }
                sent += 1;
                if let Some(consumer) = dispatcher.wake() {
                    handles[usize::from(consumer)].1.unpark();
                }
            }
            dispatcher.drain_dequeued(|_| {});
            for completion in completions(&dispatcher) {
                let text = waiting.remove(&completion.key).expect("asked for, once");
                let answer: Vec<u8> = text.bytes().rev().collect();
                assert!(read(&dispatcher, completion.key) == answer);
                dispatcher.free(completion.key);
                got += 1;
            }
        }
        over.store(true, Ordering::Relaxed);
        handles.iter().for_each(|(_, thread)| thread.unpark());
    });
}
