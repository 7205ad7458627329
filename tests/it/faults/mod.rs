//! What goes wrong in an app stays in its request.

mod bad_day;
mod beside_load;
mod blocking;
mod callbacks;
mod cancellation;
mod children;
mod crashes;
mod end_loops;
mod endings;
mod engine_calls;
mod errors;
mod exhaustion;
mod held;
mod include_once;
mod no_suspend;
mod opcodes;
mod orphans;
mod quarantine;
mod queues;
mod references;
mod shared_objects;
mod sharing;
mod stacks;
mod time;
mod walked_values;

use crate::support::one_worker;

const APP: &str = r#"
return function (Hearth\Request $request) {
    switch ($request->path) {
        case '/exception': usleep(1000); throw new RuntimeException('out of luck');
        case '/error': return undefined_function();
        case '/exit': echo 'before'; usleep(1000); exit;
        case '/exit-text': exit('bye');
        case '/exit-code': http_response_code(404); exit(3);
        case '/exit-deep': array_map(function () { ob_start(); echo 'deep'; (new Fiber(fn () => exit))->start(); }, [1]);
        case '/fatal': usleep(1000); return (fn (): int => eval('class A {} class A {}'))();
        case '/memory': return strlen(str_repeat('x', 1 << 30));
        case '/full': for ($all = [];; $all[] = str_repeat('x', 1000));
        case '/memory-shutdown': register_shutdown_function(fn () => str_repeat('x', 1 << 30)); return 'too early';
        case '/stack': $f = function () use (&$f) { return [$f(), 1]; }; return $f();
        case '/segv': usleep(1000); posix_kill(getmypid(), SIGSEGV); posix_kill(getmypid(), SIGSEGV); sleep(5); return 'survived';
        case '/slow': while (!file_exists('go')) { usleep(5000); clearstatcache(); } return 'slow done';
        case '/pid': return (string) getmypid();
        default: return 'fine';
    }
};"#;

fn app() -> testkit::ServerBuilder {
    one_worker(APP)
        .args(["--ini", "memory_limit=64M"])
        .file("unused", "")
}
