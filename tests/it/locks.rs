//! A task is not left while a library holds a lock: another task of the same thread would wait for it for ever.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use testkit::Server;

use crate::support::{UNTIL_GO, at_once, eventually, let_go, ok, one_worker, same, until_handled};

/// A directory server that accepts every bind, late, and finds nothing; of `dc=here` it says that the answer is below `dc=there`. It
/// lives as long as the tests.
fn directory_server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || answer_operations(stream, port));
        }
    });
    port
}

/// A message is a sequence: its number, then the operation.
fn answer_operations(mut stream: TcpStream, port: u16) -> Option<()> {
    loop {
        let mut head = [0; 2];
        stream.read_exact(&mut head).ok()?;
        let mut rest = vec![0; usize::from(head[1])];
        stream.read_exact(&mut rest).ok()?;
        let (number, operation) = (rest[2], rest[3]);
        let (kind, result) = match operation {
            0x60 => (0x61, vec![10, 1, 0, 4, 0, 4, 0]),
            0x63 if rest.windows(7).any(|word| word == b"dc=here") => (0x65, referral(port)),
            0x63 => (0x65, vec![10, 1, 0, 4, 0, 4, 0]),
            _ => return None,
        };
        if operation == 0x60 {
            std::thread::sleep(Duration::from_millis(100));
        }
        let answer = [vec![2, 1, number], nested(kind, &result)].concat();
        stream.write_all(&nested(0x30, &answer)).ok()?;
    }
}

/// A value of BER that contains others.
fn nested(kind: u8, content: &[u8]) -> Vec<u8> {
    let length = u8::try_from(content.len()).expect("a short value");
    [&[kind, length], content].concat()
}

/// By another name of the machine: libldap has a connection to the first one.
fn referral(port: u16) -> Vec<u8> {
    let address = format!("ldap://localhost:{port}/dc=there");
    [
        &[10, 1, 10, 4, 0, 4, 0][..],
        &nested(0xa3, &nested(4, address.as_bytes())),
    ]
    .concat()
}

#[test]
fn four_requests_that_bind_to_a_directory_at_once_do_not_lock_each_other_out() {
    let code = format!(
        r#"return function ($request) {{
            if ($request->path === '/busy') {{ {UNTIL_GO} $end = hrtime(true) + 2e8; while (hrtime(true) < $end); return 'done'; }}
            $ldap = ldap_connect('ldap://localhost:' . getenv('PORT'));
            ldap_set_option($ldap, LDAP_OPT_PROTOCOL_VERSION, 3);
            return ldap_bind($ldap, 'cn=admin', 'secret') ? 'bound' : ldap_error($ldap);
        }};"#
    );
    let server = one_worker(&code)
        .arg(format!(
            "--ini=extension={}",
            testkit::unpacked_extension("ldap").display()
        ))
        .env("PORT", directory_server().to_string())
        .start();
    let mut busy = server.connect();
    busy.send("GET /busy HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(&server, 1);
    let_go(&server);
    let (answers, _) = at_once(&server, &same("/", 4));
    let texts: Vec<String> = answers.iter().map(ok).collect();
    assert_eq!(texts, ["bound"; 4]);
    assert_eq!(ok(&busy.response()), "done");
    server.stop();
}

/// A handler in front of which `$log` says in which order things happen, for `/log`.
fn logging(paths: &str) -> String {
    format!(
        "$log = []; $mutex = null;
        return function ($request) use (&$log, &$mutex) {{
            if ($request->path === '/log') {{ return implode(' ', $log); }}
            {paths}
            $log[] = 'other'; return 'other';
        }};"
    )
}

/// Nothing of another request happens between `begin` and `end`.
#[track_caller]
fn assert_undivided(server: &Server, first: &str) {
    let (answers, _) = at_once(server, &[first, "/other", "/other"]);
    answers.iter().for_each(|answer| {
        ok(answer);
    });
    let log = ok(&server.get("/log"));
    assert!(log.contains("begin end"), "{log}");
    assert_eq!(log.matches("other").count(), 2, "{log}");
}

/// libldap holds a lock of the connection while it waits for an answer, so php-ldap does not yield.
#[test]
fn no_other_request_runs_while_ldap_waits() {
    let server = one_worker(&logging(
        r"if ($request->path === '/bind') {
            $ldap = ldap_connect('ldap://127.0.0.1:' . getenv('PORT'));
            ldap_set_option($ldap, LDAP_OPT_PROTOCOL_VERSION, 3);
            $log[] = 'begin'; ldap_bind($ldap, 'cn=admin', 'secret'); $log[] = 'end'; return 'bound';
        }",
    ))
    .arg(format!(
        "--ini=extension={}",
        testkit::unpacked_extension("ldap").display()
    ))
    .env("PORT", directory_server().to_string())
    .start();
    assert_undivided(&server, "/bind");
    server.stop();
}

