//! Settings per directory and host in classic mode: `.user.ini`, `[PATH=…]` and `[HOST=…]`, as under php-fpm.

use testkit::{Server, ServerBuilder};

use crate::support::ok;

/// The value of every setting that the query names.
const SHOW: &str =
    "<?php foreach (explode(',', $_GET['k'] ?? 'user_agent') as $k) echo ini_get($k), ';';";

fn site() -> ServerBuilder {
    Server::app("www")
        .args(["--workers", "1", "--dispatch", "direct"])
        .file("www/show.php", SHOW)
        .file("www/a/show.php", SHOW)
        .file("www/a/b/show.php", SHOW)
        .file("www2/.user.ini", "user_agent = beside\n")
}

#[test]
fn the_nearest_file_wins_and_the_setting_ends_with_the_request() {
    let server = site()
        .file("www/.user.ini", "user_agent = root\nprecision = 5\n")
        .file("www/a/b/.user.ini", "user_agent = b ; a comment\n")
        .file(
            ".user.ini",
            "user_agent = outside\nserialize_precision = 3\n",
        )
        .start();
    let mut client = server.connect();
    for _ in 0..2 {
        for (target, expected) in [
            (
                "/show.php?k=user_agent,precision,serialize_precision",
                "root;5;-1;",
            ),
            (
                "/a/show.php?k=user_agent,precision,serialize_precision",
                "root;5;-1;",
            ),
            (
                "/a/b/show.php?k=user_agent,precision,serialize_precision",
                "b;5;-1;",
            ),
            ("/a/b/show.php/x?k=user_agent", "b;"),
        ] {
            assert_eq!(ok(&client.get(target)), expected, "{target}");
        }
    }
    server.stop();
}

#[test]
fn what_only_the_server_may_set_stays() {
    let server = site()
        .file(
            "www/.user.ini",
            "disable_functions = strlen\nopcache.enable = 0\nallow_url_include = 1\nuser_ini.filename = other\n\
             extension = nothing.so\nuser_agent = set\n",
        )
        .args(["--ini", "disable_functions=system"])
        .start();
    let settings = "disable_functions,allow_url_include,user_ini.filename,user_agent";
    let mut client = server.connect();
    for _ in 0..2 {
        assert_eq!(
            ok(&client.get(&format!("/show.php?k={settings}"))),
            "system;;.user.ini;set;"
        );
    }
    server.expect_log("sets disable_functions, which only the server's own settings can");
    server.stop();
}

#[test]
fn settings_that_count_before_the_script_runs() {
    let server = site()
        .file("www/prepended.php", "<?php echo 'prepended ';")
        .file(
            "www/.user.ini",
            "auto_prepend_file = prepended.php\nmemory_limit = 61M\nupload_max_filesize = 1K\n",
        )
        .start();
    assert_eq!(
        ok(&server.get("/show.php?k=memory_limit,upload_max_filesize")),
        "prepended 61M;1K;"
    );
    server.stop();
}

#[test]
fn a_file_is_read_again_when_its_time_is_over() {
    let server = site()
        .file("www/.user.ini", "user_agent = one\n")
        .args(["--ini", "user_ini.cache_ttl=0"])
        .start();
    let file = server.directory().join("www/.user.ini");
    assert_eq!(ok(&server.get("/show.php")), "one;");
    std::fs::write(&file, "user_agent = two\n").expect("written");
    assert_eq!(ok(&server.get("/show.php")), "two;");
    std::fs::remove_file(&file).expect("removed");
    assert_eq!(ok(&server.get("/show.php")), ";");
    server.stop();
}

#[test]
fn a_file_is_kept_until_then() {
    let server = site().file("www/.user.ini", "user_agent = one\n").start();
    assert_eq!(ok(&server.get("/show.php")), "one;");
    std::fs::write(
        server.directory().join("www/.user.ini"),
        "user_agent = two\n",
    )
    .expect("written");
    assert_eq!(ok(&server.get("/show.php")), "one;");
    server.stop();
}

#[test]
fn another_name_or_none() {
    let server = site()
        .file("www/.user.ini", "user_agent = user\n")
        .file("www/.site.ini", "user_agent = site\n")
        .args(["--ini", "user_ini.filename=.site.ini"])
        .start();
    assert_eq!(ok(&server.get("/show.php")), "site;");
    assert_eq!(server.get("/.site.ini").status, 403);
    server.stop();
    let server = site()
        .file("www/.user.ini", "user_agent = user\n")
        .args(["--ini", "user_ini.filename="])
        .start();
    assert_eq!(ok(&server.get("/show.php")), ";");
    server.stop();
}

/// Sections, lists and mistakes are no reason to fall over.
#[test]
fn odd_files() {
    let server = site()
        .file(
            "www/.user.ini",
            "user_agent = ok\nlist[] = 1\nlist[a] = 2\nno.such.setting = 1\nbare\nsendmail_from[] = x\n[PATH=/]\nprecision = 3\n[HOST=localhost]\nprecision = 4\n[other]\nprecision = 7\n",
        )
        .file("www/a/.user.ini", "user_agent = \"unclosed\n(((\n")
        .start();
    let mut client = server.connect();
    for _ in 0..3 {
        assert_eq!(ok(&client.get("/show.php")), "ok;");
        assert!(client.get("/a/show.php").text().ends_with(';'));
    }
    server.stop();
}

