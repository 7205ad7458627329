//! The app and its files, and the addresses to listen on.

use super::{Group, Kind, Opt};

pub(super) const TABLE: &[Opt] = &[
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
];
