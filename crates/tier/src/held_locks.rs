//! The locks that this server has given to its processes. Redis evicts what was not used for the longest time, so a lock that is held
//! for long would leave before values that are read: it is used every second.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use redis::RedisResult;
use redis::aio::MultiplexedConnection;

use crate::state::Tier;

/// Locks that one command uses.
const AT_ONCE: usize = 500;

/// The locks by name, with the time when each expires.
#[derive(Debug, Default)]
pub(crate) struct HeldLocks(HashMap<Vec<u8>, Instant>);

impl HeldLocks {
    /// Notes that the lock is held for `ttl` microseconds from now; for 0, that it is no longer held.
    pub(crate) fn note(&mut self, name: &[u8], ttl: u64) {
        match Instant::now().checked_add(Duration::from_micros(ttl)) {
            Some(until) if ttl > 0 => drop(self.0.insert(name.to_vec(), until)),
            _ => drop(self.0.remove(name)),
        }
    }

    fn names(&mut self) -> Vec<Vec<u8>> {
        let now = Instant::now();
        self.0.retain(|_, until| *until > now);
        self.0.keys().cloned().collect()
    }
}

/// Asks whether Redis answers, and uses the locks there.
pub(crate) async fn ping(tier: &Tier, connection: &mut MultiplexedConnection) -> RedisResult<()> {
    let names = tier.state().held_locks.names();
    let mut all = redis::pipe();
    for names in names.chunks(AT_ONCE) {
        let keys: Vec<_> = names.iter().map(|name| tier.key("l:", name)).collect();
        all.cmd("TOUCH").arg(keys);
    }
    all.cmd("PING").exec_async(connection).await
}
