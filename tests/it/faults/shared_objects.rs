//! C code of PHP that prints or compares objects which requests share, or has pointers into variables of theirs, and PHP code inside it that waits: what the objects have is not replaced
//! meanwhile. What a method that the engine calls belongs to stays until the method has ended.

use testkit::Server;

use crate::support::{UNTIL_GO, at_once, eventually, let_go, ok, one_worker, until_handled};

/// Each path but `/clear` goes over objects; `/clear` replaces what they have, and takes memory of the same sizes.
const OBJECTS: &str = r#"
class Shared { static $value; static $other; }
class Node { public $child; public $next; public $text; function __construct($child = null, $next = null) { [$this->child, $this->next] = [$child, $next]; $this->text = str_repeat('t', 50); } }
class Shown { public $text; function __construct() { $this->text = str_repeat('s', 50); } function __debugInfo() { usleep(20000); return ['text' => $this->text]; } }
class Text { function __construct(public $text) {} function __toString() { usleep(20000); return $this->text; } }
class Keys extends ArrayIterator { function key(): string|int|null { usleep(20000); return parent::key(); } }
class Order {
    static function compare($one, $other) { return $one <=> $other; }
    static function sort() { return usort(Shared::$value, 'self::compare'); }
    static function walk() { return array_walk_recursive(Shared::$value, 'self::compare'); }
}
function tree($leaf) { $dynamic = new stdClass; $dynamic->leaf = $leaf; return new Node(new Node(new Node([$leaf, 'a']), new Node($dynamic))); }
function shown($show, $buffer = null, $size = 0) { ob_start(); ob_start($buffer, $size); $show(); ob_end_flush(); return ob_get_clean(); }
function storage($texts) { static $keys; $keys ??= [new Node, new Node]; $new = new SplObjectStorage; foreach ($keys as $n => $key) { $new[$key] = $texts[$n]; } return $new; }
return function (Hearth\Request $request): string {
    set_error_handler(fn () => usleep(20000) ?? true);
    [$slow, $fast] = [tree(new Text('x')), tree('x')];
    switch ($request->path) {
        case '/print': Shared::$value = new Node(new Shown, new Shown); return substr_count(print_r(Shared::$value, true), '=> sss');
        case '/dump': Shared::$value = new Node(new Shown, new Shown); return substr_count(shown(fn () => var_dump(Shared::$value)), 'Shown');
        case '/debug': Shared::$value = new Node(new Shown, new Shown); return substr_count(shown(fn () => debug_zval_dump(Shared::$value)), 'Shown');
        case '/export': Shared::$value = $node = new Node(new Node); $node->child->child = $node; return substr_count(var_export($node, true), "'ttt");
        case '/buffer':
            Shared::$value = new Node(new Node(str_repeat('B', 6000)), new Node);
            return substr_count(shown(fn () => var_dump(Shared::$value), fn ($text) => usleep(20000) ?? $text, 4096), 'Node');
        case '/equal': [Shared::$value, Shared::$other] = [$slow, $fast]; return json_encode([$slow == $fast, $fast == $slow, $slow <=> $fast]);
        case '/elements': [Shared::$value, Shared::$other] = [$slow, $fast]; return json_encode(['k' => $slow] == ['k' => $fast]);
        case '/switch': [Shared::$value, Shared::$other] = [$slow, $fast]; switch ($slow) { case $fast: return 'same'; default: return 'other'; }
        case '/among': [Shared::$value, Shared::$other] = [$slow, $fast]; return json_encode([in_array($slow, [1, $fast]), array_search($fast, [$slow]), array_keys([$slow], $fast)]);
        case '/sorted':
            [Shared::$value, Shared::$other] = [$slow, $fast]; $list = [$slow, $fast]; sort($list);
            return json_encode([count($list), count(array_unique([$slow, $fast], SORT_REGULAR)), max([$slow, $fast]) == min($slow, $fast)]);
        case '/storages': Shared::$value = $one = storage([new Text('x'), new Text('y')]); Shared::$other = $other = storage(['x', 'y']); return json_encode($one == $other);
        case '/arrays': Shared::$value = $one = new ArrayObject([new Text('x')]); Shared::$other = $other = new ArrayObject(['x']); return json_encode($one == $other);
        case '/offset': Shared::$value = $list = new ArrayObject(['a', str_repeat('b', 30)]); return $list[1.5];
        case '/method': Shared::$value = $list = new ArrayObject(['a', str_repeat('b', 30)]); return $list->offsetGet(1.5);
        case '/seek': Shared::$value = $list = new ArrayIterator(['a', 'k' => str_repeat('b', 30)]); $list->seek(1.5); return $list->current();
        case '/end': Shared::$value = new Node(1, 2); return strlen(end(Shared::$value));
        case '/sort-by': Shared::$value = [3, 1, 2]; Order::sort(); return json_encode(Shared::$value);
        case '/walk': Shared::$value = [3, 1, 2]; return json_encode(Order::walk());
        case '/extract': Shared::$value = ['a' => 1, 'b' => 2]; return extract(Shared::$value, EXTR_PREFIX_ALL, null);
        case '/key': Shared::$value = $list = new ArrayObject(['k' => str_repeat('b', 30)], 0, Keys::class); foreach ($list as $key => $element) { return "$key $element"; }
        case '/array': Shared::$value = new Keys(['k' => str_repeat('b', 30)]); return json_encode(iterator_to_array(Shared::$value));
    }
    foreach ([Shared::$value, Shared::$other] as $value) {
        if ($value instanceof SplObjectStorage) { $value->removeAll(clone $value); }
        if ($value instanceof ArrayObject) { $value->exchangeArray([]); }
        if ($value instanceof ArrayIterator) { unset($value['k']); }
        if ($value instanceof Node) { if ($value->child instanceof Node) { $value->child->child = $value->child->next = null; } $value->child = $value->next = 7; }
    }
    Shared::$value = Shared::$other = $value = $slow = $fast = null;
    for ($n = 0; $n < 2000; $n++) { $own[] = str_repeat('A', 24 + $n % 400); $own[] = [$n, "n$n"]; $own[] = new Node($n); }
    return 'cleared';
};"#;

