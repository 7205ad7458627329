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
        short: "Longest a request may take; 0: no limit",
        long: "A request over it gets a `Hearth\\TimeoutError` at its next wait, also inside a database read.",
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
        short: "After that, time to end before its worker is killed",
        long: "For code that computes without waiting and so does not notice the time limit. Code that catches the error and waits again is told again each time this is over; after the fourth time its worker is replaced without it.",
    },
    Opt {
        key: "request.ignore_client_abort",
        flag: Some("ignore-client-abort"),
        value: "PATTERN",
        kind: Kind::Routes,
        default: "",
        group: Group::Limits,
        short: "Run these GET requests also if their client left the queue",
        long: "A request that waits for a worker is dropped when its client leaves, if its method is safe (GET, HEAD, OPTIONS); others, \
               such as POST, are run all the same. Requests to these paths are run too: for callers that do not wait for an answer. \
               Patterns as in `metrics.routes`; `/*` is all paths. What a running script does without its client is PHP's \
               `ignore_user_abort`.",
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
        short: "Longest a client may take to send a request's header",
        long: "Counted from the first byte, and for a new connection until that comes; keeps slow or dead clients from \
               holding connections.",
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
        short: "How long an idle connection is kept; 0: not at all",
        long: "Longer than the proxy's own limit in front, if there is one, so that the proxy closes first.",
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
        short: "Longest a client may send nothing of a body; 0: no limit",
        long: "Counted anew with each piece that comes, and only while the server waits for it. The request is answered 408; a handler \
               that reads the body gets an exception there.",
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
        short: "Longest a client may read nothing of a response; 0: no limit",
        long: "Counted anew with each piece that it takes. Its connection is closed.",
    },
    Opt {
        key: "http.min_rate",
        flag: Some("min-rate"),
        value: "BYTES",
        kind: Kind::Bytes,
        default: "500",
        group: Group::Limits,
        short: "Least bytes per second of a body or a response; 0: no limit",
        long: "After the first 20 seconds that the server waits for a client within one body or response. A client that moves a byte \
               now and then is cut off as one that moves none: a body is answered 408, a response ends.",
    },
    Opt {
        key: "http.max_body",
        flag: Some("max-body"),
        value: "BYTES",
        kind: Kind::Bytes,
        default: "1G",
        group: Group::Limits,
        short: "Largest request body, larger ones get 413; 0: no limit",
        long: "Bodies that a resident app refuses (post_max_size, 8M unless set) are smaller and are answered 413 before a byte of \
               them is kept; this is the bound where PHP has none, and of classic sites.",
    },
    Opt {
        key: "http.max_header_size",
        flag: Some("max-header-size"),
        value: "BYTES",
        kind: Kind::Bytes,
        default: "32K",
        group: Group::Limits,
        short: "Largest header of a request, larger ones get 431; 0: no limit",
        long: "The request line and all fields together.",
    },
    Opt {
        key: "http.max_headers",
        flag: Some("max-headers"),
        value: "N",
        kind: Kind::Count { min: 0, max: 128 },
        default: "100",
        group: Group::Limits,
        short: "Most fields of a request's header, more get 431; 0: 128",
        long: "Fields of one name are counted one by one. No request may have more than 128.",
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
        long: "The answer to the last one has `Connection: close`. New connections are spread over the workers anew.",
    },
    Opt {
        key: "http.max_connections",
        flag: Some("max-connections"),
        value: "N",
        kind: CONNECTIONS,
        default: "16384",
        group: Group::Limits,
        short: "Most open connections; 0: as many as descriptors allow",
        long: "In all workers together, or in the front. At the limit the connections that have been idle for longest are closed; if \
               none is idle, a new one is answered 503. No process takes more than its descriptors allow, less those that PHP \
               needs.",
    },
    Opt {
        key: "http.max_connections_per_worker",
        flag: Some("max-connections-per-worker"),
        value: "N",
        kind: CONNECTIONS,
        default: "0",
        group: Group::Limits,
        short: "Most open connections of one worker; 0: as many as descriptors allow",
        long: "With direct dispatch; behind the front workers have none. At the limit, as for http.max_connections, idle ones make \
               room. Like worker_connections of nginx.",
    },
    Opt {
        key: "http.max_connections_per_address",
        flag: Some("max-connections-per-address"),
        value: "N",
        kind: CONNECTIONS,
        default: "0",
        group: Group::Limits,
        short: "Most open connections from one address; 0: no limit",
        long: "One more is answered 503. Counted over all workers; of IPv6 a network of 64 bits is one address. Connections of \
               http.trusted_proxies are not counted: they stand for many clients.",
    },
    Opt {
        key: "http.max_spool",
        flag: Some("max-spool"),
        value: "BYTES",
        kind: Kind::Bytes,
        default: "4G",
        group: Group::Limits,
        short: "Most bytes in temporary files, in one process; 0: no limit",
        long: "Large bodies that are not complete yet, and answers that their clients have not read yet, lie in files without a name in \
               $TMPDIR. A body for which there is no room is answered 507; an answer waits in its worker.",
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
        short: "Longest the app may take to boot; 0: no limit",
        long: "From the start of PHP to the last worker that accepts. A reload whose app takes longer is abandoned; the \
               old one stays.",
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
        short: "On stop, time for requests in flight to end",
        long: "What still runs then is killed. A second SIGTERM or Ctrl-C does so at once.",
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
        short: "On reload, time for the old workers' requests to end",
        long: "The new workers serve already; what the old ones still run then is killed. Also the time that a worker \
               has which leaves by itself, after a fatal error for example.",
    },
];
