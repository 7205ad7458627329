//! The files of a resident app, sent without PHP: the same in both ways of dispatch.

mod precompressed;

use testkit::{Server, ServerBuilder};

use crate::support::{ok, request};

const DISPATCH: [&str; 2] = ["direct", "balanced"];

/// Says that the handler answered, and what it was asked.
const APP: &str = "<?php return fn (Hearth\\Request $r) => 'app ' . $r->method . ' ' . $r->target;";

/// An app with a folder `public`.
fn app(dispatch: &str) -> ServerBuilder {
    Server::app("app.php")
        .args(["--dispatch", dispatch, "--workers", "2"])
        .file("app.php", APP)
        .file("public/index.php", "<?php echo 'secret';")
        .file("public/style.css", "body {}")
        .file("public/page.txt", "0123456789")
        .file("public/docs/index.html", "docs")
        .file("public/build/app.js", "run()")
        .file("public/.env", "secret")
        .file("public/old.php~", "secret")
        .file("public/data/orders.csv", "secret")
        .file("storage/photo.jpg", "photo")
        .file("secret.txt", "secret")
        .link("public/storage", "../storage")
}

fn in_both(test: impl Fn(&Server)) {
    for dispatch in DISPATCH {
        let server = app(dispatch).args(["--deny", "/data"]).start();
        test(&server);
        server.stop();
    }
}

#[test]
fn files_are_sent_and_the_rest_is_the_apps() {
    in_both(|server| {
        let css = server.get("/style.css");
        assert_eq!(ok(&css), "body {}");
        assert_eq!(css.header("content-type"), Some("text/css"));
        assert_eq!(ok(&server.get("/storage/photo.jpg")), "photo");
        assert_eq!(ok(&server.get("/docs/")), "docs");
        let redirect = server.get("/docs?a=b");
        assert_eq!(
            (redirect.status, redirect.header("location")),
            (301, Some("/docs/?a=b"))
        );
        for target in [
            "/",
            "/users/7?full",
            "/style.css/x",
            "/index.php",
            "/index.php/route",
            "/.env",
            "/old.php~",
            "/build",
            "/build/",
            "/../secret.txt",
            "/%2e%2e/secret.txt",
        ] {
            assert_eq!(ok(&server.get(target)), format!("app GET {target}"));
        }
        for method in ["POST", "DELETE", "OPTIONS"] {
            let answer = request(server, method, "/style.css", "");
            assert_eq!(ok(&answer), format!("app {method} /style.css"));
        }
        assert_eq!(server.get("/data/orders.csv").status, 403);
    });
}

#[test]
fn ranges_conditions_and_head() {
    in_both(|server| {
        let whole = server.get("/page.txt");
        assert_eq!(ok(&whole), "0123456789");
        let part = request(server, "GET", "/page.txt", "Range: bytes=2-4\r\n");
        assert_eq!((part.status, part.text().as_str()), (206, "234"));
        assert_eq!(part.header("content-range"), Some("bytes 2-4/10"));
        let none = request(server, "GET", "/page.txt", "Range: bytes=50-\r\n");
        assert_eq!(none.status, 416);
        let head = request(server, "HEAD", "/page.txt", "");
        assert_eq!(
            (head.status, head.header("content-length")),
            (200, Some("10"))
        );
        let tag = whole.header("etag").expect("an ETag");
        let date = whole.header("last-modified").expect("a Last-Modified");
        for condition in [
            format!("If-None-Match: {tag}\r\n"),
            format!("If-Modified-Since: {date}\r\n"),
        ] {
            let answer = request(server, "GET", "/page.txt", &condition);
            assert_eq!(answer.status, 304, "{condition}");
            assert_eq!(answer.header("etag"), Some(tag));
        }
        let answer = request(server, "GET", "/page.txt", "If-Match: \"other\"\r\n");
        assert_eq!(answer.status, 412);
    });
}

/// What an app writes there is sent from the next request on, and what it deletes is not.
#[test]
fn files_come_and_go() {
    const WRITER: &str = r"<?php return function (Hearth\Request $r) {
        $file = __DIR__ . '/public/export.csv';
        return match ($r->path) {
            '/write' => (string) file_put_contents($file, 'a;b'),
            '/delete' => (string) unlink($file),
            default => 'app',
        };
    };";
    for dispatch in DISPATCH {
        let server = app(dispatch).file("app.php", WRITER).start();
        for _ in 0..20 {
            assert_eq!(ok(&server.get("/export.csv")), "app");
            assert_eq!(ok(&server.get("/write")), "3");
            assert_eq!(ok(&server.get("/export.csv")), "a;b");
            assert_eq!(ok(&server.get("/delete")), "1");
        }
        server.stop();
    }
}

#[test]
fn which_folder_it_is() {
    let root = |server: ServerBuilder| {
        let server = server.start();
        let answer = ok(&server.get("/x.css"));
        server.stop();
        answer
    };
    let app = |script: &str| {
        Server::app(script)
            .file(script, APP)
            .file("public/x.css", "public")
            .file("www/x.css", "www")
    };
    assert_eq!(root(app("app.php")), "public");
    assert_eq!(root(app("public/index.php")), "public");
    assert_eq!(root(app("app.php").args(["--root", "www"])), "www");
    assert_eq!(root(app("app.php").args(["--root", ""])), "app GET /x.css");
    assert_eq!(root(app("src/app.php")), "app GET /x.css");
}

