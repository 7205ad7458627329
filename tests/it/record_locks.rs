//! SQLite's locks last while other requests of the worker read the database file. Another process, a plain `php`, tells what
//! is locked.

use testkit::Server;

use crate::support::{ok, one_worker};

/// `DB`, a database file, and a function that runs SQL on it in another process.
const OTHER: &str = r#"const DB = __DIR__ . '/bank.db';
    function other(string $sql): string {
        $code = '$d = new PDO("sqlite:" . $argv[1], null, null, [PDO::ATTR_TIMEOUT => 0]);
            try { echo $d->query($argv[2])->fetchColumn() ?: "done"; } catch (PDOException $e) { echo $e->getMessage(); }';
        $words = ['php', '-n', '-d', 'extension=pdo', '-d', 'extension=pdo_sqlite', '-r', $code, '--', DB, $sql];
        $program = proc_open($words, [1 => ['pipe', 'w']], $pipes);
        return stream_get_contents($pipes[1]);
    }"#;

/// A server whose requests share an SQLite connection: `/begin` opens it and takes the lock for writing, `/commit` and
/// `/close` end that. `/other?sql=` runs SQL in another process.
fn with_database(journal: &str) -> Server {
    one_worker(&format!(
        r#"{OTHER}
        $shared = null;
        return function ($request) use (&$shared) {{
            switch ($request->path) {{
                case '/begin':
                    $shared = new PDO('sqlite:' . DB);
                    $shared->exec('PRAGMA journal_mode={journal}; CREATE TABLE IF NOT EXISTS t (n); BEGIN IMMEDIATE; INSERT INTO t VALUES (1)');
                    return 'begun';
                case '/commit': $shared->exec('COMMIT'); return 'committed';
                case '/close': $shared = null; return 'closed';
                case '/other': return other($request->query('sql'));
                case '/inherits': return (string) shell_exec('ls -l /proc/self/fd | grep -c bank.db');
                case '/file': return Hearth\Response::file(DB);
                case '/file_get_contents': file_get_contents(DB); return 'read';
                case '/md5_file': md5_file(DB); return 'read';
                case '/copy': copy(DB, DB . '.copy'); return 'read';
                case '/readfile': readfile(DB); return 'read';
                case '/fclose': fclose(fopen(DB, 'r+')); return 'read';
                case '/sqlite': (new SQLite3(DB))->querySingle('SELECT n FROM t'); return 'read';
                case '/dup2':
                    $libc = FFI::cdef('int open(const char *, int); int dup2(int, int); int close(int);');
                    $file = $libc->open(DB, 0); $libc->dup2($libc->open('/dev/null', 0), $file); return 'read';
                case '/stdio':
                    $libc = FFI::cdef('void *fopen(const char *, const char *); void *freopen(const char *, const char *, void *); int fclose(void *);');
                    $file = $libc->fopen(DB, 'r'); $libc->freopen('/dev/null', 'r', $file); $libc->fclose($file); return 'read';
            }}
        }};"#
    ))
    .arg("--ini=ffi.enable=1")
    .start()
}

/// How many descriptors of the database's files the worker has.
fn open_files(server: &Server) -> usize {
    let open = testkit::descriptors(server.workers()[0]);
    open.iter().filter(|fd| fd.contains("bank.db")).count()
}

const WRITE: &str = "/other?sql=BEGIN+IMMEDIATE";
const LOCKED: &str = "database is locked";

const READERS: [&str; 9] = [
    "/file",
    "/file_get_contents",
    "/md5_file",
    "/copy",
    "/readfile",
    "/fclose",
    "/sqlite",
    "/dup2",
    "/stdio",
];

#[test]
fn a_transaction_keeps_its_lock_while_other_requests_read_the_database_file() {
    let server = with_database("delete");
    for reader in READERS {
        assert_eq!(ok(&server.get("/begin")), "begun");
        assert!(ok(&server.get(WRITE)).contains(LOCKED), "before {reader}");
        ok(&server.get(reader));
        let after = ok(&server.get(WRITE));
        assert!(after.contains(LOCKED), "after {reader}: {after}");
        assert_eq!(ok(&server.get("/commit")), "committed");
        assert_eq!(ok(&server.get(WRITE)), "done", "{reader}");
    }
    server.stop();
}

/// A connection in WAL mode holds locks on two files as long as it is open.
#[test]
fn a_connection_that_stays_open_leaves_no_descriptors_and_its_end_leaves_no_locks() {
    let server = with_database("wal");
    assert_eq!(ok(&server.get("/begin")), "begun");
    // SQLite itself keeps a descriptor for the next connection.
    ok(&server.get("/sqlite"));
    let of_connections = open_files(&server);
    for reader in READERS {
        for _ in 0..10 {
            ok(&server.get(reader));
        }
        assert!(ok(&server.get(WRITE)).contains(LOCKED), "after {reader}");
    }
    assert_eq!(open_files(&server), of_connections);
    assert_eq!(ok(&server.get("/inherits")).trim(), "0");
    ok(&server.get("/commit"));
    let exclusive = "/other?sql=PRAGMA+journal_mode=delete";
    assert!(ok(&server.get(exclusive)).contains(LOCKED));
    assert_eq!(ok(&server.get("/close")), "closed");
    assert_eq!(open_files(&server), 0);
    assert_eq!(ok(&server.get(exclusive)), "delete");
    server.stop();
}

/// The worker is a copy of the process that opened the connection, and takes its locks for itself.
#[test]
fn a_connection_of_the_entry_script_keeps_its_locks() {
    let server = one_worker(&format!(
        r"{OTHER}
        $shared = new PDO('sqlite:' . DB); $shared->exec('CREATE TABLE t (n)');
        return function ($request) use ($shared) {{
            switch ($request->path) {{
                case '/other': return other($request->query('sql'));
                case '/read': return md5_file(DB);
                default: $shared->exec($request->query('sql')); return 'done';
            }}
        }};"
    ))
    .start();
    assert_eq!(ok(&server.get("/?sql=BEGIN+IMMEDIATE")), "done");
    ok(&server.get("/read"));
    assert!(ok(&server.get(WRITE)).contains(LOCKED));
    assert_eq!(ok(&server.get("/?sql=COMMIT")), "done");
    assert_eq!(ok(&server.get(WRITE)), "done");
    let log = server.stop().log;
    assert!(!log.contains("stays shared"), "{log}");
}
