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
        short: "Script that returns a handler, or folder of a site",
        long: "The PHP script that runs once and returns the handler for all requests, or the document root of a site \
               that is served classically. It is the first argument of `hearth serve`, or this key in the configuration \
               file.",
    },
    Opt {
        key: "listen",
        flag: Some("listen"),
        value: "ADDR:PORT",
        kind: Kind::Listen,
        default: "127.0.0.1:8080",
        group: Group::Server,
        short: "Address to listen on: ADDR:PORT or unix:PATH; may be repeated",
        long: "Port 0 takes a free port; the log line `hearth: listening on …` contains it. `0.0.0.0:8080` listens on all \
               IPv4 addresses, `[::]:8080` on all addresses. In TOML a string or a list of strings, in the environment \
               separated by commas. socket.mode, socket.owner and socket.group decide which users may connect to a Unix \
               socket.",
    },
    Opt {
        key: "socket.mode",
        flag: Some("socket-mode"),
        value: "MODE",
        kind: Kind::Mode,
        default: "0660",
        group: Group::Server,
        short: "Mode of the Unix sockets of --listen, in octal digits",
        long: "Users with write permission may connect: with 0660 the owner and the members of the group, with 0666 all \
               users. In TOML a string: `mode = \"0660\"`.",
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
        long: "A name or a number; by default the group of the user that starts Hearth. Use the group of the proxy, so \
               that it can connect. That user must be a member of the group, or be root.",
    },
    Opt {
        key: "http.trusted_proxies",
        flag: Some("trusted-proxies"),
        value: "ADDR",
        kind: Kind::Proxies,
        default: "",
        group: Group::Server,
        short: "Proxies whose forwarding fields are used; may be repeated",
        long: "`X-Forwarded-For`, `-Proto`, `-Host` and `-Port`, or `Forwarded`, of these peers tell the client's address \
               and the scheme, host and port that it requested, and a connection may begin with a header of the PROXY \
               protocol (version 1 or 2). From all other peers they are ignored. An address, a network such as \
               10.0.0.0/8, `private` (loopback, link-local and private networks) or `unix` (peers on a Unix socket). In \
               TOML a string or a list of strings, in the environment separated by commas.",
    },
    Opt {
        key: "mode",
        flag: Some("mode"),
        value: "MODE",
        kind: Kind::Choice(&["resident", "classic"]),
        default: "",
        group: Group::Server,
        short: "resident: the app stays warm; classic: as under php-fpm",
        long: "By default a directory is served in classic mode, as under php-fpm: static files are sent, `.php` files \
               run, every other path goes to `index.php`, and no state survives a request. A script is resident by \
               default. A script with `--mode classic` is the front controller of the site in its folder.",
    },
    Opt {
        key: "site.root",
        flag: Some("root"),
        value: "DIR",
        kind: Kind::Path,
        default: "",
        group: Group::Server,
        short: "Folder whose files the server of a resident app sends by itself",
        long: "GET and HEAD requests for a file in it are answered without PHP, by the rules of a classic site; all other \
               requests go to the handler. By default it is `public` beside the script, if that folder exists, and for a \
               script in a folder called `public` that folder; an empty value turns it off. In classic mode APP is the \
               document root.",
    },
    Opt {
        key: "site.follow",
        flag: Some("follow"),
        value: "DIR",
        kind: Kind::Directories,
        default: "/",
        group: Group::Server,
        short: "Where symbolic links may lead out of the site; may be repeated",
        long: "The path of a request never leads out of the document root, but a symbolic link in it may: the owner of \
               the site made it, as Laravel's `public/storage` and Debian's packages do. The default follows links \
               anywhere, as nginx and Apache do; name directories to follow links only there, or an empty one to follow \
               none. In TOML a string or a list of strings, in the environment separated by colons. The value replaces \
               the default.",
    },
    Opt {
        key: "site.deny",
        flag: Some("deny"),
        value: "PATH",
        kind: Kind::UrlPaths,
        default: "",
        group: Group::Server,
        short: "Paths that a site answers with 403, such as /data or '~ \\.sqlite$'; repeatable",
        long: "The path and everything below it, or all paths that `~ EXPRESSION` (`~*`: ignoring case) matches, scripts \
               included; with a resident app, if it has a site.root. Hidden files and PHP sources are never sent, also \
               without this option. Use it for data and programs that an app keeps in its document root, and for which \
               Apache would read a .htaccess. In TOML a string or a list of strings, in the environment separated by \
               colons.",
    },
    Opt {
        key: "site.fallback",
        flag: Some("fallback"),
        value: "PATH",
        kind: Kind::UrlPath,
        default: "",
        group: Group::Server,
        short: "Page of a single-page app, such as /index.html",
        long: "This file answers GET and HEAD requests for paths that do not exist, instead of the resident app or, in \
               classic mode, of `index.php`: for the routes of an app that runs in the browser. Paths with a dot in their \
               last segment are excluded, because they name files; so are those of site.dynamic.",
    },
    Opt {
        key: "site.dynamic",
        flag: Some("dynamic"),
        value: "PATH",
        kind: Kind::UrlPaths,
        default: "",
        group: Group::Server,
        short: "Paths that PHP answers in spite of site.fallback, such as /api; repeatable",
        long: "The path and everything below it. A resident app gets these requests without a search for a file. In TOML \
               a string or a list of strings, in the environment separated by colons.",
    },
    Opt {
        key: "site.rewrite",
        flag: Some("rewrite"),
        value: "LOCATION=WORDS",
        kind: Kind::Rewrites,
        default: "",
        group: Group::Server,
        short: "Which files answer which paths, like try_files of nginx; may be repeated",
        long: "LOCATION is `/path`, which includes all paths below it, or `~ EXPRESSION` (`~*`: ignoring case), for the \
               decoded path; the first expression that matches has precedence over the longest path. WORDS are tried in \
               turn: the first one that names an existing file answers, or, if it ends with a slash, an existing \
               directory. The last word answers in any case: a path, with a query if wanted, `=403`, `=404`, `=410`, or \
               `=301 /elsewhere` (302, 307, 308). Words may contain `$uri`, `$args`, `$is_args` and the groups `$1` to \
               `$9`. Classic mode only. In TOML a table: `[site.rewrite]` with `'~ ^/wiki/(.*)$' = \
               '/index.php?title=$1&$args'`; in the environment separated by semicolons. All sources add up: the file \
               comes first, then the environment, then flags.",
    },
    Opt {
        key: "site.cache_control",
        flag: Some("cache-control"),
        value: "PATTERN=VALUE",
        kind: Kind::Headers,
        default: "",
        group: Group::Server,
        short: "Cache-Control of files, such as \"/build/*=max-age=3600\"; may be repeated",
        long: "The pattern is compared with the whole path of a file below the document root; `*` in it is any text, \
               slashes included: `/build/*`, `*.woff2`. If several match, the last one is used; an empty value sends no \
               field. For files only: responses of PHP have the field that PHP sets. In TOML a table: \
               `[site.cache_control]` with `\"/build/*\" = \"public, max-age=31536000, immutable\"`; in the environment \
               separated by semicolons. All sources add up: the file comes first, then the environment, then flags.",
    },
    Opt {
        key: "site.precompressed",
        flag: Some("precompressed"),
        value: "on|off",
        kind: Kind::Choice(&["on", "off"]),
        default: "on",
        group: Group::Server,
        short: "Send the compressed file beside a file: style.css.br, .zst, .gz",
        long: "If such a file exists beside one of a type that can be compressed (text, scripts, JSON, XML, SVG, \
               WebAssembly …) and is not older, it is sent with `Content-Encoding` to a client whose `Accept-Encoding` \
               allows it. The server itself compresses nothing.",
    },
    Opt {
        key: "site.sendfile",
        flag: Some("sendfile"),
        value: "PREFIX=DIR",
        kind: Kind::Folders,
        default: "",
        group: Group::Server,
        short: "Folder from which PHP can send files, such as /files=storage",
        long: "A response with `X-Accel-Redirect: /files/a.pdf` or `X-Sendfile: /srv/app/storage/a.pdf` is then that \
               file, with the fields that PHP gave the response. No request reaches these folders directly, and no file \
               outside of them is sent. Without this option both fields go to the client, for a proxy in front. In TOML a \
               table: `[site.sendfile]` with `\"/files\" = \"storage\"`; in the environment separated by semicolons. All \
               sources add up.",
    },
];
