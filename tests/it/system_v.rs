//! Semaphores and message queues of System V between the requests of one worker: a request that waits for another one does not
//! stop it.

use testkit::Server;

use crate::support::{UNTIL_GO, eventually, let_go, ok, one_worker, until_handled};

/// A server with a semaphore and a queue of its own; `/remove` removes them.
fn with_system_v(paths: &str) -> Server {
    one_worker(&format!(
        r"$key = mt_rand();
        return function ($request) use ($key) {{
            $semaphore = sem_get($key); $queue = msg_get_queue($key);
            if ($request->path === '/remove') {{ return sem_remove($semaphore) && msg_remove_queue($queue) ? 'removed' : 'not'; }}
            if ($request->path === '/holds') {{ sem_acquire($semaphore); {UNTIL_GO} sem_release($semaphore); return 'held'; }}
            {paths}
        }};"
    ))
    .start()
}

fn stop(server: Server) {
    assert_eq!(ok(&server.get("/remove")), "removed");
    server.stop();
}

#[test]
fn a_request_waits_for_the_semaphore_that_another_one_has() {
    let server = with_system_v(
        "touch('asks'); $got = sem_acquire($semaphore); sem_release($semaphore); return $got ? 'got it' : 'did not';",
    );
    let (mut holder, mut waiting) = (server.connect(), server.connect());
    holder.send("GET /holds HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(&server, 1);
    waiting.send("GET /waits HTTP/1.1\r\nHost: x\r\n\r\n");
    eventually("it asks", || server.directory().join("asks").exists());
    let_go(&server);
    assert_eq!(ok(&holder.response()), "held");
    assert_eq!(ok(&waiting.response()), "got it");
    stop(server);
}

#[test]
fn a_request_sends_a_message_to_another_one() {
    let server = with_system_v(
        "if ($request->path === '/send') { return msg_send($queue, 1, 'hello') ? 'sent' : 'not'; }
        msg_receive($queue, 0, $type, 100, $text); return $text;",
    );
    let mut receiver = server.connect();
    receiver.send("GET /receive HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(&server, 1);
    assert_eq!(ok(&server.get("/send")), "sent");
    assert_eq!(ok(&receiver.response()), "hello");
    stop(server);
}

#[test]
fn a_wait_for_a_semaphore_or_a_message_can_be_cancelled() {
    let server = with_system_v(
        "sem_acquire($semaphore); $waits = [];
        foreach ([fn () => sem_acquire(sem_get($key)), fn () => msg_receive($queue, 0, $type, 100, $text)] as $wait) {
            try { Hearth\\timeout(0.05, fn () => @$wait()); $waits[] = 'not cancelled'; } catch (Hearth\\TimeoutError) { $waits[] = 'cancelled'; }
        }
        return implode(', ', $waits) . (sem_release($semaphore) ? ', released' : '');",
    );
    let text = ok(&server.get("/"));
    assert_eq!(text, "cancelled, cancelled, released");
    stop(server);
}

/// The worker serves nothing else in the collector, the request that has the semaphore included.
#[test]
fn a_semaphore_of_another_request_is_refused_where_a_task_must_not_be_left() {
    let server = with_system_v(
        "$end = new class { public $self; public $run; function __destruct() { ($this->run)(); } };
        $text = 'not refused';
        $end->run = function () use ($semaphore, &$text) {
            try { @sem_acquire($semaphore); } catch (Error $error) { $text = $error->getMessage(); }
        };
        $end->self = $end; unset($end); gc_collect_cycles();
        return $text;",
    );
    let mut holder = server.connect();
    holder.send("GET /holds HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(&server, 1);
    let text = ok(&server.get("/collects"));
    assert!(text.starts_with("A task cannot wait here"), "{text}");
    let_go(&server);
    assert_eq!(ok(&holder.response()), "held");
    stop(server);
}
