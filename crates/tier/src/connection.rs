//! Keeps the one connection to Redis: connects, watches, reconnects.

use std::io;
use std::sync::{Arc, Weak};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, Cmd, ErrorKind, PushInfo, PushKind, RedisError, RedisResult, Value,
};
use tokio::time::sleep;

use crate::call::Call;
use crate::entry::milliseconds;
use crate::pending_deletes::{Change, PendingDeletes};
use crate::state::{Link, State, Tier};
use crate::status::count;

/// The interval of PING on the connection.
const HEARTBEAT: Duration = Duration::from_secs(1);
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// Keys that are deleted at a time when Redis is back.
const AT_ONCE: usize = 500;

/// Error codes of a Redis that has the wrong role now, or is not ready: another connection may find the right one.
const ELSEWHERE: [&str; 7] = [
    "READONLY",
    "LOADING",
    "MASTERDOWN",
    "NOAUTH",
    "CLUSTERDOWN",
    "MOVED",
    "TRYAGAIN",
];

/// Returns whether the error, or that of a command of the transaction, has one of these codes.
pub(crate) fn has_code(error: &RedisError, codes: &[&str]) -> bool {
    let is_one = |code: &str| codes.contains(&code);
    let of_commands = || error.clone().into_server_errors();
    error.code().is_some_and(is_one)
        || of_commands().is_some_and(|all| all.iter().any(|(_, one)| is_one(one.code())))
}

/// Returns whether Redis has refused only this operation and responds to others.
pub(crate) fn is_refusal(error: &RedisError) -> bool {
    let is_answer = matches!(
        error.kind(),
        ErrorKind::Server(_) | ErrorKind::Extension | ErrorKind::UnexpectedReturnType
    );
    is_answer && !has_code(error, &ELSEWHERE)
}

/// The identity of a connection. The next connection kills this one, so that no late command of it is executed after its
/// successor's.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Identity {
    /// The id of the run of Redis.
    run: String,
    client: i64,
}

