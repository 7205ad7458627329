//! Parsers from text to values. Errors describe what is expected; the caller adds the place.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::settings::{
    AccessFormat, Dispatch, Level, Listen, LogTarget, MOST_WORKERS, Mode, Workers,
};

/// The kernel's limit for the path of a Unix socket.
const MAX_SOCKET_PATH: usize = 107;

pub(crate) fn switch(text: &str) -> Result<bool, String> {
    match text {
        "true" | "1" | "on" | "yes" => Ok(true),
        "false" | "0" | "off" | "no" | "" => Ok(false),
        _ => Err(format!("\"{text}\" is neither true nor false")),
    }
}

pub(crate) fn choice<'a>(text: &str, words: &[&'a str]) -> Result<&'a str, String> {
    let found = words.iter().find(|word| **word == text);
    found
        .copied()
        .ok_or_else(|| format!("\"{text}\" is not one of {}", words.join(", ")))
}

pub(crate) fn count(text: &str, min: u32, max: u32) -> Result<u32, String> {
    let number = text.parse().ok().filter(|n| (min..=max).contains(n));
    number.ok_or_else(|| format!("\"{text}\" is not a whole number from {min} to {max}"))
}

pub(crate) fn workers(text: &str) -> Result<Workers, String> {
    if text == "auto" {
        return Ok(Workers::Auto);
    }
    match count(text, 1, MOST_WORKERS) {
        Ok(n) => Ok(Workers::Count(n)),
        Err(what) => Err(format!("{what}, nor \"auto\"")),
    }
}

pub(crate) fn seconds(text: &str, zero: bool) -> Result<Duration, String> {
    let least = if zero { "0 or more" } else { "more than 0" };
    let value = text
        .parse::<f64>()
        .ok()
        .filter(|s| (0.0..=1e9).contains(s) && (zero || *s > 0.0));
    value
        .map(Duration::from_secs_f64)
        .ok_or_else(|| format!("\"{text}\" is not a number of seconds, {least}, such as 30 or 0.5"))
}

pub(crate) fn address(text: &str) -> Result<SocketAddr, String> {
    if let Some(port) = text
        .strip_prefix("localhost:")
        .and_then(|port| port.parse().ok())
    {
        return Ok(SocketAddrV4::new(Ipv4Addr::LOCALHOST, port).into());
    }
    text.parse().map_err(|_| {
        let port = text.trim_start_matches(['*', ':']);
        if port.parse::<u16>().is_ok() {
            format!("\"{text}\" lacks the address; write 127.0.0.1:{port} for this machine only, 0.0.0.0:{port} for all addresses")
        } else {
            format!("\"{text}\" is not ADDR:PORT with a numeric address, such as 127.0.0.1:8080 or [::1]:8080")
        }
    })
}

pub(crate) fn listen(text: &str, base: &Path) -> Result<Listen, String> {
    match text.strip_prefix("unix:") {
        Some("") => Err("\"unix:\" lacks the path, as in unix:/run/app.sock".into()),
        Some(path) => Ok(Listen::Unix(socket_path(path, base)?)),
        None if text.contains('/') => Err(format!(
            "\"{text}\" is not ADDR:PORT; for a Unix socket write unix:{text}"
        )),
        None => address(text).map(Listen::Tcp),
    }
}

pub(crate) fn socket_path(text: &str, base: &Path) -> Result<PathBuf, String> {
    let path = base.join(text);
    match path.as_os_str().len() {
        length @ 108.. => Err(format!(
            "{} has {length} bytes; the path of a Unix socket may have at most {MAX_SOCKET_PATH}",
            path.display()
        )),
        _ => Ok(path),
    }
}

/// Parses a mode in octal digits. A number written as such in TOML (`0o660`) arrives in decimal digits: read as octal, it
/// would take the right to write from the file's owner.
pub(crate) fn mode_bits(text: &str) -> Result<u32, String> {
    const OWNER_WRITES: u32 = 0o200;
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let bits = u32::from_str_radix(text, 8).ok().filter(|_| digits);
    bits.filter(|bits| *bits <= 0o777 && bits & OWNER_WRITES != 0)
        .ok_or_else(|| {
            format!(
                "\"{text}\" is not a mode of three octal digits with which its owner may connect, such as \"0660\""
            )
        })
}

/// Parses the name of a user or a group; `None` if it is empty.
pub(crate) fn name(text: &str) -> Result<Option<String>, String> {
    Ok(Some(text.to_owned()).filter(|name| !name.is_empty()))
}

pub(crate) fn directory(text: &str, base: &Path) -> Result<PathBuf, String> {
    let path = base.join(text);
    match path.is_dir() {
        true => Ok(path),
        false => Err(format!("{} is not a directory", path.display())),
    }
}

