//! Limits of requests and clients.

use super::{Group, Kind, Opt};

const CONNECTIONS: Kind = Kind::Count {
    min: 0,
    max: 10_000_000,
};

pub(super) const TABLE: &[Opt] = &[
    Opt {
        key: "request.timeout",
        flag: Some("request-timeout"),
        value: "SECONDS",
        kind: Kind::Seconds {
            zero: Some("no limit"),
        },
        default: "60",
        group: Group::Limits,
        short: "Longest duration of a request; 0: no limit",
        long: "A request that exceeds it gets a `Hearth\\TimeoutError` at its next wait, also inside a database read.",
    },
    Opt {
        key: "request.grace",
        flag: Some("request-grace"),
        value: "SECONDS",
        kind: Kind::Seconds {
            zero: Some("at once"),
        },
        default: "5",
        group: Group::Limits,
        short: "Time after request.timeout until the worker of the request is killed",
        long: "For code that computes without waiting, and so does not notice the time limit. Code that catches the error \
               and waits again gets it again after each such period; after the fourth, its worker is replaced without \
               waiting for it.",
    },
    Opt {
        key: "request.ignore_client_abort",
        flag: Some("ignore-client-abort"),
        value: "PATTERN",
        kind: Kind::Routes,
        default: "",
        group: Group::Limits,
        short: "GET requests that run although the client left the queue",
        long: "A request that waits for a worker is dropped when its client disconnects, if its method is safe (GET, \
               HEAD, OPTIONS); requests with other methods, such as POST, are run. Requests to these paths are run with \
               any method, for clients that do not wait for the answer. Patterns as in `metrics.routes`; `/*` is all \
               paths. Whether a running script goes on without its client is decided by PHP's `ignore_user_abort`.",
    },
    Opt {
        key: "http.header_timeout",
        flag: Some("header-timeout"),
        value: "SECONDS",
        kind: Kind::Seconds {
            zero: Some("no limit"),
        },
        default: "30",
        group: Group::Limits,
        short: "Longest time to receive the header of a request",
        long: "Counted from the first byte of the request, and on a new connection from its start. Slow or dead clients \
               cannot hold connections.",
    },
    Opt {
        key: "http.keepalive_timeout",
        flag: Some("keepalive-timeout"),
        value: "SECONDS",
        kind: Kind::Seconds {
            zero: Some("close after each response"),
        },
        default: "75",
        group: Group::Limits,
        short: "How long an idle connection is kept open; 0: not at all",
        long: "Set it longer than the keep-alive time of a proxy in front, so that the proxy closes first.",
    },
    Opt {
        key: "http.body_timeout",
        flag: Some("body-timeout"),
        value: "SECONDS",
        kind: Kind::Seconds {
            zero: Some("no limit"),
        },
        default: "60",
        group: Group::Limits,
        short: "Longest pause within a request body; 0: no limit",
        long: "Counted anew after each piece that arrives, and only while the server waits for the body. The request is \
               answered 408; a handler that reads the body gets an exception there.",
    },
    Opt {
        key: "http.send_timeout",
        flag: Some("send-timeout"),
        value: "SECONDS",
        kind: Kind::Seconds {
            zero: Some("no limit"),
        },
        default: "60",
        group: Group::Limits,
        short: "Longest pause of a client that reads a response; 0: no limit",
        long: "Counted anew after each piece that the client reads. Then its connection is closed.",
    },
    Opt {
        key: "http.min_rate",
        flag: Some("min-rate"),
        value: "BYTES",
        kind: Kind::Bytes,
        default: "500",
        group: Group::Limits,
        short: "Least bytes per second of a body or a response; 0: no limit",
        long: "Applied after the server has waited for the client for 20 seconds within one body or response. A client \
               that sends or reads a byte now and then is treated as one that has stopped: a body is answered 408, a \
               response ends.",
    },
    Opt {
        key: "http.max_body",
        flag: Some("max-body"),
        value: "BYTES",
        kind: Kind::Bytes,
        default: "1G",
        group: Group::Limits,
        short: "Largest request body; larger ones get 413; 0: no limit",
        long: "A resident app refuses bodies above post_max_size (8M unless set) with 413 before a byte of them is \
               stored. This option is the limit where PHP has none, and for classic sites.",
    },
    Opt {
        key: "http.max_header_size",
        flag: Some("max-header-size"),
        value: "BYTES",
        kind: Kind::Bytes,
        default: "32K",
        group: Group::Limits,
        short: "Largest header of a request; larger ones get 431; 0: no limit",
        long: "The size of the request line and all fields together.",
    },
    Opt {
        key: "http.max_headers",
        flag: Some("max-headers"),
        value: "N",
        kind: Kind::Count { min: 0, max: 128 },
        default: "100",
        group: Group::Limits,
        short: "Most fields in the header of a request; more get 431; 0: 128",
        long: "Each line counts, also of fields with the same name. No request may have more than 128.",
    },
    Opt {
        key: "http.max_requests",
        flag: Some("max-requests-per-connection"),
        value: "N",
        kind: Kind::Count {
            min: 0,
            max: 1_000_000_000,
        },
        default: "10000",
        group: Group::Limits,
        short: "Requests after which a connection is closed; 0: never",
        long: "The response to the last request has `Connection: close`. The client's next connection may go to another \
               worker.",
    },
    Opt {
        key: "http.max_connections",
        flag: Some("max-connections"),
        value: "N",
        kind: CONNECTIONS,
        default: "16384",
        group: Group::Limits,
        short: "Most open connections; 0: as many as descriptors allow",
        long: "Counted over all workers, or in the front. At the limit, the connections that have been idle for longest \
               are closed; if none is idle, a new one is answered 503. No process accepts more connections than its limit \
               of descriptors allows, less those that PHP needs.",
    },
    Opt {
        key: "http.max_connections_per_worker",
        flag: Some("max-connections-per-worker"),
        value: "N",
        kind: CONNECTIONS,
        default: "0",
        group: Group::Limits,
        short: "Most open connections of one worker; 0: as many as descriptors allow",
        long: "For direct dispatch; with balanced dispatch the front has the connections. At the limit, idle connections \
               are closed, as for http.max_connections. The same as worker_connections of nginx.",
    },
    Opt {
        key: "http.max_connections_per_address",
        flag: Some("max-connections-per-address"),
        value: "N",
        kind: CONNECTIONS,
        default: "0",
        group: Group::Limits,
        short: "Most open connections from one address; 0: no limit",
        long: "A connection above the limit is answered 503. Counted over all workers; an IPv6 network of 64 bits counts \
               as one address. Connections of http.trusted_proxies are not counted, because each stands for many clients.",
    },
    Opt {
        key: "http.max_spool",
        flag: Some("max-spool"),
        value: "BYTES",
        kind: Kind::Bytes,
        default: "4G",
        group: Group::Limits,
        short: "Most bytes in temporary files of one process; 0: no limit",
        long: "Large bodies that are not complete yet, and responses that their clients have not read yet, are kept in \
               files without a name in $TMPDIR. A body that does not fit is answered 507; a response that does not fit \
               waits in its worker.",
    },
    Opt {
        key: "boot.timeout",
        flag: Some("boot-timeout"),
        value: "SECONDS",
        kind: Kind::Seconds {
            zero: Some("no limit"),
        },
        default: "60",
        group: Group::Limits,
        short: "Longest duration of the app's boot; 0: no limit",
        long: "From the start of PHP until the last worker accepts requests. A reload that takes longer is abandoned, and \
               the running generation stays.",
    },
    Opt {
        key: "stop.timeout",
        flag: Some("stop-timeout"),
        value: "SECONDS",
        kind: Kind::Seconds {
            zero: Some("at once"),
        },
        default: "30",
        group: Group::Limits,
        short: "On stop, time for requests in flight to finish",
        long: "Their background work has the same time. Requests that still run after it are killed. A second SIGTERM or Ctrl-C kills them at once.",
    },
    Opt {
        key: "reload.timeout",
        flag: Some("reload-timeout"),
        value: "SECONDS",
        kind: Kind::Seconds {
            zero: Some("at once"),
        },
        default: "30",
        group: Group::Limits,
        short: "On reload, time for the old workers' requests to finish",
        long: "The new workers already serve; requests that the old workers still run after this time are killed. A \
               worker that leaves by itself, for example after a fatal error, has the same time.",
    },
];
