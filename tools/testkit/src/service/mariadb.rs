//! A private MariaDB.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use super::{Daemon, directory, free_port, program, run};

const ACCOUNT: &str = "CREATE DATABASE hearth;\n\
    CREATE USER 'hearth'@'%' IDENTIFIED BY 'hearth';\n\
    GRANT ALL ON hearth.* TO 'hearth'@'%';\n";

/// A MariaDB with the database `hearth`, the user `hearth` and the password `hearth`.
#[derive(Debug)]
pub struct MariaDb {
    /// The port on 127.0.0.1.
    pub port: u16,
    /// The Unix socket.
    pub socket: PathBuf,
    _daemon: Daemon,
}

impl MariaDb {
    /// Returns the MariaDB of this test process.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<MariaDb> = OnceLock::new();
        SHARED.get_or_init(Self::start)
    }

    /// Starts another MariaDB.
    pub fn start() -> Self {
        let place = directory("mariadb", None);
        let (data, socket, port) = (place.join("data"), place.join("socket"), free_port());
        let mut install = Command::new("mariadb-install-db");
        install.args([
            "--no-defaults",
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
            "--user=root",
        ]);
        install.args(["--innodb-log-file-size=4M"]);
        // A tmpdir of its own: a server that starts removes other servers' temporary tables from a common one.
        let directories = [
            format!("--datadir={}", data.display()),
            format!("--tmpdir={}", place.display()),
        ];
        run(install.args(&directories));
        std::fs::write(place.join("account.sql"), ACCOUNT).expect("a file can be written");
        let mut server = program("mariadbd", None);
        server.args([
            "--no-defaults",
            "--user=root",
            "--bind-address=127.0.0.1",
            "--skip-name-resolve",
        ]);
        server.args([
            "--innodb-flush-log-at-trx-commit=0",
            "--innodb-log-file-size=4M",
            "--max-connections=1000",
        ]);
        server
            .args(&directories)
            .arg(format!("--socket={}", socket.display()));
        server.arg(format!("--port={port}")).arg(format!(
            "--init-file={}",
            place.join("account.sql").display()
        ));
        let daemon = Daemon::start(server, &place, "ready for connections");
        Self {
            port,
            socket,
            _daemon: daemon,
        }
    }

    /// Runs statements as the administrator.
    ///
    /// # Panics
    /// If a statement fails.
    pub fn run(&self, statements: &str) {
        let mut client = Command::new("mariadb");
        client.args(["--no-defaults", "--user=root"]);
        client
            .arg(format!("--socket={}", self.socket.display()))
            .args(["--execute", statements]);
        run(&mut client);
    }

    /// Returns the DSN for `new PDO()`, over TCP.
    pub fn dsn(&self) -> String {
        format!("mysql:host=127.0.0.1;port={};dbname=hearth", self.port)
    }

    /// Returns the URL with user and password.
    pub fn url(&self) -> String {
        format!("mysql://hearth:hearth@127.0.0.1:{}/hearth", self.port)
    }
}
