
// The cache of all workers, sessions in it, and files as responses.

/** An object that runs code of the request that stores, unserializes or compares it. */
final class Held
{
    public static int $waits = 0;
    public mixed $self = null;

    public function __construct(public string $text, private ?Closure $fn = null) {}

    public function __serialize(): array
    {
        $this->fn && ($this->fn)();
        return [$this->text];
    }

    public function __unserialize(array $data): void
    {
        [$this->text] = $data;
        self::$waits++ % 2 && usleep(300);
    }
}

function cache(int $i = 0): Hearth\Cache
{
    static $caches = [];
    return $caches[$i] ??= [new Hearth\Cache(), new Hearth\Cache('chaos'), (new Hearth\Cache('chaos'))->namespace('inner'), new Hearth\Cache()][$i % 4];
}

/** A value that all requests read alike. A request that changes a value that it has read changes a copy. */
function common(int $i): array
{
    return ['n' => $i, 'list' => range(0, 20 + $i), 'map' => ['a' => str_repeat('a', 50 + $i), 'b' => ['c' => [1.5, true, null, 'x']]], 'long' => str_repeat("$i", 300)];
}

/** Checks that a request's change of a value stays for this request, and that no other request sees it. */
function changed(Context $c, mixed $value, int $i, Closure $fn): void
{
    if (!is_array($value)) {
        return;
    }
    $value === common($i) || mixed('a value of the cache', $c, $value);
    $before = $value;
    $inner = &$value['map']['b'];
    $inner['c'][] = $c->token;
    $value['list'][0] = $c->token;
    $value['long'][0] = '!';
    foreach ($value['map'] as $key => &$part) {
        is_string($part) && $part .= $c->token;
    }
    unset($part);
    usort($value['list'], fn ($a, $b) => strcmp((string) $a, (string) $b));
    $fn();
    own($c, json_encode($value));
    ($inner['c'][4] ?? null) === $c->token || mixed('a changed value of the cache', $c, $value);
    $before === common($i) || mixed('a value of the cache after a change', $c, $before);
}

function cached(Context $c, int $n, int $i, Closure $fn): void
{
    $cache = cache($i);
    match ($n) {
        0, 1, 2 => changed($c, $cache->get("common$i") ?? $cache->set("common$i", common($i), 0.02) ?: null, $i, $fn),
        3 => cachedOwn($c, $cache, $fn),
        4 => cachedObject($c, $cache, $i, $fn),
        5 => cachedWhileItGoes($cache, $i, $fn),
        6 => $cache->getMultiple(["common$i", 'o', 'a', 'none'], $c->token),
        7 => $cache->increment("count$i") && $cache->decrement("count$i", 2, 0.1),
        8 => $cache->compareAndSwap("common$i", common($i), common($i), 0.05),
        9 => $cache->deleteTag("tag$i") || $cache->delete("common$i"),
        10 => $cache->set('long' . random_int(0, 20), str_repeat($c->token, random_int(1, 8000)), 1),
        default => random_int(0, 20) ? $cache->stats() : Excuses::during('all', fn () => $cache->clear()),
    };
    see($c);
}

/** Stores a value whose own code removes it while it is being written. */
function cachedWhileItGoes(Hearth\Cache $cache, int $i, Closure $fn): void
{
    $value = ['x' => new Held('', function () use (&$value, $fn) { $value = null; $fn(); }), 'y' => [str_repeat('y', 50)]];
    $cache->setMultiple(['a' => &$value, "common$i" => common($i), 'o' => new Held('', $fn)], 0.05);
}

/** Checks that an entry of this request's own key may be evicted, but never contains another request's data. */
function cachedOwn(Context $c, Hearth\Cache $cache, Closure $fn): void
{
    $value = ['t' => $c->token, 'in' => [$c->token, [$c->token]]];
    $reference = &$value['in'];
    $cache->set($c->token, $value, 1, ["of $c->token"]);
    $reference[] = 'more';
    $fn();
    own($c, json_encode($cache->get($c->token)));
    $cache->deleteTag("of $c->token");
    $cache->get($c->token) === null || mixed('a deleted tag', $c, $cache->get($c->token));
}

function cachedObject(Context $c, Hearth\Cache $cache, int $i, Closure $fn): void
{
    $held = new Held('common', $fn);
    $held->self = [$held];
    $cache->set("object$i", ['o' => $held, 'p' => [$held]], 0.05);
    $value = $cache->get("object$i");
    if (is_array($value)) {
        ($value['o'] ?? null) instanceof Held && $value['o'] === ($value['p'][0] ?? null) && $value['o']->text === 'common'
            || mixed('an object of the cache', $c, get_debug_type($value['o'] ?? null));
        $value['o']->text = $c->token;
        keep($value);
    }
}

