//! C code of PHP that goes over a value which requests share, and calls PHP code that waits: other requests do not change the value meanwhile.

use crate::support::{at_once, ok, one_worker, until_handled};

/// Each path but `/clear` goes over a value; `/clear` frees it, and takes memory of the same sizes.
const VALUES: &str = r#"
class Shared { static $value; static $list; }
class Node { public $list = []; }
class Slow { public $n = 1; function __serialize(): array { usleep(20000); return ['slow']; } function __toString() { usleep(5000); return 'slow'; } }
class Asleep { public $n = 1; function __sleep() { usleep(20000); return ['n']; } }
class Old implements Serializable { function serialize() { usleep(20000); return 'x'; } function unserialize($text) {} function __unserialize(array $data): void {} }
class Loads extends Old { function unserialize($text) { usleep(20000); } }
class Debug { function __debugInfo() { usleep(20000); return ['slow']; } }
class Named extends SplObjectStorage { function getHash($object): string { Shared::$value && usleep(5000); return spl_object_id($object); } }
class Heap extends SplMinHeap { protected function compare($one, $other): int { usleep(5000); return $other['n'] <=> $one['n']; } }
return function (Hearth\Request $request): string {
    $random = mt_rand(1, 9);
    $tree = function ($leaf) { Shared::$value = new Node; Shared::$value->list = new Node; Shared::$value->list->list = $leaf; return Shared::$value; };
    set_error_handler(fn () => usleep(20000) ?? true);
    switch ($request->path) {
        case '/property':
            $node = Shared::$value = new Node; $node->list = [new Slow, new Slow, $random];
            return md5(preg_replace('/\d;}}$/', '', serialize($node)));
        case '/child': return substr_count(serialize($tree([new Asleep, new Asleep, $random])), 'Asleep');
        case '/dump': ob_start(); var_dump($tree(new Debug)); return substr_count(ob_get_clean(), 'slow');
        case '/print': return substr_count(print_r($tree(new Debug), true), 'slow');
        case '/export':
            ob_start();
            ob_start(function ($text) { usleep(2000); return $text; }, 1);
            var_export($tree(['slow', $random]));
            ob_end_flush();
            return substr_count(ob_get_clean(), 'slow');
        case '/segment':
            $segment = Shared::$value = shm_attach(getmypid(), 10000);
            shm_put_var($segment, 1, [new Loads, new Loads, $random]);
            $got = shm_get_var($segment, 1);
            shm_remove($segment);
            return count($got);
        case '/reference': Shared::$list = [new Slow, new Slow, $random]; return substr_count(serialize(['list' => &Shared::$list]), 'slow');
        case '/interface': Shared::$list = [new Old, new Old, $random]; return substr_count(serialize(['list' => &Shared::$list]), 'Old');
        case '/sleep': Shared::$list = [new Asleep, new Asleep, $random]; return substr_count(serialize(['list' => &Shared::$list]), 'Asleep');
        case '/igbinary': Shared::$list = [new Slow, new Slow, $random]; return count(igbinary_unserialize(igbinary_serialize(['list' => &Shared::$list]))['list']);
        case '/object':
            $object = Shared::$value = new ArrayObject([]); Shared::$list = [new Slow, new Slow, $random]; $object['list'] = &Shared::$list;
            return substr_count($object->serialize(), 'slow');
        case '/cache': Shared::$list = [new Slow, new Slow, $random]; (new Hearth\Cache)->set('k', ['list' => &Shared::$list]); return 'stored';
        case '/sort': Shared::$list = ["z$random", new Slow, 'x', new Slow, 'a']; sort(Shared::$list); return count(Shared::$list);
        case '/natsort': Shared::$list = ["z$random", new Slow, 'x', new Slow, 'a']; natsort(Shared::$list); return count(Shared::$list);
        case '/strings': Shared::$list = [[$random], 'x', [2], 'a']; rsort(Shared::$list, SORT_STRING); return count(Shared::$list);
        case '/filter': Shared::$list = [new Slow, new Slow, $random]; return count(filter_var_array(['list' => &Shared::$list])['list'] ?: [1, 2, 3]);
        case '/filter-one':
            Shared::$list = [new Slow, new Slow, $random];
            return count(filter_var(['list' => &Shared::$list], FILTER_CALLBACK, ['options' => fn ($text) => usleep(20000) ?? $text])['list']);
        case '/storage':
            $from = Shared::$value = new SplObjectStorage;
            for ($n = 0; $n < 8; $n++) { $from[new stdClass] = "data $n"; }
            $to = new Named; $to->addAll($from); return count($to);
        case '/clone':
            $from = new Named; for ($n = 0; $n < 8; $n++) { $from[new Node] = "data $n"; }
            Shared::$value = $from; return count(clone $from);
        case '/loop':
            $heap = new SplMinHeap; for ($n = 0; $n < 9; $n++) { $heap->insert($n % 2 ? "text $n" : new Slow); }
            Shared::$value = $heap; $count = 0; foreach ($heap as $element) { $count++; } return $count;
        case '/heap':
            $heap = Shared::$value = new Heap;
            for ($n = 9; $n > 0; $n--) { $heap->insert(['n' => $n]); }
            return $heap->extract()['n'];
    }
    $value = Shared::$value;
    Shared::$value = Shared::$list = null;
    if ($value instanceof Node) { $value->list = null; }
    if ($value instanceof SysvSharedMemory) { shm_detach($value); }
    if ($value instanceof SplObjectStorage) { $value->removeAllExcept(new SplObjectStorage); }
    if ($value instanceof SplMinHeap && !$value instanceof Heap) { foreach ($value as $element) { unset($element); } }
    if ($value instanceof Heap) { return 'cleared ' . json_encode(count($value) < 9 && $value == [['n' => 1]]); }
    unset($value);
    for ($n = 0; $n < 2000; $n++) { $own[] = str_repeat('A', 24 + $n % 400); }
    return 'cleared';
};"#;

