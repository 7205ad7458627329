//! Real sites from Debian's packages, unmodified, in classic mode: what people point a server for PHP at.
//!
//! Each site is one function over an address, so that the same visit can be made under nginx and php-fpm (the tests that
//! are ignored by default): what fails there too is no bug of ours. Debian 12 and 13 have different versions of all four;
//! a visit fits both.

mod adminer;
mod dokuwiki;
mod htaccess;
mod phpmyadmin;
pub(crate) mod wordpress;
pub(crate) mod wordpress_addresses;

pub(crate) use self::wordpress::wordpress_files;

use std::path::Path;
use std::process::Command;

use testkit::Server;
use testkit::service::MariaDb;

/// A copy of the package's files, links resolved, as unpacked from the authors' own archive; the web server's to write.
pub(crate) fn unpacked(packages: &[(&str, &str)], without: &[&str]) -> tempfile::TempDir {
    let root = testkit::document_root();
    for (from, to) in packages {
        let to = root.path().join(to);
        std::fs::create_dir_all(&to).expect("a directory can be made");
        let status = Command::new("cp")
            .args(["-rL", "--no-preserve=ownership"])
            .arg(format!("{from}/."))
            .arg(&to)
            .status()
            .expect("cp starts");
        assert!(status.success(), "cp {from}: {status}");
    }
    for name in without {
        let path = root.path().join(name);
        assert!(path.exists(), "the package has no {name}");
        std::fs::remove_file(path).expect("a file can be removed");
    }
    let status = Command::new("chmod")
        .args(["-R", "a+rwX"])
        .arg(root.path())
        .status()
        .expect("chmod starts");
    assert!(status.success(), "chmod: {status}");
    root
}

fn hearth(root: &Path, ini: &[(&str, &str)]) -> Server {
    let mut server = Server::app(root);
    for (name, value) in ini {
        server = server.arg("--ini").arg(format!("{name}={value}"));
    }
    server.start()
}

/// A database of its own in the shared server; its name is also that of its user, and the password.
pub(crate) fn database(name: &str) -> &'static MariaDb {
    let server = MariaDb::shared();
    server.run(&format!(
        "CREATE DATABASE {name}; CREATE USER '{name}'@'%' IDENTIFIED BY '{name}'; GRANT ALL ON {name}.* TO '{name}'@'%';"
    ));
    server
}
