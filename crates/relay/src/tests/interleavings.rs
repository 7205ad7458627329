//! Claims, withdrawals, deaths and wake-ups, in many orders of the accesses to the shared words.
//!
//! shuttle runs the threads of a model one at a time and chooses after each access to a word which goes on. A lost wake-up is a
//! deadlock, which it reports. Every schedule is sequentially consistent, as the words of the protocol are (`SeqCst`).

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::thread::{self, JoinHandle, Thread};

use crate::{Consumer, Dispatcher, Notify, Priority, Queues, RequestKey};

/// Schedules of each model: this many random ones, and this many with `PREEMPTIONS` preemptions at chosen places (PCT).
const SCHEDULES: usize = 1_500;
const PREEMPTIONS: usize = 3;

fn explore(model: impl Fn() + Send + Sync + 'static) {
    let model = Arc::new(model);
    let run = |scheduler: Box<dyn Scheduler + Send>| {
        let mut config = shuttle::Config::new();
        config.silence_warnings = true;
        let model = Arc::clone(&model);
        shuttle::Runner::new(scheduler, config).run(move || model());
    };
    run(Box::new(RandomScheduler::new(SCHEDULES)));
    run(Box::new(PctScheduler::new(PREEMPTIONS, SCHEDULES)));
}

/// How often each request was run. Its number is the byte in its slot.
#[derive(Default)]
struct Runs([AtomicUsize; 4]);

impl Runs {
    fn count(&self, request: u8) {
        self.0[usize::from(request)].fetch_add(1, Relaxed);
    }

    fn of(&self, request: u8) -> usize {
        self.0[usize::from(request)].load(Relaxed)
    }
}

/// Runs a worker: claims and answers until all of its queues are closed. `fronts`: the threads to wake, by queue.
fn work(consumers: Vec<Consumer>, fronts: &[Thread], runs: &Runs) {
    let queues = Queues::default();
    let all: Vec<_> = consumers.into_iter().map(Rc::new).collect();
    for consumer in &all {
        queues.add(Rc::clone(consumer), 1);
    }
    loop {
        if let Some((consumer, key)) = queues.claim() {
            let mut request = Vec::new();
            consumer.read(key, &mut request);
            runs.count(request[0]);
            if consumer.answer(key, &request, true) == Notify::Yes {
                let front = all.iter().position(|other| Rc::ptr_eq(other, &consumer));
                fronts[front.expect("one of them")].unpark();
            }
        } else if all.iter().all(|consumer| consumer.is_closed()) {
            return;
        } else if queues.sleep() {
            thread::park();
            queues.mark_awake();
        }
    }
}

/// One thread of a front.
struct Front {
    dispatcher: Dispatcher,
    workers: Vec<Thread>,
}

impl Front {
    fn new() -> Front {
        Front {
            dispatcher: Dispatcher::open().expect("memory").0,
            workers: Vec::new(),
        }
    }

    fn post(&self, request: u8, priority: Priority) -> RequestKey {
        let slot = self.dispatcher.reserve().expect("there is room");
        self.dispatcher.write(&slot, &[request]);
        let key = self.dispatcher.post(slot, priority);
        self.wake();
        key
    }

    fn wake(&self) {
        if let Some(consumer) = self.dispatcher.wake() {
            self.workers[usize::from(consumer)].unpark();
        }
    }

    /// Sleeps until a number of requests have ended, and frees them.
    fn until_ended(&self, mut count: usize) {
        while count > 0 {
            self.dispatcher.drain_completions(|completion| {
                assert!(completion.answered && completion.ended);
                count -= 1;
                self.dispatcher.free(completion.key);
            });
            if count > 0 && self.dispatcher.sleep() {
                thread::park();
                self.dispatcher.mark_awake();
            }
        }
    }

    /// Gives the front's workers no more requests.
    fn close(&self) {
        for (consumer, worker) in self.workers.iter().enumerate() {
            self.dispatcher.close(u16::try_from(consumer).expect("few"));
            worker.unpark();
        }
    }
}

