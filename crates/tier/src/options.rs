//! The address of Redis, and the options of the connection.

use std::path::{Path, PathBuf};
use std::time::Duration;

use redis::{
    Client, ClientTlsConfig, ConnectionAddr, ConnectionInfo, IntoConnectionInfo, ProtocolVersion,
    TlsCertificates,
};

/// The options of the second tier, from the settings.
#[derive(Debug, Clone)]
pub struct Options {
    /// The URL: `redis://`, `rediss://` (TLS) or `unix:`, with user, password and number of the database if needed. For TLS
    /// the query may name PEM files as `cacert`, `cert` and `key`, which are redis-cli's names.
    pub url: String,
    /// The prefix of each key. All servers with the same prefix in the same database share one cache.
    pub prefix: String,
    /// How long Redis may take to answer before it counts as away.
    pub timeout: Duration,
}

/// The files for TLS.
struct Files {
    /// The certificates of authorities to trust; `None` for those of the system.
    ca: Option<PathBuf>,
    /// The client certificate, and its key.
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
}

/// The parameters that the query of a URL may have: for TLS, and for a Unix socket, where the library reads them.
const PARAMETERS: [&str; 7] = ["cacert", "cert", "key", "db", "user", "pass", "protocol"];

impl Options {
    /// Makes the client.
    ///
    /// # Errors
    /// If the address or a file is invalid. The text does not contain a password.
    pub fn client(&self) -> Result<Client, String> {
        let info = self.connection()?;
        let is_tls = matches!(info.addr(), ConnectionAddr::TcpTls { .. });
        let client = match self.files().certificates()? {
            None => Client::open(info),
            Some(_) if !is_tls => {
                return Err("cacert, cert and key need a rediss:// URL".into());
            }
            Some(certificates) => Client::build_with_tls(info, certificates),
        };
        client.map_err(|error| error.to_string())
    }

    /// Parses the URL.
    ///
    /// # Errors
    /// If the address is invalid. The text does not contain a password.
    pub fn connection(&self) -> Result<ConnectionInfo, String> {
        let info = self.url.as_str().into_connection_info();
        let info = info.map_err(|error| match self.relative_socket() {
            Some(path) => format!("{path:?} is not an absolute path, as in unix:/run/redis.sock"),
            None => format!("this is not the URL of a Redis, such as redis://HOST:6379/0: {error}"),
        })?;
        if let ConnectionAddr::TcpTls { insecure: true, .. } = info.addr() {
            return Err("#insecure is not supported: name the authority, ?cacert=FILE".into());
        }
        if let Some(name) = self.unknown_parameter() {
            return Err(format!(
                "its URL has the unknown parameter {name:?}: TLS has cacert, cert and key, a Unix socket db, user and pass"
            ));
        }
        let settings = info.redis_settings().clone();
        if settings.db() < 0 {
            return Err(format!("{} is not the number of a database", settings.db()));
        }
        let settings = settings
            .set_protocol(ProtocolVersion::RESP3)
            .set_lib_name("hearth", env!("CARGO_PKG_VERSION"));
        Ok(info.set_redis_settings(settings))
    }

    /// Returns the path of a Unix socket if it is not absolute.
    fn relative_socket(&self) -> Option<&str> {
        let (scheme, rest) = self.url.split_once(':')?;
        let path = rest.split(['?', '#']).next()?;
        let path = path.strip_prefix("//").unwrap_or(path);
        // A password may precede the path.
        let path = path.rsplit('@').next()?;
        let is_socket = scheme == "unix" || scheme.ends_with("+unix");
        (is_socket && !path.starts_with('/')).then_some(path)
    }

    fn unknown_parameter(&self) -> Option<String> {
        let url = redis::parse_redis_url(&self.url)?;
        let mut names = url.query_pairs().map(|(name, _)| name);
        let unknown = names.find(|name| !PARAMETERS.contains(&&**name))?;
        Some(unknown.into_owned())
    }

    fn files(&self) -> Files {
        let url = redis::parse_redis_url(&self.url);
        let file = |name: &str| {
            let mut pairs = url.as_ref()?.query_pairs();
            let value = pairs.find_map(|(key, value)| (key == name).then_some(value))?;
            Some(PathBuf::from(value.into_owned()))
        };
        Files {
            ca: file("cacert"),
            certificate: file("cert"),
            key: file("key"),
        }
    }

    /// Returns the address for people: without user and password.
    pub fn shown(&self) -> String {
        let Ok(info) = self.connection() else {
            return "?".into();
        };
        let db = info.redis_settings().db();
        let after = |before: &str| match db {
            0 => String::new(),
            db => format!("{before}{db}"),
        };
        match info.addr() {
            ConnectionAddr::TcpTls { host, port, .. } | ConnectionAddr::Tcp(host, port) => {
                let scheme = self.url.split(':').next().unwrap_or_default();
                let host = match host.contains(':') {
                    true => format!("[{host}]"),
                    false => host.clone(),
                };
                format!("{scheme}://{host}:{port}{}", after("/"))
            }
            other => format!("unix:{other}{}", after("?db=")),
        }
    }

