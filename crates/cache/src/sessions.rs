//! Sessions and their locks: entries that values of the cache do not evict, and that give way only to other sessions.
//!
//! Sessions have two queues of their own: sessions that no later request has used yet, such as those of crawlers, and
//! sessions that a later request has used. Where sessions exceed their half of the memory, expired ones are removed, then
//! the oldest of the first queue. A session of the second queue is never removed before it expires: a new session is refused
//! then.

use std::sync::atomic::Ordering;

use crate::cache::Cache;
use crate::claims::Claim;
use crate::counters::Counter;
use crate::entry::{Head, Queue, Space, cells_for};
use crate::memory::Memory;
use crate::operation::{Refused, Write};
use crate::owner::Owner;
use crate::recovery::is_key;

/// Microseconds after a session's start from which on a read shows that the visitor came back.
const RETURNS_AFTER: u64 = 1_000_000;
/// The most expired sessions of each queue that one write removes.
const SWEPT: usize = 2;
/// When the lock of a session expires that another than its holder has destroyed: never, as all locks of sessions.
const DESTROYED: u64 = u64::MAX - 1;
const QUEUES: [Queue; 2] = [Queue::NewSession, Queue::Session];

/// The lock of a session; each operation on the session is done only while the lock is held.
#[derive(Debug, Clone, Copy)]
pub struct Locked<'a> {
    pub key: &'a [u8],
    pub token: u64,
}

impl Cache {
    /// Takes the lock of a session. The lock does not expire: it ends when it is released, or with the process of its owner.
    pub fn lock_session(&self, key: &[u8], owner: Owner) -> Result<Claim, Refused> {
        self.claim(Space::SessionLock, key, owner, u64::MAX)
    }

    pub fn unlock_session(&self, session: Locked<'_>) -> Result<bool, Refused> {
        self.give_back(Space::SessionLock, session.key, session.token)
    }

    pub fn has_session(&self, key: &[u8]) -> Result<bool, Refused> {
        let _held = self.held()?;
        Ok(self.alive(Space::Session, key).is_some())
    }

    /// Reads the data of a session. Returns false if there was none; then an empty one is made, for `ttl` microseconds.
    pub fn read_session(
        &self,
        session: Locked<'_>,
        ttl: u64,
        into: &mut Vec<u8>,
    ) -> Result<bool, Refused> {
        into.clear();
        let _held = self.held()?;
        self.require(session)?.set_expires(u64::MAX);
        let Some(head) = self.alive(Space::Session, session.key) else {
            self.put_session(session.key, &[], ttl)?;
            return Ok(false);
        };
        self.memory.value(head, into);
        // A session keeps the time of its start in the field in which a value keeps the time from which on it is stale.
        if head.queue() == Queue::NewSession && self.now() >= head.stale() + RETURNS_AFTER {
            self.memory.dequeue(head);
            self.memory.enqueue(head, Queue::Session);
        }
        Ok(true)
    }

    /// Writes a session, which expires `ttl` microseconds from now. Returns the number of sessions that were removed before
    /// they expired, to make room. Nothing is written if another has destroyed the session since it was read.
    pub fn write_session(
        &self,
        session: Locked<'_>,
        data: &[u8],
        ttl: u64,
    ) -> Result<u64, Refused> {
        let _held = self.held()?;
        if self.require(session)?.expires() == DESTROYED {
            return Ok(0);
        }
        self.put_session(session.key, data, ttl)
    }

    /// Makes a session expire `ttl` microseconds from now; returns false if it is gone and has to be written.
    pub fn touch_session(&self, session: Locked<'_>, ttl: u64) -> Result<bool, Refused> {
        let _held = self.held()?;
        if self.require(session)?.expires() == DESTROYED {
            return Ok(true);
        }
        let found = self.alive(Space::Session, session.key);
        found.inspect(|head| {
            head.set_expires(self.now().saturating_add(ttl.max(1)));
            self.memory.dequeue(*head);
            self.memory.enqueue(*head, head.queue());
        });
        Ok(found.is_some())
    }

    /// Removes a session. If another owner than that of `token` holds its lock, what that one writes is not kept.
    pub fn destroy_session(&self, key: &[u8], token: Option<u64>) -> Result<bool, Refused> {
        let _held = self.held()?;
        self.alive(Space::SessionLock, key)
            .filter(|lock| Some(lock.sequence()) != token)
            .inspect(|lock| lock.set_expires(DESTROYED));
        let found = self.alive(Space::Session, key);
        found.inspect(|head| self.memory.remove(*head));
        Ok(found.is_some())
    }

