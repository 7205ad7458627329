//! What a script sends, and when.

use super::site;
use crate::support::ok;

#[test]
fn headers_in_all_forms() {
    let server = site(&[(
        "index.php",
        r#"
        match ($_SERVER['PATH_INFO'] ?? $_GET['do'] ?? '') {
            'location' => header('Location: /there'),
            'status' => header('Status: 418 Teapot'),
            'line' => header('HTTP/1.1 404 Not Found'),
            'code' => http_response_code(503),
            'third' => header('X-A: 1', true, 202),
            'twice' => [header('X-A: 1'), header('X-A: 2', false), setcookie('a', '1'), setcookie('b', '2')],
            'type' => header('Content-Type: text/plain'),
            'untyped' => header_remove('Content-Type') || ini_set('default_mimetype', ''),
            'length' => header('Content-Length: 4'),
            'callback' => header_register_callback(fn () => header('X-Late: ' . http_response_code())),
            'chunked' => header('Transfer-Encoding: chunked'),
        };
        echo 'body';"#,
    )])
    .start();
    let get = |what: &str| server.get(&format!("/?do={what}"));
    assert_eq!(
        (get("location").status, get("location").header("location")),
        (302, Some("/there"))
    );
    assert_eq!(
        (get("status").status, get("status").header("status")),
        (418, None)
    );
    assert_eq!(
        (get("line").status, get("code").status, get("third").status),
        (404, 503, 202)
    );
    let twice = get("twice");
    assert_eq!(twice.header_all("x-a"), ["1", "2"]);
    assert_eq!(twice.header_all("set-cookie"), ["a=1", "b=2"]);
    assert_eq!(
        get("type").header("content-type"),
        Some("text/plain;charset=UTF-8")
    );
    assert_eq!(get("untyped").header("content-type"), None);
    assert_eq!(get("callback").header("x-late"), Some("200"));
    for what in ["length", "chunked"] {
        let answer = get(what);
        assert_eq!(
            (ok(&answer).as_str(), answer.header_all("content-length")),
            ("body", vec!["4"])
        );
    }
    server.stop();
}

#[test]
fn flushed_output_reaches_the_client_at_once() {
    let server = site(&[(
        "index.php",
        "echo 'first'; while (ob_get_level()) ob_end_flush(); flush(); fgets(fopen($_GET['wait'], 'r')); echo 'second';",
    )])
    .start();
    let fifo = server.directory().join("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, 0o600.into()).unwrap();
    let mut client = server.connect();
    client.send(format!(
        "GET /?wait={} HTTP/1.1\r\nHost: localhost\r\n\r\n",
        fifo.display()
    ));
    let head = client.head().unwrap();
    assert_eq!(head.status, 200);
    assert_eq!(client.chunk().unwrap(), b"first");
    std::fs::write(&fifo, "go\n").unwrap();
    assert_eq!(client.chunk().unwrap(), b"second");
    assert_eq!(client.chunk().unwrap(), b"");
    server.stop();
}

#[test]
fn large_output_and_bodies() {
    let server = site(&[
        ("big.php", "for ($i = 0; $i < 5000; $i++) echo str_repeat(chr(97 + $i % 26), 1000);"),
        ("md5.php", "echo md5(str_repeat('z', 2000000));"),
        ("hash.php", "echo md5(file_get_contents('php://input')), ' ', $_SERVER['CONTENT_LENGTH'] ?? 'none';"),
        ("form.php", "echo count($_POST), ' ', $_POST['a'] ?? '-', ' ', error_get_last()['message'] ?? '';"),
        ("upload.php", "move_uploaded_file($_FILES['f']['tmp_name'], 'kept.bin'); echo $_FILES['f']['name'], ' ', md5_file('kept.bin');"),
    ])
    .args(["--ini", "post_max_size=3M", "--ini", "upload_max_filesize=3M"])
    .start();
    assert_eq!(server.get("/big.php").body.len(), 5_000_000);
    let body = vec![b'z'; 2_000_000];
    let mut client = server.connect();
    let md5 = ok(&client.get("/md5.php"));
    assert_eq!(
        ok(&client.post("/hash.php", "application/json", &body)),
        format!("{md5} 2000000")
    );
    client.send("POST /hash.php HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
    assert_eq!(
        ok(&client.response()),
        "900150983cd24fb0d6963f7d28e17f72 none"
    );
    assert_eq!(
        ok(&client.post("/form.php", "application/x-www-form-urlencoded", "a=1&b=2")),
        "2 1 "
    );
    let over = format!("a={}", "x".repeat(4_000_000));
    let answer = ok(&client.post("/form.php", "application/x-www-form-urlencoded", over));
    assert_eq!(
        answer,
        "0 - PHP Request Startup: POST Content-Length of 4000002 bytes exceeds the limit of 3145728 bytes"
    );
    let mut form =
        b"--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a.bin\"\r\n\r\n".to_vec();
    form.extend_from_slice(&body);
    form.extend_from_slice(b"\r\n--b--\r\n");
    assert_eq!(
        ok(&client.post("/upload.php", "multipart/form-data; boundary=b", form)),
        format!("a.bin {md5}")
    );
    server.stop();
}

#[test]
fn the_script_goes_on_after_fastcgi_finish_request() {
    let server = site(&[
        ("index.php", "echo 'early'; var_dump(fastcgi_finish_request()); usleep(100000); echo 'lost'; touch('after'); fastcgi_finish_request() or touch('twice');"),
        ("next.php", "echo (int) file_exists('after'), (int) file_exists('twice');"),
    ])
    .start();
    assert_eq!(ok(&server.get("/")), "early");
    assert!(!server.directory().join("after").exists());
    assert_eq!(ok(&server.get("/next.php")), "11", "one at a time");
    server.stop();
}

#[test]
fn a_client_that_hangs_up_is_noticed_when_something_is_sent() {
    let code = "ignore_user_abort(isset($_GET['ignore'])); register_shutdown_function(fn () => touch('status' . connection_status()));
        for ($i = 0; $i < 200; $i++) { echo str_repeat('x', 8192); flush(); usleep(5000); } touch('whole');";
    let seen = "foreach (['status0', 'status1', 'whole'] as $f) { if (file_exists($f)) { echo \"$f \"; unlink($f); } }";
    let server = site(&[("index.php", code), ("seen.php", seen)]).start();
    let hang_up = |target: &str| {
        let mut client = server.connect();
        client.send(format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n"));
        client.head().unwrap();
    };
    // The worker has one request at a time, so the second is answered when the first has ended.
    hang_up("/");
    assert_eq!(ok(&server.get("/seen.php")), "status1 ");
    hang_up("/?ignore");
    assert_eq!(ok(&server.get("/seen.php")), "status1 whole ");
    server.stop();
}

/// The engine forbids a switch from a script's end on, until the next one begins.
#[test]
fn each_script_of_a_worker_may_flush() {
    let server = site(&[("index.php", "echo 'first'; flush(); echo ' second';")]).start();
    for _ in 0..3 {
        assert_eq!(ok(&server.get("/")), "first second");
    }
    server.stop();
}
