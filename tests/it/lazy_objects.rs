//! Lazy objects of PHP 8.4 that requests share, while the initializer of one waits. Before 8.4 there are none: the tests end at once.

use testkit::Server;
use testkit::http::Client;

use crate::support::{UNTIL_GO, at_once, eventually, let_go, ok, one_worker, until_handled};

/// The first request for `/begin` makes `$service` unless the entry script has, and initializes it, which waits for `let_go`.
const APP: &str = include_str!("lazy_objects.php");

/// The uses that change nothing that others look at, and what each returns.
const USES: [&str; 14] = [
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
    "/exported",
    "/reflected",
];

/// The class of the object, and what follows its second property: the engine reads a first one without hooks by itself.
const PLAIN: (&str, &str) = ("class Service", "");
const HOOKED: (&str, &str) = ("class Service", "{ get => $this->text; }");
const DYNAMIC: (&str, &str) = ("#[AllowDynamicProperties] class Service", "");

/// Runs `test` with a server that has these files, unless its PHP has no lazy objects. With `boot`, the entry script makes the object.
fn with_lazy_objects(files: &[&str], test: impl FnOnce(&Server)) {
    with_lazy_objects_of(PLAIN, files, test);
}

fn with_lazy_objects_of(class: (&str, &str), files: &[&str], test: impl FnOnce(&Server)) {
    let boot = files.contains(&"boot").to_string();
    let code = APP.trim_start_matches("<?php");
    let code = code.replace("UNTIL_GO", UNTIL_GO).replace("BOOT", &boot);
    let code = code
        .replace("CLASS", class.0)
        .replace(" HOOK;", if class.1.is_empty() { ";" } else { class.1 });
    let server = one_worker(&code).start();
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

/// The call of an initializer need not have the object as its argument any more, and may be in a Fiber that is suspended.
#[test]
fn others_wait_whatever_the_initializer_does_with_its_argument() {
    with_lazy_objects(&[], |server| {
        for kind in ["assigned", "unset", "reference", "forwarded", "suspended"] {
            others_wait(server, kind);
            end(server);
        }
    });
}

#[test]
fn others_wait_for_a_ghost_with_property_hooks() {
    with_lazy_objects_of(HOOKED, &[], |server| {
        others_wait(server, "ghost");
    });
}

/// The engine goes over the properties with the table that it is given, also where an exception is pending.
#[test]
fn going_over_a_ghost_with_property_hooks_can_time_out() {
    with_lazy_objects_of(HOOKED, &[], |server| {
        let mut first = begin(server, "ghost");
        assert_eq!(ok(&server.get("/each-timeout")), "timed out");
        let_go(server);
        assert_eq!(ok(&first.response()), "whole");
        assert_eq!(ok(&server.get("/each")), "whole");
    });
}

/// Sends a request that initializes the object and then these, which the worker begins when the first has ended.
fn after_the_initializer(server: &Server, kind: &str, paths: &[&str], answer: &str) {
    let waits = server.directory().join("waits");
    drop(std::fs::remove_file(&waits));
    let mut first = send(server, &format!("/begin?{kind}"));
    eventually("the initializer waits", || waits.exists());
    let mut others: Vec<_> = paths.iter().map(|path| send(server, path)).collect();
    let_go(server);
    assert_eq!(ok(&first.response()), "whole", "{kind}");
    for (other, path) in others.iter_mut().zip(paths) {
        assert_eq!(ok(&other.response()), answer, "{kind}, {path}");
    }
}

/// The engine goes over the proxy itself where it found the object uninitialized: so its initializer is not left.
#[test]
fn a_proxy_with_property_hooks_is_whole_for_others() {
    with_lazy_objects_of(HOOKED, &[], |server| {
        for kind in ["proxy", "assigned"] {
            after_the_initializer(server, kind, &USES, "whole");
            end(server);
        }
    });
}

/// The engine writes a dynamic property without asking: so the initializer is not left.
#[test]
fn a_dynamic_property_that_others_write_stays() {
    with_lazy_objects_of(DYNAMIC, &[], |server| {
        for kind in ["ghost", "proxy", "unset"] {
            after_the_initializer(server, kind, &["/put"], "wholemine");
            assert_eq!(ok(&server.get("/dynamic")), "mine", "{kind}");
            end(server);
        }
    });
}

/// A Fiber that is suspended in the initializer goes on with another request, which finds the object as it is.
#[test]
fn others_get_an_error_where_a_fiber_is_left_in_the_initializer() {
    with_lazy_objects(&[], |server| {
        assert_eq!(ok(&server.get("/leave")), "left");
        let error =
            "a Fiber is suspended in its initializer, and the request of that Fiber has ended";
        assert_eq!(
            ok(&server.get("/read")),
            format!("Service cannot be used here: {error}")
        );
        assert_eq!(ok(&server.get("/resume")), "whole");
        assert_eq!(ok(&server.get("/read")), "whole");
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
