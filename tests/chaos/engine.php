
// What PHP calls in the middle of an opcode or of a function of its own: each function here has a dozen of such places.

/** Opcodes that call methods, in expressions that have begun. */
function operators(Context $c, int $n, Closure $fn): void
{
    $speaks = new Speaks($fn);
    $list = ['a' => $c->token, 'b' => [$c->token, [$c->token]]];
    match ($n) {
        0 => own($c, "$c->token $speaks {$speaks->missing} $c->token"),
        1 => own($c, $c->token . $speaks . nothing2($list, $speaks->missing) . $c->token),
        2 => [[$a, $b], $list['b'][1]] = [$speaks, $speaks['x']],
        3 => ['k' => $list['a'], 'l' => [$b]] = ['k' => $speaks->missing, 'l' => [$speaks['b']]],
        4 => $speaks->missing .= $c->token . $speaks,
        5 => $speaks['x'] ??= [$c->token, $speaks['y']],
        6 => $list[(string) $speaks][] = $speaks->missing ?? $c->token,
        7 => isset($speaks->a->b, $speaks['x']['y']) || empty($speaks->missing),
        8 => $list = [...$list, ...$speaks, 'c' => (string) $speaks],
        9 => match (true) { $speaks == $c->token => 1, $speaks == 'b' => 2, default => $speaks->call($speaks->missing, ...[$speaks['a']]) },
        10 => $speaks->missing = $speaks['x'] = [$c->token, $speaks->missing],
        default => $list['b'][1][0] = $speaks instanceof Countable ? count($speaks) . $speaks : null,
    };
    own($c, json_encode($list));
}

/** Values whose end runs code, where PHP puts another in their place. */
function replaced(Context $c, int $n, Closure $fn): void
{
    static $kept = null;
    $dies = fn () => new Dies($c, $fn);
    $list = ['a' => $dies(), 'b' => $c->token, 'c' => [$dies(), $c->token]];
    $object = new ArrayObject($list);
    match ($n) {
        0 => $list['a'] = [$c->token],
        1 => array_splice($list, 0, 2, [$dies(), $c->token]),
        2 => preg_match('/T/', $c->token, $list['a']),
        3 => $kept = $dies(),
        4 => $object->exchangeArray([$dies(), $c->token]),
        5 => extract(['list' => [$c->token], 'object' => $dies()]),
        6 => $c->body = (function () use ($dies, $c) { $x = $dies(); yield "$c->token\n"; })(...),
        7 => [$list['a'], $list['c'][0]] = [$list['c'][0], $dies()],
        8 => parse_str("list[a]=$c->token", $list),
        9 => settype($list['a'], 'null'),
        10 => array_walk($list, function (&$x) use ($c) { $x = $c->token; }),
        default => array_pop($list) && array_shift($list),
    };
    own($c, is_string($list['b'] ?? null) ? $list['b'] : '');
}

/** Arrays and objects that are gone through while they change. */
function walked(Context $c, int $n, Closure $fn): void
{
    $list = ['a' => new Dies($c, $fn), 'b' => $c->token, 'c' => [$c->token], 'd' => new Dies($c, fn () => nap($c, 100))];
    $change = function () use (&$list, $fn, $c) { unset($list['a'], $list['d']); $list['n' . count($list)] = $c->token; $fn(); };
    $object = (object) $list;
    Hearth\async(function () use (&$list, $c) { usleep(200); unset($list['b']); $list['e'] = $c->token; });
    match ($n) {
        0 => (function () use (&$list, $change) { foreach ($list as $k => &$x) { $k === 'b' && $change(); } })(),
        1 => (function () use (&$list, $change) { foreach ($list as $k => $x) { $k === 'a' && $change(); } })(),
        2 => (function () use ($object, $fn) { foreach ($object as $k => &$x) { unset($object->a, $object->$k); $fn(); } })(),
        3 => array_walk($list, function (&$x, $k) use ($fn) { $x = null; $fn(); }),
        4 => array_walk_recursive($list, function (&$x) use ($fn) { $fn(); }),
        5 => array_map(function ($x) use ($change) { $change(); return $x; }, $list),
        6 => (function () use ($list, $fn) { $all = new ArrayObject($list); foreach ($all as $k => $x) { unset($all['a']); $fn(); } })(),
        7 => (function () use ($list, $fn) { $all = new ArrayIterator($list); $all->uasort(function ($a, $b) use ($fn) { $fn(); return 1; }); })(),
        8 => usort($list, function ($a, $b) use ($change) { $change(); return 0; }),
        9 => (function () use (&$list, $change) { while (($x = current($list)) !== false && next($list) !== false) { $change(); break; } })(),
        10 => array_reduce($list, function ($a, $x) use ($change) { $change(); return [$a, $x]; }),
        default => iterator_apply(new ArrayIterator($list), function () use ($change) { $change(); return false; }),
    };
    see($c);
}