/// php-ldap gives libldap the address of an argument, which is somewhere on the stack of the request that has set the function.
#[test]
fn a_connection_of_an_earlier_request_calls_its_function_for_a_referral() {
    let server = one_worker(
        r"final class Kept { static $ldap; static $log = []; }
        function search($depth, $a = 1, $b = 2) {
            if ($depth > 0) { return search($depth - 1, $b, $a); }
            ldap_search(Kept::$ldap, 'dc=here', '(cn=x)');
            return implode(' ', Kept::$log) . ': ' . ldap_error(Kept::$ldap);
        }
        return function ($request) {
            if ($request->path === '/connect') {
                Kept::$ldap = ldap_connect('ldap://127.0.0.1:' . getenv('PORT'));
                ldap_set_option(Kept::$ldap, LDAP_OPT_PROTOCOL_VERSION, 3);
                ldap_set_rebind_proc(Kept::$ldap, function ($ldap, $url) {
                    Kept::$log[] = get_debug_type($ldap) . ' ' . parse_url($url, PHP_URL_PATH);
                    return ldap_bind($ldap, 'cn=admin', 'secret') ? 0 : 1;
                });
                return 'connected';
            }
            Kept::$log = [];
            return search((int) $request->query('depth'));
        };",
    )
    .arg(format!(
        "--ini=extension={}",
        testkit::unpacked_extension("ldap").display()
    ))
    .env("PORT", directory_server().to_string())
    .start();
    assert_eq!(ok(&server.get("/connect")), "connected");
    for depth in [0, 1, 5, 30] {
        assert_eq!(
            ok(&server.get(&format!("/?depth={depth}"))),
            "LDAP\\Connection /dc=there: Success",
            "{depth}"
        );
    }
    server.stop();
}

#[test]
fn no_other_request_runs_while_apcu_entry_computes() {
    let server = one_worker(&logging(
        r"if ($request->path === '/entry') {
            return apcu_entry('key', function () use (&$log) { $log[] = 'begin'; usleep(100000); $log[] = 'end'; return 'made'; });
        }",
    ))
    .start();
    assert_undivided(&server, "/entry");
    server.stop();
}

const QSORT: &str = r"
    $c = FFI::cdef('void qsort(void *list, size_t count, size_t size, int (*compare)(const int *, const int *));');
    $list = $c->new('int[2]'); $list[0] = 2; $list[1] = 1;";

#[test]
fn no_other_request_runs_while_a_library_calls_back() {
    let server = one_worker(&logging(&format!(
        r"if ($request->path === '/sort') {{
            {QSORT}
            $c->qsort($list, 2, 4, function ($a, $b) use (&$log) {{ $log[] = 'begin'; usleep(100000); $log[] = 'end'; return $a[0] <=> $b[0]; }});
            return $list[0] . $list[1];
        }}"
    )))
    .args(["--ini", "ffi.enable=1"])
    .start();
    assert_undivided(&server, "/sort");
    assert_eq!(ok(&server.get("/sort")), "12");
    server.stop();
}

/// An exception in the callback would be PHP's fatal error "Throwing from FFI callbacks is not allowed".
#[test]
fn a_client_may_leave_while_a_library_calls_back() {
    let server = one_worker(&format!(
        r"return function (Hearth\Request $request) {{
            if ($request->path !== '/sort') {{ return getmypid() . ' ' . file_get_contents('sorted'); }}
            {QSORT}
            $c->qsort($list, 2, 4, function ($a, $b) {{ file_put_contents('called', 'x'); usleep(200000); return $a[0] <=> $b[0]; }});
            file_put_contents('sorted', $list[0] . $list[1]);
        }};"
    ))
    .file("sorted", "not yet")
    .args(["--ini", "ffi.enable=1"])
    .start();
    let before = ok(&server.get("/"));
    let mut client = server.connect();
    client.send("GET /sort HTTP/1.1\r\nHost: a\r\n\r\n");
    eventually("the library has called back", || {
        server.directory().join("called").exists()
    });
    drop(client);
    assert_eq!(
        ok(&server.get("/")),
        before.replace("not yet", "12"),
        "the worker goes on, and so does the call"
    );
    server.stop();
}

#[test]
fn what_waits_for_a_task_in_apcu_entry_throws() {
    let server = one_worker(
        r"return function () {
            $task = Hearth\async(function () { usleep(20000); return 'late'; });
            try { $text = apcu_entry('key', fn () => $task->await()); } catch (Error $e) { $text = $e->getMessage(); }
            $task->await();
            return $text;
        };",
    )
    .start();
    let text = ok(&server.get("/"));
    assert!(text.contains("a library holds a lock"), "{text}");
    assert!(text.contains("apcu_entry()"), "{text}");
    server.stop();
}

