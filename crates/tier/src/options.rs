//! Where Redis is, and how it is used.

use std::time::Duration;

use redis::{ConnectionAddr, ConnectionInfo, IntoConnectionInfo, ProtocolVersion};

/// As the settings have them.
#[derive(Debug, Clone)]
pub struct Options {
    /// `redis://`, `rediss://` (TLS) or `unix:`, with user, password and number of the database if needed.
    pub url: String,
    /// Before each key. What has the same prefix in the same database is one cache.
    pub prefix: String,
    /// How long Redis may take to answer; it is away then.
    pub timeout: Duration,
}

impl Options {
    /// # Errors
    /// What is wrong with the address; a password is not in it.
    pub fn connection(&self) -> Result<ConnectionInfo, String> {
        let info = self.url.as_str().into_connection_info();
        let info = info.map_err(|error| {
            format!("this is no URL of a Redis, as redis://HOST:6379/0 is: {error}")
        })?;
        let settings = info.redis_settings().clone();
        let settings = settings
            .set_protocol(ProtocolVersion::RESP3)
            .set_lib_name("hearth", env!("CARGO_PKG_VERSION"));
        Ok(info.set_redis_settings(settings))
    }

    /// For people: without user and password.
    pub fn shown(&self) -> String {
        let Ok(info) = self.connection() else {
            return "?".into();
        };
        let db = match info.redis_settings().db() {
            0 => String::new(),
            db => format!("/{db}"),
        };
        match info.addr() {
            ConnectionAddr::TcpTls { host, port, .. } => format!("rediss://{host}:{port}{db}"),
            ConnectionAddr::Tcp(host, port) => format!("redis://{host}:{port}{db}"),
            other => format!("{other}{db}"),
        }
    }
}