/// Parses as `php -d` does, except for a key alone: `memory_limit` without a value is a mistake, and would set it to 1.
pub(crate) fn ini(text: &str) -> Result<(String, String), String> {
    let wrong = || format!("\"{text}\" is not KEY=VALUE, such as memory_limit=256M");
    let (key, value) = text.split_once('=').ok_or_else(wrong)?;
    let key = key.trim();
    let known = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if key.is_empty() || !key.chars().all(known) {
        return Err(wrong());
    }
    if value.contains(['\n', '\r', '\0']) {
        return Err(format!("the value of {key} has more than one line"));
    }
    let value = value.trim();
    if leaves_a_quote_open(value) {
        return Err(format!(
            "a quote in the value of {key} is not closed: {value}"
        ));
    }
    Ok((key.into(), value.into()))
}

/// Parses a variable whose name is valid in a shell, so that every program can read it.
pub(crate) fn env(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').unwrap_or_default();
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty()
        || !name.chars().all(is_word)
        || name.starts_with(|c: char| c.is_ascii_digit())
    {
        return Err(format!(
            "\"{text}\" is not NAME=VALUE, such as APP_ENV=prod"
        ));
    }
    match value.contains('\0') {
        true => Err(format!("the value of {name} contains a NUL")),
        false => Ok((name.into(), value.into())),
    }
}

/// Parses the pattern of a file's path, and the value of a header.
pub(crate) fn header(text: &str) -> Result<(String, String), String> {
    let (pattern, value) = text.split_once('=').unwrap_or_default();
    let (pattern, value) = (pattern.trim(), value.trim());
    if !pattern.starts_with(['/', '*']) {
        return Err(format!(
            "\"{text}\" is not PATTERN=VALUE with a pattern that begins with / or *, such as /build/*=max-age=3600"
        ));
    }
    match value.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        true => Ok((pattern.into(), value.into())),
        false => Err(format!(
            "the value for {pattern} contains characters that a header field must not contain"
        )),
    }
}

/// Parses a path by which PHP names a folder, and the folder.
pub(crate) fn folder(text: &str, base: &Path) -> Result<(String, PathBuf), String> {
    let (prefix, folder) = text.split_once('=').unwrap_or_default();
    let (prefix, folder) = (prefix.trim(), folder.trim());
    if !prefix.starts_with('/') || folder.is_empty() {
        return Err(format!(
            "\"{text}\" is not PREFIX=DIR with a prefix that begins with /, such as /files=storage"
        ));
    }
    Ok((prefix.into(), directory(folder, base)?))
}

/// Whether PHP's parser would look for the closing quote in the settings behind this one. A value that begins with neither a
/// letter, a digit nor a quote gets double quotes around it, as `php -d` does.
fn leaves_a_quote_open(value: &str) -> bool {
    let bare = value.starts_with(|c: char| c.is_ascii_alphanumeric() || "\"'".contains(c));
    let line = match bare || value.is_empty() {
        true => value.to_owned(),
        false => format!("\"{value}\""),
    };
    let mut open = None;
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        match (open, c) {
            (None, ';') => return false,
            (None, '"' | '\'') => open = Some(c),
            // A backslash before the last quote of the line escapes nothing.
            (Some('"'), '\\') if rest.as_str() != "\"" => _ = rest.next(),
            (Some(quote), _) if quote == c => open = None,
            _ => {}
        }
    }
    open.is_some()
}

pub(crate) fn version(text: &str) -> Result<Option<String>, String> {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    match text.split_once('.') {
        Some((major, minor)) if digits(major) && digits(minor) => Ok(Some(text.into())),
        None if text == "auto" => Ok(None),
        _ => Err(format!(
            "\"{text}\" is not a PHP version such as 8.4, nor \"auto\""
        )),
    }
}

pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let (number, unit) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1 << 10),
        Some((at, 'm' | 'M')) => (&text[..at], 1 << 20),
        Some((at, 'g' | 'G')) => (&text[..at], 1 << 30),
        _ => (text, 1),
    };
    let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let number = number.parse::<u64>().ok().filter(|_| digits);
    number
        .and_then(|number| number.checked_mul(unit))
        .ok_or_else(|| format!("\"{text}\" is not a number of bytes, such as 268435456 or 256M"))
}

pub(crate) fn probe(text: &str) -> Result<Option<String>, String> {
    let is_target = |byte: u8| byte.is_ascii_graphic();
    match text {
        "" => Ok(None),
        path if path.starts_with('/') && path.bytes().all(is_target) => Ok(Some(path.into())),
        _ => Err(format!("\"{text}\" is not a path such as /health")),
    }
}

/// The socket of the system's log, as in glibc's `syslog()`.
const SYSLOG: &str = "/dev/log";

