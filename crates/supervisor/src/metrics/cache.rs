//! Metrics of the cache that all workers share.

use std::collections::BTreeMap;

use super::Page;

const GAUGES: [(&str, &str, &str); 5] = [
    (
        "size",
        "hearth_cache_size_bytes",
        "Memory for entries of the cache.",
    ),
    (
        "used",
        "hearth_cache_used_bytes",
        "Memory that entries take.",
    ),
    (
        "entries",
        "hearth_cache_entries",
        "Values, tags, locks, computations and sessions.",
    ),
    (
        "sessions",
        "hearth_sessions",
        "Sessions (session.save_handler = hearth); some may have expired.",
    ),
    (
        "sessions_used",
        "hearth_sessions_used_bytes",
        "Memory of the cache that sessions take; half of it at most.",
    ),
];
const COUNTERS: [(&str, &str, &str); 12] = [
    (
        "hits",
        "hearth_cache_hits_total",
        "Reads that found a value; those of the last moment may be missing.",
    ),
    (
        "misses",
        "hearth_cache_misses_total",
        "Reads that found no value.",
    ),
    ("writes", "hearth_cache_writes_total", "Values written."),
    (
        "deletes",
        "hearth_cache_deletes_total",
        "Deletions of keys and tags.",
    ),
    (
        "refused",
        "hearth_cache_refused_total",
        "Writes that failed because the cache was full.",
    ),
    (
        "computed",
        "hearth_cache_computed_total",
        "Computations of remember().",
    ),
    (
        "coalesced",
        "hearth_cache_coalesced_total",
        "Calls of remember() that took the value that another call computed.",
    ),
    (
        "recovered",
        "hearth_cache_recovered_total",
        "Processes that died in the middle of an operation.",
    ),
    (
        "lock_timeouts",
        "hearth_cache_lock_timeouts_total",
        "Operations that found the lock taken for 5 s.",
    ),
    (
        "sessions_evicted",
        "hearth_sessions_evicted_total",
        "Sessions evicted before they expired that only one request had used.",
    ),
    (
        "sessions_refused",
        "hearth_sessions_refused_total",
        "Writes of sessions that failed because the cache was full.",
    ),
    (
        "session_lock_waits",
        "hearth_session_lock_waits_total",
        "Openings of sessions that waited, because another request had the session.",
    ),
];

pub(super) fn cache(page: &mut Page, figures: &BTreeMap<String, u64>) {
    let figure = |name: &str| figures.get(name).copied().unwrap_or_default();
    for (name, metric, help) in GAUGES {
        page.one(metric, "gauge", help, figure(name));
    }
    for (name, metric, help) in COUNTERS {
        page.one(metric, "counter", help, figure(name));
    }
    let metric = "hearth_cache_removed_total";
    page.head(metric, "counter", "Entries removed, by reason.");
    for reason in ["evicted", "expired", "invalidated"] {
        page.line(metric, &format!("reason=\"{reason}\""), figure(reason));
    }
}

/// Metrics of the second tier.
pub(super) fn redis(page: &mut Page, redis: &tier::Status) {
    page.one(
        "hearth_redis_up",
        "gauge",
        "1 while the Redis of the cache answers, 0 while it is away.",
        u8::from(redis.is_there),
    );
    page.one(
        "hearth_redis_pending_deletes",
        "gauge",
        "Keys and tags written while Redis was away: they are deleted there when it is back.",
        redis.pending_deletes,
    );
    for (metric, help, value) in redis_counters(redis) {
        page.one(metric, "counter", help, value);
    }
}

fn redis_counters(redis: &tier::Status) -> [(&'static str, &'static str, u64); 6] {
    [
        (
            "hearth_redis_reads_total",
            "Reads that the memory of the server could not answer.",
            redis.reads,
        ),
        (
            "hearth_redis_hits_total",
            "Reads for which Redis had a value.",
            redis.hits,
        ),
        (
            "hearth_redis_writes_total",
            "Writes and deletions through Redis.",
            redis.writes,
        ),
        (
            "hearth_redis_invalidations_total",
            "Copies that Redis invalidated.",
            redis.invalidations,
        ),
        (
            "hearth_redis_disconnects_total",
            "Times that the connection to Redis was lost.",
            redis.disconnects,
        ),
        (
            "hearth_redis_refused_total",
            "Operations that Redis answered with an error.",
            redis.denied,
        ),
    ]
}
