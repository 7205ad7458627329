//! Lazy objects of PHP 8.4 that requests share, while the initializer of one waits. Before 8.4 there are none: the tests end at once.

use testkit::Server;
use testkit::http::Client;

use crate::support::{UNTIL_GO, at_once, eventually, let_go, ok, one_worker, until_handled};

/// The first request for `/begin` makes `$service` unless the entry script has, and initializes it, which waits for `let_go`.
const APP: &str = r#"
class Service {
    public string $text = 'half';
    public ?string $any = null;
    public array $list = [];
    public function text() { return $this->text; }
}
$attempts = 0;
$fill = function (Service $object) use (&$attempts) {
    $attempts++;
    if (file_exists('fiber')) {
        $fiber = new Fiber(function () { try { Fiber::suspend(); } finally { UNTIL_GO } });
        $fiber->start();
        $fiber = null;
    }
    UNTIL_GO
    $object->text = 'begun';
    if (file_exists('fatal')) { trigger_error('no service', E_USER_ERROR); }
    if (file_exists('throw') && $attempts === 1) { throw new RuntimeException('no service'); }
    [$object->text, $object->any, $object->list] = ['whole', 'set', [1]];
};
$make = [
    'ghost' => fn () => (new ReflectionClass(Service::class))->newLazyGhost($fill),
    'proxy' => fn () => (new ReflectionClass(Service::class))->newLazyProxy(function () use ($fill) { $fill($real = new Service); return $real; }),
];
$uses = [
    'read' => fn ($service) => $service->text,
    'method' => fn ($service) => $service->text(),
    'isset' => fn ($service) => isset($service->any) ? 'whole' : 'half',
    'unset' => function ($service) { unset($service->list); return $service->text; },
    'write' => function ($service) { $service->any = 'mine'; return $service->text . $service->any; },
    'reference' => function ($service) { $text = &$service->text; return $text; },
    'each' => function ($service) { foreach ($service as $name => $value) { return $value; } },
    'variables' => fn ($service) => get_object_vars($service)['text'],
    'array' => fn ($service) => ((array) $service)['text'],
    'json' => fn ($service) => json_decode(json_encode($service))->text,
    'serialized' => fn ($service) => unserialize(serialize($service))->text,
    'clone' => fn ($service) => (clone $service)->text,
    'equal' => fn ($service) => $service == new Service ? 'half' : 'whole',
    'printed' => fn ($service) => str_contains(print_r($service, true), 'whole') ? 'whole' : 'half',
    'reflected' => fn ($service) => (new ReflectionProperty(Service::class, 'text'))->getValue($service),
    'timeout' => function ($service) {
        try { return Hearth\timeout(0.02, fn () => $service->text); } catch (Hearth\TimeoutError) { return 'timed out'; }
    },
];
$exists = method_exists(ReflectionClass::class, 'newLazyGhost');
$service = $exists && BOOT ? $make['ghost']() : null;
return function ($request) use (&$service, &$attempts, $make, $uses, $exists) {
    try {
        switch ($request->path) {
            case '/exists': return $exists ? 'yes' : 'no';
            case '/begin': $service ??= $make[$request->queryString](); return $service->text;
            case '/end': $service = null; $attempts = 0; return 'ended';
            default: return $uses[substr($request->path, 1)]($service);
        }
    } catch (RuntimeException | Error $e) {
        return $e->getMessage();
    }
};"#;

/// The uses that change nothing that others look at, and what each returns.
const USES: [&str; 13] = [
    "/read",
    "/method",
    "/isset",
    "/reference",
    "/each",
    "/variables",
    "/array",
    "/json",
    "/serialized",
    "/clone",
    "/equal",
    "/printed",
    "/reflected",
];

/// Runs `test` with a server that has these files, unless its PHP has no lazy objects. With `boot`, the entry script makes the object.
fn with_lazy_objects(files: &[&str], test: impl FnOnce(&Server)) {
    let boot = files.contains(&"boot").to_string();
    let server = one_worker(&APP.replace("UNTIL_GO", UNTIL_GO).replace("BOOT", &boot)).start();
    for file in files {
        std::fs::write(server.directory().join(file), "").expect("a file can be written");
    }
    if have_lazy_objects(&server) {
        test(&server);
    }
    server.stop();
}

fn begin(server: &Server, kind: &str) -> Client {
    let mut first = server.connect();
    first.send(format!("GET /begin?{kind} HTTP/1.1\r\nHost: x\r\n\r\n"));
    until_handled(server, 1);
    first
}