const MUTEX: &str = r"
    $c ??= FFI::cdef('int pthread_mutex_lock(void *m); int pthread_mutex_unlock(void *m);
        int pthread_mutex_trylock(void *m); int pthread_rwlock_wrlock(void *l); int pthread_rwlock_unlock(void *l);
        int mtx_lock(void *m); int mtx_unlock(void *m);');
    $mutex ??= $c->new('char[128]', false, true);";

#[test]
fn each_kind_of_lock_holds_a_task() {
    for (lock, unlock) in [
        ("pthread_mutex_lock", "pthread_mutex_unlock"),
        ("pthread_mutex_trylock", "pthread_mutex_unlock"),
        ("pthread_rwlock_wrlock", "pthread_rwlock_unlock"),
        ("mtx_lock", "mtx_unlock"),
    ] {
        let server = one_worker(&logging(&format!(
            r"if ($request->path === '/hold') {{
                {MUTEX} $held = FFI::addr($mutex);
                $c->{lock}($held); $log[] = 'begin'; usleep(100000); $log[] = 'end'; $c->{unlock}($held);
                usleep(1000); return 'held';
            }}"
        )))
        .args(["--ini", "ffi.enable=1"])
        .start();
        assert_undivided(&server, "/hold");
        server.stop();
    }
}

/// Compiles `tests/apps/name_service/module.c` in `folder`.
fn name_service_module(folder: &std::path::Path) {
    let compiled = std::process::Command::new("cc")
        .args(["-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-o"])
        .arg(folder.join("libnss_hearth.so.2"))
        .arg(testkit::checkout().join("tests/apps/name_service/module.c"))
        .status()
        .expect("cc");
    assert!(compiled.success());
}

/// The functions of libc that hold a lock of libc while a module of the name service runs, each in a call.
const NAME_SERVICE: [(&str, &str); 28] = [
    ("getpwnam", "posix_getpwnam('none-here')"),
    ("getpwuid", "posix_getpwuid(54321)"),
    ("getgrnam", "posix_getgrnam('none-here')"),
    ("getgrgid", "posix_getgrgid(54321)"),
    ("getservbyname", "getservbyname('nothing-here', 'tcp')"),
    ("getservbyport", "getservbyport(54321, 'tcp')"),
    ("getprotobyname", "getprotobyname('nothing-here')"),
    ("getprotobynumber", "getprotobynumber(250)"),
    ("getspnam", "$c->getspnam('none-here')"),
    ("getsgnam", "$c->getsgnam('none-here')"),
    ("getnetbyname", "$c->getnetbyname('nothing-here')"),
    ("getnetbyaddr", "$c->getnetbyaddr(54321, 2)"),
    ("getrpcbyname", "$c->getrpcbyname('nothing-here')"),
    ("getrpcbynumber", "$c->getrpcbynumber(54321)"),
    ("getaliasbyname", "$c->getaliasbyname('none-here')"),
    ("gethostbyname2", "$c->gethostbyname2('nothing-here', 2)"),
    ("pwent", "[$c->setpwent(), $c->getpwent(), $c->endpwent()]"),
    ("grent", "[$c->setgrent(), $c->getgrent(), $c->endgrent()]"),
    ("spent", "[$c->setspent(), $c->getspent(), $c->endspent()]"),
    ("sgent", "[$c->setsgent(), $c->getsgent(), $c->endsgent()]"),
    (
        "aliasent",
        "[$c->setaliasent(), $c->getaliasent(), $c->endaliasent()]",
    ),
    (
        "servent",
        "[$c->setservent(0), $c->getservent(), $c->endservent()]",
    ),
    (
        "protoent",
        "[$c->setprotoent(0), $c->getprotoent(), $c->endprotoent()]",
    ),
    (
        "netent",
        "[$c->setnetent(0), $c->getnetent(), $c->endnetent()]",
    ),
    (
        "rpcent",
        "[$c->setrpcent(0), $c->getrpcent(), $c->endrpcent()]",
    ),
    (
        "hostent",
        "[$c->sethostent(0), $c->gethostent(), $c->endhostent()]",
    ),
    (
        "pwent_r",
        "$c->getpwent_r(FFI::new('char[64]'), FFI::new('char[64]'), 64, FFI::new('void *[1]'))",
    ),
    (
        "netgrent",
        "[$c->setnetgrent('nothing-here'), $c->endnetgrent()]",
    ),
];

