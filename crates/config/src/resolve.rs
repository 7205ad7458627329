//! Turns the values of all sources into settings.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use http1::TrustedProxies;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::options::{Kind, OPTIONS, Opt, option};
use crate::problem::{Problem, Problems};
use crate::raw::{Given, Raw, Source};
use crate::settings::{CacheSettings, Listen, LogTarget, RedisSettings, Settings, SocketAccess};
use crate::value;

/// Returns all settings, or all mistakes.
pub fn resolve(raw: &Raw, cwd: &Path) -> Result<Settings, Problems> {
    let mut r = Resolver {
        raw,
        cwd,
        problems: raw.problems.clone(),
    };
    let watch = r.switch("watch");
    let app = r.app();
    let mode = r.mode(app.as_deref());
    let site = r.site(app.as_deref(), mode);
    let settings = Settings {
        app: app.unwrap_or_default(),
        mode,
        config_file: raw.config_file.clone(),
        listen: r.listen(),
        socket: r.socket(),
        site,
        workers: r.workers(),
        concurrency: r.concurrency(mode),
        dispatch: r.dispatch(),
        front_threads: r.count("front.threads"),
        queue: r.count("workers.queue"),
        queue_timeout: r.seconds("workers.queue_timeout"),
        idle_timeout: r.seconds("workers.idle_timeout"),
        max_requests: r.count("workers.max_requests"),
        max_memory: r.bytes("workers.max_memory"),
        cache: r.cache(),
        php: r.one("php.version", value::version).flatten(),
        ini: r.pairs("php.ini", value::ini),
        env: r.pairs("env", value::env),
        preload: r.file("php.preload"),
        allow_root: r.switch("php.allow_root"),
        display_errors: match raw.winner("php.display_errors") {
            Some(_) => r.switch("php.display_errors"),
            None => watch,
        },
        request_timeout: r.seconds("request.timeout"),
        request_grace: r.seconds("request.grace"),
        ignore_client_abort: r.routes("request.ignore_client_abort"),
        http: r.group("http."),
        trusted_proxies: r.trusted_proxies(),
        boot_timeout: r.seconds("boot.timeout"),
        probe: r.one("boot.probe", value::probe).flatten(),
        stop_timeout: r.seconds("stop.timeout"),
        reload_timeout: r.seconds("reload.timeout"),
        watch,
        admin: r.admin(),
        metrics_routes: r.routes("metrics.routes"),
        control: r.control(),
        log_level: value::level(&r.choice("log.level").unwrap_or_default()),
        slow_after: r.seconds("log.slow_after"),
        slow_file: r.file("log.slow_file"),
        access_log: r.log_target("log.access"),
        access_format: value::access_format(&r.choice("log.access_format").unwrap_or_default()),
    };
    match r.problems.is_empty() {
        true => Ok(settings),
        false => Err(Problems(r.problems)),
    }
}

/// Returns the app and the control socket, if they were named: for `reload`, `stop` and `status`, which ignore other
/// mistakes.
pub fn control_paths(
    raw: &Raw,
    cwd: &Path,
) -> Result<(Option<PathBuf>, Option<PathBuf>), Problems> {
    let mut r = Resolver {
        raw,
        cwd,
        problems: Vec::new(),
    };
    let control = r.control();
    let app = raw
        .winner("app")
        .map(|given| r.base(&given.source).join(&given.text));
    match r.problems.is_empty() {
        true => Ok((app, control)),
        false => Err(Problems(r.problems)),
    }
}

/// The least size of a cache, as in the crate `cache`.
const LEAST_CACHE: u64 = 256 * 1024;

struct Resolver<'a> {
    raw: &'a Raw,
    cwd: &'a Path,
    problems: Vec<Problem>,
}

