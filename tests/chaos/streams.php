
// Streams and connections whose code is the app's.

/** `source://N` has a text; each call on it waits. */
final class Source
{
    public $context;
    private static array $functions = [];
    private static int $last = 0;
    private ?Closure $fn = null;
    private string $text = "<a><b>text</b></a>\nx,y\n";
    private int $at = 0;

    public static function at(Closure $fn): string
    {
        count(self::$functions) < 100 || self::$functions = [];
        self::$functions[++self::$last] = $fn;
        return 'source://' . self::$last;
    }

    private function call(): void { $this->fn && ($this->fn)(); }
    public function stream_open(string $path): bool { $this->fn = self::$functions[(int) substr($path, 9)] ?? null; $this->call(); return true; }
    public function stream_read(int $count): string { $this->call(); $part = substr($this->text, $this->at, min($count, 9)); $this->at += strlen($part); return $part; }
    public function stream_write(string $text): int { $this->call(); return strlen($text); }
    public function stream_eof(): bool { return $this->at >= strlen($this->text); }
    public function stream_tell(): int { return $this->at; }
    public function stream_seek(int $offset, int $whence): bool { $this->call(); $this->at = $whence === SEEK_SET ? $offset : $this->at; return $whence === SEEK_SET; }
    public function stream_flush(): bool { $this->call(); return true; }
    public function stream_lock(int $operation): bool { $this->call(); return true; }
    public function stream_truncate(int $size): bool { $this->call(); return true; }
    public function stream_stat(): array { $this->call(); return ['size' => strlen($this->text), 'mode' => 0100644]; }
    public function url_stat(string $path, int $flags): array { return ['size' => strlen($this->text), 'mode' => 0100644]; }
    public function stream_set_option(int $option, int $a, ?int $b): bool { return false; }
    public function stream_cast(int $as) { $this->call(); return false; }
    public function stream_close(): void { $this->call(); }
}
stream_wrapper_register('source', Source::class);

/** Functions that read it, or write to it. */
function sourced(Context $c, int $n, Closure $fn): void
{
    $path = Source::at($fn);
    match ($n) {
        0 => @copy($path, Source::at($fn)),
        1 => (function () use ($path) { foreach (new SplFileObject($path) as $line) {} })(),
        2 => (function () use ($path) { $file = @fopen($path, 'r+'); fgetcsv($file); flock($file, LOCK_SH); ftruncate($file, 2); fseek($file, 1); fstat($file); })(),
        3 => (function () use ($path, $c) { ob_start(); try { readfile($path); } finally { own($c, (string) ob_get_clean()); } })(),
        4 => @(new DOMDocument())->load($path),
        5 => @simplexml_load_file($path),
        6 => (function () use ($path) { $reader = new XMLReader(); @$reader->open($path); while (@$reader->read()) {} })(),
        7 => md5_file($path) . hash_file('sha256', $path),
        8 => @file("php://filter/read=string.toupper|convert.base64-encode/resource=$path"),
        9 => (function () use ($path) { $read = [@fopen($path, 'r')]; $write = $except = null; @stream_select($read, $write, $except, 0, 100); })(),
        10 => (function () use ($path, $c) { $file = @fopen($path, 'w'); fwrite($file, $c->token); fflush($file); keep($file); })(),
        default => (function () use ($path) { $to = fopen('php://temp', 'w+'); $from = @fopen($path, 'r'); stream_copy_to_stream($from, $to); fpassthru($from); })(),
    };
    see($c);
}

final class RowOfWait
{
    public function __construct(public ?Closure $fn = null) {}
    public function __set(string $name, mixed $value): void { $this->fn && ($this->fn)(); }
}

final class Statement extends PDOStatement
{
    protected function __construct(?Closure $fn = null) { $fn && $fn(); }
}