fn send(server: &Server, path: &str) -> Client {
    let mut client = server.connect();
    client.send(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n"));
    client
}

/// Makes the next object wait again.
fn end(server: &Server) {
    assert_eq!(ok(&server.get("/end")), "ended");
    std::fs::remove_file(server.directory().join("go")).expect("it is there");
}

fn have_lazy_objects(server: &Server) -> bool {
    ok(&server.get("/exists")) == "yes"
}

/// While one request initializes the object, others that use it wait, and those that do not are answered.
fn others_wait(server: &Server, kind: &str) {
    let mut first = begin(server, kind);
    let mut others: Vec<_> = USES.iter().map(|path| send(server, path)).collect();
    until_handled(server, 1 + USES.len() as u64);
    assert_eq!(ok(&server.get("/exists")), "yes");
    assert_eq!(ok(&server.get("/timeout")), "timed out");
    let_go(server);
    assert_eq!(ok(&first.response()), "whole", "{kind}");
    for (other, path) in others.iter_mut().zip(USES) {
        assert_eq!(ok(&other.response()), "whole", "{kind}, {path}");
    }
    let changes = ["/write", "/unset", "/timeout"];
    let after: Vec<_> = at_once(server, &changes).0.iter().map(ok).collect();
    assert_eq!(after, ["wholemine", "whole", "whole"], "{kind}");
}

#[test]
fn others_wait_until_it_is_initialized() {
    with_lazy_objects(&[], |server| {
        for kind in ["ghost", "proxy"] {
            others_wait(server, kind);
            end(server);
        }
    });
}

#[test]
fn one_that_the_entry_script_made_is_waited_for_too() {
    with_lazy_objects(&["boot"], |server| {
        others_wait(server, "ghost");
    });
}

/// Writes and unsets wait as well: the initializer would overwrite what they do.
#[test]
fn changes_wait_until_it_is_initialized() {
    with_lazy_objects(&[], |server| {
        let mut first = begin(server, "ghost");
        let mut writes = send(server, "/write");
        let mut unsets = send(server, "/unset");
        until_handled(server, 3);
        let_go(server);
        assert_eq!(ok(&first.response()), "whole");
        assert_eq!(ok(&writes.response()), "wholemine");
        assert_eq!(ok(&unsets.response()), "whole");
    });
}

/// An initializer that throws leaves the object uninitialized: the next of those that wait for it initializes it.
#[test]
fn another_request_initializes_it_where_the_first_one_fails() {
    with_lazy_objects(&["throw"], |server| {
        for kind in ["ghost", "proxy"] {
            let mut first = begin(server, kind);
            let mut others: Vec<_> = (0..3).map(|_| send(server, "/read")).collect();
            until_handled(server, 4);
            let_go(server);
            assert_eq!(ok(&first.response()), "no service", "{kind}");
            for other in &mut others {
                assert_eq!(ok(&other.response()), "whole", "{kind}");
            }
            end(server);
        }
    });
}

/// A client that leaves takes its own request away, be that the one that initializes or one that waits.
#[test]
fn a_client_that_leaves_disturbs_no_other_request() {
    with_lazy_objects(&[], |server| {
        let first = begin(server, "ghost");
        let leaves = send(server, "/read");
        let mut stays = send(server, "/read");
        until_handled(server, 3);
        drop(leaves);
        drop(first);
        eventually("two have left", || server.in_flight() == 1);
        // The request that stays initializes the object itself.
        let_go(server);
        assert_eq!(ok(&stays.response()), "whole");
    });
}

/// The engine links no call to a Fiber that goes on because it is destroyed.
#[test]
fn others_wait_while_the_initializer_destroys_a_fiber() {
    with_lazy_objects(&["fiber"], |server| {
        others_wait(server, "ghost");
    });
}

/// A fatal error leaves the object half made, and the worker is replaced: its other requests get an error, not a half.
#[test]
fn others_get_an_error_where_a_fatal_error_ends_the_initializer() {
    with_lazy_objects(&["fatal"], |server| {
        let mut first = begin(server, "ghost");
        let mut other = send(server, "/read");
        until_handled(server, 2);
        let_go(server);
        assert_eq!(first.response().status, 500);
        let error = "Service cannot be used here: a fatal error ended its initialization";
        let response = other.response();
        assert_eq!(
            (response.status, response.text().contains(error)),
            (200, true),
            "{response:?}"
        );
    });
}

/// As in PHP itself: code that the initializer calls finds the object half made, also in another task.
#[test]
fn the_tasks_of_the_request_that_initializes_it_see_it_as_it_is() {
    let server = one_worker(
        r#"
        class Service { public string $text = 'half'; }
        return function () {
            if (!method_exists(ReflectionClass::class, 'newLazyGhost')) { return 'none'; }
            $service = (new ReflectionClass(Service::class))->newLazyGhost(function ($object) {
                $read = function () use ($object) { usleep(1000); $seen = $object->text; usleep(1000); return $seen . $object->text; };
                $object->text = implode(',', Hearth\parallel([$read, $read])) . ' then whole';
            });
            return $service->text;
        };"#,
    )
    .start();
    let answer = ok(&server.get("/"));
    assert!(
        ["none", "halfhalf,halfhalf then whole"].contains(&answer.as_str()),
        "{answer}"
    );
    server.stop();
}

/// Two requests that each initialize what the other one needs: one gets an error, and the other goes on.
#[test]
fn two_initializers_that_wait_for_each_other_do_not_hang() {
    let code = r#"
        class Left { public string $text = 'half'; }
        class Right { public string $text = 'half'; }
        $lazy = method_exists(ReflectionClass::class, 'newLazyGhost');
        $left = $right = null;
        if ($lazy) {
            $left = (new ReflectionClass(Left::class))->newLazyGhost(function ($object) use (&$right) { UNTIL_GO $object->text = "left of $right->text"; });
            $right = (new ReflectionClass(Right::class))->newLazyGhost(function ($object) use (&$left) { UNTIL_GO $object->text = "right of $left->text"; });
        }
        return function ($request) use ($lazy, $left, $right) {
            if ($request->path === '/exists') { return $lazy ? 'yes' : 'no'; }
            try {
                return ($request->path === '/left' ? $left : $right)->text;
            } catch (Error $e) {
                return $e->getMessage();
            }
        };"#;
    let server = one_worker(&code.replace("UNTIL_GO", UNTIL_GO)).start();
    if have_lazy_objects(&server) {
        let (mut left, mut right) = (send(&server, "/left"), send(&server, "/right"));
        until_handled(&server, 2);
        let_go(&server);
        let mut answers = [ok(&left.response()), ok(&right.response())];
        answers.sort_by_key(|answer| answer.contains("cannot be used"));
        let whole = ["left of right of half", "right of left of half"];
        assert!(whole.contains(&answers[0].as_str()), "{answers:?}");
        let refused = "cannot be used here: another request initializes it and waits for an object that this request initializes";
        assert!(answers[1].ends_with(refused), "{answers:?}");
    }
    server.stop();
}
