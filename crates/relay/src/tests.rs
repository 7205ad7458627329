//! Both sides in one process: whatever happens in whatever order, each request is answered once or known to be lost.

mod queues;

use std::collections::{HashMap, HashSet};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use proptest::prelude::*;

use crate::layout::{LANES, ROOM};
use crate::{Desk, Lane, News, Order, Seat, Then};

fn post(desk: &Desk, lane: Lane, bytes: &[u8]) -> Order {
    let slot = desk.reserve().expect("there is room");
    desk.write(&slot, bytes);
    desk.post(slot, lane)
}

fn news(desk: &Desk) -> Vec<News> {
    let mut all = Vec::new();
    desk.news(|news| all.push(news));
    all
}

fn worker(desk: &Desk, memory: &OwnedFd) -> (u16, Seat) {
    let seat = desk.seat().expect("a seat");
    (seat, Seat::take(memory, seat).expect("its memory"))
}

/// From this queue alone.
fn claim(seat: &Seat) -> Option<Order> {
    let order = (0..LANES).find_map(|lane| seat.claim_of(lane))?;
    seat.begins(crate::memory::now());
    Some(order)
}

fn read(desk: &Desk, order: Order) -> Vec<u8> {
    let mut bytes = Vec::new();
    desk.read(order, &mut bytes);
    bytes
}

#[test]
fn bytes_go_there_and_back() {
    let (desk, memory) = Desk::open().unwrap();
    let (_, seat) = worker(&desk, &memory);
    for length in [0, 1, 7, 8, 9, 1000, ROOM] {
        let sent: Vec<u8> = (0..length).map(|n| n as u8).collect();
        let order = post(&desk, Lane::Usual, &sent);
        assert_eq!(claim(&seat), Some(order));
        let mut got = b"x".to_vec();
        seat.read(order, &mut got);
        assert_eq!(got[1..], sent);
        got.truncate(ROOM);
        assert_eq!(seat.answer(order, &got, true), Then::Nothing);
        let all = news(&desk);
        let (answered, ended) = (true, true);
        assert_eq!(
            all,
            [News {
                order,
                answered,
                ended
            }]
        );
        assert!(read(&desk, order) == got);
        desk.free(order);
    }
}

#[test]
fn first_come_first_served_but_for_the_first_lane() {
    let (desk, memory) = Desk::open().unwrap();
    let (_, seat) = worker(&desk, &memory);
    let orders = [1, 2, 3].map(|n| post(&desk, Lane::Usual, &[n]));
    let again = post(&desk, Lane::First, &[4]);
    assert!(desk.take_back(orders[1]) && !desk.take_back(orders[1]));
    assert_eq!(claim(&seat), Some(again));
    assert_eq!(claim(&seat), Some(orders[0]));
    assert!(!desk.take_back(orders[0]), "it is claimed");
    assert_eq!(claim(&seat), Some(orders[2]));
    assert_eq!(claim(&seat), None);
    let mut passed = Vec::new();
    desk.passed(|order| passed.push(order));
    assert_eq!(passed, [again, orders[0], orders[1], orders[2]]);
}

#[test]
fn what_was_taken_back_uses_up_nothing() {
    let (desk, memory) = Desk::open().unwrap();
    let (_, seat) = worker(&desk, &memory);
    for _ in 0..20_000 {
        let order = post(&desk, Lane::Usual, b"x");
        assert!(desk.take_back(order));
        desk.passed(|_| {});
    }
    let order = post(&desk, Lane::Usual, b"y");
    assert_eq!(claim(&seat), Some(order));
}

#[test]
fn no_more_is_reserved_than_the_ring_has_room_for() {
    let (desk, _memory) = Desk::open().unwrap();
    for lane in [Lane::Usual, Lane::First] {
        for _ in 0..crate::layout::RING - 3 {
            assert!(desk.take_back(post(&desk, lane, b"x")));
        }
        let reserved: Vec<_> = std::iter::from_fn(|| desk.reserve()).collect();
        assert_eq!(reserved.len(), 3, "{lane:?}");
        let posted: Vec<_> = reserved
            .into_iter()
            .map(|slot| desk.post(slot, lane))
            .collect();
        assert!(posted.into_iter().all(|order| desk.take_back(order)));
        assert!(desk.reserve().is_none());
        desk.passed(|_| {});
    }
}

