//! The table.

/// What kind of value an option takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// A file or directory; relative to the working directory, or to the configuration file that names it.
    Path,
    /// Directories, any number of them; relative as `Path`.
    Directories,
    /// Paths as a browser asks for them, any number of them.
    UrlPaths,
    /// One such path.
    UrlPath,
    /// On or off; the flag takes no value.
    Switch,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A whole number in this range.
    Count { min: u32, max: u32 },
    /// A whole number, or `auto`.
    Workers,
    /// Seconds, fractions allowed; `zero` says what 0 means, if it is allowed.
    Seconds { zero: Option<&'static str> },
    /// `ADDR:PORT` or `unix:PATH`, any number of them.
    Listen,
    /// An address, a network, `private` or `unix`, any number of them.
    Proxies,
    /// Who may do what with a file, in octal digits.
    Mode,
    /// A user's or a group's name or number.
    Name,
    /// `ADDR:PORT`.
    Address,
    /// The URL of a Redis; a password may be in it.
    Redis,
    /// Printable characters.
    Prefix,
    /// `KEY=VALUE`, any number of them; all sources add up.
    Ini,
    /// `NAME=VALUE`, any number of them; all sources add up.
    Env,
    /// Patterns of paths, any number of them up to 31.
    Routes,
    /// Where the lines of a log go: `off`, `stderr`, `syslog`, `syslog:PATH` or a file.
    LogTarget,
    /// `PATTERN=VALUE`, any number of them; all sources add up.
    Headers,
    /// `PREFIX=DIR`, any number of them; all sources add up.
    Folders,
    /// `LOCATION=WORDS`, any number of them; all sources add up.
    Rewrites,
    /// A PHP version such as `8.4`, or `auto`.
    Version,
    /// Bytes, with K, M or G behind the number if wanted; 0 means none.
    Bytes,
}

/// Headings of `--help` and of the reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    Server,
    Workers,
    Php,
    Limits,
    Operation,
}

impl Group {
    pub const ALL: [Group; 5] = [
        Group::Server,
        Group::Workers,
        Group::Php,
        Group::Limits,
        Group::Operation,
    ];

    pub fn title(self) -> &'static str {
        match self {
            Group::Server => "Server",
            Group::Workers => "Workers",
            Group::Php => "PHP",
            Group::Limits => "Limits (times in seconds)",
            Group::Operation => "Operation",
        }
    }
}

/// One option.
#[derive(Debug)]
pub struct Opt {
    /// Dotted name: the TOML key, and `HEARTH_` + this in capitals with `_` for `.` in the environment.
    pub key: &'static str,
    /// `--flag`; `None` is the positional APP.
    pub flag: Option<&'static str>,
    /// What `--help` calls the value.
    pub value: &'static str,
    pub kind: Kind,
    /// As it would be written; empty: none, or decided from something else (the long text says what).
    pub default: &'static str,
    pub group: Group,
    pub short: &'static str,
    pub long: &'static str,
}

impl Opt {
    pub fn env(&self) -> String {
        format!("HEARTH_{}", self.key.replace('.', "_").to_uppercase())
    }

    pub fn repeatable(&self) -> bool {
        matches!(
            self.kind,
            Kind::Directories | Kind::UrlPaths | Kind::Listen | Kind::Proxies | Kind::Routes
        ) || self.is_table()
    }

    /// A table in TOML, whose entries are the values: all sources add up.
    pub(crate) fn is_table(&self) -> bool {
        matches!(
            self.kind,
            Kind::Ini | Kind::Env | Kind::Headers | Kind::Folders | Kind::Rewrites
        )
    }
}

/// Look up by key. Keys are constants of this program.
pub fn option(key: &str) -> &'static Opt {
    OPTIONS
        .iter()
        .find(|option| option.key == key)
        .expect("keys are from the table")
}

