//! Steps in random order, compared with a model of the expected state.

use std::collections::{HashMap, HashSet};
use std::os::fd::OwnedFd;

use proptest::prelude::*;

use super::{claim, completions, post, worker};
use crate::{Consumer, Dispatcher, Priority, RequestKey};

/// A step of the test.
#[derive(Debug, Clone)]
enum Step {
    Post(bool),
    TakeBack(usize),
    Cancel(usize),
    Claim(usize),
    /// A worker claims and dies before it does anything else: the queue's head still points to the request.
    ClaimAndDie(usize),
    /// A worker answers one of its requests.
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

/// The most requests that a worker of the model has.
const MOST: usize = 3;

/// The dispatcher with its workers, and the expected state of all requests.
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
