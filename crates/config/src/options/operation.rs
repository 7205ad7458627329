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
        short: "A path that each worker must answer before it serves",
        long: "Such as /health. Each new worker asks itself; a status from 200 to 399 is good. If the answer is another, a \
               start or a reload fails with what was answered, and the generation that serves goes on.",
    },
    Opt {
        key: "watch",
        flag: Some("watch"),
        value: "",
        kind: Kind::Switch,
        default: "false",
        group: Group::Operation,
        short: "Reload when a PHP file of the app changes (development)",
        long: "Watches *.php files below the folder of the app, or of the nearest composer.json or hearth.toml above \
               it; folders named cache, storage, var or node_modules and hidden ones are left out. Also shows \
               exceptions to the client.",
    },
    Opt {
        key: "admin",
        flag: Some("admin"),
        value: "ADDR:PORT",
        kind: Kind::Address,
        default: "",
        group: Group::Operation,
        short: "Serve /health, /ready, /metrics and /status here",
        long: "Off unless set. It has no access control: keep it on an address that only your monitoring reaches.",
    },
    Opt {
        key: "metrics.routes",
        flag: Some("metrics-route"),
        value: "PATTERN",
        kind: Kind::Routes,
        default: "",
        group: Group::Operation,
        short: "Count the times of requests to these paths by themselves",
        long: "`/metrics` has a histogram for each pattern, and one for all other requests. `{name}` stands for one part of a path, \
               `*` at the end for all that follows: `/blog/{slug}`, `/api/*`. The first that fits counts. At most 31, so that no \
               client can make more of them.",
    },
    Opt {
        key: "control",
        flag: Some("control"),
        value: "PATH",
        kind: Kind::Path,
        default: "",
        group: Group::Operation,
        short: "The control socket of reload, stop and status",
        long: "Made from the path of the app below $XDG_RUNTIME_DIR/hearth, /run/hearth or /tmp/hearth-UID unless set. \
               Mode 0600: only the same user may use it. The server makes it in no directory that another user can write in, and \
               reload, stop and status ask no server of another user; root does where this names the socket.",
    },
    Opt {
        key: "log.level",
        flag: Some("log-level"),
        value: "LEVEL",
        kind: Kind::Choice(&["debug", "info", "warn", "error"]),
        default: "info",
        group: Group::Operation,
        short: "Least important lines to log: debug, info, warn or error",
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
        long: "A line for each request, static files and refused requests included. `syslog` is the socket /dev/log; another is named \
               as `syslog:PATH`. After SIGUSR1 the file is opened again, for programs that rotate logs.",
    },
    Opt {
        key: "log.access_format",
        flag: Some("access-format"),
        value: "FORMAT",
        kind: Kind::Choice(&["common", "combined", "json"]),
        default: "combined",
        group: Group::Operation,
        short: "Format of the access log: common, combined or json",
        long: "`common` and `combined` are those of Apache and nginx. `json` has the times too: in all, in the queue, in PHP, and on the \
               processor.",
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
        short: "Log where a request is that has run for so long",
        long: "A line at `warn` with the PHP code's stack at that moment, once for each request, as php-fpm's \
               `request_slowlog_timeout`. At most ten in ten seconds in each worker.",
    },
    Opt {
        key: "log.slow_file",
        flag: Some("slow-file"),
        value: "FILE",
        kind: Kind::Path,
        default: "",
        group: Group::Operation,
        short: "Slow requests go to this file, not to the log",
        long: "php-fpm's `slowlog`: each request with a line for each call, then an empty line. After SIGUSR1 the file is opened again, \
               for programs that rotate logs.",
    },
    Opt {
        key: "config",
        flag: Some("config"),
        value: "FILE",
        kind: Kind::Path,
        default: "",
        group: Group::Operation,
        short: "The configuration file (default: hearth.toml beside the app)",
        long: "TOML with the keys of this page. Only a flag or HEARTH_CONFIG can set it.",
    },
];
