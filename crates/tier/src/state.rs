//! The state of the link to Redis, and the path of an operation: through Redis, or while that is away through the memory
//! alone.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use cache::{Cache, Refused};
use redis::aio::MultiplexedConnection;
use redis::{ErrorKind, FromRedisValue, RedisError};
use tokio::sync::Notify;

use crate::call::Call;
use crate::claims::RemoteClaims;
use crate::connection::{has_code, is_refusal};
use crate::held_locks::HeldLocks;
use crate::options::Options;
use crate::order::{Order, Ticket};
use crate::pending_deletes::PendingDeletes;
use crate::scripts::Scripts;
use crate::status::{Counters, Status, count, counted};
use crate::{connection, listener};

/// The link to Redis.
pub(crate) enum Link {
    Away,
    /// Redis responds again, and the pending keys are being deleted there; operations wait.
    Returning,
    There(MultiplexedConnection),
}

pub(crate) struct State {
    pub(crate) link: Link,
    pub(crate) since: Instant,
    pub(crate) error: Option<String>,
    /// The number of the current connection; each connection gets another one.
    pub(crate) generation: u64,
    pub(crate) order: Order,
    pub(crate) pending_deletes: PendingDeletes,
    pub(crate) claims: RemoteClaims,
    pub(crate) held_locks: HeldLocks,
    /// The tasks that wait for a change of a key.
    pub(crate) awaited: HashMap<Vec<u8>, Arc<Notify>>,
}

/// The second tier of one server.
pub struct Tier {
    pub(crate) cache: &'static Cache,
    pub(crate) options: Options,
    pub(crate) scripts: Scripts,
    pub(crate) counters: Counters,
    state: Mutex<State>,
    /// Notified when the link has changed.
    pub(crate) changed: Notify,
    /// Notified when no operation is under way any more.
    pub(crate) idle: Notify,
    /// Notified when the link is no longer [`Link::Returning`].
    pub(crate) returned: Notify,
    random: RandomState,
    /// The id of this server, among those that share the cache.
    pub(crate) id: u64,
}

impl std::fmt::Debug for Tier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tier")
            .field("status", &self.status())
            .finish()
    }
}

