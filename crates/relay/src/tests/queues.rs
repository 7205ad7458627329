//! Workers that claim from several queues: no request is lost, none runs twice, no worker sleeps while one can be claimed.

use std::collections::HashSet;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread::Thread;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::{completions, post};
use crate::{Consumer, Dispatcher, Notify, Priority, Queues, RequestKey};

const QUEUES: usize = 3;
const WORKERS: usize = 3;

/// The number of a queue, and a consumer of it.
struct Place(usize, Consumer);

impl AsRef<Consumer> for Place {
    fn as_ref(&self) -> &Consumer {
        &self.1
    }
}

#[derive(Debug, Clone)]
enum Step {
    Post(usize, bool),
    TakeBack(usize),
    Claim(usize),
    End(usize, usize),
    Sleep(usize),
    /// A worker dies, and another takes its consumers.
    Die(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let worker = || 0..WORKERS;
    prop_oneof![
        6 => (0..QUEUES, any::<bool>()).prop_map(|(queue, first)| Step::Post(queue, first)),
        1 => any::<usize>().prop_map(Step::TakeBack),
        6 => worker().prop_map(Step::Claim),
        4 => (worker(), any::<usize>()).prop_map(|(n, which)| Step::End(n, which)),
        2 => worker().prop_map(Step::Sleep),
        1 => worker().prop_map(Step::Die),
    ]
}

struct Worker {
    queues: Queues<Place>,
    consumers: Vec<u16>,
    places: Vec<Rc<Place>>,
    has: Vec<(usize, RequestKey)>,
}

struct Model {
    dispatchers: Vec<(Dispatcher, std::os::fd::OwnedFd)>,
    workers: Vec<Worker>,
    /// Posted requests: the queue, the key, and whether it is a retry.
    posted: Vec<(usize, RequestKey, bool)>,
    ended: HashSet<(usize, RequestKey)>,
    sleeping: HashSet<usize>,
}

impl Model {
    fn new() -> Model {
        let dispatchers: Vec<_> = (0..QUEUES).map(|_| Dispatcher::open().unwrap()).collect();
        let workers = (0..WORKERS).map(|_| Worker::at(&dispatchers)).collect();
        Model {
            dispatchers,
            workers,
            posted: Vec::new(),
            ended: HashSet::new(),
            sleeping: HashSet::new(),
        }
    }

    fn claim(&mut self, worker: usize) {
        self.wake(worker);
        let Some((place, key)) = self.workers[worker].queues.claim() else {
            assert!(self.posted.is_empty(), "it missed some");
            return;
        };
        let its =
            |(queue, other, _): &(usize, RequestKey, bool)| *queue == place.0 && *other == key;
        let at = self.posted.iter().position(its);
        let at = at.expect("claimed once, and only what is posted");
        let (.., first) = self.posted.remove(at);
        let waits_first = self.posted.iter().any(|(_, _, first)| *first);
        assert!(first || !waits_first, "those that are repeated go before");
        self.workers[worker].has.push((place.0, key));
    }

    fn wake(&mut self, worker: usize) {
        if self.sleeping.remove(&worker) {
            self.workers[worker].queues.mark_awake();
        }
    }

    /// Posts a request; its queue wakes a sleeping worker, if there is one.
    fn post(&mut self, queue: usize, first: bool) {
        let priority = if first {
            Priority::Retry
        } else {
            Priority::Normal
        };
        let dispatcher = &self.dispatchers[queue].0;
        self.posted
            .push((queue, post(dispatcher, priority, b"x"), first));
        match dispatcher.wake() {
            Some(consumer) => {
                let woken = |n: &usize| self.workers[*n].consumers[queue] == consumer;
                let woken = (0..WORKERS).find(woken).expect("one of ours");
                assert!(self.sleeping.contains(&woken), "it was awake");
                self.wake(woken);
            }
            None => assert!(self.sleeping.is_empty(), "one sleeps on"),
        }
    }

    fn drain_completions(&mut self) {
        for (queue, (dispatcher, _)) in self.dispatchers.iter().enumerate() {
            for completion in completions(dispatcher) {
                assert!(self.ended.remove(&(queue, completion.key)), "it goes on");
                dispatcher.free(completion.key);
            }
            dispatcher.drain_dequeued(|_| {});
        }
        assert!(
            self.ended.is_empty(),
            "each end has a completion in its queue"
        );
    }