#[test]
fn what_an_object_has_is_not_replaced_while_it_is_printed_or_compared() {
    for (target, expected) in [
        ("/print", "2"),
        ("/dump", "2"),
        ("/debug", "2"),
        ("/export", "2"),
        ("/buffer", "3"),
        ("/equal", "[true,true,0]"),
        ("/elements", "true"),
        ("/switch", "same"),
        ("/among", "[true,0,[0]]"),
        ("/sorted", "[2,1,true]"),
        ("/storages", "true"),
        ("/arrays", "true"),
        ("/offset", &"b".repeat(30)),
        ("/method", &"b".repeat(30)),
        ("/seek", &"b".repeat(30)),
        ("/end", "50"),
        ("/sort-by", "[1,2,3]"),
        ("/walk", "true"),
        ("/extract", "2"),
        ("/key", &format!("k {}", "b".repeat(30))),
        ("/array", &format!(r#"{{"k":"{}"}}"#, "b".repeat(30))),
    ] {
        let server = one_worker(OBJECTS).start();
        for _ in 0..3 {
            let (answers, _) = at_once(&server, &[target, "/clear", "/clear"]);
            let texts: Vec<_> = answers.iter().map(ok).collect();
            assert_eq!(texts, [expected, "cleared", "cleared"], "{target}");
        }
        server.stop();
    }
}

/// With `flush()`, what is printed goes to the client piece by piece.
#[test]
fn an_object_is_printed_whole_to_a_client_that_reads_slowly() {
    let server = one_worker(
        r#"class Node { public $text; public $list; public $next; }
        return function (Hearth\Request $request) {
            static $shared;
            if ($request->path === '/clear') {
                $shared->next->next = null; $shared->next = 7;
                for ($n = 0; $n < 2000; $n++) { $own[] = str_repeat('A', 24 + $n % 400); }
                return 'cleared';
            }
            $shared = new Node; $shared->next = new Node; $shared->next->next = new Node;
            $shared->next->text = str_repeat('B', 20_000_000); $shared->next->list = [str_repeat('L', 50)];
            flush();
            touch(__DIR__ . '/begun');
            var_dump($shared);
        };"#,
    )
    .start();
    let mut slow = server.connect();
    slow.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    eventually("it is printed", || {
        server.directory().join("begun").exists()
    });
    assert_eq!(ok(&server.get("/clear")), "cleared");
    let text = ok(&slow.response());
    assert!(text.contains(&"L".repeat(50)), "{} bytes", text.len());
    assert_eq!(text.matches("object(Node)").count(), 3);
    drop(slow);
    server.stop();
}

/// The engine calls these methods without an owner of their object.
const CALLED: &str = r#"
class Called extends ArrayObject {
    public $kept;
    function __construct(...$arguments) { parent::__construct(...$arguments); $this->kept = str_repeat('k', 50); }
    function offsetExists($key): bool { UNTIL_GO return strlen($this->kept) === 50; }
    function offsetGet($key): mixed { return $this->kept; }
    function notified() { if (!isset($this->seen)) { $this->seen = 1; UNTIL_GO $GLOBALS['seen'] = strlen($this->kept); } }
    public $seen;
    function __destruct() { $GLOBALS['destroyed'] = ($GLOBALS['destroyed'] ?? 0) + 1; }
}
class Shared { static $context; }
return function (Hearth\Request $request) {
    static $object;
    switch ($request->path) {
        case '/isset': $object = new Called(); return json_encode(isset($object['k']));
        case '/empty': $object = new Called(); return json_encode(empty($object['k']));
        case '/notified':
            Shared::$context = stream_context_create([], ['notification' => [new Called(), 'notified']]);
            file_get_contents('http://' . $request->header('host') . '/destroyed', false, Shared::$context);
            return (string) $GLOBALS['seen'];
        case '/destroyed': return (string) ($GLOBALS['destroyed'] ?? 0);
    }
    $object = null;
    if (Shared::$context) { stream_context_set_params(Shared::$context, ['notification' => fn () => null]); }
    for ($n = 0; $n < 2000; $n++) { $own[] = str_repeat('A', 24 + $n % 400); }
    return 'cleared';
};"#;

fn called() -> Server {
    one_worker(&CALLED.replace("UNTIL_GO", UNTIL_GO)).start()
}

#[test]
fn an_object_stays_while_a_method_that_the_engine_has_called_waits() {
    for (target, expected) in [("/isset", "true"), ("/empty", "false"), ("/notified", "50")] {
        let server = called();
        let mut first = server.connect();
        first.send(format!(
            "GET {target} HTTP/1.1\r\nHost: {}\r\n\r\n",
            server.address()
        ));
        until_handled(&server, 1);
        assert_eq!(ok(&server.get("/clear")), "cleared", "{target}");
        assert_eq!(ok(&server.get("/destroyed")), "0", "{target}");
        let_go(&server);
        assert_eq!(ok(&first.response()), expected, "{target}");
        assert_eq!(ok(&server.get("/destroyed")), "1", "{target}");
        drop(first);
        server.stop();
    }
}