#[test]
fn no_other_request_runs_while_libc_holds_a_lock_for_a_module_of_the_name_service() {
    let folder = testkit::temporary();
    name_service_module(folder.path());
    let calls: Vec<String> = NAME_SERVICE
        .iter()
        .map(|(name, call)| format!("'/{name}' => {call}"))
        .collect();
    let calls = calls.join(", ");
    let server = one_worker(&format!(
        r#"$lists = ''; foreach (['pw', 'gr', 'sp', 'sg', 'alias'] as $list) {{
            $lists .= "void set{{$list}}ent(void); void *get{{$list}}ent(void); void end{{$list}}ent(void);";
        }}
        foreach (['serv', 'proto', 'net', 'rpc', 'host'] as $list) {{
            $lists .= "void set{{$list}}ent(int); void *get{{$list}}ent(void); void end{{$list}}ent(void);";
        }}
        $c = FFI::cdef("int __nss_configure_lookup(const char *, const char *);
            void *getspnam(const char *); void *getsgnam(const char *); void *getnetbyname(const char *); void *getnetbyaddr(unsigned, int);
            void *getrpcbyname(const char *); void *getrpcbynumber(int); void *getaliasbyname(const char *);
            void *gethostbyname2(const char *, int); int getpwent_r(void *, void *, unsigned long, void *);
            int setnetgrent(const char *); void endnetgrent(void); $lists");
        foreach (['passwd', 'group', 'shadow', 'gshadow', 'services', 'protocols', 'networks', 'rpc', 'aliases', 'hosts', 'netgroup'] as $base) {{
            $c->__nss_configure_lookup($base, 'hearth');
        }}
        $log = [];
        return function ($request) use (&$log, $c) {{
            if ($request->path === '/log') {{ $text = implode(' ', $log); $log = []; return $text; }}
            if ($request->path !== '/other') {{ $log[] = 'begin'; match ($request->path) {{ {calls} }}; $log[] = 'end'; return 'asked'; }}
            $log[] = 'other'; return 'other';
        }};"#
    ))
    .args(["--ini", "ffi.enable=1"])
    .env("LD_LIBRARY_PATH", folder.path().display().to_string())
    .start();
    for (name, _) in NAME_SERVICE {
        assert_undivided(&server, &format!("/{name}"));
    }
    server.stop();
}

#[test]
fn a_lock_that_a_task_leaves_behind_is_logged_once_and_does_not_hold_the_others() {
    let code = logging(&format!(
        r"if ($request->path === '/leave') {{ {MUTEX} $mutex = null; {MUTEX} $c->pthread_mutex_lock(FFI::addr($mutex)); return 'left'; }}
        if ($request->path === '/unlock') {{ {MUTEX} $c->pthread_mutex_unlock(FFI::addr($mutex)); return 'unlocked'; }}
        if ($request->path === '/wait') {{ {UNTIL_GO} return 'waited'; }}"
    ));
    let server = one_worker(&code).args(["--ini", "ffi.enable=1"]).start();
    assert_eq!(ok(&server.get("/leave")), "left");
    server.expect_log("a library still holds a lock");
    assert_eq!(ok(&server.get("/leave")), "left");
    // An unlock of what is no longer counted must not make the count wrong.
    assert_eq!(ok(&server.get("/unlock")), "unlocked");
    let mut waiting = server.connect();
    waiting.send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(&server, 1);
    assert_eq!(ok(&server.get("/other")), "other");
    let_go(&server);
    assert_eq!(ok(&waiting.response()), "waited");
    let log = server.log().text();
    assert_eq!(
        log.matches("a library still holds a lock").count(),
        1,
        "{log}"
    );
    server.stop();
}

/// APCu gives its lock back when its callback is left in the middle.
#[test]
fn a_callback_of_apcu_entry_that_is_left_leaves_no_lock() {
    let body = "if ($path === '/exit') { apcu_entry('key', function () { exit('left'); }); }
        if ($path === '/throw') { try { apcu_entry('key', fn () => throw new Exception('thrown')); } catch (Exception $e) { return $e->getMessage(); } }
        if ($path === '/fatal') { apcu_entry('key', fn () => str_repeat('x', PHP_INT_MAX >> 8)); }
        apcu_store('other', 1); return 'stored';";
    let resident = one_worker(&format!(
        "return function ($request) {{ $path = $request->path; {body} }};"
    ))
    .start();
    let classic = Server::script(&format!(
        "$path = strtok($_SERVER['REQUEST_URI'], '?'); echo (function () use ($path) {{ {body} }})();"
    ))
    .args(["--mode", "classic", "--workers", "1"])
    .start();
    for server in [&resident, &classic] {
        assert_eq!(ok(&server.get("/exit")), "left");
        assert_eq!(ok(&server.get("/throw")), "thrown");
        assert_eq!(ok(&server.get("/store")), "stored");
    }
    assert_eq!(classic.get("/fatal").status, 500);
    assert_eq!(ok(&classic.get("/store")), "stored");
    for server in [resident, classic] {
        let log = server.log().text();
        assert!(!log.contains("a library still holds a lock"), "{log}");
        server.stop();
    }
}
