//! Files that PHP names instead of sending them: `X-Accel-Redirect`, `X-Sendfile` and `Response::file()`, in both modes and
//! with both ways of dispatch.

use testkit::http::Response;
use testkit::{Server, ServerBuilder};

use crate::support::ok;

/// Names what the query says, by the header that it says.
const NAMES: &str = r#"<?php
function names(array $query): array {
    $value = str_replace('{here}', __DIR__, $query['value']);
    return [$query['header'] => $value] + json_decode($query['with'] ?? '[]', true);
}
"#;
const CLASSIC: &str = r#"<?php
require dirname(__DIR__) . '/names.php';
foreach (names($_GET) as $name => $value) { header("$name: $value"); }
http_response_code((int) ($_GET['status'] ?? 200));
echo 'not sent';
"#;
const RESIDENT: &str = r#"<?php
require __DIR__ . '/names.php';
return fn (Hearth\Request $r) => new Hearth\Response('not sent', (int) $r->query('status', 200), names($r->query()));
"#;

fn app(app: &str, dispatch: &str) -> ServerBuilder {
    Server::app(app)
        .args(["--dispatch", dispatch, "--workers", "2"])
        .file("names.php", NAMES)
        .file("app.php", RESIDENT)
        .file("site/index.php", CLASSIC)
        .file("storage/a b.txt", "0123456789")
        .file("storage/report.pdf", "report")
        .file("storage/source.php", "<?php // a user's")
        .file("storage/deep/x.txt", "deep x")
        .file("other/x.txt", "other x")
        .file("secret.txt", "secret")
        .link("storage/out.txt", "../secret.txt")
        .link("storage/in.txt", "deep/x.txt")
        .link("storage/up", "..")
}

fn in_all_modes(test: impl Fn(&Server)) {
    for dispatch in ["direct", "balanced"] {
        for mode in ["app.php", "site"] {
            let server = app(mode, dispatch)
                .args(["--sendfile", "/files=storage"])
                .args(["--sendfile", "/files/other/=other"])
                .start();
            test(&server);
            server.stop();
        }
    }
}

fn encoded(text: &str) -> String {
    text.bytes()
        .fold(String::new(), |all, byte| all + &format!("%{byte:02x}"))
}

/// The answer to a request whose script names `value` by this header.
fn named(server: &Server, header: &str, value: &str, rest: &str) -> Response {
    let (query, fields) = rest.split_once('\n').unwrap_or((rest, ""));
    let mut client = server.connect();
    client.send(format!(
        "GET /?header={header}&value={}{query} HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n",
        encoded(value)
    ));
    client.response()
}

#[test]
fn a_file_is_sent_with_what_php_says_of_it() {
    in_all_modes(|server| {
        let with = encoded(
            r#"{"Content-Disposition":"attachment","Cache-Control":"private","Content-Length":"8"}"#,
        );
        for (header, value) in [
            ("X-Accel-Redirect", "/files/report.pdf"),
            ("x-accel-redirect", "/files/./%72eport.pdf?a=b"),
            ("X-Sendfile", "{here}/storage/report.pdf"),
            ("X-Sendfile", "{here}/storage/deep/../report.pdf"),
        ] {
            let value = value.replace(
                "{here}",
                &server
                    .directory()
                    .canonicalize()
                    .unwrap()
                    .display()
                    .to_string(),
            );
            let answer = named(server, header, &value, &format!("&with={with}"));
            assert_eq!(ok(&answer), "report", "{value}");
            for (name, expected) in [
                ("content-type", Some("application/pdf")),
                ("content-disposition", Some("attachment")),
                ("cache-control", Some("private")),
                ("content-length", Some("6")),
                ("accept-ranges", Some("bytes")),
                ("x-accel-redirect", None),
                ("x-sendfile", None),
            ] {
                assert_eq!(answer.header(name), expected, "{value}: {name}");
            }
            assert!(answer.header("etag").is_some() && answer.header("last-modified").is_some());
        }
    });
}