#[test]
fn who_was_given_up_writes_nowhere() {
    let (desk, memory) = Desk::open().unwrap();
    let ((_, late), (_, other)) = (worker(&desk, &memory), worker(&desk, &memory));
    let lost = post(&desk, Lane::Usual, b"lost");
    assert_eq!(claim(&late), Some(lost));
    desk.free(lost);
    let order = post(&desk, Lane::Usual, b"next");
    assert_eq!(order.slot, lost.slot);
    for is_claimed in [false, true] {
        if is_claimed {
            assert_eq!(claim(&other), Some(order));
        }
        let _ = late.answer(lost, b"too late", false);
        let _ = late.end(lost);
        assert_eq!(news(&desk), [], "claimed: {is_claimed}");
    }
    assert_eq!(read(&desk, order), b"next");
    let _ = other.answer(order, b"answer", true);
    assert_eq!(news(&desk).len(), 1);
}

#[test]
fn who_sleeps_is_woken_and_who_is_closed_claims_nothing() {
    let (desk, memory) = Desk::open().unwrap();
    let ((_, a), (_, b)) = (worker(&desk, &memory), worker(&desk, &memory));
    a.set_room(1);
    b.set_room(1);
    assert_eq!((desk.room(), desk.wake()), (0, None));
    assert!(a.sleep() && b.sleep());
    assert_eq!(desk.room(), 2);
    let order = post(&desk, Lane::Usual, b"x");
    assert_eq!(desk.wake(), Some(0));
    assert_eq!(desk.room(), 2, "woken, but it has claimed nothing yet");
    assert_eq!(claim(&a), Some(order));
    assert_eq!((desk.room(), desk.active(u64::MAX)), (1, (1, 1)));
    let then = a.answer(order, b"y", true);
    assert_eq!(then, Then::Nothing);
    post(&desk, Lane::Usual, b"z");
    assert!(!a.sleep(), "there is something to do");
    desk.close(1);
    assert_eq!((desk.wake(), claim(&b)), (None, None));
    assert!(b.is_closed() && b.sleep());
    assert_eq!(desk.room(), 0);
    desk.leave(1);
    let (seat, b) = worker(&desk, &memory);
    assert_eq!(seat, 1, "used again");
    assert!(claim(&b).is_some());
}

#[test]
fn the_one_with_the_fewest_requests_is_woken_first() {
    let (desk, memory) = Desk::open().unwrap();
    let seats = [3, 8, 5, 8].map(|room| {
        let (_, seat) = worker(&desk, &memory);
        seat.set_room(room);
        assert!(seat.sleep());
        seat
    });
    assert_eq!((desk.room(), desk.computing()), (24, 0));
    seats[2].set_runs(true);
    assert_eq!(desk.computing(), 1);
    seats[1].rise();
    assert_eq!(desk.room(), 16);
    assert!(seats[1].sleep());
    let woken: Vec<_> = std::iter::from_fn(|| desk.wake()).collect();
    assert_eq!(woken, [1, 3, 2, 0]);
}

#[test]
fn a_worker_with_several_requests_hears_of_each() {
    let (desk, memory) = Desk::open().unwrap();
    let (number, seat) = worker(&desk, &memory);
    let orders = [1, 2, 3].map(|n| post(&desk, Lane::Usual, &[n]));
    assert_eq!(orders.map(|_| claim(&seat)), orders.map(Some));
    let signals = seat.signals();
    assert_eq!(desk.cancel(orders[1]), Some(number));
    assert_ne!(seat.signals(), signals);
    assert_eq!(
        orders.map(|order| seat.is_cancelled(order)),
        [false, true, false]
    );
    let signals = seat.signals();
    assert_eq!(desk.hold(orders[2], true), Some(number));
    assert_eq!(desk.hold(orders[2], true), None, "it is held already");
    assert_eq!(
        orders.map(|order| seat.is_held(order)),
        [false, false, true]
    );
    assert_eq!(desk.hold(orders[2], false), Some(number));
    assert!(!seat.is_held(orders[2]) && seat.signals() > signals);
    let held = desk.held_by(number);
    let held: HashSet<Order> = held.iter().map(|news| news.order).collect();
    assert_eq!(held, HashSet::from(orders));
}

