
// Code that PHP calls: wrappers, magic methods, sessions, connections.

/** A stream wrapper: reading the file `chaos://N` waits. */
final class Wrapper
{
    public $context;
    private static array $functions = [];
    private static int $last = 0;
    private ?Closure $fn;
    private bool $read = false;

    public static function at(Closure $fn): string
    {
        self::$functions[++self::$last] = $fn;
        return 'chaos://' . self::$last;
    }

    public function stream_open(string $path): bool
    {
        $n = (int) substr($path, 8);
        $this->fn = self::$functions[$n] ?? null;
        unset(self::$functions[$n]);
        return $this->fn !== null;
    }

    public function stream_read(int $count): string
    {
        if ($this->read) {
            return '';
        }
        $this->read = true;
        ($this->fn)();
        return '<?php return 1;';
    }

    public function stream_eof(): bool { return $this->read; }
    public function stream_stat(): array { return []; }
    public function stream_set_option(int $option, int $a, int $b): bool { return false; }
    public function stream_write(string $text): int { ($this->fn)(); return strlen($text); }
    public function stream_close(): void { $this->read || ($this->fn)(); }
}

function wrapped(Context $c, Closure $fn): void
{
    @file_get_contents(Wrapper::at($fn));
    see($c);
}

function autoloaded(Context $c, Closure $fn): void
{
    Autoload::$next = $fn;
    class_exists('Missing' . ++Autoload::$names);
    see($c);
}

final class Autoload
{
    public static ?Closure $next = null;
    public static int $names = 0;
}

final class Speaks implements IteratorAggregate, ArrayAccess, Countable, JsonSerializable
{
    public function __construct(public ?Closure $fn) {}
    public function __toString(): string { ($this->fn)(); return ''; }
    public function __get(string $name): mixed { return ($this->fn)(); }
    public function __set(string $name, mixed $value): void { ($this->fn)(); }
    public function __isset(string $name): bool { ($this->fn)(); return true; }
    public function __call(string $name, array $args): mixed { return ($this->fn)(); }
    public function __unset(string $name): void { ($this->fn)(); }
    public function __invoke(): mixed { return ($this->fn)(); }
    public static ?Closure $next = null;
    public static function __callStatic(string $name, array $args): mixed { [$fn, self::$next] = [self::$next, null]; return $fn ? $fn() : null; }
    public function __debugInfo(): array { Excuses::unlessItThrows($this->fn); return []; }
    public function __clone() { ($this->fn)(); }
    public function __serialize(): array { ($this->fn)(); return []; }
    public function __unserialize(array $data): void { nothing(); }
    public function getIterator(): Iterator { ($this->fn)(); return new ArrayIterator([1]); }
    public function offsetExists(mixed $o): bool { ($this->fn)(); return true; }
    public function offsetGet(mixed $o): mixed { return ($this->fn)(); }
    public function offsetSet(mixed $o, mixed $v): void { ($this->fn)(); }
    public function offsetUnset(mixed $o): void { ($this->fn)(); }
    public function count(): int { ($this->fn)(); return 1; }
    public function jsonSerialize(): mixed { return ($this->fn)(); }
}

function nothing(): void
{
    usleep(200);
}

function more(int $n, Speaks $speaks): void
{
    unset($speaks->missing);
    $speaks();
    Speaks::$next = $speaks->fn;
    Speaks::missing();
    print_r($speaks, true);
    in_array('a', [$speaks], false);
    implode(',', [$speaks, $speaks]);
}

function magic(Context $c, int $n, Closure $fn): void
{
    $speaks = new Speaks($fn);
    match ($n) {
        0 => (string) $speaks,
        1 => $speaks->missing,
        2 => $speaks->missing = 1,
        3 => isset($speaks->missing),
        4 => $speaks->call(),
        5 => clone $speaks,
        6 => unserialize(serialize($speaks)),
        7 => iterator_to_array($speaks),
        8 => $speaks['a'],
        9 => count($speaks),
        10 => json_encode([$speaks]),
        11 => more($n, $speaks),
        default => implode(',', [$speaks, $speaks]),
    };
    see($c);
}

/** A lazy object (PHP 8.4) that all requests share. */
final class Lazy
{
    public string $first = '';
    public string $second = '';
    /** @var array<int, self> */
    public static array $shared = [];
    /** The requests that initialize objects; true for any: a Fiber that is suspended leaves its object as it is. @var array<int, string|true> */
    public static array $initialize = [];

    public static function at(int $i, Closure $fn): self
    {
        $class = new ReflectionClass(self::class);
        $fill = function (self $lazy, self $real) use ($fn) {
            self::$initialize[spl_object_id($lazy)] = Fiber::getCurrent() ? true : Hearth\requestId();
            try { $real->first = 'whole'; $fn(); $real->second = 'whole'; } finally { unset(self::$initialize[spl_object_id($lazy)]); }
        };
        return self::$shared[$i] ??= $i % 2
            ? $class->newLazyGhost(function ($lazy) use ($fill) { $fill($lazy, $lazy); })
            : $class->newLazyProxy(function ($lazy) use ($fill) { $fill($lazy, $real = new self()); return $real; });
    }
}

/** While a request initializes the object, others find it whole, or get an error where they cannot wait for it. */
function lazy(Context $c, int $n, int $i, Closure $fn): void
{
    if (!method_exists(ReflectionClass::class, 'newLazyGhost')) {
        $fn();
        return;
    }
    $lazy = Lazy::at($i, $fn);
    try {
        $text = quietly(fn () => $lazy->first . $lazy->second);
        $own = in_array(Lazy::$initialize[spl_object_id($lazy)] ?? '', [true, Hearth\requestId()], true);
        $own || in_array($text, [null, 'wholewhole'], true) || mixed('lazy object', $c, $text);
    } catch (Error $e) {
        preg_match('/cannot (be used|wait) here/', $e->getMessage()) || throw $e;
    }
    if ($n === 0) {
        unset(Lazy::$shared[$i]);
    }
    see($c);
}

