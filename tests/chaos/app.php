// What the generated handlers call. A request's own token may be seen by that request only: see() looks for it wherever PHP
// keeps something of a request, and says so in the log when another's is there.

final class Context
{
    public readonly string $token;
    public readonly string $id;

    public function __construct(public readonly Hearth\Request $request)
    {
        $this->token = $request->query('t', '');
        $this->id = Hearth\requestId();
    }
}

final class Own extends Exception
{
    /** Where another request's code may catch it, it names nobody. */
    public static function of(Context $c): self
    {
        return new self(home($c) ? $c->token : 'elsewhere');
    }
}

/** Whether this runs for the request it was written for: what is kept may be called by another. */
function home(Context $c): bool
{
    return Hearth\requestId() === $c->id;
}

function mixed(string $what, Context $c, mixed $seen): void
{
    error_log("CHAOS mixed up: $what of $c->token is " . substr(var_export($seen, true), 0, 300));
}

/** A text that may hold this request's token only. */
function own(Context $c, mixed $text): void
{
    preg_match_all('/T[0-9a-f]+T/', (string) $text, $found);
    foreach ($found[0] as $token) {
        if ($token !== $c->token && home($c)) {
            mixed('text', $c, $text);
        }
    }
}

function see(Context $c): void
{
    if (!home($c)) {
        return;
    }
    ($_GET['t'] ?? '') === $c->token || mixed('$_GET', $c, $_GET);
    ($_SERVER['HTTP_X_TOKEN'] ?? '') === $c->token || mixed('$_SERVER', $c, $_SERVER['HTTP_X_TOKEN'] ?? null);
    ($_COOKIE['t'] ?? '') === $c->token || mixed('$_COOKIE', $c, $_COOKIE);
    $c->request->query('t') === $c->token || mixed('request', $c, $c->request->query('t'));
}

/** Of a request's own code only: its handler of errors, which another's may be, says whose error it hears. */
function warn(Context $c, int $level): void
{
    home($c) && trigger_error($c->token, $level);
}

/** The text of an error that this request's handler of errors was given: another place's warning has no token. */
function heard(Context $c, string $text): void
{
    own($c, $text);
}

function quietly(Closure $fn): mixed
{
    try {
        return $fn();
    } catch (Own | Hearth\TimeoutError | Hearth\ChannelClosed | Hearth\Pool\BorrowTimeout $e) {
        return null;
    }
}

function nap(Context $c, int $us): void
{
    usleep($us);
    see($c);
}

/** A question to a server that answers the same text later. */
function ask(Context $c, int $us): void
{
    $socket = @stream_socket_client('tcp://' . getenv('ECHO'), $code, $text, 1);
    if (!$socket) {
        return;
    }
    stream_set_timeout($socket, 1);
    fwrite($socket, "$us $c->token\n");
    own($c, fgets($socket));
    see($c);
}

function pair(Context $c, int $us): void
{
    [$near, $far] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
    stream_set_timeout($near, 0, 200000);
    Hearth\async(function () use ($c, $far, $us) { usleep($us); fwrite($far, "$c->token\n"); });
    own($c, fgets($near));
    see($c);
}

function select(Context $c, int $us): void
{
    [$near, $far] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
    [$read, $write, $except] = [[$near], null, null];
    @stream_select($read, $write, $except, 0, $us);
    see($c);
}

function channel(int $i): Hearth\Channel
{
    static $channels = [];
    return $channels[$i] ??= new Hearth\Channel($i);
}

/** Another's task may hold it for as long as its own wait lasts: nothing here waits for ever. */
function mutex(Context $c, int $i, Closure $fn): void
{
    static $mutexes = [];
    $mutex = $mutexes[$i] ??= new Hearth\Mutex();
    try {
        $mutex->acquire(0.05);
    } catch (Hearth\TimeoutError | LogicException) {
        return;
    }
    try { $fn(); } finally { $mutex->release(); }
    see($c);
}

function semaphore(Context $c, int $i, Closure $fn): void
{
    static $semaphores = [];
    $semaphore = $semaphores[$i] ??= new Hearth\Semaphore(1 + $i);
    try {
        $semaphore->acquire(0.05);
    } catch (Hearth\TimeoutError) {
        return;
    }
    try { $fn(); } finally { $semaphore->release(); }
    see($c);
}