impl Resolver<'_> {
    fn one<T>(
        &mut self,
        key: &'static str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Option<T> {
        let option = option(key);
        let Some(given) = self.raw.winner(key) else {
            return Some(parse(option.default).expect("defaults are valid"));
        };
        self.parsed(option, given, parse)
    }

    fn parsed<T>(
        &mut self,
        option: &Opt,
        given: &Given,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Option<T> {
        let place = match &given.source {
            file @ Source::File { .. } => format!("{file}: {}", option.key),
            other => other.to_string(),
        };
        parse(&given.text)
            .map_err(|what| self.problems.push(Problem { place, what }))
            .ok()
    }

    fn switch(&mut self, key: &'static str) -> bool {
        self.one(key, value::switch).unwrap_or_default()
    }

    fn count(&mut self, key: &'static str) -> u32 {
        let Kind::Count { min, max } = option(key).kind else {
            unreachable!("{key} is no count")
        };
        self.one(key, |text| value::count(text, min, max))
            .unwrap_or(min)
    }

    fn bytes(&mut self, key: &'static str) -> u64 {
        self.one(key, value::bytes).unwrap_or_default()
    }

    fn cache(&mut self) -> CacheSettings {
        let redis = RedisSettings {
            url: self.one("cache.redis", value::redis).unwrap_or_default(),
            prefix: self
                .one("cache.redis_prefix", value::prefix)
                .unwrap_or_default(),
            timeout: self.seconds("cache.redis_timeout"),
        };
        CacheSettings {
            size: self.cache_size(),
            copies: self.bytes("cache.copies"),
            redis: Some(redis).filter(|redis| !redis.url.is_empty()),
        }
    }

    /// Returns 0, or enough bytes for some entries.
    fn cache_size(&mut self) -> u64 {
        let enough = |text: &str| match value::bytes(text)? {
            bytes @ 1..LEAST_CACHE => Err(format!(
                "{bytes} bytes are too few for a cache; use 256K or more, or 0 for no cache"
            )),
            bytes => Ok(bytes),
        };
        self.one("cache.size", enough).unwrap_or_default()
    }

    fn seconds(&mut self, key: &'static str) -> Duration {
        let Kind::Seconds { zero } = option(key).kind else {
            unreachable!("{key} is no time")
        };
        self.one(key, |text| value::seconds(text, zero.is_some()))
            .unwrap_or_default()
    }

    fn choice(&mut self, key: &'static str) -> Option<String> {
        let Kind::Choice(words) = option(key).kind else {
            unreachable!("{key} is no choice")
        };
        self.one(key, |text| value::choice(text, words).map(str::to_owned))
    }

    /// Fills a struct whose fields are the options that begin with `prefix`, by name and kind.
    fn group<T: DeserializeOwned>(&mut self, prefix: &str) -> T {
        let mut fields = serde_json::Map::new();
        for option in OPTIONS {
            let Some(name) = option.key.strip_prefix(prefix) else {
                continue;
            };
            let value = match option.kind {
                Kind::Switch => json!(self.switch(option.key)),
                Kind::Count { .. } => json!(self.count(option.key)),
                Kind::Bytes => json!(self.bytes(option.key)),
                Kind::Seconds { .. } => json!(self.seconds(option.key)),
                // Lists have fields of their own.
                Kind::Proxies => continue,
                other => unreachable!("{}: {other:?} is not for a group", option.key),
            };
            fields.insert(name.to_owned(), value);
        }
        serde_json::from_value(fields.into())
            .expect("each option has its field, and each field its option")
    }

    /// Returns the directory to which paths of this source are relative.
    fn base(&self, source: &Source) -> PathBuf {
        match source {
            Source::File { path, .. } => self.cwd.join(path.parent().unwrap_or(Path::new(""))),
            _ => self.cwd.into(),
        }
    }

    fn listen(&mut self) -> Vec<Listen> {
        let option = option("listen");
        let given = self.raw.winners(option.key);
        if given.is_empty() {
            return vec![value::listen(option.default, self.cwd).expect("defaults are valid")];
        }
        let mut found: Vec<Listen> = Vec::new();
        for given in given {
            let base = self.base(&given.source);
            let parsed = self.parsed(option, given, |text| {
                let listen = value::listen(text, &base)?;
                let again =
                    found.contains(&listen) && !matches!(&listen, Listen::Tcp(a) if a.port() == 0);
                if again {
                    Err(format!("{listen} is given twice"))
                } else {
                    Ok(listen)
                }
            });
            found.extend(parsed);
        }
        found
    }

    fn socket(&mut self) -> SocketAccess {
        SocketAccess {
            mode: self
                .one("socket.mode", value::mode_bits)
                .unwrap_or_default(),
            owner: self.one("socket.owner", value::name).flatten(),
            group: self.one("socket.group", value::name).flatten(),
        }
    }

    fn trusted_proxies(&mut self) -> TrustedProxies {
        let option = option("http.trusted_proxies");
        let given = self.raw.winners(option.key).into_iter();
        let given: Vec<&Given> = given.filter(|given| !given.text.is_empty()).collect();
        let mut proxies = TrustedProxies::default();
        for given in given {
            let added = self.parsed(option, given, |text| {
                let mut more = proxies.clone();
                more.add(text).map(|()| more)
            });
            proxies = added.unwrap_or(proxies);
        }
        proxies
    }

    fn pairs(
        &mut self,
        key: &'static str,
        parse: impl Fn(&str) -> Result<(String, String), String>,
    ) -> Vec<(String, String)> {
        let option = option(key);
        let mut found: Vec<(String, String)> = Vec::new();
        for given in self.raw.all(option.key) {
            if given.text.is_empty() {
                continue;
            }
            if let Some((key, value)) = self.parsed(option, given, &parse) {
                // One value per key: that of the source with the highest precedence, and of its values the last.
                found.retain(|(other, _)| *other != key);
                found.push((key, value));
            }
        }
        found
    }

    fn routes(&mut self, key: &'static str) -> Vec<String> {
        let option = option(key);
        let given = self.raw.winners(option.key).into_iter();
        let given: Vec<&Given> = given.filter(|given| !given.text.is_empty()).collect();
        if let Some(first) = given.get(value::MOST_ROUTES) {
            self.problems.push(Problem {
                place: first.source.to_string(),
                what: format!(
                    "{key} has {} patterns; at most {} are possible",
                    given.len(),
                    value::MOST_ROUTES
                ),
            });
        }
        let routes = given
            .into_iter()
            .filter_map(|given| self.parsed(option, given, value::route));
        routes.collect()
    }

    fn log_target(&mut self, key: &'static str) -> Option<LogTarget> {
        let given = self.raw.winner(key)?;
        let base = self.base(&given.source);
        let target = self.parsed(option(key), given, |text| value::log_target(text, &base));
        target.flatten()
    }

    fn file(&mut self, key: &str) -> Option<PathBuf> {
        let given = self
            .raw
            .winner(key)
            .filter(|given| !given.text.is_empty())?;
        let base = self.base(&given.source);
        self.parsed(option(key), given, |text| value::file(text, &base))
    }

    fn admin(&mut self) -> Option<SocketAddr> {
        let given = self
            .raw
            .winner("admin")
            .filter(|given| !given.text.is_empty())?;
        self.parsed(option("admin"), given, value::address)
    }

    fn control(&mut self) -> Option<PathBuf> {
        let given = self
            .raw
            .winner("control")
            .filter(|given| !given.text.is_empty())?;
        let base = self.base(&given.source);
        self.parsed(option("control"), given, |text| {
            value::socket_path(text, &base)
        })
    }
}

mod app;
mod site;
#[cfg(test)]
mod tests;