/// Connects, again and again, for as long as the server runs.
pub(crate) async fn keep(tier: Arc<Tier>) {
    let mut before = None;
    let mut pause = FIRST_PAUSE;
    let mut logged = String::new();
    loop {
        idle(&tier).await;
        match connect(&tier, before.as_ref()).await {
            Ok((generation, identity)) => {
                pause = FIRST_PAUSE;
                logged.clear();
                before = Some(identity);
                watch(&tier, generation).await;
            }
            Err(error) => {
                let error = match before {
                    None => tier.options.explained(&error.to_string()),
                    Some(_) => error.to_string(),
                };
                if logged != error {
                    let redis = tier.options.shown();
                    logging::warning!("cannot use redis for the cache redis={redis} error={error}");
                    logged.clone_from(&error);
                }
                tier.state().error = Some(error);
                // Servers that lost the connection at the same moment must not reconnect at the same moment.
                sleep(pause.mul_f64(0.75 + tier.random() as f64 / i64::MAX as f64 / 2.0)).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    }
}

/// Waits until no operation is under way on the last connection.
async fn idle(tier: &Tier) {
    while !tier.state().order.is_idle() {
        let _ = tokio::time::timeout(HEARTBEAT, tier.idle.notified()).await;
    }
}

async fn connect(tier: &Arc<Tier>, before: Option<&Identity>) -> RedisResult<(u64, Identity)> {
    let client = tier.options.client().map_err(io::Error::other)?;
    let generation = {
        let mut state = tier.state();
        state.generation += 1;
        state.generation
    };
    let weak = Arc::downgrade(tier);
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(tier.options.timeout.max(Duration::from_secs(1))))
        .set_response_timeout(Some(tier.options.timeout))
        .set_push_sender(move |push| pushed(&weak, generation, &push));
    let mut connection = client
        .get_multiplexed_async_connection_with_config(&config)
        .await?;
    let identity = identity(&mut connection).await?;
    if let Some(before) = before.filter(|before| before.run == identity.run) {
        // This fails with an older Redis or a user without the permission; the last connection then counts as gone.
        let _: RedisResult<Value> = redis::cmd("CLIENT")
            .arg("KILL")
            .arg("ID")
            .arg(before.client)
            .query_async(&mut connection)
            .await;
    }
    prepare(tier, &mut connection).await?;
    let returned = give_back(tier, &mut connection, generation).await;
    if let Err(error) = returned {
        let mut state = tier.state();
        tier.set_link(&mut state, Link::Away);
        return Err(error);
    }
    Ok((generation, identity))
}

async fn identity(connection: &mut MultiplexedConnection) -> RedisResult<Identity> {
    let client = redis::cmd("CLIENT")
        .arg("ID")
        .query_async(connection)
        .await?;
    let server: String = redis::cmd("INFO")
        .arg("server")
        .query_async(connection)
        .await?;
    let run = server
        .lines()
        .find_map(|line| line.strip_prefix("run_id:"))
        .unwrap_or_default();
    Ok(Identity {
        run: run.trim().to_owned(),
        client,
    })
}

/// Turns invalidations on, and loads the scripts.
async fn prepare(tier: &Tier, connection: &mut MultiplexedConnection) -> RedisResult<()> {
    let mut tracking = redis::cmd("CLIENT");
    tracking.arg("TRACKING").arg("ON").arg("BCAST");
    for kind in ["v:", "t:", "c:"] {
        tracking.arg("PREFIX").arg(tier.key(kind, b""));
    }
    tracking.arg("NOLOOP").exec_async(connection).await?;
    for script in tier.scripts.all() {
        script.load_async(connection).await?;
    }
    Ok(())
}

/// Deletes the pending keys in Redis, then forgets the memory, then sets the link to Redis. Operations wait meanwhile.
async fn give_back(
    tier: &Tier,
    connection: &mut MultiplexedConnection,
    generation: u64,
) -> RedisResult<()> {
    let pending_deletes = {
        let mut state = tier.state();
        tier.set_link(&mut state, Link::Returning);
        state.pending_deletes.clone()
    };
    replay(tier, connection, &pending_deletes).await?;
    let mut state = tier.state();
    // Otherwise the connection was closed since, and there may be further pending keys.
    if state.generation != generation || !matches!(state.link, Link::Returning) {
        return Err(RedisError::from((ErrorKind::Io, "it was lost again")));
    }
    state.pending_deletes = PendingDeletes::default();
    state.error = None;
    forget_all(tier, &mut state);
    tier.set_link(&mut state, Link::There(connection.clone()));
    let redis = tier.options.shown();
    let invalidated = pending_deletes.len();
    logging::info!(
        "redis is there, the cache is shared with its servers redis={redis} invalidated={invalidated}"
    );
    Ok(())
}

fn forget_all(tier: &Tier, state: &mut State) {
    state.order.all_move();
    state.claims.end_values();
    tier.cache.forget_all();
    state.awaited.values().for_each(|one| one.notify_waiters());
}

async fn replay(
    tier: &Tier,
    connection: &mut MultiplexedConnection,
    pending_deletes: &PendingDeletes,
) -> RedisResult<()> {
    let tags = tier.key("t:", b"");
    // Also if nothing is pending, because this write fails on a replica.
    version_of_all(tier).exec_async(connection).await?;
    let whole = pending_deletes.cleared.then(|| tags.clone());
    let names = pending_deletes.tags.iter().map(|tag| tier.key("t:", tag));
    let tag_keys: Vec<_> = whole.into_iter().chain(names).collect();
    for keys in tag_keys.chunks(AT_ONCE) {
        redis::cmd("UNLINK")
            .arg(keys)
            .exec_async(connection)
            .await?;
    }
    let keys: Vec<_> = pending_deletes.keys.iter().collect();
    for keys in keys.chunks(AT_ONCE) {
        let mut pipeline = redis::pipe();
        pipeline.add_command(version_of_all(tier)).ignore();
        for (key, change) in keys {
            pipeline.add_command(again(tier, key, change));
        }
        pipeline.exec_async(connection).await?;
    }
    let locks: Vec<_> = pending_deletes.locks.iter().collect();
    for locks in locks.chunks(AT_ONCE) {
        let mut pipeline = redis::pipe();
        for (name, token) in locks {
            pipeline.add_command(tier.held_for(name, token, 0));
        }
        pipeline.exec_async(connection).await?;
    }
    Ok(())
}

/// Writes the tag that all entries have, if it does not exist.
fn version_of_all(tier: &Tier) -> Cmd {
    let mut set = redis::cmd("SET");
    set.arg(tier.key("t:", b"")).arg(tier.random()).arg("NX");
    set
}

/// Returns the command that does in Redis what was done to the key in the memory alone.
fn again(tier: &Tier, key: &[u8], change: &Change) -> Cmd {
    let keys = [tier.key("v:", key), tier.key("c:", key)];
    let tags = tier.key("t:", b"");
    match change {
        Change::Written => {
            let mut delete = Call::script(&tier.scripts.delete, &keys);
            delete.arg(tags);
            delete
        }
        Change::Added { by, ttl } => {
            let mut add = Call::script(&tier.scripts.add, &keys);
            add.arg(tags).arg(*by).arg(milliseconds(*ttl)).arg("");
            add
        }
    }
}

/// Watches the connection until it is lost.
async fn watch(tier: &Arc<Tier>, generation: u64) {
    loop {
        let _ = tokio::time::timeout(HEARTBEAT, tier.changed.notified()).await;
        let connection = {
            let state = tier.state();
            match &state.link {
                Link::There(connection) if state.generation == generation => connection.clone(),
                _ => return,
            }
        };
        crate::claims::renew(tier).await;
        let mut connection = connection;
        let ping = crate::held_locks::ping(tier, &mut connection).await;
        if let Err(error) = ping
            && !is_refusal(&error)
        {
            tier.lost(&mut tier.state(), generation, &error.to_string());
        }
    }
}

/// Handles a push of Redis. Pushes come in the order in which Redis sends them, and before any later answer is read.
fn pushed(tier: &Weak<Tier>, generation: u64, push: &PushInfo) -> Result<(), ()> {
    let Some(tier) = tier.upgrade() else {
        return Err(());
    };
    let mut state = tier.state();
    if state.generation != generation {
        return Ok(());
    }
    match (&push.kind, push.data.first()) {
        (PushKind::Invalidate, Some(Value::Array(keys))) => {
            for key in keys {
                if let Value::BulkString(key) = key {
                    invalidated(&tier, &mut state, key);
                }
            }
        }
        // FLUSHALL was executed.
        (PushKind::Invalidate, _) => {
            count(&tier.counters.invalidations);
            forget_all(&tier, &mut state);
        }
        (PushKind::Disconnection, _) => {
            tier.lost(&mut state, generation, "the connection was closed");
        }
        _ => {}
    }
    Ok(())
}

fn invalidated(tier: &Tier, state: &mut State, key: &[u8]) {
    let Some(rest) = key.strip_prefix(tier.options.prefix.as_bytes()) else {
        return;
    };
    match rest {
        b"t:" => forget_all(tier, state),
        [b't', b':', tag @ ..] => {
            state.order.moves(rest);
            tier.cache.forget_tag(tag);
        }
        [b'v', b':', name @ ..] => {
            state.order.moves(rest);
            tier.cache.forget(name);
            wake(state, name);
        }
        [b'c', b':', name @ ..] => return wake(state, name),
        _ => return,
    }
    count(&tier.counters.invalidations);
}

fn wake(state: &State, name: &[u8]) {
    if let Some(waiting) = state.awaited.get(name) {
        waiting.notify_waiters();
    }
}
