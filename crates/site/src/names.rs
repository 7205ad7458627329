//! The names of files that run, and of files that are never sent.
//!
//! Only `.php` runs. A server that looks only at the last extension would send a copy of PHP code as text, under the names
//! that PHP or an editor gives to copies; those names are refused.

/// The directory of well-known URIs (RFC 8615), which is public although its name begins with a dot.
const WELL_KNOWN: &[u8] = b".well-known";

/// Extensions of PHP code, the last ones in Drupal; of these only `php`, in lower case, runs.
const PHP: [&[u8]; 17] = [
    b"php", b"phtml", b"phar", b"phps", b"pht", b"phpt", b"php3", b"php4", b"php5", b"php7",
    b"php8", b"inc", b"module", b"install", b"theme", b"profile", b"engine",
];

/// Extensions that editors, package managers and people append to the name of a copy.
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

/// Extensions of files that browsers load. Such a file is sent whatever stands before its extension, and without a look at
/// its content.
const WEB: [&[u8]; 26] = [
    b"html", b"htm", b"css", b"js", b"mjs", b"map", b"json", b"xml", b"svg", b"png", b"jpg",
    b"jpeg", b"gif", b"webp", b"avif", b"ico", b"woff", b"woff2", b"ttf", b"otf", b"eot", b"pdf",
    b"mp3", b"mp4", b"webm", b"wasm",
];

/// Files with settings that may be in a document root, and that no client may read.
const SETTINGS: [&[u8]; 2] = [b"hearth.toml", b"php.ini"];

/// Returns whether a part of this clean path is hidden.
pub(crate) fn is_hidden(path: &[u8]) -> bool {
    path.split(|byte| *byte == b'/')
        .any(|name| name.starts_with(b".") && name != WELL_KNOWN)
}

/// Returns whether this path names a script that may run.
pub(crate) fn is_script(path: &[u8]) -> bool {
    path.ends_with(b".php")
}

/// Returns the last part of the path, in lower case.
fn file_name(path: &[u8]) -> Vec<u8> {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    name.to_ascii_lowercase()
}

/// Returns whether there is a dot in the last part of the path.
pub(crate) fn has_extension(path: &[u8]) -> bool {
    let mut name = path.iter().rev().take_while(|byte| **byte != b'/');
    name.any(|byte| *byte == b'.')
}

/// Returns whether browsers load files of this name. The content of others is checked before they are sent.
pub(crate) fn is_web(path: &[u8]) -> bool {
    let name = file_name(path);
    let dot = name.iter().rposition(|byte| *byte == b'.');
    dot.is_some_and(|dot| WEB.contains(&&name[dot + 1..]))
}

/// Returns whether the name contains `.php` or `.hphp` and then anything but a letter: `.php.new`, `.php_old`, `.php-bak`,
/// `.php2`, `.php copy`.
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

/// Returns whether a file of this name must never be sent: PHP code, a copy of it, or settings.
pub(crate) fn is_source(path: &[u8]) -> bool {
    let name = file_name(path);
    SETTINGS.contains(&name.as_slice()) || is_copy(&name) || (names_php(&name) && !is_web(&name))
}

/// Returns whether the name is that of PHP code, or one that editors and package managers give to a copy of it.
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