function locked(Context $c, int $i, Closure $fn): void
{
    $file = fopen(__DIR__ . "/lock$i", 'c');
    if (flock($file, home($c) && $i === 0 ? LOCK_EX : LOCK_EX | LOCK_NB)) {
        try { $fn(); } finally { flock($file, LOCK_UN); }
    }
    see($c);
}

function program(Context $c): void
{
    own($c, shell_exec("echo $c->token"));
    see($c);
}

function body(Context $c): void
{
    if (home($c)) {
        own($c, $c->request->body());
        own($c, $_POST['t'] ?? '');
        own($c, file_get_contents('php://input'));
    }
}

function local(Context $c, Closure $fn): void
{
    static $local = new Hearth\Local();
    if (home($c)) {
        $local->set($c->token);
        $fn();
        home($c) && own($c, $local->get());
    }
}

/** Calls `$fn` a few times, then never again. */
final class Every
{
    private static int $running = 0;

    public static function few(float $seconds, Closure $fn): void
    {
        if (self::$running > 20) {
            return;
        }
        self::$running++;
        $calls = 0;
        $timer = Hearth\every($seconds, function () use (&$timer, &$calls, $fn) {
            if (++$calls > 3) {
                self::$running--;
                $timer?->stop();
                $timer = null;
            } else {
                $fn();
            }
        });
    }
}

final class Dies
{
    public mixed $self = null;

    public function __construct(private Context $c, private Closure $fn) {}

    public function __destruct()
    {
        own($this->c, $this->c->token);
        ($this->fn)();
    }
}

/** Things that outlive the request that made them: the oldest goes when there are too many. */
final class Kept
{
    public static array $things = [];
}

function keep(mixed $thing): void
{
    Kept::$things[] = $thing;
    if (count(Kept::$things) > 8) {
        array_shift(Kept::$things);
    }
}

function kept(int $n): mixed
{
    return Kept::$things[$n % 8] ?? null;
}

function revive(mixed $thing, int $n = 0): void
{
    if ($thing instanceof Fiber && $thing->isSuspended()) {
        $n % 3 === 2 ? $thing->throw(new Own('revived')) : $thing->resume();
    } elseif ($thing instanceof Generator) {
        quietly(fn () => $thing->next());
    }
}

function say(Context $c, int $much = 0): void
{
    if (home($c)) {
        echo str_pad("$c->token\n", $much, '-');
    }
}

function headed(Context $c): void
{
    if (home($c) && !headers_sent()) {
        header("X-Said: $c->token");
        setcookie('said', $c->token);
        foreach (headers_list() as $line) {
            own($c, $line);
        }
    }
}

/** `chaos://N` is a file whose reading waits. */
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
        default => implode(',', [$speaks, $speaks]),
    };
    see($c);
}

function settings(Context $c, int $n, Closure $fn): void
{
    if (!home($c)) {
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

/** A session that nothing closes. */
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

    /** One at a time. */
    public function use(Context $c): void
    {
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

stream_wrapper_register('chaos', Wrapper::class);
spl_autoload_register(function (string $class) {
    if (str_starts_with($class, 'Missing') && ($fn = Autoload::$next)) {
        Autoload::$next = null;
        $fn();
    }
});

/** What a handler returns: sometimes of another kind. */
function answer(Context $c, int $how): mixed
{
    return match ($how) {
        0 => "$c->token\n",
        1 => ['t' => $c->token],
        2 => (function () use ($c) { for ($n = 0; $n < 3; $n++) { yield "$c->token\n"; nap($c, 300); } })(),
        3 => Hearth\Response::stream((function () use ($c) { yield "$c->token\n"; nap($c, 500); yield "end\n"; })()),
        4 => new Hearth\Response("$c->token\n", 201, ['X-Token' => $c->token]),
        default => null,
    };
}

return function (Hearth\Request $request) use (&$handlers) {
    if ($request->path === '/end') {
        return 'the end';
    }
    $c = new Context($request);
    $n = (int) substr($request->path, 3);
    see($c);
    say($c);
    $handlers[$n]($c);
    return answer($c, (int) $request->query('how', 9));
};
