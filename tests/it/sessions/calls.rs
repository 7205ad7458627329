//! Calls that open and close the session of a request while another call of the request does. Under `php`, `/serialize` and
//! `/destruct` end the process by SIGSEGV.

use testkit::{Server, ServerBuilder};

use crate::support::{UNTIL_GO, eventually, let_go, ok, one_worker, until_handled};

const APP: &str = r#"
    ini_set('session.use_cookies', '0');
    ini_set('session.cache_limiter', '');
    final class Value {
        public function __construct(private Closure $written) {}
        public function __serialize(): array { ($this->written)(); return []; }
        public function __unserialize(array $data): void {}
    }
    final class Aborts { public function __destruct() { session_abort(); } }
    final class Handler implements SessionHandlerInterface {
        public function __construct(private Closure $opened) {}
        public function open(string $path, string $name): bool { ($this->opened)(); return true; }
        public function close(): bool { return true; }
        public function read(string $id): string { return ''; }
        public function write(string $id, string $data): bool { return true; }
        public function destroy(string $id): bool { return true; }
        public function gc(int $seconds): int { return 0; }
    }
    function begin(Closure $opened): void { session_set_save_handler(new Handler($opened)); session_start(); }
    $kept = null;
    return function ($request) use (&$kept) {
        session_save_path(__DIR__);
        session_id(substr($request->path, 1));
        $again = function () { session_start(); session_write_close(); };
        switch ($request->path) {
            case '/serialize': session_start(); $_SESSION['value'] = new Value($again); session_write_close(); break;
            case '/serialize-at-end': session_start(); $_SESSION['value'] = new Value($again); return 'refused';
            case '/destruct': $_SESSION = ['value' => new Aborts]; session_start(); break;
            case '/two-tasks':
                Hearth\parallel([
                    fn () => begin(fn () => usleep(20_000)),
                    function () { usleep(5_000); session_write_close(); session_module_name('files'); },
                ]);
                break;
            case '/fiber': $kept = new Fiber(fn () => begin(fn () => Fiber::suspend())); $kept->start(); return 'refused';
            case '/waits':
                $kept = new Fiber(fn () => begin(fn () => Fiber::suspend()));
                $kept->start();
                UNTIL_GO
                $kept?->resume();
                return session_status() === PHP_SESSION_ACTIVE ? 'active' : 'none';
            case '/meddle':
                try {
                    match ($request->queryString) { 'resume' => $kept->resume(), 'throw' => $kept->throw(new Exception), 'drop' => $kept = null };
                } catch (Error $e) { return $e->getMessage(); }
                gc_collect_cycles();
                return session_status() === PHP_SESSION_NONE ? 'none' : 'active';
            case '/breaks':
                Hearth\async(fn () => (new Fiber(fn () => begin(fn () => usleep(2_000_000))))->start());
                usleep(1_000);
                eval('function twice() {} function twice() {}');
            case '/resume': $kept->isTerminated() || $kept->resume(); return 'terminated';
            case '/plain': session_start(); return (string) ($_SESSION['n'] = ($_SESSION['n'] ?? 0) + 1);
            case '/pid': return (string) getmypid();
        }
        $warning = error_get_last()['message'] ?? 'none';
        return str_contains($warning, 'Another call of this request is opening or closing the session') ? 'refused' : $warning;
    };"#;

fn app() -> ServerBuilder {
    one_worker(&APP.replace("UNTIL_GO", UNTIL_GO))
}

/// The request goes on, and so do sessions of others.
#[track_caller]
fn refuses(server: &Server, path: &str, number: u32) {
    assert_eq!(ok(&server.get(path)), "refused", "{path}");
    assert_eq!(
        ok(&server.get("/plain")),
        number.to_string(),
        "after {path}"
    );
}

#[test]
fn a_call_inside_a_call_on_the_session_is_refused() {
    let server = app().start();
    let pid = ok(&server.get("/pid"));
    let paths = ["/serialize", "/serialize-at-end", "/destruct", "/two-tasks"];
    for (path, number) in paths.into_iter().zip(1..) {
        refuses(&server, path, number);
    }
    assert_eq!(ok(&server.get("/pid")), pid);
    server.stop();
}

/// It would go on in the session of another request.
#[test]
fn a_fiber_that_is_left_while_it_opens_the_session_ends_with_its_request() {
    let server = app().start();
    let pid = ok(&server.get("/pid"));
    refuses(&server, "/fiber", 1);
    assert_eq!(ok(&server.get("/resume")), "terminated");
    assert_eq!(ok(&server.get("/plain")), "2");
    assert_eq!(ok(&server.get("/pid")), pid);
    server.stop();
}

/// Another task waits in that Fiber: it cannot be ended while that task is there.
#[test]
fn a_fiber_in_which_a_task_opens_the_session_stays_as_it_is_when_its_request_breaks() {
    let server = app().start();
    assert_eq!(server.get("/breaks").status, 500);
    server.expect_log("worker is replaced: a fatal error in PHP");
    assert_eq!(ok(&server.get("/plain")), "1");
    server.stop();
}

/// A Fiber that went on in another request opened the session there, in memory that it has not (SIGSEGV).
#[test]
fn a_fiber_in_a_call_goes_on_in_its_own_request_only() {
    const REFUSED: &str =
        "Cannot resume a fiber that is opening or closing the session of another request";
    for (how, other) in [("resume", REFUSED), ("throw", REFUSED), ("drop", "none")] {
        let server = app().start();
        let mut waiting = server.connect();
        waiting.send("GET /waits HTTP/1.1\r\nHost: x\r\n\r\n");
        until_handled(&server, 1);
        assert_eq!(ok(&server.get(&format!("/meddle?{how}"))), other, "{how}");
        let_go(&server);
        assert_eq!(ok(&waiting.response()), "active", "{how}");
        assert_eq!(ok(&server.get("/plain")), "1", "{how}");
        server.stop();
    }
}

/// The engine has no id by then, and writes the session in a shutdown function all the same: SIGSEGV.
#[test]
fn a_fatal_error_while_the_id_is_made_anew_ends_its_request_only() {
    let server = one_worker(
        r"
        class Handler extends SessionHandler {
            public int $made = 0;
            public function create_sid(): string { if ($this->made++) { trigger_error('no id', E_USER_ERROR); } return parent::create_sid(); }
        }
        return function ($request) {
            session_save_path(__DIR__);
            session_set_save_handler(new Handler(), true);
            session_start();
            $_SESSION['text'] = 'kept';
            if ($request->path === '/again') { session_regenerate_id(); }
            return 'fine';
        };",
    )
    .start();
    assert_eq!(server.get("/again").status, 500);
    eventually("the worker is replaced", || server.get("/").status == 200);
    assert!(
        !server.log().text().contains("SIGSEGV"),
        "{}",
        server.log().text()
    );
    server.stop();
}