impl Tier {
    /// Serves the sockets that the listener accepts, on a thread of its own. Redis is away until the first connection.
    ///
    /// # Errors
    /// If the address is invalid.
    pub fn start(
        cache: &'static Cache,
        options: Options,
        listener: OwnedFd,
    ) -> io::Result<Arc<Tier>> {
        // Fails if another part of the program has already chosen a provider.
        let _ = rustls::crypto::ring::default_provider().install_default();
        options.client().map_err(io::Error::other)?;
        let tier = Arc::new(Tier {
            cache,
            options,
            scripts: Scripts::new(),
            counters: Counters::default(),
            state: Mutex::new(State {
                link: Link::Away,
                since: Instant::now(),
                error: None,
                generation: 0,
                order: Order::default(),
                pending_deletes: PendingDeletes::default(),
                claims: RemoteClaims::default(),
                held_locks: HeldLocks::default(),
                awaited: HashMap::new(),
            }),
            changed: Notify::new(),
            idle: Notify::new(),
            returned: Notify::new(),
            random: RandomState::new(),
            id: RandomState::new().hash_one(std::process::id()) | 1,
        });
        cache.set_tier(cache::Tier::Away);
        let served = Arc::clone(&tier);
        std::thread::Builder::new()
            .name("hearth-redis".into())
            .spawn(move || run(&served, listener))?;
        Ok(tier)
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn key(&self, kind: &str, name: &[u8]) -> Vec<u8> {
        [self.options.prefix.as_bytes(), kind.as_bytes(), name].concat()
    }

    /// Returns a number that no server has used before.
    pub(crate) fn random(&self) -> i64 {
        let time = Instant::now();
        let number = self.random.hash_one((time, std::process::id()));
        (number >> 1).max(1).cast_signed()
    }

    /// Sends `call` to Redis, then runs `done` with its answer; or runs `away`, which does the operation in the memory
    /// alone. `changes` are the keys that the operation changes, in the form that [`Order`] uses. If Redis refuses, runs
    /// `denied`.
    pub(crate) async fn through<T: FromRedisValue, R>(
        &self,
        changes: impl IntoIterator<Item = Vec<u8>>,
        call: &Call,
        away: impl Fn(&mut State) -> R,
        done: impl FnOnce(&mut State, &Ticket, T) -> R,
        denied: impl FnOnce(&mut State, Refused) -> R,
    ) -> R {
        let (mut connection, generation, ticket) = loop {
            let returned = self.returned.notified();
            tokio::pin!(returned);
            returned.as_mut().enable();
            {
                let mut state = self.state();
                match &state.link {
                    Link::There(connection) => {
                        let connection = connection.clone();
                        let ticket = state.order.begin(changes);
                        break (connection, state.generation, ticket);
                    }
                    Link::Away => return away(&mut state),
                    Link::Returning => {}
                }
            }
            returned.await;
        };
        let answer = call.send::<T>(&mut connection, &self.scripts.all()).await;
        let mut state = self.state();
        let result = match answer {
            Ok(answer) => done(&mut state, &ticket, answer),
            Err(error) if is_refusal(&error) => {
                self.refused(&error);
                denied(&mut state, why(&error))
            }
            Err(error) => {
                self.lost(&mut state, generation, &error.to_string());
                away(&mut state)
            }
        };
        state.order.end(ticket);
        if state.order.is_idle() {
            self.idle.notify_one();
        }
        result
    }

    fn refused(&self, error: &RedisError) {
        count(&self.counters.denied);
        logging::warning!("redis refused an operation of the cache error={error}");
    }

    /// Gives up this connection. Operations that are under way on it end by themselves.
    pub(crate) fn lost(&self, state: &mut State, generation: u64, why: &str) {
        if state.generation != generation || matches!(state.link, Link::Away) {
            return;
        }
        self.set_link(state, Link::Away);
        state.error = Some(why.to_owned());
        count(&self.counters.disconnects);
        logging::warning!(
            "redis is away, the cache of this server goes on alone redis={} error={why}",
            self.options.shown()
        );
    }

    pub(crate) fn set_link(&self, state: &mut State, link: Link) {
        let tier = match &link {
            Link::There(_) => cache::Tier::There,
            // A read of a key that is not in the memory waits, as all other operations do.
            Link::Returning => cache::Tier::There,
            Link::Away => cache::Tier::Away,
        };
        if !matches!(link, Link::Returning) {
            state.since = Instant::now();
        }
        state.link = link;
        self.cache.set_tier(tier);
        self.changed.notify_one();
        self.returned.notify_waiters();
    }

    pub fn status(&self) -> Status {
        let state = self.state();
        let counters = &self.counters;
        Status {
            address: self.options.shown(),
            is_there: matches!(state.link, Link::There(_)),
            seconds: state.since.elapsed().as_secs(),
            error: state.error.clone(),
            pending_deletes: state.pending_deletes.len() as u64,
            reads: counted(&counters.reads),
            hits: counted(&counters.hits),
            writes: counted(&counters.writes),
            invalidations: counted(&counters.invalidations),
            disconnects: counted(&counters.disconnects),
            denied: counted(&counters.denied),
        }
    }
}

/// Returns [`Refused::Full`] if Redis has no room; other errors need an operator's attention.
///
/// Redis may accept the commands of a transaction and refuse its EXEC, if the queued commands take more than `maxmemory`
/// leaves. The crate reports only that the reply is no list of answers.
fn why(error: &RedisError) -> Refused {
    let is_refused_exec = error.kind() == ErrorKind::UnexpectedReturnType
        && error.to_string().contains("multi response");
    if is_refused_exec || has_code(error, &["OOM"]) {
        Refused::Full
    } else {
        Refused::Denied
    }
}

fn run(tier: &Arc<Tier>, listener: OwnedFd) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return logging::error!("the cache cannot use redis error={error}"),
    };
    runtime.block_on(async {
        tokio::spawn(connection::keep(Arc::clone(tier)));
        listener::serve(tier, listener).await;
    });
}
