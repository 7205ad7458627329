//! What docs/guide/sites.md says: every command and file in it, as it stands there, below a directory that stands for /srv.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use testkit::{Server, ServerBuilder};

use crate::support::{eventually, ok};

/// The lines of an example on the page.
fn example(name: &str) -> Vec<String> {
    let text = crate::support::example("docs/guide/sites.md", name);
    text.lines().map(str::to_owned).collect()
}

struct Srv {
    directory: tempfile::TempDir,
}

impl Srv {
    fn new(files: &[(&str, &str)]) -> Srv {
        let this = Srv {
            directory: testkit::temporary(),
        };
        for (name, text) in files {
            this.write(name, text);
        }
        this
    }

    /// The path that stands for this one below /srv.
    fn path(&self, name: &str) -> PathBuf {
        let root = self.directory.path().canonicalize().expect("a path");
        root.join(name.strip_prefix("/srv/").expect("a path below /srv"))
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, self.moved(text)).expect("a file");
    }

    fn moved(&self, text: &str) -> String {
        let root = self.path("/srv/");
        text.replace("/srv", root.to_string_lossy().trim_end_matches('/'))
    }

    /// `hearth serve PATH …` as the guide has it.
    fn serve(&self, command: &str) -> ServerBuilder {
        let command = self.moved(command);
        let words = command.strip_prefix("hearth serve ").expect("a command");
        let (app, rest) = words.split_once(' ').unwrap_or((words, ""));
        let server = Server::app(app).args(["--workers", "2"]);
        rest.split_whitespace().fold(server, ServerBuilder::arg)
    }

    fn served(&self, name: &str) -> Server {
        self.serve(&example(name).concat()).start()
    }
}

const NAME: &str = "<?php echo basename(__DIR__), '/', basename(__FILE__);";

fn shop() -> Srv {
    Srv::new(&[
        ("/srv/www/shop/index.php", NAME),
        ("/srv/www/shop/app.php", NAME),
        (
            "/srv/www/shop/about.php",
            "<?php echo 'shop/about.php ', $_SERVER['PATH_INFO'] ?? '';",
        ),
        ("/srv/www/shop/style.css", "body {}"),
        ("/srv/www/shop/blog/index.php", NAME),
        ("/srv/www/shop/docs/index.html", "docs"),
        ("/srv/www/shop/images/cat.jpg", "<?php echo 'cat';"),
        ("/srv/www/shop/data/orders.csv", "secret"),
        ("/srv/www/shop/conf/x.php", "<?php echo 'secret';"),
        ("/srv/www/shared/logo.svg", "logo"),
        ("/srv/www/secret", "secret"),
    ])
}

/// The first cell's code, the second cell, and what the third says between its first pair of backquotes.
fn row(line: &str) -> (String, u16, String) {
    let cells: Vec<&str> = line.split('|').map(str::trim).collect();
    let status = cells[2].parse().expect("a status");
    let what = cells[3].split('`').nth(1).unwrap_or_default();
    (
        cells[1].trim_matches('`').to_owned(),
        status,
        what.to_owned(),
    )
}

#[test]
fn which_file_answers() {
    let srv = shop();
    let server = srv.served("serve");
    let rows = example("routes");
    assert!(rows.len() > 10, "{rows:?}");
    for line in &rows[2..] {
        let (target, status, what) = row(line);
        let answer = server.get(&target);
        assert_eq!(answer.status, status, "{line}: {}", answer.text());
        let text = answer.text();
        match status {
            200 if what.ends_with(".php") => assert!(
                format!("/{text} ").contains(&format!("/{what} ")),
                "{line}: {text}"
            ),
            200 => assert!(text == "body {}" || text == "docs", "{line}: {text}"),
            301 => assert_eq!(
                format!(
                    "Location: {}",
                    answer.header("location").unwrap_or_default()
                ),
                what
            ),
            _ => assert!(!text.contains("secret"), "{line}: {text}"),
        }
    }
    assert!(ok(&server.get("/about.php/team/7?full")).ends_with(" /team/7"));
    server.stop();
}

#[test]
fn another_front_controller() {
    let srv = shop();
    let server = srv.served("front");
    assert_eq!(ok(&server.get("/anything")), "shop/app.php");
    assert_eq!(ok(&server.get("/index.php")), "shop/index.php");
    assert_eq!(ok(&server.get("/style.css")), "body {}");
    server.stop();
}