#[test]
fn sections_of_php_ini() {
    let directory = testkit::temporary();
    let root = directory.path().canonicalize().expect("a path");
    std::fs::create_dir_all(root.join("www/a/b")).expect("directories");
    for at in ["www", "www/a", "www/a/b"] {
        std::fs::write(root.join(at).join("show.php"), SHOW).expect("a script");
    }
    let root = root.display();
    let ini = format!(
        "[PATH={root}/www/a]\nuser_agent = path\ndisable_functions = \n[HOST=example.com]\nuser_agent = host\nprecision = 9\n"
    );
    std::fs::write(directory.path().join("sections.ini"), ini).expect("an ini file");
    let server = Server::app(format!("{root}/www"))
        .args(["--workers", "1", "--dispatch", "direct"])
        .env("PHP_INI_SCAN_DIR", format!(":{root}"))
        .start();
    let mut client = server.connect();
    let mut request = |host: &str, target: &str| {
        client.send(format!(
            "GET {target}?k=user_agent,precision HTTP/1.1\r\nHost: {host}\r\n\r\n"
        ));
        ok(&client.response())
    };
    for _ in 0..2 {
        assert_eq!(request("localhost", "/show.php"), ";14;");
        assert_eq!(request("localhost", "/a/show.php"), "path;14;");
        assert_eq!(request("localhost", "/a/b/show.php"), "path;14;");
        assert_eq!(request("EXAMPLE.com:8080", "/show.php"), "host;9;");
        assert_eq!(request("example.com", "/a/show.php"), "path;9;");
    }
    server.stop();
}

const SETTINGS: &str = "error_reporting,display_errors,precision,memory_limit,max_execution_time,upload_max_filesize,post_max_size,\
    session.name,include_path,date.timezone,default_charset,default_mimetype,disable_functions,disable_classes,open_basedir,\
    short_open_tag,output_buffering,auto_append_file,user_agent,variables_order,enable_post_data_reading,max_input_vars,\
    arg_separator.output,realpath_cache_size,expose_php,file_uploads,implicit_flush,assert.exception,html_errors";

const MANY: &str = r#"
error_reporting = E_ALL & ~E_NOTICE
display_errors = Off
precision = 7
memory_limit = 64M
max_execution_time = 17
upload_max_filesize = 3M
post_max_size = 100
session.name = "OTHER"
include_path = ".:/nowhere"
date.timezone = Europe/Berlin
default_charset = "ISO-8859-1"
default_mimetype = text/plain
disable_functions = strlen
disable_classes = DateTime
short_open_tag = yes
output_buffering = 4096
auto_append_file = none
user_agent = 'single ; quoted'
variables_order = "GPS"
max_input_vars = 3
arg_separator.output = "&amp;"
realpath_cache_size = 1
expose_php = 0
file_uploads = none
implicit_flush = true
html_errors = 1
"#;

/// Status, type and body.
fn answer(address: &str, request: &str) -> (u16, Option<String>, String) {
    let mut client = testkit::http::Client::connect(address);
    client.send(request);
    let response = client.response();
    let media_type = response.header("content-type").map(str::to_owned);
    (response.status, media_type, response.text())
}

/// Readable by php-fpm's user.
fn tree_with_settings() -> tempfile::TempDir {
    let root = testkit::document_root();
    let show = format!(
        "<?php foreach (explode(',', '{SETTINGS}') as $k) echo $k, '=', ini_get($k), \"\\n\"; \
         echo json_encode([count($_GET), count($_POST), count($_FILES), $_SERVER['CONTENT_LENGTH'] ?? null, strlen(file_get_contents('php://input'))]);"
    );
    for (name, text) in [
        ("show.php", show.as_str()),
        ("many/show.php", &show),
        ("many/a/b/show.php", &show),
        ("other/show.php", &show),
        ("many/.user.ini", MANY),
        (
            "many/a/.user.ini",
            "precision = 3\nmemory_limit = 1M ; too little is refused\n",
        ),
        (
            "many/a/b/.user.ini",
            "precision =\nuser_agent = \"\"\n[section]\ndisplay_errors = 1\n",
        ),
        (
            "other/.user.ini",
            "output_buffering = 0\nopen_basedir = /\nno.such = 1\nprecision",
        ),
    ] {
        let path = root.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        std::fs::write(path, text).expect("a file");
    }
    root
}

/// A GET, and bodies below and above post_max_size.
fn requests(target: &str) -> Vec<String> {
    let long = format!("x={}", "y".repeat(200));
    let part = "--B\r\nContent-Disposition: form-data; name=\"f\"; filename=\"f\"\r\n\r\ntext\r\n--B--\r\n";
    let bodies = [
        ("", ""),
        ("application/x-www-form-urlencoded", "a=1&b=2&c=3&d=4&e=5"),
        ("application/x-www-form-urlencoded", &long),
        ("multipart/form-data; boundary=B", part),
        ("application/json", "{}"),
    ];
    let request = |(media_type, body): (&str, &str)| {
        let method = if body.is_empty() { "GET" } else { "POST" };
        format!(
            "{method} {target}?a=1&b=2&c=3&d=4 HTTP/1.1\r\nHost: localhost\r\nContent-Type: {media_type}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    bodies.map(request).to_vec()
}

#[test]
fn the_same_under_php_fpm() {
    let root = tree_with_settings();
    let fpm = testkit::service::Fpm::start(root.path(), &[], "");
    let server = Server::app(root.path()).args(["--workers", "1"]).start();
    for (target, precision) in [
        ("/show.php", "14"),
        ("/many/show.php", "7"),
        ("/many/a/b/show.php/x", ""),
        ("/other/show.php", "14"),
    ] {
        for request in requests(target) {
            let ours = answer(&server.address(), &request);
            let expected = format!("\nprecision={precision}\n");
            assert!(ours.2.contains(&expected), "{request}: {}", ours.2);
            assert_eq!(ours, answer(&fpm.address(), &request), "{request}");
        }
    }
    server.stop();
}