    /// Removes all expired sessions; returns their number.
    pub fn collect_sessions(&self) -> Result<u64, Refused> {
        let _held = self.held()?;
        Ok(self.remove_sessions(|head| !head.is_alive(self.now())))
    }

    /// Removes all sessions, and keeps nothing that is written by the requests that have one open; returns their number.
    pub fn end_sessions(&self) -> Result<u64, Refused> {
        let _held = self.held()?;
        for queue in [Queue::Small, Queue::Main] {
            self.memory
                .queued(queue)
                .filter(|head| head.space() == Some(Space::SessionLock))
                .for_each(|lock| lock.set_expires(DESTROYED));
        }
        Ok(self.remove_sessions(|_| true))
    }

    /// The caller holds the lock of the memory.
    fn remove_sessions(&self, is_over: impl Fn(Head<'_>) -> bool) -> u64 {
        let mut removed = 0;
        for queue in QUEUES {
            for head in self.memory.queued(queue).filter(|head| is_over(*head)) {
                self.memory.remove(head);
                removed += 1;
            }
        }
        removed
    }

    /// Returns the lock of the session, which the caller must have.
    fn require(&self, session: Locked<'_>) -> Result<Head<'_>, Refused> {
        self.alive(Space::SessionLock, session.key)
            .filter(|head| head.sequence() == session.token)
            .ok_or(Refused::NotHeld)
    }

    fn put_session(&self, key: &[u8], data: &[u8], ttl: u64) -> Result<u64, Refused> {
        if !is_key(Space::Session, key) {
            return Err(Refused::Key);
        }
        let needed = cells_for(0, key.len(), data.len());
        if needed > self.most_session_cells() || u32::try_from(data.len()).is_err() {
            return Err(Refused::TooLarge {
                most: self.largest(),
            });
        }
        let old = self.alive(Space::Session, key);
        let began = old.map_or_else(|| self.now(), Head::stale);
        let evicted = self.make_session_room(needed, old)?;
        let write = Write {
            ttl: ttl.max(1),
            ..Write::plain(key, data)
        };
        let validator = self.insert(Space::Session, &write, &[])?;
        self.memory
            .head(self.memory.valid(validator.cell))
            .set_stale(began);
        Ok(evicted)
    }

    /// Returns the most cells of all sessions: half of the memory, because the cache keeps the rest.
    fn most_session_cells(&self) -> usize {
        self.memory.geometry.cells / 2
    }

    /// Makes room for a session of `cells` cells. `old` is the entry that it will replace, and stays until then.
    fn make_session_room(&self, cells: usize, old: Option<Head<'_>>) -> Result<u64, Refused> {
        let memory = &self.memory;
        let mut evicted = 0;
        for queue in QUEUES {
            (0..SWEPT).all(|_| memory.remove_expired(queue, old, self.now()));
        }
        let replaced = old.map_or(0, Head::cells);
        while memory.session_cells() + cells > self.most_session_cells() + replaced {
            let now = self.now();
            if QUEUES
                .iter()
                .any(|queue| memory.remove_expired(*queue, old, now))
            {
                continue;
            }
            if !memory.evict_session(old) {
                memory.count(Counter::SessionsRefused, 1);
                return Err(Refused::Full);
            }
            evicted += 1;
        }
        if !memory.make_room(cells, self.now()) {
            memory.count(Counter::SessionsRefused, 1);
            return Err(Refused::Full);
        }
        Ok(evicted)
    }
}

impl Memory {
    pub(crate) fn session_cells(&self) -> usize {
        QUEUES
            .iter()
            .map(|queue| self.queue_cells(*queue) as usize)
            .sum()
    }

    fn oldest_session(&self, queue: Queue, but: Option<Head<'_>>) -> Option<Head<'_>> {
        let head = self.head(self.oldest(queue));
        let is_there = head.cell != 0 && self.sequence(head.cell).load(Ordering::Relaxed) != 0;
        (is_there && but.is_none_or(|but| but.cell != head.cell)).then_some(head)
    }

    fn remove_expired(&self, queue: Queue, but: Option<Head<'_>>, now: u64) -> bool {
        let expired = self
            .oldest_session(queue, but)
            .filter(|head| head.is_expired(now));
        expired.inspect(|head| self.remove(*head)).is_some()
    }

    fn evict_session(&self, but: Option<Head<'_>>) -> bool {
        let oldest = self.oldest_session(Queue::NewSession, but);
        oldest
            .inspect(|head| {
                self.count(Counter::SessionsEvicted, 1);
                self.remove(*head);
            })
            .is_some()
    }
}
