//! Tests of one dispatcher and several consumers, each on a thread of its own.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::{claim, completions, post, read, worker};
use crate::{Dispatcher, Priority};

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
