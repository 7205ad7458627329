//! What Apache would protect: told at the start and by `hearth check`, and closed by the lines that this proposes.

use std::path::Path;
use std::process::Command;

use testkit::Server;

use super::dokuwiki::dokuwiki_files;

fn check(root: &Path) -> String {
    let output = Command::new(testkit::hearth())
        .arg("check")
        .arg(root)
        .output()
        .expect("hearth runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("text")
}

/// The proposed lines are set.
fn follow_advice(root: &Path, advice: &str) {
    let (_, lines) = advice
        .split_once("proposed, in hearth.toml:\n")
        .expect("a proposal");
    std::fs::write(root.join("hearth.toml"), lines).expect("a file");
    let again = check(root);
    assert!(
        !again.contains("proposed") && !again.contains("not read"),
        "{again}"
    );
}

fn write(root: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }
}

#[test]
fn what_a_site_shows_is_told_and_the_proposal_closes_it() {
    let root = testkit::document_root();
    write(
        root.path(),
        &[
            ("index.php", "<?php echo $_GET['page'] ?? 'front';"),
            (
                ".htaccess",
                "RewriteEngine on\nRewriteRule ^(bin|SQL)/ - [F]\nRewriteRule ^p/(\\w+)$ index.php?page=$1 [L]\n",
            ),
            (
                "data/.htaccess",
                "<IfModule mod_authz_core.c>\n Require all denied\n</IfModule>\n",
            ),
            ("data/my_wiki.sqlite", "secret"),
            ("bin/tool.sh", "secret"),
            ("logs/errors.log", "secret"),
            ("storage/logs/app.log", "secret"),
            ("style.css", "css"),
        ],
    );
    let secrets = [
        "/data/my_wiki.sqlite",
        "/bin/tool.sh",
        "/logs/errors.log",
        "/storage/logs/app.log",
    ];
    let server = Server::app(root.path()).start();
    server.expect_log("clients can read /data/my_wiki.sqlite");
    server.expect_log("clients can read /logs/errors.log");
    server.expect_log("/data/.htaccess is not read, because Hearth reads no .htaccess; under Apache it denies everything in /data");
    server.expect_log(
        "/.htaccess is not read, because Hearth reads no .htaccess; under Apache it rewrites paths in /",
    );
    for secret in secrets {
        assert_eq!(server.get(secret).status, 200, "{secret}");
    }
    server.stop();
    let advice = check(root.path());
    follow_advice(root.path(), &advice);
    let server = Server::app(root.path()).start();
    for secret in secrets {
        assert_eq!(server.get(secret).status, 403, "{secret}");
    }
    assert_eq!(server.get("/p/about").text(), "about");
    assert_eq!(server.get("/style.css").text(), "css");
    server.stop();
}

/// As its authors ship it: with a .htaccess in each directory that is not for clients.
#[test]
fn dokuwiki_is_closed_by_the_proposal() {
    let root = dokuwiki_files();
    write(root.path(), &[("data/pages/start.txt", "secret")]);
    let advice = check(root.path());
    follow_advice(root.path(), &advice);
    let server = Server::app(root.path()).start();
    for path in [
        "/data/pages/start.txt",
        "/bin/dwpage.php",
        "/inc/init.php",
        "/vendor/autoload.php",
        "/VERSION",
    ] {
        assert_eq!(server.get(path).status, 403, "{path}");
    }
    assert_eq!(server.get("/lib/tpl/dokuwiki/images/logo.png").status, 200);
    assert_eq!(server.get("/doku.php?id=start").status, 200);
    server.stop();
}

#[test]
fn a_project_is_no_document_root() {
    let root = testkit::document_root();
    write(
        root.path(),
        &[
            ("public/index.php", "<?php echo 1;"),
            ("storage/logs/laravel.log", "secret"),
        ],
    );
    let server = Server::app(root.path()).start();
    server.expect_log("its document root is probably ");
    server.expect_log("clients can read /storage/logs/laravel.log");
    server.stop();
    assert!(check(root.path()).contains("/public: serve that, or everything here is public"));
}

#[test]
fn what_lies_beside_a_single_script_is_told() {
    let root = testkit::document_root();
    write(
        root.path(),
        &[
            ("adminer.php", "<?php echo 'a page';"),
            ("other.php", "<?php echo 1;"),
        ],
    );
    let output = Command::new(testkit::hearth())
        .arg("check")
        .arg(root.path().join("adminer.php"))
        .args(["--mode", "classic"])
        .output()
        .expect("hearth runs");
    let advice = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        advice.contains("everything in it is served too, and its scripts run (1 more names)"),
        "{advice}"
    );
}
