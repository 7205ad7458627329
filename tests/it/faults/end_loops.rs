//! What runs at the end of a request and begins more of itself: the request's time ends that, and the worker lives.

use std::time::{Duration, Instant};

use crate::support::{ok, one_worker};

const LOOPS: &str = r#"
    use function Hearth\{async, defer};
    function compute() { for ($n = 0; $n < 20000; $n++) { strlen('x'); } }
    function catches() { try { compute(); } catch (Throwable) {} }
    final class Ends {
        public function __construct(private Closure $end) {}
        public function __destruct() { ($this->end)($this->end); }
    }
    function deferred() { defer(deferred(...)); compute(); }
    function caught() { catches(); defer(caught(...)); }
    function waits() { defer(waits(...)); usleep(1000); }
    function many() { defer(many(...)); defer(many(...)); compute(); }
    function tasks() { defer(fn () => async(tasks(...))); compute(); }
    function shutdown() { register_shutdown_function(shutdown(...)); compute(); }
    function both() { defer(fn () => register_shutdown_function(both(...))); compute(); }
    function caught_shutdown() { catches(); register_shutdown_function(caught_shutdown(...)); }
    function caught_callback() { catches(); Hearth\async(fn () => ob_start(new Buffers()))->await(); }
    abstract class Handles {
        final public function __invoke($text = '') { return $text; }
        final public function __destruct() { catches(); $this->again(); }
        abstract protected function again();
    }
    final class Buffers extends Handles { protected function again() { ob_start(new Buffers()); } }
    final class Tries extends Handles { protected function again() { try { ob_start(new Tries()); } catch (Throwable) {} } }
    final class Errors extends Handles { protected function again() { set_error_handler(new Errors()); } }
    final class Stacked extends Handles { protected function again() { set_error_handler(new Stacked()); } }
    final class Exceptions extends Handles { protected function again() { set_exception_handler(new Exceptions()); } }
    $local = new Hearth\Local();
    return function ($request) use ($local) {
        $destructor = function ($again) { defer(fn () => new Ends($again)); compute(); };
        $held = function ($again) use ($local) { $local->set(new Ends($again)); compute(); };
        $held_caught = function ($again) use ($local) { catches(); $local->set(new Ends($again)); };
        switch ($request->path) {
            case '/deferred': deferred(); break;
            case '/caught': caught(); break;
            case '/waits': waits(); break;
            case '/many': many(); break;
            case '/tasks': tasks(); break;
            case '/shutdown': shutdown(); break;
            case '/both': both(); break;
            case '/caught-shutdown': caught_shutdown(); break;
            case '/buffers': ob_start(new Buffers()); break;
            case '/tries': ob_start(new Tries()); break;
            case '/dropped': ob_start(new Buffers()); return new Hearth\Response('own');
            case '/of-a-task': caught_callback(); break;
            case '/errors': set_error_handler(new Errors()); break;
            case '/stacked': set_error_handler(new Stacked()); set_error_handler(new Stacked()); break;
            case '/exceptions': set_exception_handler(new Exceptions()); break;
            case '/destructor': $destructor($destructor); break;
            case '/held': $held($held); break;
            case '/held-caught': $held_caught($held_caught); break;
            case '/autoloader':
                spl_autoload_register(function ($name) { defer(fn () => class_exists($name . 'x')); compute(); });
                class_exists('A');
                break;
            case '/error-handler':
                set_error_handler(function () { defer(function () { echo $undefined; compute(); }); });
                echo $undefined;
        }
        return (string) getmypid();
    };"#;

/// The worker takes one request at a time: it answers the next one when the end is over, before that would be told again.
#[test]
fn what_begins_more_of_itself_at_the_end_of_a_request_ends_with_its_time() {
    let paths = [
        "/deferred",
        "/caught",
        "/waits",
        "/many",
        "/errors",
        "/stacked",
        "/exceptions",
        "/tasks",
        "/shutdown",
        "/both",
        "/caught-shutdown",
        "/destructor",
        "/autoloader",
        "/error-handler",
    ];
    let server = one_worker(LOOPS)
        .args(["--concurrency", "1"])
        .args(["--request-timeout", "0.3", "--request-grace", "5"])
        .start();
    let pid = ok(&server.get("/"));
    for path in paths {
        let begun = Instant::now();
        let mut client = server.connect();
        client.send(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n"));
        let answer = client.try_response(false);
        assert!(answer.is_ok(), "{path}: {answer:?}");
        drop(client);
        assert_eq!(ok(&server.get("/")), pid, "{path}: the worker was replaced");
        let took = begun.elapsed();
        assert!(took < Duration::from_secs(4), "{path}: {took:?}");
    }
    server.stop();
}

/// An object that cannot be kept ends at once, and makes the next: a recursion, which is a fatal error of its request, unless
/// its time is over just while a destructor runs. The worker serves the next request before the watchdog would end it.
#[test]
fn destructors_that_begin_more_of_themselves_end_with_the_time_of_their_request() {
    let paths = [
        "/held",
        "/held-caught",
        "/buffers",
        "/tries",
        "/dropped",
        "/of-a-task",
    ];
    for path in paths {
        let server = one_worker(LOOPS)
            .args(["--request-timeout", "0.3", "--request-grace", "5"])
            .start();
        let begun = Instant::now();
        let mut client = server.connect();
        client.send(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n"));
        let answer = client.try_response(false);
        assert!(answer.is_ok(), "{path}: {answer:?}");
        ok(&server.get("/"));
        let took = begun.elapsed();
        assert!(took < Duration::from_secs(4), "{path}: {took:?}");
        server.stop();
    }
}

/// Code that was told of the end of its time may still have one thing done after its answer.
#[test]
fn a_request_whose_time_is_over_may_still_defer() {
    let server = one_worker(
        r#"$local = new Hearth\Local();
        return function () use ($local) {
            try { sleep(20); } catch (Hearth\TimeoutError) {
                Hearth\defer(function () use ($local) {
                    $local->set('deferred');
                    file_put_contents('done', $local->get());
                    try { Hearth\defer(fn () => touch('more')); } catch (Hearth\TimeoutError $error) { error_log($error->getMessage()); }
                });
            }
            return 'cut off';
        };"#,
    )
    .args(["--request-timeout", "0.3"])
    .start();
    assert_eq!(ok(&server.get("/")), "cut off");
    server.expect_log("it cannot begin anything more");
    let done = std::fs::read_to_string(server.directory().join("done"));
    assert_eq!(done.expect("the function has run"), "deferred");
    assert!(!server.directory().join("more").exists());
    server.stop();
}
