//! The server under load: its URL, its address, and whether it is this machine.
//!
//! The path is sent exactly as typed: a load test must not normalize the paths that it is told to request.

use measure::Place;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs, UdpSocket};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

/// The address that connections are made to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// TCP.
    Tcp(SocketAddr),
    /// A Unix socket.
    Unix(PathBuf),
}

/// A resolved target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The URL as typed.
    pub url: String,
    /// Whether the URL is https.
    pub tls: bool,
    /// Host name or address as typed.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Path and query.
    pub path: String,
    /// The address used.
    pub address: Address,
    /// Where the address is, as seen from this machine.
    pub place: Place,
}

/// The parts of a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// Whether the scheme is https.
    pub tls: bool,
    /// Unix socket, for `unix:/path.sock:/uri`.
    pub socket: Option<PathBuf>,
    /// Host, without brackets.
    pub host: String,
    /// Port, as given or the default of the scheme.
    pub port: u16,
    /// Path and query, at least `/`.
    pub path: String,
}

impl Url {
    /// Parses `http://…`, `https://…`, `host:port/…` or `unix:/path.sock:/uri`.
    ///
    /// # Errors
    /// If the URL is invalid; the text tells why.
    pub fn parse(text: &str) -> Result<Self, String> {
        if let Some(rest) = text.strip_prefix("unix:") {
            return Self::parse_unix(rest);
        }
        let (tls, rest) = match text.split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => (false, rest),
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => (true, rest),
            Some((scheme, _)) => {
                return Err(format!(
                    "{text}: unknown scheme {scheme}; use http, https or unix:"
                ));
            }
            None => (false, text),
        };
        let cut = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(cut);
        let path = path_of(path).map_err(|why| format!("{text}: {why}"))?;
        let authority = authority
            .rsplit_once('@')
            .map_or(authority, |(_, host)| host);
        let (host, port) = split_port(authority, if tls { 443 } else { 80 })
            .map_err(|why| format!("{text}: {why}"))?;
        if host.is_empty() {
            return Err(format!(
                "{text}: no host; a URL looks like http://127.0.0.1:8080/path"
            ));
        }
        Ok(Self {
            tls,
            socket: None,
            host,
            port,
            path,
        })
    }

    fn parse_unix(rest: &str) -> Result<Self, String> {
        let rest = rest.strip_prefix("//").unwrap_or(rest);
        let (socket, path) = rest
            .split_once(":/")
            .map_or((rest, "/".to_owned()), |(socket, path)| {
                (socket, format!("/{path}"))
            });
        if socket.is_empty() {
            return Err("unix: needs a path, as in unix:/run/app.sock:/index.php".into());
        }
        Ok(Self {
            tls: false,
            socket: Some(PathBuf::from(socket)),
            host: "localhost".into(),
            port: 80,
            path,
        })
    }

    /// Returns the value of the Host field.
    #[must_use]
    pub fn authority(&self) -> String {
        let host = if self.host.contains(':') {
            format!("[{}]", self.host)
        } else {
            self.host.clone()
        };
        if self.port == if self.tls { 443 } else { 80 } {
            host
        } else {
            format!("{host}:{}", self.port)
        }
    }
}

/// Returns the path and query as they are sent.
fn path_of(text: &str) -> Result<String, String> {
    let path = text.split('#').next().unwrap_or("");
    if let Some(bad) = path.chars().find(|c| c.is_whitespace() || c.is_control()) {
        return Err(format!("{bad:?} in the path; write it percent-encoded"));
    }
    Ok(match path.strip_prefix('/') {
        Some(_) => path.to_owned(),
        None => format!("/{path}"),
    })
}

fn split_port(authority: &str, usual: u16) -> Result<(String, u16), String> {
    let (host, port) = if let Some(rest) = authority.strip_prefix('[') {
        let (host, after) = rest.split_once(']').ok_or("no ] after the IPv6 address")?;
        (host, after.strip_prefix(':'))
    } else {
        authority
            .split_once(':')
            .map_or((authority, None), |(host, port)| (host, Some(port)))
    };
    let port = match port {
        None | Some("") => usual,
        Some(text) => text.parse().map_err(|_| format!("{text} is not a port"))?,
    };
    Ok((host.to_owned(), port))
}

