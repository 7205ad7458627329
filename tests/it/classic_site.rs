//! A classic site as a browser sees it: which file answers, what is never sent, and how files are sent. The same in both
//! ways of dispatch.

use testkit::{Server, ServerBuilder};

use crate::support::{ok, request};

const DISPATCH: [&str; 2] = ["direct", "balanced"];

/// Says which script runs, and what it was told.
const SCRIPT: &str = r"<?php echo basename(dirname(__FILE__)), '/', basename(__FILE__), ' ', $_SERVER['SCRIPT_NAME'], ' ', $_SERVER['PATH_INFO'] ?? '-', ' ', $_SERVER['REQUEST_URI'];";

fn site(dispatch: &str) -> ServerBuilder {
    let mut site = Server::app("www").args(["--dispatch", dispatch, "--workers", "2"]);
    for name in [
        "index.php",
        "info.php",
        "admin/index.php",
        "admin/edit.php",
        "old.php~",
        "UPPER.PHP",
        "settings.inc",
        ".git/x.php",
    ] {
        site = site.file(&format!("www/{name}"), SCRIPT);
    }
    site.file("www/page.txt", "0123456789")
        .file("www/a b é.txt", "odd name")
        .file("www/uploads/x.jpg", SCRIPT)
        .file("www/.env", "secret")
        .file("www/hearth.toml", "")
        .file("www/.well-known/security.txt", "Contact: x")
        .file("secret.txt", "secret")
        .link("www/secret.txt", "../secret.txt")
        .link("www/licence", "/usr/share/common-licenses/GPL-3")
}

fn in_both(test: impl Fn(&Server)) {
    for dispatch in DISPATCH {
        let server = site(dispatch).args(["--follow", "/usr/share"]).start();
        test(&server);
        server.stop();
    }
}

#[test]
fn the_script_that_a_path_names() {
    in_both(|server| {
        for (target, expected) in [
            ("/", "www/index.php /index.php - /"),
            ("/?a=b", "www/index.php /index.php - /?a=b"),
            ("/info.php", "www/info.php /info.php - /info.php"),
            (
                "/info.php/x/y?z",
                "www/info.php /info.php /x/y /info.php/x/y?z",
            ),
            ("/admin/", "admin/index.php /admin/index.php - /admin/"),
            (
                "/admin/edit.php",
                "admin/edit.php /admin/edit.php - /admin/edit.php",
            ),
            (
                "/%61dmin//edit.php",
                "admin/edit.php /admin/edit.php - /%61dmin//edit.php",
            ),
            (
                "/pretty/address?x=1",
                "www/index.php /index.php - /pretty/address?x=1",
            ),
            (
                "/missing.php/x",
                "www/index.php /index.php - /missing.php/x",
            ),
            (
                "/uploads/x.jpg/y.php",
                "www/index.php /index.php - /uploads/x.jpg/y.php",
            ),
        ] {
            assert_eq!(ok(&server.get(target)), expected, "{target}");
        }
    });
}

#[test]
fn what_is_never_sent() {
    in_both(|server| {
        for (target, status) in [
            ("/.env", 403),
            ("/%2eenv", 403),
            ("/.git/x.php", 403),
            ("/old.php~", 403),
            ("/UPPER.PHP", 403),
            ("/settings.inc", 403),
            ("/hearth.toml", 403),
            ("/secret.txt", 403),
            ("/uploads/", 403),
            ("/../secret.txt", 400),
            ("/%2e%2e/secret.txt", 400),
            ("/..%2fsecret.txt", 400),
            ("/info.php/../../secret.txt", 400),
            ("/page.txt%00.php", 400),
        ] {
            let answer = server.get(target);
            assert_eq!(answer.status, status, "{target}: {}", answer.text());
            let text = answer.text();
            assert!(
                !text.contains("<?php") && !text.contains("secret"),
                "{target}: {text}"
            );
        }
        assert_eq!(ok(&server.get("/.well-known/security.txt")), "Contact: x");
        assert!(ok(&server.get("/licence")).contains("GNU GENERAL PUBLIC LICENSE"));
    });
}

