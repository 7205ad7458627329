//! Two tasks on one connection: the second is refused before anything is sent, received or closed, by an Error that names
//! both, and the first one's conversation goes on.

mod children;
mod databases;
mod dropped;
mod extensions;
mod iterations;
mod iterators;
mod lent;
mod mongodb;
mod streams;

use testkit::Server;

use crate::support::{UNTIL_GO, ok, one_worker, until_handled};

/// A server whose `/first` runs `first` and whose other paths run `second`; `$c` is the connection that `open` makes. `UNTIL_GO`
/// waits for `let_go`.
fn shared(open: &str, first: &str, second: &[(&str, &str)]) -> testkit::ServerBuilder {
    let others: String = second
        .iter()
        .map(|(path, code)| format!("if ($request->path === '{path}') {{ {code} }}\n"))
        .collect();
    let code = format!(
        "$c = $far = $statement = null;
        return function ($request) use (&$c, &$far, &$statement) {{
            if ($request->path === '/open') {{ {open} return 'open'; }}
            try {{
                if ($request->path === '/first') {{ {first} }}
                {others}
            }} catch (Error $e) {{ return get_class($e) . ': ' . $e->getMessage(); }}
            return 'no such path';
        }};"
    );
    one_worker(&code.replace("UNTIL_GO", UNTIL_GO))
}

#[track_caller]
fn assert_refused(server: &Server, path: &str) {
    let text = ok(&server.get(path));
    assert!(
        text.starts_with("Error: Two tasks on one connection"),
        "{path}: {text}"
    );
    assert!(text.matches("task ").count() >= 2, "{path}: {text}");
    assert!(text.matches("(request ").count() == 2, "{path}: {text}");
    assert!(text.contains("Hearth\\Pool"), "{path}: {text}");
}

/// Has `/first` wait, sees each of `refused` refused, has `let_go` end the wait, and gives the first one's answer.
#[track_caller]
fn first_with(server: &Server, refused: &[&str], let_go: impl FnOnce()) -> String {
    assert_eq!(ok(&server.get("/open")), "open");
    let mut first = server.connect();
    first.send("GET /first HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(server, 1);
    for path in refused {
        assert_refused(server, path);
    }
    let_go();
    ok(&first.response())
}

const SLOW_FILES: &str = "class Slow { public $context; private $read = false;
    function stream_open() { return true; } function stream_eof() { return $this->read; }
    function stream_stat() { return []; } function stream_write($text) { UNTIL_GO return strlen($text); }
    function url_stat() { return []; } function stream_read() { if ($this->read) { return ''; } UNTIL_GO $this->read = true; return \"late\\n\"; }
    function dir_opendir() { return true; } function dir_readdir() { UNTIL_GO return 'late'; } function dir_closedir() { return true; } }
    stream_wrapper_register('slow', 'Slow');";
