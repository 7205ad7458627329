//! Logs, control and other options for operators.

use super::{Group, Kind, Opt};

pub(super) const TABLE: &[Opt] = &[
    Opt {
        key: "boot.probe",
        flag: Some("probe"),
        value: "PATH",
        kind: Kind::Path,
        default: "",
        group: Group::Operation,
        short: "Path that each worker must answer before it serves",
        long: "A path such as /health. Each new worker requests it from itself; a status from 200 to 399 is good. With \
               any other answer the start or the reload fails, the error contains the answer, and the generation that \
               serves goes on.",
    },
    Opt {
        key: "watch",
        flag: Some("watch"),
        value: "",
        kind: Kind::Switch,
        default: "false",
        group: Group::Operation,
        short: "Reload when a PHP file of the app changes (development)",
        long: "Watches *.php files below the folder of the app, or of the nearest composer.json or hearth.toml above it, \
               except in hidden folders and those named cache, storage, var or node_modules. Also shows exceptions to the \
               client.",
    },
    Opt {
        key: "admin",
        flag: Some("admin"),
        value: "ADDR:PORT",
        kind: Kind::Address,
        default: "",
        group: Group::Operation,
        short: "Address to serve /health, /ready, /metrics and /status on",
        long: "Off unless set. The address has no access control: choose one that only your monitoring reaches.",
    },
    Opt {
        key: "metrics.routes",
        flag: Some("metrics-route"),
        value: "PATTERN",
        kind: Kind::Routes,
        default: "",
        group: Group::Operation,
        short: "Path patterns whose request times are counted separately",
        long: "`/metrics` has a histogram for each pattern, and one for all other requests. `{name}` stands for one \
               segment of a path, `*` at the end for any rest: `/blog/{slug}`, `/api/*`. The first pattern that matches \
               counts. At most 31 patterns; clients cannot add any.",
    },
    Opt {
        key: "control",
        flag: Some("control"),
        value: "PATH",
        kind: Kind::Path,
        default: "",
        group: Group::Operation,
        short: "Control socket of reload, stop and status",
        long: "By default its path is computed from the path of the app, below $XDG_RUNTIME_DIR/hearth, /run/hearth or \
               /tmp/hearth-UID. Mode 0600: only the same user may connect. The server creates it in no directory that \
               another user can write to. reload, stop and status send no question to a server of another user, unless \
               root names the socket with this option.",
    },
    Opt {
        key: "log.level",
        flag: Some("log-level"),
        value: "LEVEL",
        kind: Kind::Choice(&["debug", "info", "warn", "error"]),
        default: "info",
        group: Group::Operation,
        short: "Lowest level of lines to log: debug, info, warn or error",
        long: "The log goes to standard error, one line per event.",
    },
    Opt {
        key: "log.access",
        flag: Some("access-log"),
        value: "TARGET",
        kind: Kind::LogTarget,
        default: "off",
        group: Group::Operation,
        short: "Log each request: a file, stderr, syslog, or off",
        long: "One line for each request, static files and refused requests included. `syslog` is the socket /dev/log; \
               `syslog:PATH` is another socket. On SIGUSR1 the file is opened again, for programs that rotate logs.",
    },
    Opt {
        key: "log.access_format",
        flag: Some("access-format"),
        value: "FORMAT",
        kind: Kind::Choice(&["common", "combined", "json"]),
        default: "combined",
        group: Group::Operation,
        short: "Format of the access log: common, combined or json",
        long: "`common` and `combined` are the formats of Apache and nginx. `json` also has the time of the whole \
               request, in the queue, in PHP, and on the processor.",
    },
    Opt {
        key: "log.slow_after",
        flag: Some("slow-after"),
        value: "SECONDS",
        kind: Kind::Seconds {
            zero: Some("never"),
        },
        default: "0",
        group: Group::Operation,
        short: "Log the PHP stack of a request that has run for this long",
        long: "A line at `warn` with the stack of the PHP code at that moment, once for each request, like php-fpm's \
               `request_slowlog_timeout`. At most ten lines in ten seconds for each worker.",
    },
    Opt {
        key: "log.slow_file",
        flag: Some("slow-file"),
        value: "FILE",
        kind: Kind::Path,
        default: "",
        group: Group::Operation,
        short: "File for slow requests, instead of the log",
        long: "The format is that of php-fpm's `slowlog`: each request with a line for each call, then an empty line. On \
               SIGUSR1 the file is opened again, for programs that rotate logs.",
    },
    Opt {
        key: "config",
        flag: Some("config"),
        value: "FILE",
        kind: Kind::Path,
        default: "",
        group: Group::Operation,
        short: "Configuration file (default: hearth.toml beside the app)",
        long: "TOML with the keys of this page. Only the flag or HEARTH_CONFIG can set it.",
    },
];
