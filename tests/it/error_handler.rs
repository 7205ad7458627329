//! `set_error_handler()` and the tasks of a request: the engine hides a handler while it runs, and it may wait.

use testkit::Server;

use crate::support::{UNTIL_GO, at_once, let_go, ok, one_worker, until_handled};

/// While the handler waits, a sibling's error is for it too.
#[test]
fn an_error_handler_that_waits_is_still_the_one_of_other_tasks() {
    let server = one_worker(
        "set_error_handler(fn () => 'boot');
        return function ($r) {
            $seen = [];
            $handler = function ($number, $message) use (&$seen) {
                $seen[] = $message; usleep(2000); @trigger_error('inside', E_USER_NOTICE); usleep(1000); return true;
            };
            if ($r->path === '/own') { set_error_handler($handler); }
            $fail = fn ($i) => function () use ($i) { trigger_error(\"error $i\", E_USER_WARNING); usleep(500 * $i); trigger_error(\"again $i\", E_USER_WARNING); };
            Hearth\\parallel(array_map($fail, range(0, 4)));
            trigger_error('last', E_USER_WARNING);
            sort($seen);
            if ($r->path === '/own') { restore_error_handler(); }
            trigger_error('for boot', E_USER_WARNING);
            return [count($seen), array_unique($seen) === $seen, in_array('inside', $seen)];
        };",
    )
    .start();
    for _ in 0..5 {
        assert_eq!(ok(&server.get("/own")), "[11,true,false]");
        assert_eq!(ok(&server.get("/boot")), "[0,true,false]");
    }
    let stopped = server.stop();
    assert!(!stopped.log.contains("error "), "{}", stopped.log);
}

/// What the handler of one task sets while that of another waits.
#[test]
fn an_error_handler_that_is_replaced_while_it_waits_stays_replaced() {
    let server = one_worker(
        "return function () {
            $seen = [];
            set_error_handler(function ($n, $message) use (&$seen) { $seen[] = \"old $message\"; usleep(3000); return true; });
            $first = Hearth\\async(fn () => trigger_error('one', E_USER_WARNING));
            set_error_handler(function ($n, $message) use (&$seen) { $seen[] = \"new $message\"; return true; });
            trigger_error('two', E_USER_WARNING);
            $first->await();
            trigger_error('three', E_USER_WARNING);
            restore_error_handler();
            trigger_error('four', E_USER_WARNING);
            return $seen;
        };",
    )
    .start();
    for _ in 0..3 {
        assert_eq!(
            ok(&server.get("/")),
            r#"["old one","new two","new three","old four"]"#
        );
    }
    server.stop();
}

/// As in plain PHP: an error inside the handler is not for the handler, also where that began a task.
#[test]
fn an_error_of_a_task_that_the_error_handler_began_does_not_come_back_to_it() {
    let server = one_worker(
        "return function () {
            $seen = [];
            set_error_handler(function ($n, $message) use (&$seen) {
                $seen[] = $message;
                Hearth\\async(fn () => @trigger_error('of a task', E_USER_WARNING))->await();
                Hearth\\parallel([function () {
                    usleep(500);
                    @trigger_error('after a wait', E_USER_WARNING);
                    Hearth\\async(fn () => @trigger_error('of a grandchild', E_USER_WARNING))->await();
                }, fn () => usleep(1000)]);
                return true;
            });
            Hearth\\parallel([fn () => trigger_error('one', E_USER_WARNING), function () { usleep(700); trigger_error('two', E_USER_WARNING); }]);
            Hearth\\async(fn () => trigger_error('three', E_USER_WARNING))->await();
            restore_error_handler();
            return $seen;
        };",
    )
    .start();
    for _ in 0..3 {
        assert_eq!(ok(&server.get("/")), r#"["one","two","three"]"#);
    }
    server.stop();
}

/// `disable_functions` may name what Hearth's own functions stand before.
#[test]
fn functions_that_are_disabled_keep_no_server_from_starting() {
    let names = "set_error_handler,restore_error_handler,chdir,chroot,session_start,filter_input,phpinfo,mb_detect_order,textdomain,\
                 putenv,umask,setlocale,opendir,closedir,crypt,usort,register_tick_function,spl_autoload_extensions,flock,proc_open,popen,exec,system,pcntl_fork,pcntl_signal,sleep,stream_select,curl_multi_exec";
    let setting = format!("disable_functions={names}");
    let code = "$names = explode(',', ini_get('disable_functions')); return (string) count(array_filter($names, 'function_exists'));";
    for server in [
        one_worker(&format!("return function () {{ {code} }};")),
        Server::app("site").file(
            "site/index.php",
            format!("<?php echo (function () {{ {code} }})();"),
        ),
    ] {
        let server = server.args(["--ini", &setting]).start();
        assert_eq!(ok(&server.get("/")), "0");
        server.stop();
    }
}

/// The engine marks a constant while it computes its value.
#[test]
fn a_constant_whose_computation_broke_a_request_refers_to_itself_for_no_other() {
    let code = format!(
        "class Known {{ const OUTER = self::INNER . 'x'; const INNER = Other::VALUE . 'y'; }}
        spl_autoload_register(function () {{
            eval(isset($_GET['breaks']) ? 'function twice() {{}} function twice() {{}}' : 'class Other {{ const VALUE = 1; }}');
        }});
        return function ($request) {{
            if ($request->path === '/waits') {{ {UNTIL_GO} }}
            return Known::OUTER;
        }};"
    );
    let server = one_worker(&code).start();
    let mut first = server.connect();
    first.send("GET /waits HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(&server, 1);
    assert_eq!(server.get("/?breaks").status, 500);
    let_go(&server);
    assert_eq!(ok(&first.response()), "1yx");
    server.stop();
}

/// A task in constant() is not left, nor in an opcode that computes a value: see `faults::opcodes`.
#[test]
fn a_constant_that_one_request_still_computes_refers_to_itself_for_no_other() {
    let server = one_worker(
        "class Known { const NONE = []; const OUTER = self::INNER . 'x'; const INNER = self::NONE['gone'] . 'value '; }
        return function () {
            set_error_handler(fn () => usleep(50000) ?? true);
            return constant('Known::OUTER');
        };",
    )
    .start();
    let (answers, _) = at_once(&server, &["/", "/", "/"]);
    let texts: Vec<_> = answers.iter().map(ok).collect();
    assert_eq!(texts, ["value x", "value x", "value x"]);
    server.stop();
}