/** An iterator of iterators. */
final class Tree extends RecursiveArrayIterator
{
    public ?Closure $fn = null;
    public function hasChildren(): bool { $this->fn && ($this->fn)(); return parent::hasChildren(); }
    public function getChildren(): ?Tree { $this->fn && ($this->fn)(); $tree = new Tree(parent::current()); $tree->fn = $this->fn; return $tree; }
    public function current(): mixed { $this->fn && ($this->fn)(); return parent::current(); }
}

final class Hashes extends SplObjectStorage
{
    public ?Closure $fn = null;
    public function getHash(object $object): string { $this->fn && ($this->fn)(); return spl_object_hash($object); }
}

final class Queue extends SplPriorityQueue
{
    public ?Closure $fn = null;
    public function compare(mixed $a, mixed $b): int { $this->fn && ($this->fn)(); return $a <=> $b; }
}

function collected(Context $c, int $n, Closure $fn): void
{
    $tree = new Tree([$c->token, [$c->token, [$c->token]], 'b']);
    $hashes = new Hashes();
    $queue = new Queue();
    $tree->fn = $hashes->fn = $queue->fn = $fn;
    $speaks = new Speaks($fn);
    $list = new SplDoublyLinkedList();
    $fixed = new SplFixedArray(2);
    $list[] = $fixed[0] = new Dies($c, $fn);
    $generator = function () use ($c, $fn) { try { yield $c->token; $fn(); yield 'b'; } finally { nap($c, 100); } };
    match ($n) {
        0 => iterator_to_array(new RecursiveIteratorIterator($tree), false),
        1 => iterator_count(new RecursiveTreeIterator(new Tree([[$c->token]]))) && iterator_to_array(new ParentIterator($tree)),
        2 => $hashes->attach($speaks, $c->token) || $hashes->contains($speaks) && $hashes->detach($speaks),
        3 => array_map(fn ($x) => $queue->insert($c->token, $x), [2, 1, 3]) && $queue->isCorrupted() || $queue->extract(),
        4 => (string) new CachingIterator(new ArrayIterator([$speaks]), CachingIterator::CALL_TOSTRING) && iterator_to_array(new CachingIterator(new ArrayIterator([$speaks]))),
        5 => iterator_to_array(new LimitIterator(new IteratorIterator($generator()), 0, 1)),
        6 => (function () use ($generator) { $all = new AppendIterator(); $all->append(new NoRewindIterator($generator())); $all->append(new ArrayIterator([1])); foreach ($all as $x) {} })(),
        7 => iterator_to_array((function () use ($speaks, $tree) { yield from $speaks; yield from $tree; })(), false),
        8 => iterator_to_array(new RegexIterator(new ArrayIterator([$speaks, $c->token]), '/T/')),
        9 => (function () use ($list, $c) { foreach ($list as $x) { $list->offsetUnset(0); nap($c, 50); } })(),
        10 => $fixed[0] = $fixed[1] = $c->token,
        default => (function () use ($generator, $tree) { $all = new MultipleIterator(); $all->attachIterator($generator()); $all->attachIterator($tree); foreach ($all as $x) {} })(),
    };
    see($c);
}

