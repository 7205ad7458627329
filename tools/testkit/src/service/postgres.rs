//! A private PostgreSQL.

use std::path::PathBuf;
use std::sync::OnceLock;

use super::{Daemon, directory, free_port, program, run};

const USER: Option<&str> = Some("postgres");

/// A PostgreSQL with the database and user `postgres`, without a password.
#[derive(Debug)]
pub struct Postgres {
    /// The port on 127.0.0.1.
    pub port: u16,
    _daemon: Daemon,
}

impl Postgres {
    /// Returns the PostgreSQL of this test process.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Postgres> = OnceLock::new();
        SHARED.get_or_init(Self::start)
    }

    /// Starts another PostgreSQL.
    pub fn start() -> Self {
        let place = directory("postgres", USER);
        let (data, port) = (place.join("data"), free_port());
        let programs = programs();
        let mut initdb = program(programs.join("initdb"), USER);
        initdb.args([
            "--auth=trust",
            "--no-sync",
            "--username=postgres",
            "--locale=C",
            "--encoding=UTF8",
        ]);
        run(initdb.arg("-D").arg(&data).current_dir(&place));
        let mut server = program(programs.join("postgres"), USER);
        server
            .arg("-D")
            .arg(&data)
            .arg("-k")
            .arg(&place)
            .arg("-p")
            .arg(port.to_string());
        for setting in [
            "listen_addresses=127.0.0.1",
            "fsync=off",
            "max_connections=300",
            "shared_buffers=16MB",
        ] {
            server.args(["-c", setting]);
        }
        server.current_dir(&place);
        let daemon = Daemon::start(
            server,
            &place,
            "database system is ready to accept connections",
        );
        Self {
            port,
            _daemon: daemon,
        }
    }

    /// Returns the DSN for `new PDO()`.
    pub fn dsn(&self) -> String {
        format!(
            "pgsql:host=127.0.0.1;port={};dbname=postgres;user=postgres",
            self.port
        )
    }

    /// Returns the URL.
    pub fn url(&self) -> String {
        format!("pgsql://postgres@127.0.0.1:{}/postgres", self.port)
    }
}

/// Returns the folder of the newest version's programs: Debian keeps them out of `PATH`, in a directory per version.
fn programs() -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql").expect("PostgreSQL is installed");
    let mut found: Vec<PathBuf> = versions
        .filter_map(|version| Some(version.ok()?.path().join("bin")))
        .filter(|programs| programs.join("initdb").exists())
        .collect();
    found.sort();
    found.pop().expect("PostgreSQL's server is installed")
}
