//! The choice of the `index.php` that serves paths without a file: the nearest upwards, so that a site in a sub-directory
//! has its own.
//!
//! Some apps have an `index.php` in a directory only to prevent a listing. Those are skipped: files that are empty or exit
//! at once, and all in the directories of WordPress's own code.

use std::fs;
use std::path::Path;

use crate::lookup::below;

const INDEX: &[u8] = b"/index.php";

/// The directories of WordPress's own code.
const WORDPRESS: [&[u8]; 3] = [b"wp-admin", b"wp-content", b"wp-includes"];

/// The size in bytes above which a file is assumed to do something.
const LONGEST_GUARD: u64 = 4096;

/// The first words of the statements of a file that does nothing.
const END: [&[u8]; 7] = [
    b"header",
    b"http_response_code",
    b"exit",
    b"die",
    b"return",
    b"defined",
    b"declare",
];

/// Returns the clean path of the nearest `index.php` above `clean`, unless that is the root's own.
pub(crate) fn nearest(root: &Path, clean: &[u8]) -> Option<Vec<u8>> {
    let mut best = None;
    let mut above: &[u8] = b"";
    for at in (1..clean.len()).filter(|&at| clean[at] == b'/') {
        let directory = &clean[..at];
        // Stops at the first directory that does not exist, because a client may name any number.
        if !below(root, directory).is_dir() || is_of_wordpress(root, above, directory) {
            break;
        }
        let index = [directory, INDEX].concat();
        let path = below(root, &index);
        if path.is_file() && !is_guard(&path) {
            best = Some(index);
        }
        above = directory;
    }
    best
}

fn is_of_wordpress(root: &Path, above: &[u8], directory: &[u8]) -> bool {
    let name = &directory[above.len() + 1..];
    WORDPRESS.contains(&name) && below(root, &[above, b"/wp-load.php"].concat()).is_file()
}

fn is_guard(path: &Path) -> bool {
    let is_short = fs::metadata(path).is_ok_and(|file| file.len() <= LONGEST_GUARD);
    is_short && fs::read(path).is_ok_and(|code| does_nothing(&code))
}

/// Returns whether every statement ends the request or sets the response that it ends with.
fn does_nothing(code: &[u8]) -> bool {
    let code = code.trim_ascii();
    let Some(php) = code.strip_prefix(b"<?php") else {
        return code.is_empty();
    };
    let plain = without_comments_and_strings(php);
    let mut statements = plain.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
    statements.all(|statement| {
        let word = statement
            .iter()
            .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_');
        let word = &statement[..word.count()];
        matches!(statement, b"" | b"?>") || END.contains(&word)
    })
}

fn without_comments_and_strings(code: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(code.len());
    let mut rest = code;
    while let Some(&byte) = rest.first() {
        let skipped = match (byte, rest.get(1)) {
            (b'/', Some(b'*')) => end_of(&rest[2..], b"*/") + 2,
            (b'/', Some(b'/')) | (b'#', _) => end_of(rest, b"\n"),
            (b'"' | b'\'', _) => end_of_string(rest),
            _ => {
                plain.push(byte);
                1
            }
        };
        rest = &rest[skipped.min(rest.len())..];
    }
    plain
}

/// Returns the position behind the next `mark`, or the end.
fn end_of(code: &[u8], mark: &[u8]) -> usize {
    let found = code.windows(mark.len()).position(|part| part == mark);
    found.map_or(code.len(), |at| at + mark.len())
}

fn end_of_string(code: &[u8]) -> usize {
    let mut at = 1;
    while at < code.len() && code[at] != code[0] {
        at += if code[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guards_do_nothing() {
        for code in [
            "",
            "  \n",
            "<?php",
            "<?php\n// Silence is golden.\n",
            "<?php # nothing; here\n/* nor; here */ ?>",
            "<?php\nheader('Expires: Mon; x');\nheader(\"Location: ../\");\nexit;\n",
            "<?php http_response_code(403); die('it\\'s; forbidden');",
            "<?php defined('ABSPATH') || exit;",
        ] {
            assert!(does_nothing(code.as_bytes()), "{code}");
        }
    }

    #[test]
    fn others_are_front_controllers() {
        for code in [
            "<?php echo 'blog';",
            "<?php define('WP_USE_THEMES', true); require __DIR__ . '/wp-blog-header.php';",
            "<?php header('X: y'); require 'app.php';",
            "<?php exits();",
            "<html></html>",
            "<!doctype html><?php exit;",
            "<?= 1 ?>",
        ] {
            assert!(!does_nothing(code.as_bytes()), "{code}");
        }
    }
}