#[test]
fn a_directory_without_its_slash() {
    in_both(|server| {
        for (target, to) in [
            ("/admin", "/admin/"),
            ("/admin?a=b&c", "/admin/?a=b&c"),
            ("//admin", "/admin/"),
        ] {
            let answer = server.get(target);
            assert_eq!(
                (answer.status, answer.header("location")),
                (301, Some(to)),
                "{target}"
            );
        }
    });
}

#[test]
fn files() {
    in_both(|server| {
        let whole = server.get("/page.txt");
        assert_eq!(ok(&whole), "0123456789");
        assert_eq!(whole.header("content-type"), Some("text/plain"));
        assert_eq!(whole.header("content-length"), Some("10"));
        assert_eq!(ok(&server.get("/a%20b%20%C3%A9.txt")), "odd name");
        let head = request(server, "HEAD", "/page.txt", "");
        assert_eq!(
            (head.status, head.header("content-length")),
            (200, Some("10"))
        );
        let post = request(server, "POST", "/page.txt", "Content-Length: 0\r\n");
        assert_eq!(
            (post.status, post.header("allow")),
            (405, Some("GET, HEAD"))
        );
    });
}

#[test]
fn odd_targets() {
    in_both(|server| {
        for (method, target, status) in [
            ("GET", "http://other.example/page.txt", 200),
            ("GET", "http://other.example", 200),
            ("GET", "/caf\u{e9}", 200),
            ("GET", "/a\\..\\b", 200),
            ("GET", "//other.example/%2e%2e", 200),
            ("GET", "/%zz", 400),
            ("OPTIONS", "*", 400),
            ("OPTIONS", "/page.txt", 405),
            ("CONNECT", "other.example:80", 405),
        ] {
            let answer = request(server, method, target, "");
            assert_eq!(answer.status, status, "{method} {target}");
        }
        let long = format!("/page.txt?{}", "a".repeat(30_000));
        assert_eq!(ok(&server.get(&long)), "0123456789");
        let long = format!("/{}", "a".repeat(30_000));
        assert!(ok(&server.get(&long)).starts_with("www/index.php"));
    });
}

#[test]
fn conditions_and_ranges() {
    in_both(|server| {
        let whole = server.get("/page.txt");
        let tag = whole.header("etag").expect("an ETag").to_owned();
        let date = whole.header("last-modified").expect("a date").to_owned();
        for (header, status) in [
            (format!("If-None-Match: {tag}"), 304),
            (format!("If-None-Match: \"x\", W/{tag}"), 304),
            ("If-None-Match: \"x\"".to_owned(), 200),
            (format!("If-Modified-Since: {date}"), 304),
            ("If-Match: \"x\"".to_owned(), 412),
            ("Range: bytes=2-4".to_owned(), 206),
            (format!("Range: bytes=2-4\r\nIf-Range: {tag}"), 206),
            ("Range: bytes=2-4\r\nIf-Range: \"x\"".to_owned(), 200),
            ("Range: bytes=99-".to_owned(), 416),
            ("Range: lines=1".to_owned(), 200),
        ] {
            let answer = request(server, "GET", "/page.txt", &format!("{header}\r\n"));
            assert_eq!(answer.status, status, "{header}");
            let expected = match status {
                200 => "0123456789",
                206 => "234",
                _ => "",
            };
            assert_eq!(answer.text(), expected, "{header}");
        }
        let part = request(server, "GET", "/page.txt", "Range: bytes=-3\r\n");
        assert_eq!(
            (part.text().as_str(), part.header("content-range")),
            ("789", Some("bytes 7-9/10"))
        );
    });
}

#[test]
fn one_connection_for_files_and_scripts() {
    in_both(|server| {
        let mut client = server.connect();
        for _ in 0..3 {
            assert_eq!(ok(&client.get("/page.txt")), "0123456789");
            assert!(ok(&client.get("/info.php")).starts_with("www/info.php"));
            assert_eq!(client.get("/.env").status, 403);
            assert_eq!(client.get("/admin").status, 301);
        }
    });
}

