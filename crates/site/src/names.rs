//! Which names are run, and which are never sent.
//!
//! Only `.php` runs. A name that PHP or an editor gives to a copy of PHP code would be sent as text by a server that
//! knows files by their last extension only; those are refused.

/// Where what a front server is asked for in public lives (RFC 8615), though its name begins with a dot.
const WELL_KNOWN: &[u8] = b".well-known";

/// Extensions of PHP code, the last ones in Drupal; of these only `php`, in small letters, is run.
const PHP: [&[u8]; 17] = [
    b"php", b"phtml", b"phar", b"phps", b"pht", b"phpt", b"php3", b"php4", b"php5", b"php7",
    b"php8", b"inc", b"module", b"install", b"theme", b"profile", b"engine",
];

/// What editors, package managers and people append to the name of a copy.
const COPY: [&[u8]; 22] = [
    b"bak",
    b"backup",
    b"old",
    b"orig",
    b"original",
    b"save",
    b"saved",
    b"swp",
    b"swo",
    b"swn",
    b"tmp",
    b"temp",
    b"copy",
    b"dist",
    b"rej",
    b"sample",
    b"disabled",
    b"rpmsave",
    b"rpmnew",
    b"dpkg-old",
    b"dpkg-dist",
    b"dpkg-new",
];

/// Extensions of what browsers load. Such a file is sent whatever stands before its extension, and is not looked into.
const WEB: [&[u8]; 26] = [
    b"html", b"htm", b"css", b"js", b"mjs", b"map", b"json", b"xml", b"svg", b"png", b"jpg",
    b"jpeg", b"gif", b"webp", b"avif", b"ico", b"woff", b"woff2", b"ttf", b"otf", b"eot", b"pdf",
    b"mp3", b"mp4", b"webm", b"wasm",
];

/// Settings that may lie in a document root and no client may read.
const SETTINGS: [&[u8]; 2] = [b"hearth.toml", b"php.ini"];

/// Is a part of this clean path hidden?
pub(crate) fn is_hidden(path: &[u8]) -> bool {
    path.split(|byte| *byte == b'/')
        .any(|name| name.starts_with(b".") && name != WELL_KNOWN)
}

/// Does this path name a script that may run?
pub(crate) fn is_script(path: &[u8]) -> bool {
    path.ends_with(b".php")
}

/// The last part of the path, in small letters.
fn file_name(path: &[u8]) -> Vec<u8> {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    name.to_ascii_lowercase()
}

/// Is there a dot in the last part of the path?
pub(crate) fn has_extension(path: &[u8]) -> bool {
    let mut name = path.iter().rev().take_while(|byte| **byte != b'/');
    name.any(|byte| *byte == b'.')
}

/// Does a browser load files of this name? Others are looked into before they are sent.
pub(crate) fn is_web(path: &[u8]) -> bool {
    let name = file_name(path);
    let dot = name.iter().rposition(|byte| *byte == b'.');
    dot.is_some_and(|dot| WEB.contains(&&name[dot + 1..]))
}

/// `.php`, or `.hphp`, and then anything but a letter: `.php.new`, `.php_old`, `.php-bak`, `.php2`, `.php copy`.
fn names_php(name: &[u8]) -> bool {
    [&b".php"[..], b".hphp"].iter().any(|php| {
        let mut places = name.windows(php.len()).enumerate();
        places.any(|(at, part)| {
            part == *php
                && !name
                    .get(at + php.len())
                    .is_some_and(u8::is_ascii_alphabetic)
        })
    })
}

/// Must a file of this name never be sent: PHP code, a copy of it, or settings?
pub(crate) fn is_source(path: &[u8]) -> bool {
    let name = file_name(path);
    SETTINGS.contains(&name.as_slice()) || is_copy(&name) || (names_php(&name) && !is_web(&name))
}

/// Is it named as PHP code, or as editors and package managers name a copy of it?
fn is_copy(mut name: &[u8]) -> bool {
    loop {
        name = name.trim_ascii();
        let without = name.strip_suffix(b"~").or_else(|| name.strip_suffix(b"#"));
        let without = without.or_else(|| name.strip_suffix(b"."));
        if let Some(without) = without {
            name = without;
            continue;
        }
        let Some(dot) = name.iter().rposition(|byte| *byte == b'.') else {
            return false;
        };
        let extension = &name[dot + 1..];
        if PHP.contains(&extension) {
            return true;
        }
        if !COPY.contains(&extension) && !extension.iter().all(u8::is_ascii_digit) {
            return false;
        }
        name = &name[..dot];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn php_code_and_its_copies_are_sources() {
        for name in [
            "a.php",
            "a.PHP",
            "a.pHp",
            "a.module",
            "a.install.orig",
            "a.phtml",
            "a.phar",
            "a.phps",
            "a.inc",
            "a.php7",
            "a.php~",
            "#a.php#",
            "a.php.bak",
            "a.php.old~",
            "a.php.1",
            "a.php.swp",
            "a.php.",
            "a.php ",
            "a.php.dpkg-dist",
            "a.inc.php.save",
            "hearth.toml",
            "Hearth.TOML",
            "php.ini",
            "a.bak.php",
            "a.php..",
            "a.php.20240101",
            "b.php.new",
            "c.php_old",
            "d.php-bak",
            "e.php2",
            "f.php.txt",
            "g.php.zip",
            "h.php copy",
            "k.hphp",
            "l.php.swx",
            "m.php.bk",
            "n.php.tar.gz",
        ] {
            assert!(is_source(format!("/dir.d/{name}").as_bytes()), "{name}");
        }
    }

    #[test]
    fn other_files_are_not() {
        for name in [
            "a.txt",
            "a.jpg",
            "a",
            "php",
            "a.php.jpg",
            "a.php.html",
            "aphp",
            "a.bak",
            "a.1",
            "inc",
            "a.css",
            "a~",
            "...",
            "#",
            "~",
            "composer.json",
            "php.ini.txt",
            "include",
            "a.phpx",
        ] {
            assert!(!is_source(format!("/dir.php/{name}").as_bytes()), "{name}");
        }
    }

    #[test]
    fn hidden_is_what_begins_with_a_dot() {
        for path in [
            "/.env",
            "/.git/config",
            "/a/.ht/b",
            "/.well-known/.x",
            "/...",
            "/.well-knownx",
        ] {
            assert!(is_hidden(path.as_bytes()), "{path}");
        }
        for path in ["/", "/a.b/c", "/.well-known/acme-challenge/x", "/a./b"] {
            assert!(!is_hidden(path.as_bytes()), "{path}");
        }
    }
}
