//! Tasks that wait in line while a neighbour of theirs ends by `exit()` or a fatal error: they keep their places.

use crate::support::{ok, one_worker};

/// `/QUEUE/HOW`: a child has what there is one of, and ends by HOW; two siblings that wait for it get it, one after the other.
const APP: &str = r#"
return function (Hearth\Request $request) {
    [, $queue, $how] = explode('/', $request->path);
    $end = fn () => match ($how) {
        'exit' => exit,
        'fatal' => strlen(str_repeat('x', 1 << 30)),
        'class' => eval('class A {} class A {}'),
    };
    $pool = new Hearth\Pool\Pool(fn () => new stdClass(), size: 1, minimumIdle: 0, borrowTimeout: 15);
    [$semaphore, $mutex, $channel] = [new Hearth\Semaphore(1), new Hearth\Mutex(), new Hearth\Channel()];
    $got = [];
    $holder = function () use ($queue, $end, $pool, $semaphore, $mutex, $channel) {
        match ($queue) {
            'pool' => $pool->borrow(),
            'semaphore' => $semaphore->acquire(),
            'mutex' => $mutex->acquire(),
            'channel', 'sender' => null,
        };
        usleep(20000);
        // What serves is awake at the same moment as what was woken by the end of the holder.
        $queue === 'semaphore' && $semaphore->release();
        $queue === 'channel' && $channel->send('a', 0);
        $queue === 'sender' && $channel->receive(0);
        $end();
    };
    $waiter = function (string $name) use ($queue, $pool, $semaphore, $mutex, $channel, &$got) {
        match ($queue) {
            'pool' => $pool->with(fn () => null),
            'semaphore' => $semaphore->with(fn () => null),
            'mutex' => $mutex->with(fn () => null),
            'channel' => $channel->receive(),
            'sender' => $channel->send($name),
        };
        $got[] = $name;
    };
    $tasks = [Hearth\async($holder), Hearth\async($waiter, 'first'), Hearth\async($waiter, 'second')];
    try { $tasks[0]->await(); } catch (Error) {}
    $queue === 'channel' && $channel->send('b');
    $queue === 'sender' && $channel->receive();
    $tasks[1]->await();
    $tasks[2]->await();
    http_response_code(200);
    return implode(' ', $got);
};"#;

/// What a fatal error leaves locked stays so: a mutex.
const AFTER_A_FATAL_ERROR: &[&str] = &["pool", "semaphore", "channel", "sender"];

#[track_caller]
fn they_keep_their_places(queues: &[&str], how: &str) {
    for queue in queues {
        // Workers that keep breaking are restarted with back-off.
        let server = one_worker(APP)
            .args(["--ini", "memory_limit=64M", "--request-timeout", "10"])
            .start();
        assert_eq!(
            ok(&server.get(&format!("/{queue}/{how}"))),
            "first second",
            "{queue}"
        );
        server.stop();
    }
}

#[test]
fn when_a_neighbour_calls_exit() {
    they_keep_their_places(&["pool", "semaphore", "mutex", "channel", "sender"], "exit");
}

#[test]
fn when_a_neighbour_runs_out_of_memory() {
    they_keep_their_places(AFTER_A_FATAL_ERROR, "fatal");
}

#[test]
fn when_a_neighbour_declares_a_class_twice() {
    they_keep_their_places(AFTER_A_FATAL_ERROR, "class");
}