function remembered(Context $c, int $n, int $i, Closure $fn): void
{
    $cache = cache($i);
    $compute = function () use ($c, $i, $fn) { $fn(); usleep(200); return common($i); };
    $value = match ($n % 6) {
        0, 1 => $cache->remember("r$i", 0.004, $compute),
        2 => $cache->remember("stale$i", 0.003, $compute, 0.02),
        3 => $cache->remember("tags$i", 0.01, $compute, null, ["tag$i", 'all']),
        4 => $cache->remember("none$i", 0, $compute),
        default => $cache->remember("held$i", 0.01, function () use ($c, $i, $fn) { $fn(); return ['o' => new Held('common'), 'v' => common($i)]; })['v'] ?? null,
    };
    changed($c, $value, $i, fn () => null);
    see($c);
}

function cacheLocked(Context $c, int $i, bool $left, Closure $fn): void
{
    $until = microtime(true) + 0.05 + $i / 10;
    $lock = cache($i)->lock("l$i", 0.05 + $i / 10, $i % 2 ? 0.02 : 0, $i === 3 ? "owner$i" : null);
    if ($lock) {
        cacheAlone($c, $left || $i === 3 ? null : "lock$i", $until, $fn);
        $left ? keep($lock) : ($lock->isHeld() && $lock->extend(0.05) && $lock->release());
    }
    see($c);
}

/** A lock that is kept is let go with its object, at any time. */
function cacheAlone(Context $c, ?string $name, float $until, Closure $fn): void
{
    $alone = $name === null || Fiber::getCurrent() ? null : new Alone($c, $name, $until);
    $fn();
}

function apcu(Context $c, int $n, int $i, Closure $fn): void
{
    if (!function_exists('apcu_store')) {
        return;
    }
    match ($n % 6) {
        0 => apcu_store("common$i", common($i), 1),
        1 => apcu_store("object$i", new Held('common', $fn), 1),
        2 => apcu_fetch(["object$i", "common$i"]),
        // PHP code in apcu_entry() runs under a lock of all processes, so it must end soon.
        3 => apcu_entry("entry$i", fn () => common($i), 1),
        4 => apcu_inc("count$i") && apcu_dec("count$i"),
        default => apcu_delete("common$i"),
    };
    $value = apcu_fetch("common$i");
    changed($c, $value, $i, $fn);
    see($c);
}

function igbinary(Context $c, Closure $fn): void
{
    if (!function_exists('igbinary_serialize')) {
        return;
    }
    $held = new Held($c->token, $fn);
    $value = igbinary_unserialize(igbinary_serialize(['a' => $held, 'b' => $held, 's' => $c->token]));
    own($c, is_array($value) ? $value['a']->text . $value['s'] : '');
    see($c);
}

function sessionInCache(Context $c, bool $shared, bool $left, Closure $fn): void
{
    if (!home($c) || session_status() !== PHP_SESSION_NONE || headers_sent()) {
        return;
    }
    @session_module_name('hearth');
    session_save_path('chaos');
    session_id($shared ? 'shared' : $c->token);
    if (!@session_start()) {
        return;
    }
    if (!$shared) {
        own($c, $_SESSION['t'] ?? '');
        $_SESSION['t'] = $c->token;
        $_SESSION['o'] = new Held($c->token);
    }
    $fn();
    if (!$shared && home($c)) {
        own($c, $_SESSION['t'] ?? '');
    }
    $left || @session_write_close();
}

/** Uses the session object as a framework does. */
function sessionObject(Context $c, Closure $fn): void
{
    static $session = new Hearth\Session('chaos-object');
    if (!home($c)) {
        return;
    }
    own($c, @$session->read($c->token));
    $fn();
    own($c, @$session->read($c->token));
    random_int(0, 4) ? @$session->write($c->token, $c->token) : @$session->destroy($c->token);
    random_int(0, 2) || $session->close();
}

/** Returns a file with this request's token, which is not in its name, because warnings contain that; deletes the oldest. */
function file_of(Context $c): string
{
    static $files = [];
    $file = __DIR__ . '/file-' . crc32($c->token);
    if (!isset($files[$file])) {
        file_put_contents($file, "$c->token\n");
        $files[$file] = true;
        if (count($files) > 100) {
            @unlink(array_key_first($files));
            unset($files[array_key_first($files)]);
        }
    }
    return $file;
}