    fn die(&mut self, worker: usize) {
        self.drain_completions();
        self.sleeping.remove(&worker);
        let dead = std::mem::replace(&mut self.workers[worker], Worker::none());
        let mut held = HashSet::new();
        for (queue, ((dispatcher, _), consumer)) in
            self.dispatchers.iter().zip(&dead.consumers).enumerate()
        {
            for completion in dispatcher.claimed_by(*consumer) {
                held.insert((queue, completion.key));
                dispatcher.free(completion.key);
            }
            dispatcher.remove_consumer(*consumer);
        }
        assert_eq!(held, HashSet::from_iter(dead.has));
        self.workers[worker] = Worker::at(&self.dispatchers);
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Post(queue, first) => self.post(queue, first),
            Step::TakeBack(n) if !self.posted.is_empty() => {
                let (queue, key, _) = self.posted.swap_remove(n % self.posted.len());
                assert!(self.dispatchers[queue].0.try_withdraw(key));
            }
            Step::Claim(n) => self.claim(n),
            Step::End(n, which) if !self.workers[n].has.is_empty() => {
                let worker = &mut self.workers[n];
                let (queue, key) = worker.has.swap_remove(which % worker.has.len());
                let _ = worker.places[queue].1.answer(key, b"y", true);
                self.ended.insert((queue, key));
            }
            Step::Sleep(n) if !self.sleeping.contains(&n) => {
                // Withdrawn requests stay in a queue until the head has passed them.
                self.drain_completions();
                if self.workers[n].queues.sleep() {
                    assert!(self.posted.is_empty(), "it sleeps while something waits");
                    self.sleeping.insert(n);
                } else {
                    assert!(!self.posted.is_empty(), "it stays awake for nothing");
                }
            }
            Step::Die(n) => self.die(n),
            _ => {}
        }
    }
}

impl Worker {
    fn none() -> Worker {
        Worker {
            queues: Queues::default(),
            consumers: Vec::new(),
            places: Vec::new(),
            has: Vec::new(),
        }
    }

    fn at(dispatchers: &[(Dispatcher, std::os::fd::OwnedFd)]) -> Worker {
        let mut worker = Worker::none();
        for (queue, (dispatcher, memory)) in dispatchers.iter().enumerate() {
            let (number, consumer) = super::worker(dispatcher, memory);
            worker.consumers.push(number);
            let place = Rc::new(Place(queue, consumer));
            worker.queues.add(Rc::clone(&place), 1);
            worker.places.push(place);
        }
        worker
    }
}

proptest! {
    #[test]
    fn of_several_queues_none_is_missed(steps in prop::collection::vec(step(), 1..200)) {
        let mut model = Model::new();
        steps.iter().for_each(|step| model.step(step));
        while !model.posted.is_empty() {
            model.step(&Step::Claim(0));
        }
        for n in 0..WORKERS {
            while !model.workers[n].has.is_empty() {
                model.step(&Step::End(n, 0));
            }
        }
        model.drain_completions();
        for (dispatcher, _) in &model.dispatchers {
            prop_assert_eq!(dispatcher.free_slots(), crate::SLOTS, "a slot is lost");
        }
    }
}

#[test]
fn queues_have_their_turns_and_what_is_repeated_goes_first() {
    let dispatchers: Vec<_> = (0..QUEUES).map(|_| Dispatcher::open().unwrap()).collect();
    let worker = Worker::at(&dispatchers);
    for queue in [0, 0, 0, 0, 1, 2, 2] {
        post(&dispatchers[queue].0, Priority::Normal, b"x");
    }
    post(&dispatchers[2].0, Priority::Retry, b"x");
    let claimed = std::iter::from_fn(|| worker.queues.claim());
    let claimed: Vec<_> = claimed.map(|(place, _)| place.0).collect();
    assert_eq!(claimed, [2, 0, 1, 2, 0, 2, 0, 0]);
}

#[test]
fn a_claim_from_one_queue_is_seen_in_all() {
    let dispatchers: Vec<_> = (0..2).map(|_| Dispatcher::open().unwrap()).collect();
    let worker = Worker::at(&dispatchers);
    assert!(worker.queues.sleep());
    post(&dispatchers[0].0, Priority::Normal, b"x");
    assert_eq!(
        (dispatchers[0].0.wake(), dispatchers[1].0.wake()),
        (Some(0), Some(0))
    );
    assert_eq!(dispatchers[1].0.idle_capacity(), 1, "it was woken");
    worker.queues.mark_awake();
    assert!(worker.queues.claim().is_some());
    assert_eq!(
        dispatchers[1].0.idle_capacity(),
        0,
        "it has claimed something else"
    );
    assert_eq!(dispatchers[1].0.active(u64::MAX), (1, 0));
}