impl Target {
    /// Resolves `url` and determines where its address is.
    ///
    /// # Errors
    /// If the name does not resolve.
    pub fn resolve(text: &str, url: &Url) -> Result<Self, String> {
        let (address, place) = match &url.socket {
            Some(path) => (Address::Unix(path.clone()), Place::UnixSocket),
            None => {
                let address = resolve(&url.host, url.port)?;
                (Address::Tcp(address), place_of(address.ip()))
            }
        };
        Ok(Self {
            url: text.to_owned(),
            tls: url.tls,
            host: url.host.clone(),
            port: url.port,
            path: url.path.clone(),
            address,
            place,
        })
    }

    /// Returns the address as text.
    #[must_use]
    pub(crate) fn address_words(&self) -> String {
        match &self.address {
            Address::Tcp(address) => address.to_string(),
            Address::Unix(path) => format!("unix:{}", path.display()),
        }
    }

    /// Connects once, to fail early with a clear error.
    ///
    /// # Errors
    /// If the connection fails.
    pub fn probe(&self) -> Result<(), String> {
        let result = match &self.address {
            Address::Tcp(address) => {
                TcpStream::connect_timeout(address, Duration::from_secs(10)).map(drop)
            }
            Address::Unix(path) => UnixStream::connect(path).map(drop),
        };
        result.map_err(|error| {
            format!(
                "cannot connect to {}: {error}; is the server running?",
                self.address_words()
            )
        })
    }
}

fn resolve(host: &str, port: u16) -> Result<SocketAddr, String> {
    let mut all: Vec<SocketAddr> = (host, port)
        .to_socket_addrs()
        .map_err(|error| format!("{host} does not resolve: {error}"))?
        .collect();
    // localhost often resolves to ::1 first while the server listens on 127.0.0.1 only
    all.sort_by_key(|address| !(address.is_ipv4() && address.ip().is_loopback()));
    let reachable = all.iter().find(|address| {
        all.len() > 1 && TcpStream::connect_timeout(address, Duration::from_secs(2)).is_ok()
    });
    reachable
        .or(all.first())
        .copied()
        .ok_or_else(|| format!("{host} has no address"))
}

/// Returns where an address is; it belongs to this machine if a socket can be bound to it.
fn place_of(ip: IpAddr) -> Place {
    match ip {
        ip if ip.is_loopback() => Place::Loopback,
        ip if ip.is_unspecified() || UdpSocket::bind((ip, 0)).is_ok() => Place::ThisMachine,
        _ => Place::Remote,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn urls() {
        assert_eq!(
            url("http://127.0.0.1:8080/a?b=c#d"),
            Url {
                tls: false,
                socket: None,
                host: "127.0.0.1".into(),
                port: 8080,
                path: "/a?b=c".into()
            }
        );
        assert_eq!(url("https://example.com").port, 443);
        assert_eq!(url("localhost:81").path, "/");
        assert_eq!(url("http://h?x=1").path, "/?x=1");
        assert_eq!(url("http://[::1]:8080/").host, "::1");
        assert_eq!(url("http://[::1]:8080/").authority(), "[::1]:8080");
        assert_eq!(
            url("unix:/run/a.sock:/x?y").socket,
            Some("/run/a.sock".into())
        );
        assert_eq!(url("unix:/run/a.sock:/x?y").path, "/x?y");
        assert_eq!(url("http://h/%20a").path, "/%20a");
    }

    #[test]
    fn mistakes_are_explained() {
        for (text, part) in [
            ("ftp://h/", "unknown scheme"),
            ("http:///x", "no host"),
            ("http://h:x/", "not a port"),
            ("http://h/a b", "percent-encoded"),
        ] {
            let error = Url::parse(text).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn places() {
        assert_eq!(place_of("127.0.0.1".parse().unwrap()), Place::Loopback);
        assert_eq!(place_of("192.0.2.1".parse().unwrap()), Place::Remote);
    }
}
