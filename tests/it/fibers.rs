//! Fibers that one request starts and another one resumes.

use crate::support::{UNTIL_GO, let_go, ok, one_worker, until_handled};

/// A Fiber that waits in the middle of a call goes on in another request, which is in the middle of such a call too: the second one
/// read the first one's references, compared with its function, or ended the worker (SIGSEGV).
#[test]
fn a_fiber_takes_along_the_call_that_it_is_in_the_middle_of() {
    let code = r#"
        final class Old implements Serializable {
            public function __construct(public ?Closure $then = null) {}
            public function serialize() { $this->then ? ($this->then)() : Fiber::suspend(); return 'x'; }
            public function unserialize($data) { Fiber::suspend(); }
        }
        $fiber = null;
        return function ($request) use (&$fiber) {
            $two = [2, 1];
            $calls = [
                'serialize' => fn () => serialize([new Old, new stdClass]),
                'unserialize' => fn () => unserialize('a:2:{i:0;C:3:"Old":1:{x}i:1;O:8:"stdClass":0:{}}'),
                'sort' => fn () => usort($two, function ($a, $b) { Fiber::suspend(); return $a <=> $b; }),
            ];
            if ($request->path === '/begin') {
                $fiber = new Fiber($calls[$request->queryString]);
                $fiber->start();
                UNTIL_GO
                return 'begun';
            }
            $go_on = function () use ($fiber) { $fiber->isTerminated() || $fiber->resume(); };
            $same = new stdClass;
            $text = serialize([$same, new Old($go_on), $same, [$same]]);
            $list = [3, 2, 1];
            usort($list, function ($a, $b) use ($go_on) { $go_on(); return $a <=> $b; });
            $copy = unserialize(str_replace('C:3:"Old":1:{x}', 'N;', $text));
            return ($copy[0] === $copy[2] && $copy[0] === $copy[3][0] ? 'same' : $text) . implode($list);
        };"#;
    let server = one_worker(&code.replace("UNTIL_GO", UNTIL_GO))
        .args(["--ini", "error_reporting=0"])
        .start();
    for call in ["serialize", "unserialize", "sort"] {
        let _ = std::fs::remove_file(server.directory().join("go"));
        let mut begins = server.connect();
        begins.send(format!("GET /begin?{call} HTTP/1.1\r\nHost: x\r\n\r\n"));
        until_handled(&server, 1);
        assert_eq!(ok(&server.get("/goes-on")), "same123", "{call}");
        let_go(&server);
        assert_eq!(ok(&begins.response()), "begun", "{call}");
    }
    server.stop();
}

/// Code that is suspended belongs to the request that runs it, as a closure does: a Fiber, and likewise a generator, finds the
/// superglobals, the locals and the output of the request that resumes it, while the request that began it still runs.
#[test]
fn a_fiber_runs_as_the_request_that_resumes_it() {
    let code = r#"
        $local = new Hearth\Local;
        $see = function () use ($local) {
            header('X-Ran-For: ' . $_GET['name']);
            echo $_GET['name'], ' ', $_SERVER['QUERY_STRING'], ' ', $local->get(), ';';
        };
        $fiber = $generator = null;
        return function ($request) use (&$fiber, &$generator, $local, $see) {
            $local->set('local of ' . $_GET['name']);
            if ($request->path === '/begin') {
                $fiber = new Fiber(function () use ($see) { Fiber::suspend(); $see(); });
                $fiber->start();
                $generator = (function () use ($see) { yield; yield $see(); })();
                $generator->current();
                UNTIL_GO
                return $see();
            }
            $fiber->resume();
            $generator->next();
        };"#;
    let server = one_worker(&code.replace("UNTIL_GO", UNTIL_GO)).start();
    let mut begins = server.connect();
    begins.send("GET /begin?name=first HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(&server, 1);
    let response = server.get("/goes-on?name=second");
    assert_eq!(response.header("x-ran-for"), Some("second"));
    assert_eq!(
        ok(&response),
        "second name=second local of second;".repeat(2)
    );
    let_go(&server);
    assert_eq!(ok(&begins.response()), "first name=first local of first;");
    server.stop();
}