/** What a database calls. */
function queried(Context $c, int $n, Closure $fn): void
{
    $pdo = new PDO('sqlite::memory:');
    $pdo->exec("CREATE TABLE t (x); INSERT INTO t VALUES ('$c->token'), ('b'), ('a')");
    match ($n % 8) {
        0 => $pdo->sqliteCreateAggregate('agg', function ($all, $row, $x) use ($fn) { $fn(); return $x; }, fn ($x) => $x, 1) && $pdo->query('SELECT agg(x) FROM t')->fetchAll(),
        1 => $pdo->sqliteCreateCollation('coll', function ($a, $b) use ($fn) { $fn(); return $a <=> $b; }) && $pdo->query('SELECT x FROM t ORDER BY x COLLATE coll')->fetchAll(),
        2 => (function () use ($pdo, $fn) { $row = new RowOfWait($fn); $all = $pdo->query('SELECT x AS y FROM t'); $all->setFetchMode(PDO::FETCH_INTO, $row); foreach ($all as $x) {} })(),
        3 => $pdo->setAttribute(PDO::ATTR_STATEMENT_CLASS, [Statement::class, [$fn]]) && $pdo->query('SELECT x FROM t')->fetchAll(),
        4 => (function () use ($pdo, $fn) { foreach ($pdo->query('SELECT x FROM t', PDO::FETCH_LAZY) as $row) { $row->x; $fn(); } })(),
        5 => $pdo->prepare('SELECT ?')->execute([new Speaks($fn)]),
        6 => (function () use ($pdo, $fn) { $all = $pdo->query('SELECT x FROM t'); foreach ($all as $row) { $pdo = $all = null; $fn(); break; } })(),
        default => $pdo->query('SELECT x FROM t')->fetchAll(PDO::FETCH_CLASS | PDO::FETCH_PROPS_LATE, RowOfWait::class, [$fn]),
    };
    see($c);
}

/** A session whose values wait when they are written. */
function sessionOfObjects(Context $c, Closure $fn): void
{
    if (!home($c) || session_status() !== PHP_SESSION_NONE || headers_sent()) {
        return;
    }
    session_save_path(__DIR__);
    session_id($c->token);
    if (@session_start()) {
        own($c, $_SESSION['t'] ?? '');
        $_SESSION['o'] = [new Held($c->token, $fn), 'h' => new Held($c->token)];
        $_SESSION['t'] = $c->token;
        own($c, session_encode());
        random_int(0, 1) ? session_write_close() : null;
    }
}

/** All that a handler can have called. */
final class FullHandler implements SessionHandlerInterface, SessionIdInterface, SessionUpdateTimestampHandlerInterface
{
    public function __construct(private Context $c, private Closure $fn) {}
    private function call(): bool { ($this->fn)(); return true; }
    public function open(string $path, string $name): bool { return true; }
    public function close(): bool { return $this->call(); }
    public function read(string $id): string { $this->call(); return ''; }
    public function write(string $id, string $data): bool { own($this->c, $data); return $this->call(); }
    public function destroy(string $id): bool { return $this->call(); }
    public function gc(int $seconds): int { return (int) $this->call(); }
    public function create_sid(): string { $this->call(); return $this->c->token; }
    public function validateId(string $id): bool { return $this->call(); }
    public function updateTimestamp(string $id, string $data): bool { return $this->call(); }
}

function sessionHandled(Context $c, int $n, Closure $fn): void
{
    if (!home($c) || session_status() !== PHP_SESSION_NONE || headers_sent()) {
        return;
    }
    session_set_save_handler(new FullHandler($c, $fn), $n % 2 === 0);
    if (@session_start(['use_strict_mode' => 1, 'lazy_write' => $n % 3, 'gc_probability' => 1, 'gc_divisor' => 2])) {
        $_SESSION['t'] = $c->token;
        match ($n % 5) {
            0 => @session_regenerate_id(true),
            1 => @session_destroy(),
            2 => @session_gc(),
            3 => @session_abort() && @session_reset(),
            default => @session_decode('t|s:1:"x";'),
        };
    }
}