/// Starts a front and workers that claim from it alone.
fn start(workers: usize) -> (Front, Vec<JoinHandle<()>>, Arc<Runs>) {
    let mut front = Front::new();
    let runs = Arc::new(Runs::default());
    let handles: Vec<JoinHandle<()>> = (0..workers)
        .map(|_| {
            let (consumer, runs) = (Consumer::beside(&front.dispatcher), Arc::clone(&runs));
            let me = thread::current();
            thread::spawn(move || work(vec![consumer], &[me], &runs))
        })
        .collect();
    front.workers = handles
        .iter()
        .map(|handle| handle.thread().clone())
        .collect();
    (front, handles, runs)
}

fn join(handles: Vec<JoinHandle<()>>) {
    for handle in handles {
        handle.join().expect("a worker");
    }
}

#[test]
fn each_request_is_run_once_and_no_wake_up_is_lost() {
    explore(|| {
        let (front, handles, runs) = start(2);
        front.post(0, Priority::Normal);
        front.post(1, Priority::Retry);
        front.until_ended(2);
        front.post(2, Priority::Normal);
        front.until_ended(1);
        assert_eq!([0, 1, 2].map(|request| runs.of(request)), [1; 3]);
        front.close();
        join(handles);
    });
}

#[test]
fn what_was_withdrawn_is_never_run_and_what_was_not_is_answered() {
    explore(|| {
        let (front, handles, runs) = start(2);
        let key = front.post(0, Priority::Normal);
        front.post(1, Priority::Normal);
        let withdrawn = front.dispatcher.try_withdraw(key);
        front.until_ended(2 - usize::from(withdrawn));
        assert_eq!(runs.of(0), usize::from(!withdrawn));
        assert_eq!(runs.of(1), 1);
        front.close();
        join(handles);
    });
}

#[test]
fn what_a_worker_died_with_is_known_and_the_rest_is_run() {
    explore(|| {
        let (mut front, handles, runs) = start(1);
        let dying = Consumer::beside(&front.dispatcher);
        let dies = thread::spawn(move || {
            if dying.claim_of(1).is_some() {
                dying.begins(1);
            }
        });
        front.workers.push(dies.thread().clone());
        front.post(0, Priority::Normal);
        front.post(1, Priority::Normal);
        dies.join().expect("it ends");
        let lost = front.dispatcher.claimed_by(1);
        front.dispatcher.remove_consumer(1);
        front.workers.pop();
        front.until_ended(2 - lost.len());
        assert_eq!(runs.of(0) + runs.of(1), 2 - lost.len());
        for completion in &lost {
            front.dispatcher.free(completion.key);
            front.post(2, Priority::Retry);
        }
        front.until_ended(lost.len());
        assert_eq!(runs.of(2), lost.len());
        front.close();
        join(handles);
    });
}

#[test]
fn a_worker_of_two_fronts_sleeps_only_when_both_queues_are_empty() {
    explore(|| {
        let runs = Arc::new(Runs::default());
        let mut fronts = [Front::new(), Front::new()];
        let consumers = fronts
            .iter()
            .map(|front| Consumer::beside(&front.dispatcher))
            .collect();
        let (send, started) = shuttle::sync::mpsc::channel::<Vec<Thread>>();
        let counted = Arc::clone(&runs);
        let worker = thread::spawn(move || {
            let fronts = started.recv().expect("the threads of the fronts");
            work(consumers, &fronts, &counted);
        });
        for front in &mut fronts {
            front.workers.push(worker.thread().clone());
        }
        let [first, second] = fronts;
        let other = thread::spawn(move || {
            second.post(1, Priority::Normal);
            second.until_ended(1);
            second.close();
        });
        let threads = vec![thread::current(), other.thread().clone()];
        send.send(threads).expect("the worker waits");
        first.post(0, Priority::Normal);
        first.until_ended(1);
        first.close();
        other.join().expect("the other front");
        worker.join().expect("the worker");
        assert_eq!((runs.of(0), runs.of(1)), (1, 1));
    });
}
