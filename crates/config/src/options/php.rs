//! Options of PHP and of the cache.

use super::{Group, Kind, Opt};

pub(super) const TABLE: &[Opt] = &[
    Opt {
        key: "cache.size",
        flag: Some("cache-size"),
        value: "BYTES",
        kind: Kind::Bytes,
        default: "64M",
        group: Group::Php,
        short: "Memory of Hearth\\Cache, for all workers together; 0: none",
        long: "At least 256K. Memory is allocated as it is written to. The content survives restarts of workers and \
               reloads, but not a restart of the server. When the cache is full, entries that are not read are evicted. \
               One value takes at most half of it. With 0, each use of `Hearth\\Cache` throws.",
    },
    Opt {
        key: "cache.copies",
        flag: Some("cache-copies"),
        value: "BYTES",
        kind: Kind::Bytes,
        default: "16M",
        group: Group::Php,
        short: "Memory of a worker for decoded values of Hearth\\Cache; 0: none",
        long: "A worker keeps the arrays and strings that it has read, so that reading one again costs the same whatever \
               its size. The least recently read ones are evicted. In resident mode this memory counts towards \
               `memory_limit`.",
    },
    Opt {
        key: "cache.redis",
        flag: Some("cache-redis"),
        value: "URL",
        kind: Kind::Redis,
        default: "",
        group: Group::Php,
        short: "Redis or Valkey that the caches of several machines share",
        long: "`redis://[USER:PASSWORD@]HOST[:PORT][/DB]`, `rediss://…[?cacert=FILE&cert=FILE&key=FILE]` with TLS, or \
               `unix:PATH[?db=DB]`; Redis 6 or later. `Hearth\\Cache` is then one cache for all servers with the same \
               URL, and cache.size is the memory for copies in each server. Put a password into the environment \
               (HEARTH_CACHE_REDIS) or into a file that only the server can read.",
    },
    Opt {
        key: "cache.redis_prefix",
        flag: Some("cache-redis-prefix"),
        value: "TEXT",
        kind: Kind::Prefix,
        default: "hearth:",
        group: Group::Php,
        short: "Prefix of all keys in Redis; choose another one for each app",
        long: "Servers with the same prefix share one cache. They can also run code in each other, because values with \
               objects are unserialized.",
    },
    Opt {
        key: "cache.redis_timeout",
        flag: Some("cache-redis-timeout"),
        value: "SECONDS",
        kind: Kind::Seconds { zero: None },
        default: "0.5",
        group: Group::Php,
        short: "Time that Redis may take to answer before it counts as down",
        long: "The operation then runs in the memory of the server, as do all that follow until Redis answers again.",
    },
    Opt {
        key: "php.version",
        flag: Some("php"),
        value: "VERSION",
        kind: Kind::Version,
        default: "auto",
        group: Group::Php,
        short: "PHP version, such as 8.4; auto: the highest that starts",
        long: "Each version is a program hearth-php-VERSION beside hearth. `hearth --version` lists those that are \
               installed.",
    },
    Opt {
        key: "php.ini",
        flag: Some("ini"),
        value: "KEY=VALUE",
        kind: Kind::Ini,
        default: "",
        group: Group::Php,
        short: "PHP ini setting; may be repeated; -d is the same",
        long: "The value is written as in a `php.ini`, and is parsed as `php -d` parses it: `error_reporting=E_ALL & \
               ~E_NOTICE` is an expression, and a text that contains one of `;&|^~!()=` needs quotes of its own: \
               `'\"tcp://db?a=1&b=2\"'`. In TOML a table: `[php.ini]` with `memory_limit = \"256M\"`; in the environment \
               separated by semicolons. All sources add up; for one key the flag overrides the environment, and the \
               environment overrides the file.",
    },
    Opt {
        key: "env",
        flag: Some("env"),
        value: "NAME=VALUE",
        kind: Kind::Env,
        default: "",
        group: Group::Php,
        short: "Environment variable for PHP; may be repeated",
        long: "PHP has the environment of `hearth` and these variables, which override it: in `getenv()`, in `$_SERVER`, \
               and in `$_ENV` if `variables_order` contains E, as under php-fpm with `clear_env = no` and `env[NAME]`. In \
               TOML a table: `[env]` with `APP_ENV = \"prod\"`; in the environment separated by semicolons. All sources \
               add up; for one name the flag overrides the environment, and the environment overrides the file. A reload \
               reads them again. Names that belong to a request, such as `HTTPS` and `HTTP_…`, are in `getenv()` only.",
    },
    Opt {
        key: "php.allow_root",
        flag: Some("allow-root"),
        value: "",
        kind: Kind::Switch,
        default: "false",
        group: Group::Php,
        short: "Let PHP run as root, without a warning",
        long: "PHP runs as the user that starts Hearth. If that is root, a vulnerability of the app gives access to the \
               whole machine. So the server warns, and under systemd (`NOTIFY_SOCKET` or `INVOCATION_ID` is set), where \
               `User=` in the unit names another user, it does not start. Like `-R` of php-fpm, for containers whose only \
               user is root.",
    },
    Opt {
        key: "php.preload",
        flag: Some("preload"),
        value: "FILE",
        kind: Kind::Path,
        default: "",
        group: Group::Php,
        short: "Preload list of `hearth preload build`, or another script for opcache.preload",
        long: "PHP loads its classes once, when the app boots. Files that have changed since the list was made are left \
               out. If the app does not boot with the list, the server starts without it, and the log, `hearth status` \
               and the metrics report that; a reload with such a list keeps the running generation.",
    },
    Opt {
        key: "php.display_errors",
        flag: Some("display-errors"),
        value: "",
        kind: Kind::Switch,
        default: "",
        group: Group::Php,
        short: "Show errors to the client (development only)",
        long: "Off unless --watch is on. The page for an uncaught exception or a fatal error contains the surrounding \
               source and the request; PHP's warnings, and the output that a handler echoes, come before the HTML that it \
               returns. The log has all of them in any case.",
    },
];