/// The storage and the heap are changed as a whole, before or after.
#[test]
fn a_value_that_is_gone_over_is_not_changed_by_another_request() {
    for (target, expected) in [
        ("/property", ""),
        ("/child", "2"),
        ("/dump", "1"),
        ("/print", "1"),
        ("/export", "1"),
        ("/segment", "3"),
        ("/reference", "2"),
        ("/filter", "3"),
        ("/filter-one", "3"),
        ("/interface", "2"),
        ("/sleep", "2"),
        ("/igbinary", "3"),
        ("/object", "2"),
        ("/cache", "stored"),
        ("/sort", "5"),
        ("/natsort", "5"),
        ("/strings", "4"),
        ("/storage", "8"),
        ("/clone", "8"),
        ("/loop", "9"),
        ("/heap", "1"),
    ] {
        let server = one_worker(VALUES).start();
        for _ in 0..3 {
            let targets = [target, "/clear", target, "/clear"].map(str::to_owned);
            let answers: Vec<_> = at_once(&server, &targets).0.iter().map(ok).collect();
            for (answer, target) in answers.iter().zip(&targets) {
                if target == "/clear" {
                    assert!(answer.starts_with("cleared"), "{target}: {answer}");
                } else if expected.is_empty() {
                    assert_eq!(answers[0], answers[2], "{target}");
                } else {
                    assert_eq!(answer, expected, "{target}");
                }
            }
        }
        server.stop();
    }
}

const HEAP: &str = r#"
class Heap extends SplMinHeap {
    public $how = 'fast';
    protected function compare($one, $other): int {
        if ($this->how === 'waits') { usleep(20000); }
        for ($end = hrtime(true) + 20_000_000; $this->how === 'computes' && hrtime(true) < $end;);
        return $other <=> $one;
    }
}
return function (Hearth\Request $request): string {
    static $heap;
    $heap ??= new Heap;
    $heap->how = trim($request->path, '/');
    if ($heap->how === 'all') {
        for ($all = []; !$heap->isEmpty();) { $all[] = $heap->extract(); }
        return json_encode($all == array_values((function ($all) { sort($all); return $all; })($all)));
    }
    for ($n = $heap->how === 'fast' ? 2 : 8; $n > 0; $n--) {
        $heap->insert($n); $heap->insert($heap->extract());
        for ($end = hrtime(true) + 6_000_000; hrtime(true) < $end;);
    }
    return 'inserted';
};"#;