pub(crate) fn log_target(text: &str, base: &Path) -> Result<Option<LogTarget>, String> {
    Ok(match text {
        "" | "off" => None,
        "stderr" => Some(LogTarget::Stderr),
        "syslog" => Some(LogTarget::Syslog(SYSLOG.into())),
        _ => Some(match text.strip_prefix("syslog:") {
            Some("") => return Err("\"syslog:\" lacks the path, as in syslog:/dev/log".into()),
            Some(path) => LogTarget::Syslog(socket_path(path, base)?),
            None => LogTarget::File(file(text, base)?),
        }),
    })
}

/// Parses the path of a file that is written, and need not exist yet.
pub(crate) fn file(text: &str, base: &Path) -> Result<PathBuf, String> {
    let path = base.join(text);
    match path.is_dir() {
        true => Err(format!(
            "{} is a directory; name a file in it",
            path.display()
        )),
        false => Ok(path),
    }
}

/// The most patterns: the remaining one of 32 is for all other requests.
pub(crate) const MOST_ROUTES: usize = 31;

pub(crate) fn route(text: &str) -> Result<String, String> {
    let wrong = |why: &str| Err(format!("\"{text}\" {why}, as in /blog/{{slug}} or /api/*"));
    let Some(path) = text.strip_prefix('/') else {
        return wrong("does not begin with /");
    };
    let mut segments = path.split('/').rev();
    let last = segments.next().unwrap_or_default();
    let is_name = |part: &str| {
        let name = part
            .strip_prefix('{')
            .and_then(|rest| rest.strip_suffix('}'));
        name.is_some_and(|name| !name.is_empty() && !name.contains(['{', '}']))
    };
    let is_fine = |part: &str| is_name(part) || !part.contains(['{', '}', '*', '"', '\\']);
    if !(last == "*" || is_fine(last)) || !segments.all(is_fine) {
        return wrong("has {name} for a whole part, or * at its end");
    }
    Ok(text.into())
}

pub(crate) fn access_format(text: &str) -> AccessFormat {
    match text {
        "common" => AccessFormat::Common,
        "json" => AccessFormat::Json,
        _ => AccessFormat::Combined,
    }
}

pub(crate) fn mode(text: &str) -> Mode {
    match text {
        "classic" => Mode::Classic,
        _ => Mode::Resident,
    }
}

pub(crate) fn dispatch(text: &str) -> Dispatch {
    match text {
        "balanced" => Dispatch::Balanced,
        _ => Dispatch::Direct,
    }
}

pub(crate) fn level(text: &str) -> Level {
    match text {
        "debug" => Level::Debug,
        "warn" => Level::Warn,
        "error" => Level::Error,
        _ => Level::Info,
    }
}

/// Parses the URL of a Redis, or nothing. The error does not contain the URL, because a password may be in it.
pub(crate) fn redis(text: &str) -> Result<String, String> {
    let schemes = [
        "redis://",
        "rediss://",
        "unix:",
        "redis+unix:",
        "valkey://",
        "valkeys://",
    ];
    let rest = schemes.iter().find_map(|scheme| text.strip_prefix(scheme));
    match rest {
        _ if text.is_empty() => Ok(String::new()),
        Some(rest) if !rest.is_empty() => Ok(text.to_owned()),
        _ => Err(
            "this is not the URL of a Redis: write redis://HOST, rediss://HOST or unix:/PATH"
                .into(),
        ),
    }
}

/// Removes the password from a URL, for display.
pub(crate) fn without_password(url: &str) -> String {
    match (url.find("://"), url.rfind('@'), url.split_once("pass=")) {
        (Some(scheme), Some(at), _) if scheme + 3 <= at => {
            format!("{}://…{}", &url[..scheme], &url[at..])
        }
        // The password of a Unix socket's URL.
        (_, _, Some((before, password))) => {
            let after = password.find('&').map_or("", |end| &password[end..]);
            format!("{before}pass=…{after}")
        }
        _ => url.to_owned(),
    }
}

/// Parses a prefix of keys, which must be printable.
pub(crate) fn prefix(text: &str) -> Result<String, String> {
    match !text.is_empty() && text.chars().all(|c| c.is_ascii_graphic()) {
        true => Ok(text.to_owned()),
        false => Err(format!(
            "{text:?} is not one or more printable ASCII characters"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_shown_without_its_password() {
        for (url, shown) in [
            ("redis://shop:secret@host:1/2", "redis://…@host:1/2"),
            ("redis://host", "redis://host"),
            ("unix:/run/redis.sock?db=3", "unix:/run/redis.sock?db=3"),
            (
                "unix:///x?user=shop&pass=secret&db=3",
                "unix:///x?user=shop&pass=…&db=3",
            ),
            ("unix:/x?pass=secret", "unix:/x?pass=…"),
        ] {
            assert_eq!(without_password(url), shown);
        }
    }
}
