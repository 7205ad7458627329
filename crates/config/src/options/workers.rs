//! The number of processes, their queue, and when they are replaced.

use super::{Group, Kind, Opt};

pub(super) const TABLE: &[Opt] = &[
    Opt {
        key: "workers.count",
        flag: Some("workers"),
        value: "N|auto",
        kind: Kind::Workers,
        default: "auto",
        group: Group::Workers,
        short: "Worker processes; auto: one per CPU, with concurrency 1 four per CPU",
        long: "Each worker is one process with one thread. If it serves many requests at once, more workers than CPUs \
               seldom help. If it serves one at a time, it is idle while that request waits for a database, so `auto` \
               starts four per CPU that this process may use.",
    },
    Opt {
        key: "workers.min",
        flag: Some("workers-min"),
        value: "N",
        kind: Kind::Count { min: 1, max: 1024 },
        default: "",
        group: Group::Workers,
        short: "Least number of workers, instead of a fixed number",
        long: "One per CPU if only workers.max is given. With either of the two options the number of workers follows the \
               load: another worker is forked when requests wait, the workers wait too, and a processor is idle. This \
               needs balanced dispatch.",
    },
    Opt {
        key: "workers.max",
        flag: Some("workers-max"),
        value: "N|auto",
        kind: Kind::Workers,
        default: "auto",
        group: Group::Workers,
        short: "Greatest number of workers; auto: by memory",
        long: "Used if workers.min or workers.max is given. `auto` adds a worker only if a tenth of the memory (of the \
               machine, or of the control group) stays free afterwards. A new worker is assumed to cost as much as one \
               costs now: its proportional set size. Never more than 1024.",
    },
    Opt {
        key: "workers.idle_timeout",
        flag: Some("idle-timeout"),
        value: "SECONDS",
        kind: Kind::Seconds { zero: None },
        default: "30",
        group: Group::Workers,
        short: "Idle time after which a worker above workers.min leaves",
        long: "The worker finishes its requests, so none is lost. Under low load the front prefers the same few workers, \
               so the others become idle.",
    },
    Opt {
        key: "workers.concurrency",
        flag: Some("concurrency"),
        value: "N",
        kind: Kind::Count { min: 1, max: 65536 },
        default: "",
        group: Group::Workers,
        short: "Requests in flight per worker; 1: one at a time",
        long: "256 for a handler written for Hearth. 1 for the kernel of a framework and for a FrankenPHP worker script, \
               because most such apps keep state of the current request in statics or globals; raise it only after \
               measuring and testing. Always 1 in classic mode.",
    },
    Opt {
        key: "workers.dispatch",
        flag: Some("dispatch"),
        value: "HOW",
        kind: Kind::Choice(&["direct", "balanced"]),
        default: "",
        group: Group::Workers,
        short: "direct: workers accept; balanced: a front hands out requests",
        long: "Balanced: a process in front terminates HTTP, and an idle worker takes each request, so neither a request \
               that computes nor a slow client delays others. Direct: each worker accepts connections of its own, without \
               a process between client and PHP. The default is balanced, but direct for a single worker that serves many \
               requests at a time.",
    },
    Opt {
        key: "front.threads",
        flag: Some("front-threads"),
        value: "N",
        kind: Kind::Count { min: 1, max: 64 },
        default: "1",
        group: Group::Workers,
        short: "Threads of the front, with balanced dispatch",
        long: "More than one helps if the front uses a whole processor while workers are idle: `hearth status` shows the \
               CPU time of each thread. Each thread has connections of its own, each worker takes requests of all threads \
               in turn, and limits hold for all threads together.",
    },
    Opt {
        key: "workers.queue",
        flag: Some("queue"),
        value: "N",
        kind: Kind::Count {
            min: 0,
            max: 1_000_000,
        },
        default: "1024",
        group: Group::Workers,
        short: "Requests that may wait for a worker",
        long: "First come, first served. A request above the limit is answered 503 with Retry-After. With direct dispatch \
               each worker has a queue of its own.",
    },
    Opt {
        key: "workers.queue_timeout",
        flag: Some("queue-timeout"),
        value: "SECONDS",
        kind: Kind::Seconds {
            zero: Some("no limit"),
        },
        default: "10",
        group: Group::Workers,
        short: "Time that a request may wait for a worker",
        long: "After it the request is answered 503 with Retry-After. If the queue has not been empty for that long, the \
               limit is a tenth of the time: then more requests arrive than the workers can serve, and a queue in which \
               each request waits up to the limit serves none of them better than a short one.",
    },
    Opt {
        key: "workers.max_requests",
        flag: Some("max-requests"),
        value: "N",
        kind: Kind::Count {
            min: 0,
            max: 1_000_000_000,
        },
        default: "0",
        group: Group::Workers,
        short: "Replace a worker after this many requests; 0: never",
        long: "For apps that leak memory. The number varies by 10 %, so that workers are not all replaced at once; the \
               successor serves before the old worker stops, and no request is cut off.",
    },
    Opt {
        key: "workers.max_memory",
        flag: Some("max-memory"),
        value: "BYTES",
        kind: Kind::Bytes,
        default: "0",
        group: Group::Workers,
        short: "Replace a worker that has grown beyond this; 0: never",
        long: "Resident memory without the pages that it shares with other processes, such as 256M, checked after each \
               request. Otherwise like workers.max_requests.",
    },
];
