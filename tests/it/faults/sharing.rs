//! Two requests on one thing that only one may use.

use testkit::service::MariaDb;

use crate::support::{at_once, ok, one_worker, until_handled};

#[test]
fn persistent_connections_are_refused_with_the_reason() {
    let server = one_worker(
        r#"return function () {
            try { new PDO(getenv('DSN'), 'hearth', 'hearth', [PDO::ATTR_PERSISTENT => true]); return 'accepted'; }
            catch (Throwable $e) { return get_class($e) . ': ' . $e->getMessage(); }
        };"#,
    )
    .env("DSN", MariaDb::shared().dsn())
    .start();
    let text = ok(&server.get("/"));
    assert!(
        text.contains("ATTR_PERSISTENT") && text.contains("concurrency"),
        "{text}"
    );
    server.stop();
    let alone = one_worker("return fn () => (new PDO(getenv('DSN'), 'hearth', 'hearth', [PDO::ATTR_PERSISTENT => true]))->query('SELECT VERSION()')->fetchColumn();")
        .args(["--concurrency", "1"])
        .env("DSN", MariaDb::shared().dsn())
        .start();
    assert!(ok(&alone.get("/")).contains("MariaDB"));
    alone.stop();
}

#[test]
fn two_requests_on_one_connection_get_an_error_that_names_both() {
    let server = one_worker(
        r#"$near = $far = null;
        return function ($request) use (&$near, &$far) {
            if ($request->path === '/connect') { [$near, $far] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0); return 'connected'; }
            if ($request->path === '/write') { fwrite($far, "5\n"); return 'written'; }
            try { return 'got ' . fgets($near); } catch (Error $e) { return 'error ' . $e->getMessage(); }
        };"#,
    )
    .start();
    assert_eq!(ok(&server.get("/connect")), "connected");
    let mut first = server.connect();
    first.send("GET /first HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(&server, 1);
    let error = ok(&server.get("/second"));
    assert!(
        error.starts_with("error ") && error.to_lowercase().matches("task ").count() >= 2,
        "{error}"
    );
    assert!(
        error.to_lowercase().contains("pool"),
        "it does not say what to do: {error}"
    );
    assert_eq!(ok(&server.get("/write")), "written");
    assert_eq!(ok(&first.response()), "got 5\n", "the first was disturbed");
    server.stop();
}

#[test]
fn two_requests_on_one_database_connection_never_mix_their_answers() {
    let server = one_worker(
        r#"$db = null;
        return function ($request) use (&$db) {
            $db ??= new PDO(getenv('DSN'), 'hearth', 'hearth', [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]);
            $id = $request->query('id', 'none');
            try { $got = $db->query("SELECT SLEEP(0.05), '$id'")->fetchColumn(1); return $got === $id ? 'right' : "wrong $got"; }
            catch (PDOException|Error $e) { return 'refused'; }
        };"#,
    )
    .env("DSN", MariaDb::shared().dsn())
    .start();
    assert_eq!(ok(&server.get("/")), "right");
    let targets: Vec<String> = (0..10).map(|id| format!("/?id={id}")).collect();
    let (answers, _) = at_once(&server, &targets);
    let texts: Vec<String> = answers.iter().map(ok).collect();
    assert!(
        texts
            .iter()
            .all(|text| text == "right" || text == "refused"),
        "{texts:?}"
    );
    assert!(texts.contains(&"right".to_owned()), "{texts:?}");
    server.stop();
}