/** Functions that turn values into others. */
function converted(Context $c, int $n, Closure $fn): void
{
    $speaks = new Speaks($fn);
    $other = new Speaks($fn);
    $held = new Held($c->token, $fn);
    match ($n) {
        0 => sprintf('%s %s %s', $c->token, $speaks, $other),
        1 => str_replace([$c->token, 'b'], [(string) $speaks, 'c'], [$speaks, $c->token]),
        2 => array_unique([$speaks, $other, $c->token]),
        3 => (function () use ($speaks, $other, $c) { $all = [$speaks, $c->token, $other]; sort($all, SORT_STRING); array_multisort($all); })(),
        4 => max($c->token, $speaks) && min($speaks, $other) && in_array($c->token, [$speaks, $other]),
        5 => own($c, serialize([$held, $held, $c->token, $speaks])),
        6 => json_encode(['t' => $c->token, 's' => [$speaks, [$other]]], JSON_PARTIAL_OUTPUT_ON_ERROR, 3),
        7 => own($c, var_export([$c->token, $held], true)) || own($c, print_r([$speaks, $c->token], true)),
        8 => (function () use ($speaks, $c) { ob_start(); try { var_dump([$speaks, $c->token]); } finally { own($c, (string) ob_get_clean()); } })(),
        9 => http_build_query(['t' => $c->token, 's' => [$c->token]]) . strtr($c->token, ['T' => (string) $speaks]),
        10 => array_search($c->token, [$speaks, $other, $c->token]) && array_diff([$speaks], [$other]) && array_fill_keys([$speaks], 1),
        default => array_map(null, iterator_to_array($speaks), [$speaks]) && array_combine([$c->token], [(string) $other]) && str_contains($c->token, $speaks),
    };
    see($c);
}

/** An autoloader is called from many places. */
function loaded(Context $c, int $n, Closure $fn): void
{
    Autoload::$next = $fn;
    $name = 'Missing' . ++Autoload::$names;
    match ($n) {
        0 => @unserialize('O:' . strlen($name) . ":\"$name\":1:{s:1:\"a\";s:1:\"b\";}"),
        1 => is_callable([$name, 'call']) || is_a($name, 'Countable', true),
        2 => loading(fn () => new $name($c->token, nothing2([$c->token]))),
        3 => loading(fn () => $name::missing($c->token)),
        4 => loading(fn () => constant("$name::X")),
        5 => loading(fn () => new ReflectionClass($name)),
        6 => loading(fn () => eval("class Child$name extends $name {}")),
        7 => loading(fn () => eval("(function ($name \$x) {})(1);")),
        8 => array_map([new Speaks(fn () => null), 'call'], [class_exists($name)]),
        9 => loading(fn () => iterator_to_array((function () use ($name) { yield new $name(); })())),
        10 => loading(fn () => array_map("$name::call", [1])),
        default => loading(fn () => eval("return new class { public function __construct() { $name::\$x = 1; } };")),
    };
    see($c);
}

/** There is no such class. */
function loading(Closure $fn): void
{
    try {
        $fn();
    } catch (Error | ReflectionException $e) {
        if ($e instanceof Hearth\CancelledError || $e instanceof Hearth\TimeoutError) {
            throw $e;
        }
    }
}

/** Errors of opcodes, with a handler that waits or throws. */
function complained(Context $c, int $n, Closure $fn): void
{
    set_error_handler(function ($level, $text) use ($c, $fn) { heard($c, $text); $fn(); return true; });
    $list = [$c->token, [$c->token]];
    try {
        match ($n) {
            0 => own($c, "$c->token $list[1] $list[0]"),
            1 => $list['none'] . $c->token . $undefined,
            2 => implode($c->token, [[1], $list[1], 'b']),
            3 => $list['none']['x'] ?? $list[$undefined],
            4 => (object) ['a' => $list->missing, 'b' => $c->token],
            5 => nothing2($list, $c->missing, ...[$undefined, $c->token]),
            6 => intdiv((int) "12 $c->token", 1) + hexdec('xyz'),
            7 => array_map(fn ($x) => $x . $list[7], [$c->token, $c->token]),
            8 => (function () use ($c) { foreach ($c->token as $x) {} foreach ($undefined as $x) {} })(),
            9 => unserialize('x') || json_encode(NAN, JSON_PARTIAL_OUTPUT_ON_ERROR) || file_get_contents('/not/there'),
            10 => $c->token[100] . $c->token['1'] . $list[1.5],
            default => array_sum([$c->token, [1]]) + round((float) $undefined) . constant('E_STRICT'),
        };
    } catch (TypeError | ValueError) {
    } finally {
        restore_error_handler();
    }
    see($c);
}