/// Links in the path of the folder are resolved when a generation starts, as those of the app.
#[test]
fn a_release_stays_what_it_was_until_the_reload() {
    for dispatch in DISPATCH {
        let server = Server::app("current/app.php")
            .args(["--dispatch", dispatch, "--workers", "2"])
            .file("one/app.php", APP)
            .file("one/public/version.txt", "1")
            .file("two/app.php", APP)
            .file("two/public/version.txt", "2")
            .link("current", "one")
            .start();
        let version = || ok(&server.get("/version.txt"));
        assert_eq!(version(), "1");
        let current = server.directory().join("current");
        std::fs::remove_file(&current).expect("the link goes");
        std::os::unix::fs::symlink("two", &current).expect("a link");
        assert_eq!(version(), "1");
        let reload = crate::support::hearth(&server, &["reload", "current/app.php"]);
        assert!(reload.status.success(), "{reload:?}");
        for _ in 0..8 {
            assert_eq!(version(), "2", "{dispatch}");
        }
        server.stop();
    }
}

/// In resident and in classic mode, with both ways of dispatch.
fn in_all_modes(files: &[(&str, &str)], args: &[&str], test: impl Fn(&Server)) {
    for dispatch in DISPATCH {
        for app in ["app.php", "public"] {
            let server = Server::app(app).file("app.php", APP).args([
                "--dispatch",
                dispatch,
                "--workers",
                "2",
            ]);
            let server = args.iter().fold(server, |server, word| server.arg(*word));
            let server = files.iter().fold(server, |server, (name, text)| {
                server.file(&format!("public/{name}"), *text)
            });
            let server = server.start();
            test(&server);
            server.stop();
        }
    }
}

#[test]
fn cache_control_by_pattern() {
    let files = [
        ("build/app.js", "run()"),
        ("build/sw.js", "work()"),
        ("docs/index.html", "docs"),
    ];
    let args = [
        "--cache-control",
        "/build/*=public, max-age=31536000, immutable",
        "--cache-control",
        "*.html=no-cache",
        "--cache-control",
        "/build/sw.js=",
    ];
    in_all_modes(&files, &args, |server| {
        let cache_control = |target: &str, headers: &str| {
            let answer = request(server, "GET", target, headers);
            let value = answer.header("cache-control").map(str::to_owned);
            (answer.status, value.unwrap_or_default())
        };
        let forever = "public, max-age=31536000, immutable".to_owned();
        assert_eq!(cache_control("/build/app.js", ""), (200, forever.clone()));
        assert_eq!(
            cache_control("/build/app.js", "Range: bytes=0-1\r\n"),
            (206, forever.clone())
        );
        assert_eq!(
            cache_control("/build/app.js", "Range: bytes=50-\r\n"),
            (416, String::new())
        );
        assert_eq!(
            cache_control("/build/app.js", "If-None-Match: *\r\n"),
            (304, forever)
        );
        assert_eq!(cache_control("/build/sw.js", ""), (200, String::new()));
        assert_eq!(cache_control("/docs/", ""), (200, "no-cache".to_owned()));
    });
}

/// An app that runs in the browser, with an API in PHP: as `try_files $uri /index.html` with a `location /api`.
#[test]
fn a_single_page_app() {
    let page = [
        "--fallback",
        "/index.html",
        "--dynamic",
        "/api",
        "--dynamic",
        "/login",
    ];
    let files = [
        ("index.html", "the page"),
        ("app.js", "run()"),
        ("api/x.json", "a file"),
    ];
    for dispatch in DISPATCH {
        for mode in ["app.php", "public"] {
            let server = Server::app(mode).file("app.php", APP).args([
                "--dispatch",
                dispatch,
                "--workers",
                "2",
            ]);
            let server = match mode {
                "public" => server.file("public/api/index.php", "<?php echo 'app';"),
                _ => server,
            };
            let server = page.iter().fold(server, |server, word| server.arg(*word));
            let server = files.iter().fold(server, |server, (name, text)| {
                server.file(&format!("public/{name}"), *text)
            });
            let server = server.start();
            for target in ["/", "/users/7", "/users/7?tab=1", "/apis", "/deep/er/"] {
                assert_eq!(ok(&server.get(target)), "the page", "{mode} {target}");
            }
            let head = request(&server, "HEAD", "/users/7", "");
            assert_eq!(
                (head.status, head.header("content-type")),
                (200, Some("text/html"))
            );
            let tag = head.header("etag").expect("an ETag");
            let known = request(
                &server,
                "GET",
                "/users/8",
                &format!("If-None-Match: {tag}\r\n"),
            );
            assert_eq!(known.status, 304);
            assert_eq!(ok(&server.get("/app.js")), "run()");
            assert!(server.get("/api/").text().starts_with("app"), "{mode}");
            assert_ne!(server.get("/app-old.js").text(), "the page", "{mode}");
            assert_ne!(server.get("/login").text(), "the page", "{mode}");
            if mode == "app.php" {
                assert_eq!(ok(&server.get("/api/users")), "app GET /api/users");
                assert_eq!(ok(&server.get("/api/x.json")), "app GET /api/x.json");
                let post = request(&server, "POST", "/users", "");
                assert_eq!(ok(&post), "app POST /users");
            }
            server.stop();
        }
    }
}