/// An exception in the middle of an insertion leaves the heap corrupted: all later calls on it throw.
#[test]
fn a_heap_stays_whole_when_the_time_of_a_request_is_over_in_its_comparison() {
    for path in ["/waits", "/computes"] {
        let server = one_worker(HEAP).args(["--request-timeout", "0.2"]).start();
        for _ in 0..3 {
            assert_eq!(server.get(path).status, 500, "{path}");
        }
        assert_eq!(ok(&server.get("/all")), "true", "{path}");
        server.stop();
    }
}

#[test]
fn a_heap_stays_whole_when_the_client_leaves_in_its_comparison() {
    let server = one_worker(HEAP).start();
    assert_eq!(ok(&server.get("/fast")), "inserted");
    let mut client = server.connect();
    client.send("GET /waits HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(&server, 1);
    drop(client);
    assert_eq!(ok(&server.get("/all")), "true");
    server.stop();
}

/// The map would go on with a bucket that is gone. Its key waits after those that were put before it.
const MAP: &str = r#"
class Key implements Ds\Hashable {
    function __construct(public $n) {}
    function hash() { return 1; }
    function equals($other): bool { if ($other->n === 'asks' || $this->n === 'asks') { usleep(20000); } return $other->n === $this->n; }
}
class Shared { static $map; }
return function (Hearth\Request $request): string {
    if ($request->path === '/clear') { Shared::$map->clear(); for ($n = 0; $n < 2000; $n++) { $own[] = str_repeat('A', 24 + $n % 400); } return 'cleared'; }
    $map = Shared::$map = new Ds\Map;
    for ($n = 0; $n < 3; $n++) { $map->put(new Key($n), "value $n"); }
    return match ($request->path) {
        '/get' => Shared::$map[new Key('asks')] ?? 'none',
        '/isset' => isset(Shared::$map[new Key('asks')]) ? 'set' : 'none',
        '/unset' => (function () { unset(Shared::$map[new Key('asks')]); return 'none'; })(),
    };
};"#;

#[test]
fn a_map_stays_whole_while_a_key_is_asked() {
    let library = testkit::unpacked_extension("ds");
    for target in ["/get", "/isset", "/unset"] {
        let server = one_worker(MAP)
            .args(["--ini", &format!("extension={}", library.display())])
            .start();
        for _ in 0..3 {
            let targets = [target, "/clear"].map(str::to_owned);
            let answers: Vec<_> = at_once(&server, &targets).0.iter().map(ok).collect();
            assert_eq!(answers, ["none", "cleared"], "{target}");
        }
        server.stop();
    }
}

/// php-oauth uses the result of a handler that has thrown.
#[test]
fn a_provider_of_oauth_survives_a_client_that_leaves() {
    let library = testkit::unpacked_extension("oauth");
    let server = one_worker(
        r"return function (Hearth\Request $request): string {
            if ($request->path === '/pid') { return getmypid(); }
            $provider = new OAuthProvider(['oauth_consumer_key' => 'k', 'oauth_token' => 't', 'oauth_nonce' => 'n', 'oauth_timestamp' => '1',
                'oauth_signature_method' => 'HMAC-SHA1', 'oauth_signature' => 'x', 'oauth_version' => '1.0']);
            $provider->consumerHandler(function ($provider) { usleep(200000); return OAUTH_OK; });
            $provider->timestampNonceHandler(fn () => OAUTH_OK);
            $provider->tokenHandler(fn () => OAUTH_OK);
            $provider->checkOAuthRequest('http://localhost/', 'GET');
            return 'checked';
        };",
    )
    .args(["--ini", &format!("extension={}", library.display())])
    .start();
    let pid = ok(&server.get("/pid"));
    let mut client = server.connect();
    client.send("GET /check HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(&server, 1);
    drop(client);
    assert_eq!(ok(&server.get("/pid")), pid);
    server.stop();
}
