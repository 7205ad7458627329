//! What is sent: methods, fields, bodies, cookies, mixes of requests.

use crate::tool::run;
use crate::truth::Truth;

#[test]
fn what_was_asked_for_is_sent() {
    let server = Truth::start();
    let url = server.url("/post");
    run(&[
        "-n",
        "1",
        "-b",
        "a=1&b=2",
        "-H",
        "X-Test: yes",
        "-u",
        "me:secret",
        "--cookie",
        "k=v",
        &url,
    ]);
    let record = server.record();
    assert_eq!(record.bodies, [b"a=1&b=2"]);
    let head = &record.heads[0];
    for part in [
        "POST /post HTTP/1.1\r\n",
        "X-Test: yes\r\n",
        "Authorization: Basic bWU6c2VjcmV0\r\n",
        "Cookie: k=v\r\n",
        "Content-Length: 7\r\n",
    ] {
        assert!(head.contains(part), "{part:?} not in {head}");
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.txt");
    std::fs::write(&file, "file content").unwrap();
    run(&[
        "-n",
        "1",
        "-F",
        "name=x",
        "-F",
        &format!("up=@{};type=text/plain", file.display()),
        &url,
    ]);
    let body = String::from_utf8(server.record().bodies.remove(0)).unwrap();
    assert!(
        body.contains(
            "name=\"up\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\nfile content\r\n"
        ),
        "{body}"
    );
}

#[test]
fn a_cookie_jar_belongs_to_its_connection() {
    let server = Truth::start();
    run(&["-c", "1", "-n", "3", "--cookie-jar", &server.url("/cookie")]);
    let heads = server.record().heads;
    assert!(!heads[0].contains("Cookie:"));
    assert!(
        heads[1].contains("Cookie: visit=1\r\n") && heads[2].contains("Cookie: visit=2\r\n"),
        "{heads:?}"
    );
}

#[test]
fn mixes_come_from_files_and_logs() {
    let server = Truth::start();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mix");
    std::fs::write(&file, "3 /a\n1 POST /b hello\n").unwrap();
    let result = run(&[
        "-n",
        "2000",
        "--mix",
        file.to_str().unwrap(),
        &server.url("/"),
    ]);
    let record = server.record();
    let share = record.requests["GET /a"] as f64 / 2_000.0;
    assert!((share - 0.75).abs() < 0.05, "{share}");
    assert_eq!(
        record.requests["GET /a"] + record.requests["POST /b"],
        2_000
    );
    assert_eq!(result.setup.requests.len(), 2);
    std::fs::write(
        &file,
        "1.1.1.1 - - [x] \"GET /x?y HTTP/1.1\" 200 1\n1.1.1.1 - - [x] \"POST /z HTTP/1.1\" 200 1\n",
    )
    .unwrap();
    run(&[
        "-n",
        "10",
        "--access-log",
        file.to_str().unwrap(),
        &server.url("/"),
    ]);
    assert_eq!(server.record().requests["GET /x?y"], 10);
}