/// Every name that the guide calls never sent.
#[test]
fn what_is_never_sent() {
    let srv = shop();
    let mut names: Vec<String> = [".git/config", ".env", "hearth.toml", "php.ini", "x.PHP"]
        .map(str::to_owned)
        .to_vec();
    for end in [
        "phtml", "phar", "phps", "pht", "php3", "php8", "inc", "module", "install", "theme",
        "profile", "engine",
    ] {
        names.push(format!("x.{end}"));
    }
    for end in [
        "~",
        ".bak",
        ".old",
        ".orig",
        ".save",
        ".swp",
        ".dist",
        ".dpkg-old",
        ".1",
    ] {
        names.push(format!("x.php{end}"));
    }
    for name in &names {
        let text = if name == "hearth.toml" {
            ""
        } else {
            "<?php // secret"
        };
        srv.write(&format!("/srv/www/shop/{name}"), text);
    }
    std::os::unix::fs::symlink("about.php", srv.path("/srv/www/shop/notes.txt")).expect("a link");
    std::os::unix::fs::symlink("../secret", srv.path("/srv/www/shop/out.txt")).expect("a link");
    srv.write("/srv/www/shop/.well-known/x", "public");
    let server = srv
        .serve("hearth serve /srv/www/shop --follow /srv/www/shared")
        .start();
    let links = ["notes.txt", "out.txt"].map(str::to_owned);
    for name in names.iter().chain(&links) {
        let answer = server.get(&format!("/{name}"));
        assert_eq!(answer.status, 403, "{name}: {}", answer.text());
    }
    assert_eq!(ok(&server.get("/.well-known/x")), "public");
    server.stop();
}

#[test]
fn links_and_denied_directories() {
    let srv = shop();
    for (name, target) in [("logo.svg", "../shared/logo.svg"), ("out.txt", "../secret")] {
        let link = srv.path(&format!("/srv/www/shop/{name}"));
        std::os::unix::fs::symlink(target, link).expect("a link");
    }
    let server = srv.served("follow");
    assert_eq!(ok(&server.get("/logo.svg")), "logo");
    assert_eq!(server.get("/out.txt").status, 403);
    server.stop();
    let server = srv.served("deny");
    assert_eq!(ok(&server.get("/logo.svg")), "logo");
    for target in ["/data/orders.csv", "/data", "/conf/x.php"] {
        assert_eq!(server.get(target).status, 403, "{target}");
    }
    assert_eq!(ok(&server.get("/style.css")), "body {}");
    server.stop();
}

/// The layouts of sites that people know: every command of the table starts, and the front page is the front controller's.
#[test]
fn sites_you_know() {
    let srv = Srv::new(&[
        ("/srv/www/wordpress/index.php", NAME),
        ("/srv/adminer/adminer.php", NAME),
        ("/srv/www/drupal/web/index.php", NAME),
        ("/srv/www/app/public/index.php", NAME),
        ("/srv/www/app/storage/app/public/photo.jpg", "photo"),
        ("/srv/www/dokuwiki/index.php", NAME),
        ("/srv/www/dokuwiki/data/pages/a.txt", "secret"),
    ]);
    let storage = srv.path("/srv/www/app/storage/app/public");
    std::os::unix::fs::symlink(storage, srv.path("/srv/www/app/public/storage")).expect("a link");
    let guide =
        fs::read_to_string(testkit::checkout().join("docs/guide/sites.md")).expect("the guide");
    let rows = guide
        .lines()
        .filter(|line| line.contains("| `hearth serve "));
    let commands: Vec<&str> = rows
        .map(|line| line.split('`').nth(1).expect("a command"))
        .collect();
    assert_eq!(commands.len(), 6, "{commands:?}");
    // Debian's packages are visited in full elsewhere.
    for command in commands
        .into_iter()
        .filter(|command| !command.contains("/usr/share"))
    {
        let server = srv.serve(command).start();
        let text = ok(&server.get("/a/page"));
        assert!(
            text.ends_with("index.php") || text == "adminer/adminer.php",
            "{command}: {text}"
        );
        if command.contains("/app/public") {
            assert_eq!(ok(&server.get("/storage/photo.jpg")), "photo");
        }
        if command.contains("dokuwiki") {
            assert_eq!(server.get("/data/pages/a.txt").status, 403);
        }
        server.stop();
    }
}

#[test]
fn settings() {
    let srv = shop();
    srv.write("/srv/www/shop/hearth.toml", &example("settings").join("\n"));
    srv.write("/srv/log/php.log", "");
    let show = "<?php foreach (explode(',', $_GET['k']) as $k) echo ini_get($k), ';'; echo getenv('SHOP');";
    srv.write("/srv/www/shop/show.php", show);
    srv.write("/srv/www/shop/blog/show.php", show);
    let user_ini = example("user-ini");
    let path = user_ini[0].strip_prefix("; ").expect("its name");
    srv.write(path, &user_ini.join("\n"));
    srv.write("/srv/www/shop/prepend.php", "<?php echo 'prepended ';");
    let server = srv
        .serve("hearth serve /srv/www/shop")
        .env("SHOP", "open")
        .start();
    assert_eq!(
        ok(&server.get("/show.php?k=memory_limit,upload_max_filesize,post_max_size,error_log")),
        format!(
            "256M;64M;70M;{};open",
            srv.path("/srv/log/php.log").display()
        )
    );
    assert_eq!(
        ok(&server.get("/blog/show.php?k=memory_limit")),
        "prepended 512M;open"
    );
    assert_eq!(server.get("/data/orders.csv").status, 403);
    server.stop();
}