function settings(Context $c, int $n, Closure $fn): void
{
    if (!home($c) || isset(Settings::$watched[$c->token])) {
        return;
    }
    ini_set('precision', (string) (5 + $n));
    date_default_timezone_set($n % 2 ? 'Europe/Berlin' : 'Asia/Tokyo');
    $fn();
    if (home($c)) {
        in_array((int) ini_get('precision'), range(5, 17), true) || mixed('precision', $c, ini_get('precision'));
    }
}

function session(Context $c, bool $shared, Closure $fn): void
{
    if (!home($c) || session_status() !== PHP_SESSION_NONE || headers_sent()) {
        return;
    }
    session_save_path(__DIR__);
    session_id($shared ? 'shared' : $c->token);
    if (!@session_start()) {
        return;
    }
    if (!$shared) {
        own($c, $_SESSION['t'] ?? '');
        $_SESSION['t'] = $c->token;
    }
    $fn();
    if (!$shared && home($c)) {
        own($c, $_SESSION['t'] ?? '');
    }
    session_write_close();
}

final class Handler implements SessionHandlerInterface
{
    public static array $data = [];
    public function __construct(private Context $c, private ?Closure $fn) {}
    public function open(string $path, string $name): bool { $this->call(); return true; }
    public function close(): bool { $this->call(); return true; }
    public function read(string $id): string { $this->call(); return self::$data[$id] ?? ''; }
    public function write(string $id, string $data): bool
    {
        $this->call();
        own($this->c, $data);
        count(self::$data) < 1000 || self::$data = [];
        self::$data[$id] = $data;
        return true;
    }
    public function destroy(string $id): bool { unset(self::$data[$id]); return true; }
    public function gc(int $seconds): int { return 0; }

    private function call(): void
    {
        $this->fn && ($this->fn)();
    }
}

function sessionOfUser(Context $c, Closure $fn): void
{
    if (!home($c) || session_status() !== PHP_SESSION_NONE || headers_sent()) {
        return;
    }
    session_set_save_handler(new Handler($c, $fn), true);
    session_id($c->token);
    if (@session_start()) {
        own($c, $_SESSION['t'] ?? '');
        $_SESSION['t'] = $c->token;
    }
}

/** Begins a session that no code closes. */
function begun(Context $c): void
{
    if (home($c) && session_status() === PHP_SESSION_NONE && !headers_sent()) {
        session_save_path(__DIR__);
        session_id($c->token);
        @session_start();
        $_SESSION['t'] = $c->token;
    }
}

final class Resource
{
    private ?Context $by = null;

    public function __construct(private bool $dies = false) { usleep(500); }

    /** Checks that one request at a time uses the connection. A piece may get the connection of the request that runs it. */
    public function use(Context $c): void
    {
        if (!home($c)) {
            return;
        }
        if ($this->by !== null && $this->by !== $c) {
            error_log("CHAOS a connection of {$this->by->token} was lent to $c->token");
        }
        $this->by = $c;
    }

    public function leave(Context $c): void { $this->by = null; }

    public function reset(): bool
    {
        usleep(300);
        $this->by = null;
        return true;
    }

    public function __destruct()
    {
        if ($this->dies) {
            usleep(300);
        }
    }
}

function pool(int $i): Hearth\Pool\Pool
{
    return $GLOBALS['pools'][$i];
}

$pools = [
    new Hearth\Pool\Pool(fn () => new Resource(), size: 2, minimumIdle: 0, reset: fn (Resource $r) => $r->reset()),
    new Hearth\Pool\Pool(fn () => new Resource(true), size: 3, minimumIdle: 1, bindToTask: false, reset: fn (Resource $r) => $r->reset(), maxLifetime: 0.3),
    new Hearth\Pool\Pool(fn () => new Resource(), size: 1, minimumIdle: 0, borrowTimeout: 0.2, reset: fn (Resource $r) => $r->reset(),
        check: function () { usleep(300); return random_int(0, 9) > 0; }, checkAfter: 0.0),
    new Hearth\Pool\Pool(fn () => random_int(0, 3) ? new Resource(true) : throw new RuntimeException('no connection'), size: 2, minimumIdle: 0,
        reset: function (Resource $r) { $r->reset(); return random_int(0, 9) > 0; }),
];

$pdo = new Hearth\Pool\Pdo('sqlite::memory:', size: 2, minimumIdle: 0, borrowTimeout: 0.3);

function database(Context $c, Closure $fn): void
{
    quietly(function () use ($c, $fn) {
        $statement = $GLOBALS['pdo']->query("SELECT '$c->token'");
        $fn();
        own($c, $statement->fetchColumn());
    });
}

function transaction(Context $c, Closure $fn): void
{
    quietly(function () use ($c, $fn) {
        $pdo = $GLOBALS['pdo'];
        if (!$pdo->inTransaction()) {
            $pdo->beginTransaction();
            $pdo->exec('CREATE TEMPORARY TABLE IF NOT EXISTS t (x)');
            $pdo->exec("INSERT INTO t VALUES ('$c->token')");
            $fn();
            foreach ($pdo->query('SELECT x FROM t')->fetchAll(PDO::FETCH_COLUMN) as $x) {
                own($c, $x);
            }
            $pdo->rollBack();
        }
    });
}