/// A time longer than any wait in a test that passes.
const LOST: Duration = Duration::from_secs(20);

fn rest() {
    let began = Instant::now();
    std::thread::park_timeout(LOST);
    assert!(began.elapsed() < LOST, "a wake-up was lost");
}

/// Runs a worker: claims and answers until `over`.
fn serve(consumers: Vec<Consumer>, fronts: &[Thread], over: &AtomicBool, slept: &AtomicUsize) {
    let queues = Queues::default();
    for (queue, consumer) in consumers.into_iter().enumerate() {
        queues.add(Rc::new(Place(queue, consumer)), 1);
    }
    while !over.load(Ordering::SeqCst) {
        if let Some((place, key)) = queues.claim() {
            if place.1.answer(key, b"y", true) == Notify::Yes {
                fronts[place.0].unpark();
            }
        } else if queues.sleep() {
            slept.fetch_add(1, Ordering::Relaxed);
            rest();
            queues.mark_awake();
        }
    }
}

/// Posts a few requests at a time, and sleeps until they are answered.
fn post_requests(dispatcher: &Dispatcher, workers: &[Thread], requests: usize) {
    let (mut sent, mut waiting) = (0, HashSet::new());
    while sent < requests || !waiting.is_empty() {
        while sent < requests && waiting.len() < 1 + sent % 4 {
            waiting.insert(post(dispatcher, Priority::Normal, b"x"));
            sent += 1;
            if let Some(consumer) = dispatcher.wake() {
                workers[usize::from(consumer)].unpark();
            }
        }
        for completion in completions(dispatcher) {
            assert!(waiting.remove(&completion.key), "answered once");
            dispatcher.free(completion.key);
        }
        dispatcher.drain_dequeued(|_| {});
        if waiting.len() > sent % 4 && dispatcher.sleep() {
            rest();
            dispatcher.mark_awake();
        }
    }
}

#[test]
fn no_wake_up_is_lost_between_threads() {
    const REQUESTS: usize = if cfg!(miri) { 100 } else { 20_000 };
    let dispatchers: Vec<_> = (0..QUEUES).map(|_| Dispatcher::open().unwrap()).collect();
    let consumers: Vec<Vec<Consumer>> = (0..WORKERS)
        .map(|_| {
            let consumer =
                |(dispatcher, memory): &(Dispatcher, _)| super::worker(dispatcher, memory).1;
            dispatchers.iter().map(consumer).collect()
        })
        .collect();
    let (over, slept) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        let (over, slept) = (&over, &slept);
        let (worker_channels, front_channels): (Vec<_>, Vec<_>) = (
            (0..WORKERS).map(|_| channel::<Vec<Thread>>()).collect(),
            (0..QUEUES).map(|_| channel::<Vec<Thread>>()).collect(),
        );
        let workers: Vec<_> = (consumers.into_iter().zip(worker_channels))
            .map(|(consumers, (sender, receiver))| {
                let work = move || serve(consumers, &receiver.recv().expect("fronts"), over, slept);
                (sender, scope.spawn(work))
            })
            .collect();
        let worker_threads: Vec<_> = workers.iter().map(|w| w.1.thread().clone()).collect();
        let fronts: Vec<_> = (dispatchers.into_iter().zip(front_channels))
            .map(|((dispatcher, _), (sender, receiver))| {
                let work = move || {
                    post_requests(&dispatcher, &receiver.recv().expect("workers"), REQUESTS)
                };
                (sender, scope.spawn(work))
            })
            .collect();
        let front_threads: Vec<Thread> = fronts.iter().map(|f| f.1.thread().clone()).collect();
        for (sender, _) in &workers {
            sender.send(front_threads.clone()).expect("it runs");
        }
        for (sender, _) in &fronts {
            sender.send(worker_threads.clone()).expect("it runs");
        }
        for (_, front) in fronts {
            front.join().expect("all is answered");
        }
        over.store(true, Ordering::SeqCst);
        worker_threads.iter().for_each(Thread::unpark);
    });
    assert!(slept.load(Ordering::Relaxed) > 0, "none has slept");
}