#[test]
fn the_front_is_woken_once() {
    let (desk, memory) = Desk::open().unwrap();
    let (_, seat) = worker(&desk, &memory);
    let orders = [1, 2, 3, 4].map(|n| post(&desk, Lane::Usual, &[n]));
    assert!(orders.iter().all(|_| claim(&seat).is_some()));
    assert!(desk.sleep());
    assert_eq!(seat.answer(orders[0], b"", true), Then::Wake);
    assert_eq!(seat.answer(orders[1], b"", true), Then::Nothing);
    assert!(!desk.sleep(), "there is news");
    assert_eq!(news(&desk).len(), 2);
    assert!(desk.sleep());
    desk.rise();
    assert_eq!(seat.answer(orders[2], b"", true), Then::Nothing);
    assert_eq!(seat.end(orders[3]), Then::Nothing);
    assert_eq!(news(&desk).len(), 2);
}

#[test]
fn one_that_nobody_waits_for_is_cancelled_where_it_is() {
    let (desk, memory) = Desk::open().unwrap();
    let (number, seat) = worker(&desk, &memory);
    let order = post(&desk, Lane::Usual, b"");
    assert_eq!(claim(&seat), Some(order));
    assert!(!seat.is_cancelled(order));
    assert_eq!(desk.holder(order), Some(number));
    assert_eq!(desk.cancel(order), Some(number));
    assert!(seat.is_cancelled(order));
    let _ = seat.end(order);
    assert_eq!(desk.cancel(order), None, "it has ended");
    let (answered, ended) = (false, true);
    assert_eq!(
        news(&desk),
        [News {
            order,
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
    News,
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
        2 => Just(Step::News),
    ]
}

/// Requests that a worker of the model has at most.
const MOST: usize = 3;

/// What should be the case.
struct Model {
    desk: Desk,
    memory: OwnedFd,
    workers: Vec<(u16, Seat, Vec<Order>)>,
    posted: Vec<Order>,
    claimed: HashMap<Order, bool>,
    ended: HashSet<Order>,
    lost: usize,
}

impl Model {
    fn new() -> Model {
        let (desk, memory) = Desk::open().unwrap();
        let workers = (0..3).map(|_| worker(&desk, &memory));
        let workers = workers
            .map(|(number, seat)| (number, seat, Vec::new()))
            .collect();
        Model {
            desk,
            memory,
            workers,
            posted: Vec::new(),
            claimed: HashMap::new(),
            ended: HashSet::new(),
            lost: 0,
        }
    }

    fn take(&mut self, order: Order, worker: usize) {
        let at = self.posted.iter().position(|other| *other == order);
        self.posted
            .remove(at.expect("claimed once, and only what is posted"));
        self.claimed.insert(order, false);
        self.workers[worker].2.push(order);
    }

    fn news(&mut self) {
        for news in news(&self.desk) {
            let answered = self.claimed.get(&news.order).copied();
            assert_eq!(answered, Some(news.answered), "of what nobody has");
            if news.ended {
                assert!(self.ended.remove(&news.order), "it goes on");
                self.claimed.remove(&news.order);
                self.desk.free(news.order);
            }
        }
        assert!(self.ended.is_empty(), "what has ended is news");
    }

    fn die(&mut self, worker: usize) {
        self.news();
        let (number, _, has) = &mut self.workers[worker];
        let (number, has) = (*number, std::mem::take(has));
        let held = self.desk.held_by(number);
        let orders: HashSet<Order> = held.iter().map(|news| news.order).collect();
        assert_eq!(orders, HashSet::from_iter(has));
        for news in held {
            assert_eq!(self.claimed.remove(&news.order), Some(news.answered));
            self.lost += 1;
            self.desk.free(news.order);
        }
        self.desk.leave(number);
        let (number, seat) = self::worker(&self.desk, &self.memory);
        self.workers[worker] = (number, seat, Vec::new());
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Post(first) => {
                let lane = if first { Lane::First } else { Lane::Usual };
                self.posted.push(post(&self.desk, lane, b"request"));
            }
            Step::TakeBack(n) if !self.posted.is_empty() => {
                let order = self.posted.swap_remove(n % self.posted.len());
                assert!(self.desk.take_back(order));
            }
            Step::Cancel(n) if !self.claimed.is_empty() => {
                let order = *self.claimed.keys().nth(n % self.claimed.len()).unwrap();
                assert_eq!(
                    self.desk.cancel(order).is_none(),
                    self.ended.contains(&order)
                );
            }
            Step::Claim(n) if self.workers[n].2.len() < MOST => match claim(&self.workers[n].1) {
                Some(order) => self.take(order, n),
                None => assert!(self.posted.is_empty(), "it missed some"),
            },
            Step::ClaimAndDie(n) if self.workers[n].2.len() < MOST && !self.posted.is_empty() => {
                let order = self.posted[0];
                assert!(self.workers[n].1.win(order));
                self.take(order, n);
                self.die(n);
            }
            Step::Answer(n, which) if !self.workers[n].2.is_empty() => {
                let (_, seat, has) = &self.workers[n];
                let order = has[which % has.len()];
                if !self.claimed[&order] {
                    let _ = seat.answer(order, b"answer", false);
                    self.claimed.insert(order, true);
                }
            }
            Step::End(n, which) if !self.workers[n].2.is_empty() => {
                let (_, seat, has) = &mut self.workers[n];
                let order = has.swap_remove(which % has.len());
                let _ = seat.end(order);
                self.ended.insert(order);
            }
            Step::Die(n) => self.die(n),
            Step::News => self.news(),
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
        model.news();
        while !model.posted.is_empty() {
            model.step(&Step::Claim(0));
            model.step(&Step::End(0, 0));
        }
        model.news();
        prop_assert!(model.claimed.is_empty());
        prop_assert_eq!(model.desk.free_slots(), crate::SLOTS, "a slot is lost");
    }
}

#[test]
fn threads_that_claim_at_the_same_time() {
    const REQUESTS: u32 = 200_000;
    let (desk, memory) = Desk::open().unwrap();
    let over = AtomicBool::new(false);
    let slept = AtomicUsize::new(0);
    let mut handles = Vec::new();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            let (number, seat) = worker(&desk, &memory);
            let (over, slept) = (&over, &slept);
            let handle = scope.spawn(move || {
                let mut bytes = Vec::new();
                while !over.load(Ordering::Relaxed) {
                    if let Some(order) = claim(&seat) {
                        bytes.clear();
                        seat.read(order, &mut bytes);
                        bytes.reverse();
                        let _ = seat.answer(order, &bytes, true);
                    } else if seat.sleep() {
                        slept.fetch_add(1, Ordering::Relaxed);
                        std::thread::park_timeout(Duration::from_secs(1));
                        seat.rise();
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
                let order = post(&desk, Lane::Usual, text.as_bytes());
                if sent % 5 == 0 && desk.take_back(order) {
                    got += 1;
                } else {
                    waiting.insert(order, text);
                }
                sent += 1;
                if let Some(seat) = desk.wake() {
                    handles[usize::from(seat)].1.unpark();
                }
            }
            desk.passed(|_| {});
            for news in news(&desk) {
                let text = waiting.remove(&news.order).expect("asked for, once");
                let answer: Vec<u8> = text.bytes().rev().collect();
                assert!(read(&desk, news.order) == answer);
                desk.free(news.order);
                got += 1;
            }
        }
        over.store(true, Ordering::Relaxed);
        handles.iter().for_each(|(_, thread)| thread.unpark());
    });
}