pub const OPTIONS: &[Opt] = &[
    Opt {
        key: "app",
        flag: None,
        value: "APP",
        kind: Kind::Path,
        default: "",
        group: Group::Server,
        short: "The script that returns a handler, or the folder of a site",
        long: "The PHP script that runs once and returns the handler for all requests, or the document root of a site \
               that is served classically. The first argument of `hearth serve`, or this key in the configuration \
               file.",
    },
    Opt {
        key: "listen",
        flag: Some("listen"),
        value: "ADDR:PORT",
        kind: Kind::Listen,
        default: "127.0.0.1:8080",
        group: Group::Server,
        short: "Where to listen: ADDR:PORT or unix:PATH; may be repeated",
        long: "Port 0 takes a free port; the line `hearth: listening on …` says which. `0.0.0.0:8080` listens on all \
               IPv4 addresses, `[::]:8080` on all addresses. In TOML a string or a list of strings, in the environment \
               separated by commas. Which users may connect to a Unix socket is \
               said by socket.mode, socket.owner and socket.group.",
    },
    Opt {
        key: "socket.mode",
        flag: Some("socket-mode"),
        value: "MODE",
        kind: Kind::Mode,
        default: "0660",
        group: Group::Server,
        short: "Mode of the Unix sockets of --listen, in octal digits",
        long: "Users that may write to the file may connect: with 0660 its owner and the members of its group, with 0666 all. In TOML \
               a string: `mode = \"0660\"`.",
    },
    Opt {
        key: "socket.owner",
        flag: Some("socket-owner"),
        value: "USER",
        kind: Kind::Name,
        default: "",
        group: Group::Server,
        short: "Owner of the Unix sockets of --listen",
        long: "A name or a number; by default the user that starts Hearth. Only root may give a file to another user.",
    },
    Opt {
        key: "socket.group",
        flag: Some("socket-group"),
        value: "GROUP",
        kind: Kind::Name,
        default: "",
        group: Group::Server,
        short: "Group of the Unix sockets of --listen, such as www-data",
        long: "A name or a number; by default the group of the user that starts Hearth. A group of that user, or with root any: that of the \
               proxy, so that it can connect.",
    },
    Opt {
        key: "http.trusted_proxies",
        flag: Some("trusted-proxies"),
        value: "ADDR",
        kind: Kind::Proxies,
        default: "",
        group: Group::Server,
        short: "Proxies whose word on their clients counts; may be repeated",
        long: "From these peers `X-Forwarded-For`, `-Proto`, `-Host` and `-Port`, or `Forwarded`, say who the client is and what it \
               asked for, and a header of the PROXY protocol (version 1 or 2) may begin a connection; from all others they say \
               nothing. An address, a network such as 10.0.0.0/8, `private` (loopback, link-local and private networks) or \
               `unix` (peers on a Unix socket). In TOML a string or a list of strings, in the environment separated by commas.",
    },
    Opt {
        key: "mode",
        flag: Some("mode"),
        value: "MODE",
        kind: Kind::Choice(&["resident", "classic"]),
        default: "",
        group: Group::Server,
        short: "resident: the app stays warm; classic: as under php-fpm",
        long: "Unless this says otherwise a directory is served classically, as under php-fpm: static files are sent, \
               `.php` files run, everything else goes to `index.php`, and nothing survives a request. A script is \
               resident. A script with `--mode classic` is the front controller of the site in its folder.",
    },
    Opt {
        key: "site.root",
        flag: Some("root"),
        value: "DIR",
        kind: Kind::Path,
        default: "",
        group: Group::Server,
        short: "The folder whose files a resident app's server sends by itself",
        long: "GET and HEAD of a file in it are answered without PHP, by the rules of a classic site; everything else is the \
               handler's. By default `public` beside the script where there is such a folder, and for a script in a folder \
               called `public` that one; an empty value is none. In classic mode APP is the document root.",
    },
    Opt {
        key: "site.follow",
        flag: Some("follow"),
        value: "DIR",
        kind: Kind::Directories,
        default: "/",
        group: Group::Server,
        short: "Where symbolic links may lead out of the site; may be repeated",
        long: "No path of a request leads out of the document root, but a symbolic link in it may: its owner put it \
               there, as Laravel's `public/storage` and Debian's packages do. The default follows them anywhere, as nginx \
               and Apache do; name directories to follow them only there, or an empty one for nowhere. In TOML a string \
               or a list of strings, in the environment separated by colons. What is given replaces the default.",
    },
    Opt {
        key: "site.deny",
        flag: Some("deny"),
        value: "PATH",
        kind: Kind::UrlPaths,
        default: "",
        group: Group::Server,
        short: "What a site never answers with, such as /data or '~ \\.sqlite$'; may be repeated",
        long: "This path and everything below it, or what `~ EXPRESSION` (`~*`: in any case) matches, is answered 403, scripts included; with a resident app where it has a \
               site.root. Hidden files and PHP sources are never sent, without being named; this is for data and programs that \
               an app keeps in its document root, where Apache would read a .htaccess. In TOML a string or a list of strings, in the environment \
               separated by colons.",
    },
    Opt {
        key: "site.fallback",
        flag: Some("fallback"),
        value: "PATH",
        kind: Kind::UrlPath,
        default: "",
        group: Group::Server,
        short: "The page of a single-page app, such as /index.html",
        long: "This file answers GET and HEAD of what is not there, in place of the resident app or, in classic mode, of `index.php`: \
               the routes of an app that runs in the browser. Paths with a dot in their last part are left out, because they name \
               files; so are those of site.dynamic.",
    },
    Opt {
        key: "site.dynamic",
        flag: Some("dynamic"),
        value: "PATH",
        kind: Kind::UrlPaths,
        default: "",
        group: Group::Server,
        short: "What PHP answers in spite of site.fallback, such as /api; may be repeated",
        long: "This path and everything below it. A resident app gets these requests without a look for a file. In TOML a string \
               or a list of strings, in the environment separated by colons.",
    },
    Opt {
        key: "site.rewrite",
        flag: Some("rewrite"),
        value: "LOCATION=WORDS",
        kind: Kind::Rewrites,
        default: "",
        group: Group::Server,
        short: "What paths of a site are looked up as, as try_files of nginx; may be repeated",
        long: "LOCATION is `/path`, which holds below it too, or `~ EXPRESSION` (`~*`: in any case), on the decoded path; the first \
               expression that matches comes before the longest path. Of the words, the first that names a file that is there \
               answers, or with a slash at its end a directory; the last answers in any case: a path with a query if wanted, \
               `=403`, `=404`, `=410`, or `=301 /elsewhere` (302, 307, 308). Words know `$uri`, `$args`, `$is_args` and the groups \
               `$1` to `$9`. Classic mode. In TOML a table: `[site.rewrite]` with `'~ ^/wiki/(.*)$' = '/index.php?title=$1&$args'`; in the \
               environment separated by semicolons. All sources add up: the file comes first, then the environment, then flags.",
    },
    Opt {
        key: "site.cache_control",
        flag: Some("cache-control"),
        value: "PATTERN=VALUE",
        kind: Kind::Headers,
        default: "",
        group: Group::Server,
        short: "Cache-Control of files, such as \"/build/*=max-age=3600\"; may be repeated",
        long: "The pattern is compared with the whole path of a file below the document root; `*` in it is any text, slashes included: \
               `/build/*`, `*.woff2`. Of several that fit the last holds; an empty value sends none. Files only: what PHP \
               answers has the header that PHP gives it. In TOML a table: `[site.cache_control]` with `\"/build/*\" = \
               \"public, max-age=31536000, immutable\"`; in the environment separated by semicolons. All sources add up: the \
               file comes first, then the environment, then flags.",
    },
    Opt {
        key: "site.precompressed",
        flag: Some("precompressed"),
        value: "on|off",
        kind: Kind::Choice(&["on", "off"]),
        default: "on",
        group: Group::Server,
        short: "Send what lies compressed beside a file: style.css.br, .zst, .gz",
        long: "Where such a file lies beside one of a type that can be compressed (text, scripts, JSON, XML, SVG, WebAssembly …) and \
               is not older, it is sent with `Content-Encoding` to a client whose `Accept-Encoding` allows it. Nothing is \
               compressed by the server.",
    },
    Opt {
        key: "site.sendfile",
        flag: Some("sendfile"),
        value: "PREFIX=DIR",
        kind: Kind::Folders,
        default: "",
        group: Group::Server,
        short: "A folder of which PHP may have files sent, such as /files=storage",
        long: "A response with `X-Accel-Redirect: /files/a.pdf` or `X-Sendfile: /srv/app/storage/a.pdf` is then that file, with \
               the fields that PHP gave it. No request reaches these folders by itself, and nothing outside of them is sent. \
               Without this option both headers go to the client, for a proxy in front. In TOML a table: `[site.sendfile]` \
               with `\"/files\" = \"storage\"`; in the environment separated by semicolons. All sources add up.",
    },
    Opt {
        key: "workers.count",
        flag: Some("workers"),
        value: "N|auto",
        kind: Kind::Workers,
        default: "auto",
        group: Group::Workers,
        short: "Worker processes; auto: one per CPU, with concurrency 1 four per CPU",
        long: "Each worker is one process with one thread. Where it serves many requests at once, more workers than CPUs \
               seldom help. Where it serves one at a time, it is idle while that one waits for a database, so `auto` \
               starts four per CPU that this process may use.",
    },
    Opt {
        key: "workers.min",
        flag: Some("workers-min"),
        value: "N",
        kind: Kind::Count { min: 1, max: 1024 },
        default: "",
        group: Group::Workers,
        short: "The least number of workers, instead of a fixed one",
        long: "One per CPU where only workers.max is given. With either of the two the number of workers follows the load: \
               another is forked when requests wait, the workers wait too, and a processor has nothing to do. That takes \
               balanced dispatch.",
    },
    Opt {
        key: "workers.max",
        flag: Some("workers-max"),
        value: "N|auto",
        kind: Kind::Workers,
        default: "auto",
        group: Group::Workers,
        short: "The greatest number of workers; auto: by memory",
        long: "Holds where workers.min or workers.max is given. `auto`: as long as a tenth of the memory (of the machine, or \
               of the control group) stays free after another worker, which is taken to cost what one costs now: its \
               proportional set size. Never more than 1024.",
    },
    Opt {
        key: "workers.idle_timeout",
        flag: Some("idle-timeout"),
        value: "SECONDS",
        kind: Kind::Seconds { zero: None },
        default: "30",
        group: Group::Workers,
        short: "A worker above workers.min leaves after so long without a request",
        long: "It finishes what it has, so no request is lost. The front asks the same few workers first while little is \
               asked, so the others become idle.",
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
               measuring and testing. Classic mode has always 1.",
    },
    Opt {
        key: "workers.dispatch",
        flag: Some("dispatch"),
        value: "HOW",
        kind: Kind::Choice(&["direct", "balanced"]),
        default: "",
        group: Group::Workers,
        short: "direct: workers accept; balanced: a front hands out requests",
        long: "Balanced: a process in front ends HTTP, and each request is taken by a worker in which nothing runs, so \
               neither a request that computes nor a slow client delays others. Direct: each worker has connections of \
               its own, nothing is between client and PHP. By default balanced, but direct for a single worker that \
               serves many requests at a time.",
    },
    Opt {
        key: "front.threads",
        flag: Some("front-threads"),
        value: "N",
        kind: Kind::Count { min: 1, max: 64 },
        default: "1",
        group: Group::Workers,
        short: "Balanced: threads of the front",
        long: "More than one helps where the front needs a whole processor while workers are idle: `hearth status` shows the \
               CPU time of each thread. A thread has connections of its own, each worker takes requests of all threads in \
               turn, and limits hold for all together.",
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
        long: "First come, first served. A request beyond it is answered 503 with Retry-After. With direct dispatch each worker has a \
               queue of its own.",
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
        long: "After that it is answered 503 with Retry-After. While the queue has not been empty for that long, a tenth of \
               the time is the limit: then more comes than the workers can do, and a queue in which each request waits to \
               the limit serves none of them better than a short one.",
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
        long: "For apps that leak memory. Spread by 10 % so that not all workers go at once; the successor serves before \
               the old one stops, and no request is cut off.",
    },
    Opt {
        key: "workers.max_memory",
        flag: Some("max-memory"),
        value: "BYTES",
        kind: Kind::Bytes,
        default: "0",
        group: Group::Workers,
        short: "Replace a worker that has grown beyond this; 0: never",
        long: "Resident memory without what it shares with others, such as 256M, looked at after each request. Otherwise \
               as workers.max_requests.",
    },
    Opt {
        key: "cache.size",
        flag: Some("cache-size"),
        value: "BYTES",
        kind: Kind::Bytes,
        default: "64M",
        group: Group::Php,
        short: "Memory of Hearth\\Cache, for all workers together; 0: none",
        long: "At least 256K. Memory is taken as it is written to, and what is in it survives restarts of workers and reloads, not of \
               the server. When it is full, entries that are not read make room. One value takes half of it at most. With 0 each \
               use of `Hearth\\Cache` throws.",
    },
    Opt {
        key: "cache.copies",
        flag: Some("cache-copies"),
        value: "BYTES",
        kind: Kind::Bytes,
        default: "16M",
        group: Group::Php,
        short: "Memory of a worker for decoded values of Hearth\\Cache; 0: none",
        long: "A worker keeps the arrays and strings that it has read, so that reading one again costs the same whatever its size. Those \
               that were read least lately leave. In resident mode this memory counts for `memory_limit`.",
    },
    Opt {
        key: "cache.redis",
        flag: Some("cache-redis"),
        value: "URL",
        kind: Kind::Redis,
        default: "",
        group: Group::Php,
        short: "A Redis or Valkey that the caches of several machines share",
        long: "`redis://[USER:PASSWORD@]HOST[:PORT][/DB]`, `rediss://…[?cacert=FILE&cert=FILE&key=FILE]` with TLS, or `unix:PATH[?db=DB]`; Redis 6 or later. `Hearth\\Cache` is \
               then one cache for all servers that name it, and cache.size the memory of each for copies. Write a password into the \
               environment (HEARTH_CACHE_REDIS) or into a file that only the server reads.",
    },
    Opt {
        key: "cache.redis_prefix",
        flag: Some("cache-redis-prefix"),
        value: "TEXT",
        kind: Kind::Prefix,
        default: "hearth:",
        group: Group::Php,
        short: "What all keys in Redis begin with: another one for each app",
        long: "Servers with the same prefix share one cache, and can run code in each other, because values with objects are unserialized.",
    },
    Opt {
        key: "cache.redis_timeout",
        flag: Some("cache-redis-timeout"),
        value: "SECONDS",
        kind: Kind::Seconds { zero: None },
        default: "0.5",
        group: Group::Php,
        short: "How long Redis may take to answer; it is away then",
        long: "The operation that was under way is done in the memory of the server, as all that follow until Redis is back.",
    },
    Opt {
        key: "php.version",
        flag: Some("php"),
        value: "VERSION",
        kind: Kind::Version,
        default: "auto",
        group: Group::Php,
        short: "PHP version, such as 8.4; auto: the highest that starts",
        long: "Each version is a program hearth-php-VERSION beside hearth. `hearth --version` lists those found.",
    },
    Opt {
        key: "php.ini",
        flag: Some("ini"),
        value: "KEY=VALUE",
        kind: Kind::Ini,
        default: "",
        group: Group::Php,
        short: "A PHP ini setting; may be repeated; -d is the same",
        long: "The value is what stands in a `php.ini`, read as `php -d` reads it: `error_reporting=E_ALL & ~E_NOTICE` is an \
               expression, and a text with one of `;&|^~!()=` in it needs quotes of its own: `'\"tcp://db?a=1&b=2\"'`. \
               In TOML a table: `[php.ini]` with `memory_limit = \"256M\"`; in the environment separated by semicolons. \
               All sources add up; for one key the flag wins over the environment, and that over the file.",
    },
    Opt {
        key: "env",
        flag: Some("env"),
        value: "NAME=VALUE",
        kind: Kind::Env,
        default: "",
        group: Group::Php,
        short: "An environment variable for PHP; may be repeated",
        long: "PHP has the environment of `hearth`, and this over it: in `getenv()`, in `$_SERVER`, and in `$_ENV` where \
               `variables_order` has an E, as under php-fpm with `clear_env = no` and `env[NAME]`. In TOML a table: `[env]` \
               with `APP_ENV = \"prod\"`; in the environment separated by semicolons. All sources add up; for one name the \
               flag wins over the environment, and that over the file. A reload reads it anew. Names that belong to a request, \
               such as `HTTPS` and `HTTP_…`, are in `getenv()` only.",
    },
    Opt {
        key: "php.allow_root",
        flag: Some("allow-root"),
        value: "",
        kind: Kind::Switch,
        default: "false",
        group: Group::Php,
        short: "Let PHP run as root, without a warning",
        long: "PHP runs as the user that starts Hearth. If that is root, a hole in the app opens the whole machine: the server warns, \
               and does not start under systemd (`NOTIFY_SOCKET` or `INVOCATION_ID` is set), where `User=` in the unit names \
               another. This is what `-R` is to php-fpm; for containers whose only user is root.",
    },
    Opt {
        key: "php.preload",
        flag: Some("preload"),
        value: "FILE",
        kind: Kind::Path,
        default: "",
        group: Group::Php,
        short: "A preload list of `hearth preload build`, or another script for opcache.preload",
        long: "PHP loads its classes once, when the app boots. Files that have changed since the list was made are left out. If the app does \
               not boot with it at all, the server starts without, and says so in its log, `hearth status` and the metrics; a reload to \
               such a list changes nothing.",
    },
    Opt {
        key: "php.display_errors",
        flag: Some("display-errors"),
        value: "",
        kind: Kind::Switch,
        default: "",
        group: Group::Php,
        short: "Show errors to the client (development only)",
        long: "Off unless --watch is on. A page for an uncaught exception or a fatal error has the source around it and the request; \
               PHP's warnings, and what a handler echoes, come before the HTML that it returns. The log has all of them either way.",
    },
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
        kind: Kind::Count {
            min: 0,
            max: 10_000_000,
        },
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
        kind: Kind::Count {
            min: 0,
            max: 10_000_000,
        },
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
        kind: Kind::Count {
            min: 0,
            max: 10_000_000,
        },
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_texts_are_there() {
        let keys: BTreeSet<_> = OPTIONS.iter().map(|o| o.key).collect();
        let flags: BTreeSet<_> = OPTIONS.iter().map(|o| o.flag).collect();
        let env: BTreeSet<_> = OPTIONS.iter().map(Opt::env).collect();
        assert_eq!(
            (keys.len(), flags.len(), env.len()),
            (OPTIONS.len(), OPTIONS.len(), OPTIONS.len())
        );
        for option in OPTIONS {
            assert!(
                (10..=79).contains(&option.short.len()),
                "{}: {}",
                option.key,
                option.short
            );
            assert!(
                option.long.ends_with('.'),
                "{}: {}",
                option.key,
                option.long
            );
        }
        assert!(
            OPTIONS.len() <= 68,
            "a new option must say what it replaces"
        );
    }

    #[test]
    fn environment_names_follow_the_key() {
        assert_eq!(
            option("workers.concurrency").env(),
            "HEARTH_WORKERS_CONCURRENCY"
        );
        assert_eq!(
            option("http.keepalive_timeout").env(),
            "HEARTH_HTTP_KEEPALIVE_TIMEOUT"
        );
    }
}
