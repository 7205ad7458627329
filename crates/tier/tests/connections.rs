//! Each way to a Redis, and what is told where it does not work.
#![forbid(unsafe_code)]

mod support;

use std::path::{Path, PathBuf};

use support::Server;
use testkit::service::Redis;
use tier::Options;

/// A certificate of 127.0.0.1, which is its own authority, and its key.
struct Certificate {
    _folder: tempfile::TempDir,
    certificate: PathBuf,
    key: PathBuf,
}

impl Certificate {
    fn new(name: &str) -> Certificate {
        let folder = tempfile::tempdir().unwrap();
        let signed = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
        let [certificate, key] =
            ["certificate.pem", "key.pem"].map(|name| folder.path().join(name));
        std::fs::write(&certificate, signed.cert.pem()).unwrap();
        std::fs::write(&key, signed.signing_key.serialize_pem()).unwrap();
        Certificate {
            _folder: folder,
            certificate,
            key,
        }
    }

    /// A URL that trusts it.
    fn trusted(&self, url: &str) -> String {
        format!("{url}?cacert={}", self.certificate.display())
    }

    fn redis(&self, clients: &Path, options: &[&str]) -> (Redis, u16) {
        Redis::with_tls([&self.certificate, &self.key, clients], options)
    }
}

/// One that is there, and shares the cache with another.
#[track_caller]
fn works(server: &Server, other: &Server) {
    server.until_there();
    other.until_there();
    let (a, b) = (server.worker(), other.worker());
    a.set("k", 1);
    b.comes("k", Some(1));
    b.set("k", 2);
    a.comes("k", Some(2));
}

#[test]
fn tls_with_an_authority_of_ones_own() {
    let own = Certificate::new("127.0.0.1");
    let (redis, port) = own.redis(&own.certificate, &["--tls-auth-clients", "no"]);
    let url = format!("rediss://127.0.0.1:{port}/2");
    let server = Server::at(&own.trusted(&url));
    let plain = Server::at(&format!("redis://127.0.0.1:{}/2", redis.port));
    works(&server, &plain);
    assert_eq!(server.tier.status().address, url);
    let unknown = Server::at(&url);
    unknown.until_error("?cacert=FILE");
    let other = Certificate::new("127.0.0.1");
    let wrong = Server::at(&other.trusted(&url));
    wrong.until_error("?cacert=FILE");
}

#[test]
fn tls_with_a_name_that_is_not_the_servers() {
    let own = Certificate::new("cache.internal");
    let (_redis, port) = own.redis(&own.certificate, &["--tls-auth-clients", "no"]);
    let server = Server::at(&own.trusted(&format!("rediss://127.0.0.1:{port}")));
    server.until_error("cache.internal");
}

/// As Redis is by default.
#[test]
fn tls_with_a_certificate_of_the_client() {
    let (own, client) = (Certificate::new("127.0.0.1"), Certificate::new("shop"));
    let (redis, port) = own.redis(&client.certificate, &[]);
    let url = format!("rediss://127.0.0.1:{port}");
    let [certificate, key] = [&client.certificate, &client.key].map(|path| path.display());
    let server = Server::at(&format!(
        "{}&cert={certificate}&key={key}",
        own.trusted(&url)
    ));
    works(&server, &Server::of(&redis));
    let without = Server::at(&own.trusted(&url));
    without.until_error("?cert=FILE");
}

#[test]
fn tls_on_one_side_only() {
    let own = Certificate::new("127.0.0.1");
    let (redis, port) = own.redis(&own.certificate, &["--tls-auth-clients", "no"]);
    let plain = Server::at(&format!("redis://127.0.0.1:{port}"));
    plain.until_error("rediss://");
    let tls = Server::at(&own.trusted(&format!("rediss://127.0.0.1:{}", redis.port)));
    tls.until_error("redis://");
}

#[test]
fn a_unix_socket() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("redis.sock");
    let path = path.to_str().unwrap();
    let redis = Redis::with(&["--unixsocket", path, "--requirepass", "secret"]);
    for (url, db) in [
        (format!("unix:{path}?db=3&pass=secret"), 3),
        (format!("redis+unix://{path}?pass=secret&user=default"), 0),
    ] {
        let server = Server::at(&url);
        let other = format!("redis://:secret@127.0.0.1:{}/{db}", redis.port);
        works(&server, &Server::at(&other));
        let shown = server.tier.status().address;
        let db = if db == 0 {
            String::new()
        } else {
            format!("?db={db}")
        };
        assert_eq!(shown, format!("unix:{path}{db}"));
    }
    let none = Server::at(&format!("unix:{path}.none"));
    none.until_error("No such file");
}

/// The rights that the guide names are enough.
#[test]
fn a_user_with_limited_rights() {
    let rights = "user shop on >secret ~test:* +@read +@write +@scripting +@transaction +client +info +ping +time";
    let words: Vec<&str> = rights.split(' ').collect();
    let options = [&["--user"], &words[1..]].concat();
    let redis = Redis::with(&options);
    let at =
        |login: &str, db: u32| Server::at(&format!("redis://{login}127.0.0.1:{}/{db}", redis.port));
    let (server, other) = (at("shop:secret@", 0), at("", 0));
    works(&server, &other);
    let (a, b) = (server.worker(), other.worker());
    a.tagged("t", 1, &["tag"]);
    assert_eq!((b.get("t"), a.increment("n", 2)), (Some(1), Ok(2)));
    b.delete_tag("tag");
    a.comes("t", None);
    a.tiered().clear().unwrap();
    b.comes("n", None);
    at("shop:wrong@", 0).until_error("WRONGPASS");
    at("nobody:secret@", 0).until_error("WRONGPASS");
    // A user who may not read its keys.
    let few = Options {
        prefix: "other:".into(),
        ..support::options(format!("redis://shop:secret@127.0.0.1:{}", redis.port))
    };
    Server::with(few, 1 << 20).until_error("rights");
    at("", 99).until_error("DB index is out of range");
}

#[test]
fn databases_are_apart() {
    let redis = Redis::start();
    let at = |db: u32| Server::at(&format!("redis://127.0.0.1:{}/{db}", redis.port));
    let (first, same, other) = (at(1), at(1), at(2));
    works(&first, &same);
    other.until_there();
    assert_eq!(other.worker().get("k"), None);
    other.worker().set("k", 7);
    assert_eq!(first.worker().get("k"), Some(2));
}

/// Where this release of Debian has it.
#[test]
fn valkey_is_as_good() {
    let Some(valkey) = Redis::valkey() else {
        return;
    };
    let at = |scheme: &str| Server::at(&format!("{scheme}://127.0.0.1:{}", valkey.port));
    let (first, second) = (at("valkey"), at("redis"));
    works(&first, &second);
    assert!(first.tier.status().address.starts_with("valkey://"));
    let (a, b) = (first.worker(), second.worker());
    let reads = first.tier.status().reads;
    (0..9).for_each(|_| assert_eq!(a.get("none"), None));
    assert_eq!(first.tier.status().reads, reads + 1);
    b.set("none", 1);
    a.comes("none", Some(1));
    assert_eq!(a.increment("n", 5), Ok(5));
    assert_eq!(b.increment("n", 5), Ok(10));
}
