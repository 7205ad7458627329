//! Servers that share a Redis: each with a memory of its own, and clients as workers are.
#![allow(dead_code, unreachable_pub, reason = "each test uses some of it")]

pub mod relay;

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cache::{Cache, Condition, Encoding, Refused, Stored, Write};
use cache_link::{Client, Tiered, Waiting, listener};
use testkit::service::Redis;
use tier::{Options, Tier};

pub struct Server {
    pub cache: &'static Cache,
    pub tier: Arc<Tier>,
    connector: OwnedFd,
}

pub fn options(url: String) -> Options {
    Options {
        url,
        prefix: "test:".into(),
        timeout: Duration::from_millis(300),
    }
}

impl Server {
    /// One that has found its Redis.
    pub fn of(redis: &Redis) -> Server {
        let server = Server::at(&format!("redis://127.0.0.1:{}", redis.port));
        server.until_there();
        server
    }

    pub fn at(url: &str) -> Server {
        Server::with(options(url.to_owned()), 1 << 20)
    }

    pub fn with(options: Options, bytes: u64) -> Server {
        let cache = Cache::map(&Cache::create(bytes).unwrap()).unwrap();
        let cache: &'static Cache = Box::leak(Box::new(cache));
        let (listener, connector) = listener().unwrap();
        let tier = Tier::start(cache, options, listener).unwrap();
        Server {
            cache,
            tier,
            connector,
        }
    }

    pub fn until_there(&self) {
        until("redis is there", || self.tier.status().is_there);
    }

    pub fn until_error(&self, part: &str) {
        let mut last = None;
        until(part, || {
            last = self.tier.status().error;
            last.as_ref().is_some_and(|error| error.contains(part))
        });
    }

    pub fn until_away(&self) {
        until("redis is away", || !self.tier.status().is_there);
    }

    pub fn worker(&self) -> Worker {
        let client = Client::new(self.connector.try_clone().unwrap(), Waiting::PLAIN);
        Worker {
            cache: self.cache,
            client,
        }
    }
}

/// Waits until it is so, for a while.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(10), "not yet: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

pub struct Worker {
    cache: &'static Cache,
    client: Client,
}

pub fn int(key: &str, int: i64) -> Write<'_> {
    Write::int(key.as_bytes(), int)
}

impl Worker {
    pub fn tiered(&self) -> Tiered<'_> {
        Tiered::new(self.cache, Some(&self.client))
    }

    pub fn get(&self, key: &str) -> Option<i64> {
        let found = self.tiered().read(key.as_bytes(), &mut Vec::new());
        found.expect("read").map(|found| found.int)
    }

    /// Whether the memory of its server has it, without a question.
    pub fn has_here(&self, key: &str) -> bool {
        let found = self.cache.read(key.as_bytes(), &mut Vec::new());
        found.expect("read").is_some()
    }

    pub fn bytes(&self, key: &str) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        let found = self.tiered().read(key.as_bytes(), &mut bytes);
        found.expect("read").map(|_| bytes)
    }

    pub fn write(&self, write: &Write<'_>) -> bool {
        self.tiered().write(write).expect("written") == Stored::Yes
    }

    pub fn set(&self, key: &str, number: i64) {
        assert!(self.write(&int(key, number)));
    }

    pub fn tagged(&self, key: &str, number: i64, tags: &[&str]) {
        let tags: Vec<&[u8]> = tags.iter().map(|tag| tag.as_bytes()).collect();
        assert!(self.write(&Write {
            tags: &tags,
            ..int(key, number)
        }));
    }

    pub fn add(&self, key: &str, number: i64) -> bool {
        self.write(&Write {
            condition: Condition::Absent,
            ..int(key, number)
        })
    }

    pub fn swap(&self, key: &str, before: i64, number: i64) -> bool {
        self.write(&Write {
            condition: Condition::Equals(Encoding::Int, before, &[]),
            ..int(key, number)
        })
    }

    pub fn increment(&self, key: &str, by: i64) -> Result<i64, Refused> {
        self.tiered().increment(by, &int(key, by))
    }

    pub fn delete(&self, key: &str) -> bool {
        self.tiered().delete(key.as_bytes()).expect("deleted")
    }

    pub fn delete_tag(&self, tag: &str) -> bool {
        self.tiered().delete_tag(tag.as_bytes()).expect("deleted")
    }

    /// Until every read there gives this.
    pub fn comes(&self, key: &str, value: Option<i64>) {
        until(&format!("{key} is {value:?}"), || self.get(key) == value);
    }
}

pub fn two() -> (Redis, Server, Server) {
    let redis = Redis::start();
    let (first, second) = (Server::of(&redis), Server::of(&redis));
    (redis, first, second)
}

pub fn workers(first: &Server, second: &Server) -> (Worker, Worker) {
    (first.worker(), second.worker())
}