#[test]
fn which_file_a_path_stands_for() {
    in_all_modes(|server| {
        let typed = encoded(r#"{"Content-Type":"text/csv"}"#);
        let answer = named(
            server,
            "X-Accel-Redirect",
            "/files/report.pdf",
            &format!("&with={typed}"),
        );
        assert!(
            answer
                .header("content-type")
                .is_some_and(|value| value.starts_with("text/csv"))
        );
        assert_eq!(
            ok(&named(server, "X-Accel-Redirect", "/files/a%20b.txt", "")),
            "0123456789"
        );
        assert_eq!(
            ok(&named(server, "X-Accel-Redirect", "/files/other/x.txt", "")),
            "other x"
        );
        assert_eq!(
            ok(&named(server, "X-Accel-Redirect", "/files/in.txt", "")),
            "deep x"
        );
        assert_eq!(
            ok(&named(server, "X-Accel-Redirect", "/files/source.php", "")),
            "<?php // a user's"
        );
    });
}

#[test]
fn ranges_conditions_and_other_statuses() {
    in_all_modes(|server| {
        let named = |rest: &str| named(server, "X-Accel-Redirect", "/files/a%20b.txt", rest);
        let part = named("\nRange: bytes=2-4\r\n");
        assert_eq!((part.status, part.text().as_str()), (206, "234"));
        let tag = named("").header("etag").expect("an ETag").to_owned();
        let known = named(&format!("\nIf-None-Match: {tag}\r\n"));
        assert_eq!((known.status, known.header("content-type")), (304, None));
        let own = encoded(r#"{"ETag":"\"v7\""}"#);
        let known = named(&format!("&with={own}\nIf-None-Match: \"v7\"\r\n"));
        assert_eq!((known.status, known.header("etag")), (304, Some("\"v7\"")));
        let gone = named("&status=410\nRange: bytes=2-4\r\n");
        assert_eq!((gone.status, gone.text().as_str()), (410, "0123456789"));
    });
}

#[test]
fn nothing_outside_of_the_folders_is_sent() {
    in_all_modes(|server| {
        let here = server
            .directory()
            .canonicalize()
            .unwrap()
            .display()
            .to_string();
        for (header, value) in [
            ("X-Accel-Redirect", "/secret.txt"),
            ("X-Accel-Redirect", "/files/../secret.txt"),
            ("X-Accel-Redirect", "/files/%2e%2e/secret.txt"),
            ("X-Accel-Redirect", "/filesecret.txt"),
            ("X-Accel-Redirect", "/files/out.txt"),
            ("X-Accel-Redirect", "/files/up/secret.txt"),
            ("X-Accel-Redirect", "/files/missing"),
            ("X-Accel-Redirect", "/files/"),
            ("X-Accel-Redirect", "/files/deep"),
            ("X-Accel-Redirect", "@named"),
            ("X-Accel-Redirect", ""),
            ("X-Sendfile", "{here}/secret.txt"),
            ("X-Sendfile", "{here}/storage/../secret.txt"),
            ("X-Sendfile", "{here}/storage/out.txt"),
            ("X-Sendfile", "{here}/storagex"),
            ("X-Sendfile", "/etc/passwd"),
            ("X-Sendfile", "/dev/zero"),
            ("X-Sendfile", "storage/report.pdf"),
        ] {
            let answer = named(server, header, &value.replace("{here}", &here), "");
            assert_eq!(
                (answer.status, answer.text().as_str()),
                (404, "Not Found\n"),
                "{value}"
            );
        }
        server.expect_log("cannot send the file that PHP names: X-Sendfile: /etc/passwd: it is in no folder of site.sendfile");
        // Nor by a request: these are no folders of the site.
        let answer = server.get("/files/report.pdf?header=X&value=y");
        assert_eq!(answer.text(), "not sent");
    });
}

/// A proxy in front may be the one that sends it.
#[test]
fn without_folders_both_headers_go_to_the_client() {
    for mode in ["app.php", "site"] {
        let server = app(mode, "balanced").start();
        for header in ["X-Accel-Redirect", "X-Sendfile"] {
            let answer = named(&server, header, "/files/report.pdf", "");
            assert_eq!(ok(&answer), "not sent");
            assert_eq!(
                answer.header(&header.to_lowercase()),
                Some("/files/report.pdf")
            );
        }
        server.stop();
    }
}

/// Debian's Symfony, as php-fpm would run it: it leaves the sending to a server that says that it can.
#[test]
fn symfony_leaves_the_sending_to_the_server() {
    const DOWNLOAD: &str = r"<?php
        require '/usr/share/php/Symfony/Component/HttpFoundation/autoload.php';
        require '/usr/share/php/Symfony/Component/Mime/autoload.php';
        use Symfony\Component\HttpFoundation\{BinaryFileResponse, Request};
        BinaryFileResponse::trustXSendfileTypeHeader();
        $request = Request::createFromGlobals();
        $response = new BinaryFileResponse(dirname(__DIR__) . '/storage/report.pdf');
        $response->headers->set('X-Left', $request->headers->get('X-Sendfile-Type', 'no'));
        $response->prepare($request)->send();
    ";
    for dispatch in ["direct", "balanced"] {
        let server = app("site", dispatch)
            .file("site/download.php", DOWNLOAD)
            .args(["--sendfile", "/files=storage"])
            .start();
        let mut client = server.connect();
        client.send("GET /download.php HTTP/1.1\r\nHost: x\r\nX-Sendfile-Type: X-Accel-Redirect\r\nX-Accel-Mapping: /=/\r\n\r\n");
        let answer = client.response();
        assert_eq!(ok(&answer), "report");
        assert_eq!(answer.header("x-left"), Some("X-Sendfile"));
        assert!(answer.header("etag").is_some(), "the server sends it");
        assert!(answer.header("x-sendfile").is_none());
        server.stop();
    }
}