    /// Returns an error of the first connection with its most likely cause.
    pub(crate) fn explained(&self, error: &str) -> String {
        let hint = HINTS.iter().find(|(part, scheme, _)| {
            error.contains(part) && (scheme.is_empty() || self.url.starts_with(scheme))
        });
        match hint {
            Some((_, _, hint)) => format!("{error} ({hint})"),
            None => error.to_owned(),
        }
    }
}

/// A part of an error, the beginning of the URL, and the hint that is shown for both.
const HINTS: [(&str, &str, &str); 8] = [
    (
        "BadSignature",
        "",
        "name the authority that signed its certificate: ?cacert=FILE",
    ),
    ("timed out", "rediss:", "a port without TLS takes redis://"),
    (
        "UnknownIssuer",
        "",
        "name the authority that signed its certificate: ?cacert=FILE",
    ),
    (
        "CertificateRequired",
        "",
        "it requires a client certificate: ?cert=FILE&key=FILE",
    ),
    (
        "InvalidContentType",
        "rediss:",
        "a port without TLS takes redis://",
    ),
    ("reset by peer", "redis:", "a port for TLS takes rediss://"),
    ("broken pipe", "redis:", "a port for TLS takes rediss://"),
    (
        "NoPerm",
        "",
        "the rights that its user needs are in the guide",
    ),
];

impl Files {
    fn certificates(&self) -> Result<Option<TlsCertificates>, String> {
        let client_tls = match (&self.certificate, &self.key) {
            (None, None) => None,
            (Some(certificate), Some(key)) => Some(ClientTlsConfig {
                client_cert: read("cert", certificate)?,
                client_key: read("key", key)?,
            }),
            (Some(_), None) => return Err("cert in the URL needs its key".into()),
            (None, Some(_)) => return Err("key in the URL needs its cert".into()),
        };
        let ca = self.ca.as_ref();
        let root_cert = ca.map(|ca| read("cacert", ca)).transpose()?;
        let is_any = client_tls.is_some() || root_cert.is_some();
        Ok(is_any.then_some(TlsCertificates {
            client_tls,
            root_cert,
        }))
    }
}

fn read(name: &str, path: &Path) -> Result<Vec<u8>, String> {
    let bytes = std::fs::read(path);
    let bytes = bytes.map_err(|error| format!("cannot read {name} {}: {error}", path.display()))?;
    let is_pem = bytes.windows(10).any(|part| part == b"-----BEGIN");
    match is_pem {
        true => Ok(bytes),
        false => Err(format!("{name} {} is not a PEM file", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(url: &str) -> Options {
        Options {
            url: url.into(),
            prefix: "test:".into(),
            timeout: Duration::from_secs(1),
        }
    }

    #[test]
    fn an_address_is_shown_without_user_and_password() {
        for (url, shown) in [
            ("redis://u:secret@host", "redis://host:6379"),
            ("rediss://host:1/3", "rediss://host:1/3"),
            ("valkey://[::1]:2", "valkey://[::1]:2"),
            ("unix:/run/redis.sock", "unix:/run/redis.sock"),
            ("unix:///run/x?pass=secret&db=2", "unix:/run/x?db=2"),
            ("redis+unix:///run/x", "unix:/run/x"),
        ] {
            assert_eq!(options(url).shown(), shown);
        }
    }

    #[test]
    fn what_is_no_address_is_told_without_the_password() {
        for (url, expected) in [
            ("redis://:secret@", "not the URL of a Redis"),
            ("redis://:secret@host/x", "database number"),
            ("redis://host/-1", "-1 is not the number of a database"),
            (
                "unix:run/redis.sock",
                "\"run/redis.sock\" is not an absolute path",
            ),
            (
                "unix://run/redis.sock?pass=secret",
                "\"run/redis.sock\" is not an absolute path",
            ),
            (
                "redis+unix://u:secret@run/x",
                "\"run/x\" is not an absolute path, as in unix:/run/redis.sock",
            ),
            ("unix:", "\"\" is not an absolute path"),
            ("unix:/x?db=one&pass=secret", "database number"),
            ("rediss://host/#insecure", "?cacert=FILE"),
            ("redis+sentinel://host", "not the URL of a Redis"),
            (
                "rediss://u:secret@host?cafile=/x",
                "the unknown parameter \"cafile\"",
            ),
        ] {
            let error = options(url).client().expect_err(url);
            assert!(
                error.contains(expected) && !error.contains("secret"),
                "{error}"
            );
        }
    }

    #[test]
    fn files_of_tls_are_checked_first() {
        for (url, expected) in [
            (
                "rediss://host?cacert=/none.pem",
                "cannot read cacert /none.pem",
            ),
            ("rediss://host?cacert=/etc/hostname", "is not a PEM file"),
            ("rediss://host?key=/none.pem", "needs its cert"),
            ("rediss://host?cert=/none.pem", "needs its key"),
            (
                "redis://host?cacert=/etc/ssl/certs/ca-certificates.crt",
                "rediss://",
            ),
        ] {
            let error = options(url).client().expect_err(expected);
            assert!(error.contains(expected), "{error}");
        }
    }
}