#[test]
fn a_large_file_comes_whole() {
    let text: String = (0..400_000).map(|n| format!("{n:07}\n")).collect();
    for dispatch in DISPATCH {
        let server = site(dispatch).file("www/large.txt", text.as_str()).start();
        assert!(ok(&server.get("/large.txt")) == text);
        let part = request(
            &server,
            "GET",
            "/large.txt",
            "Range: bytes=1600000-3100000\r\n",
        );
        assert_eq!(part.status, 206);
        assert!(part.text() == text[1_600_000..=3_100_000]);
        server.stop();
    }
}

#[test]
fn what_is_denied_and_where_links_lead() {
    for dispatch in DISPATCH {
        let server = site(dispatch).args(["--deny", "/admin"]).start();
        for target in ["/admin", "/admin/", "/admin/edit.php", "/admin/missing"] {
            assert_eq!(server.get(target).status, 403, "{target}");
        }
        assert_eq!(ok(&server.get("/secret.txt")), "secret");
        server.stop();
    }
}

#[test]
fn a_script_in_front_of_a_site() {
    for dispatch in DISPATCH {
        let server = Server::app("www/info.php")
            .args(["--mode", "classic", "--dispatch", dispatch])
            .file("www/info.php", SCRIPT)
            .file("www/index.php", SCRIPT)
            .file("www/page.txt", "page")
            .start();
        for (target, expected) in [
            ("/", "www/info.php /info.php - /"),
            ("/pretty", "www/info.php /info.php - /pretty"),
            ("/index.php", "www/index.php /index.php - /index.php"),
            ("/page.txt", "page"),
        ] {
            assert_eq!(ok(&server.get(target)), expected, "{target}");
        }
        server.stop();
    }
}

/// Its directory is the document root, not that of the file behind the link.
#[test]
fn a_front_controller_that_is_a_link() {
    for dispatch in DISPATCH {
        let server = Server::app("www/app.php")
            .args(["--mode", "classic", "--dispatch", dispatch])
            .file("src/app.php", SCRIPT)
            .file("src/secret.txt", "secret")
            .link("www/app.php", "../src/app.php")
            .file("www/page.txt", "page")
            .start();
        assert_eq!(ok(&server.get("/pretty")), "src/app.php /app.php - /pretty");
        assert_eq!(ok(&server.get("/page.txt")), "page");
        assert!(ok(&server.get("/secret.txt")).starts_with("src/app.php"));
        server.stop();
    }
}

/// As the error log of nginx does; the client is not told.
#[test]
fn the_log_says_why_a_path_is_403() {
    let server = Server::app("www")
        .file("www/index.php", SCRIPT)
        .file("www/images/cat.jpg", "x")
        .file("www/settings.inc", SCRIPT)
        .args(["--deny", "/data", "--rewrite", "/closed==403"])
        .start();
    for (path, why) in [
        ("/images/", "directories are not listed"),
        ("/.env", "names that begin with a dot are not public"),
        ("/settings.inc", "PHP code that does not run is not sent"),
        ("/data/dump.sql", "site.deny contains its path"),
        ("/closed", "a rule of site.rewrite refuses its path"),
    ] {
        let refused = server.get(&format!("{path}?key=secret"));
        assert_eq!(
            (refused.status, refused.text().as_str()),
            (403, "Forbidden\n")
        );
        let line = server.expect_log(why);
        assert!(line.contains("request refused: "), "{line}");
        assert!(line.ends_with(&format!("status=403 path={path}")), "{line}");
    }
    server.stop();
}

#[test]
fn a_folder_without_an_index_is_told() {
    let server = Server::app("www").file("www/cat.jpg", "x").start();
    let line = server.expect_log("contains neither index.php nor index.html");
    assert!(
        line.contains(" WARN ") && !line.contains("hearth check"),
        "{line}"
    );
    assert_eq!(server.get("/").status, 403);
    assert_eq!(server.get("/cat.jpg").status, 200);
    server.stop();
    let server = Server::app("www").file("www/index.html", "x").start();
    assert_eq!(ok(&server.get("/")), "x");
    assert!(
        !server.log().text().contains("nor index.html"),
        "{}",
        server.log().text()
    );
    server.stop();
}