#[test]
fn which_php_ini() {
    let srv = Srv::new(&[(
        "/srv/www/shop/index.php",
        "<?php echo php_ini_loaded_file(), ' ', php_ini_scanned_files();",
    )]);
    let plain = srv.serve("hearth serve /srv/www/shop").start();
    let read = ok(&plain.get("/"));
    let version = read.split('/').nth(3).expect("a version").to_owned();
    let page = example("fpm-ini").concat().replace("8.2", &version);
    assert!(
        read.starts_with(&format!(
            "/etc/php/{version}/embed/php.ini /etc/php/{version}/embed/conf.d/"
        )),
        "{read}"
    );
    plain.stop();
    let (variables, command) = page.split_at(page.find("hearth serve").expect("a command"));
    let variables = variables
        .split_whitespace()
        .filter_map(|word| word.split_once('='));
    let server = variables
        .fold(srv.serve(command), |server, (name, value)| {
            server.env(name, value)
        })
        .start();
    let read = ok(&server.get("/"));
    assert!(
        read.starts_with(&format!(
            "/etc/php/{version}/fpm/php.ini /etc/php/{version}/fpm/conf.d/"
        )),
        "{read}"
    );
    server.stop();
}

fn point(link: &Path, target: &str) {
    let beside = link.with_extension("new");
    std::os::unix::fs::symlink(target, &beside).expect("a link");
    fs::rename(beside, link).expect("the link is replaced");
}

#[test]
fn new_releases() {
    let srv = Srv::new(&[
        ("/srv/www/shop/one/index.php", "<?php echo 'one';"),
        ("/srv/www/shop/one/version.txt", "1"),
        ("/srv/www/shop/two/index.php", "<?php echo 'two';"),
        ("/srv/www/shop/two/version.txt", "2"),
    ]);
    let current = srv.path("/srv/www/shop/current");
    point(&current, "one");
    let server = srv.serve("hearth serve /srv/www/shop/current").start();
    let both = || (ok(&server.get("/")), ok(&server.get("/version.txt")));
    assert_eq!(both(), ("one".to_owned(), "1".to_owned()));
    point(&current, "two");
    assert_eq!(both(), ("one".to_owned(), "1".to_owned()));
    // A worker that starts now still belongs to the old release.
    let before = server.workers();
    testkit::kill(before[0], rustix::process::Signal::KILL);
    server.expect_log("was killed by SIGKILL");
    eventually("a new worker", || server.workers().len() == before.len());
    for _ in 0..8 {
        assert_eq!(both(), ("one".to_owned(), "1".to_owned()));
    }
    let command = srv.moved(&example("reload").concat());
    let mut words = command.split_whitespace().skip(1);
    let reload = Command::new(testkit::hearth())
        .args(&mut words)
        .env("XDG_RUNTIME_DIR", server.directory())
        .status()
        .expect("hearth starts");
    assert_eq!(reload.code(), Some(0));
    for _ in 0..8 {
        assert_eq!(both(), ("two".to_owned(), "2".to_owned()));
    }
    server.stop();
}

#[test]
fn rules_for_paths() {
    let srv = shop();
    srv.write("/srv/www/shop/hearth.toml", &example("rules").join("\n"));
    srv.write("/srv/www/shop/x.SQLite", "secret");
    srv.write("/srv/www/shop/api/list.json", "[]");
    srv.write(
        "/srv/www/shop/about.php",
        "<?php echo json_encode([$_GET, $_SERVER['QUERY_STRING'], $_SERVER['REQUEST_URI']], JSON_UNESCAPED_SLASHES);",
    );
    for dispatch in ["balanced", "direct"] {
        let server = srv
            .serve("hearth serve /srv/www/shop")
            .args(["--dispatch", dispatch])
            .start();
        for _ in 0..2 {
            assert_eq!(
                ok(&server.get("/wiki/a%26b/c?x=1")),
                r#"[{"title":"a&b/c","x":"1"},"title=a%26b/c&x=1","/wiki/a%26b/c?x=1"]"#
            );
        }
        assert_eq!(
            ok(&server.get("/wiki/other")),
            r#"[{"title":"other"},"title=other&","/wiki/other"]"#
        );
        assert_eq!(ok(&server.get("/api/list.json")), "[]");
        assert_eq!(ok(&server.get("/api/users/7?x")), "shop/app.php");
        let old = server.get("/old/page?x=1");
        assert_eq!(
            (old.status, old.header("location")),
            (301, Some("/blog/?x=1"))
        );
        assert_eq!(server.get("/private/x").status, 404);
        assert_eq!(server.get("/x.SQLite").status, 403);
        assert_eq!(server.get("/data/orders.csv").status, 403);
        server.stop();
    }
}
