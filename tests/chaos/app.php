// The functions that the generated handlers call. A request's own token may be seen by that request only: see() looks for
// it wherever PHP keeps data of a request, and logs it if another request's token is there.

final class Context
{
    public readonly string $token;
    public readonly string $id;
    /** The function whose results are the pieces of the response. */
    public ?Closure $body = null;
    /** The file that is sent in its place. */
    public ?string $file = null;

    public function __construct(public readonly Hearth\Request $request)
    {
        $this->token = $request->query('t', '');
        $this->id = Hearth\requestId();
    }
}

final class Own extends Exception
{
    /** The message names no request if the code of another request may catch it. */
    public static function of(Context $c): self
    {
        return new self(home($c) ? $c->token : 'elsewhere');
    }
}

/** Returns whether this runs in the request that it was written for: kept code may be called by another request. */
function home(Context $c): bool
{
    return Hearth\requestId() === $c->id;
}

function mixed(string $what, Context $c, mixed $seen): void
{
    error_log("CHAOS mixed up: $what of $c->token is " . substr(var_export($seen, true), 0, 300));
}

/** Checks a text that may contain only this request's token. */
function own(Context $c, mixed $text): void
{
    preg_match_all('/T[0-9a-f]{7,}T/', (string) $text, $found);
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

/** Raises an error, only in the request's own code: another request's error handler would report the token as mixed up. */
function warn(Context $c, int $level): void
{
    home($c) && trigger_error($c->token, $level);
}

/** Checks the text of an error that this request's error handler received: a warning from elsewhere has no token. */
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

/** Sends a question to a server that returns the same text later. */
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
    // Where a task cannot be suspended, the worker waits this long.
    stream_set_timeout($near, 0, 20000);
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

/** Another request's task may hold the mutex for as long as its own wait lasts, so no wait here is unlimited. */
function mutex(Context $c, int $i, Closure $fn): void
{
    static $mutexes = [];
    $mutex = $mutexes[$i] ??= new Hearth\Mutex();
    try {
        $mutex->acquire(0.05);
    } catch (Hearth\TimeoutError | LogicException) {
        return;
    }
    try { inside($c, "mutex $i", 1, true, $fn); } finally { $mutex->release(); }
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
    try { inside($c, "semaphore $i", 1 + $i, false, $fn); } finally { $semaphore->release(); }
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

function bodyStream(Context $c): void
{
    if (home($c)) {
        own($c, stream_get_contents($c->request->stream()));
    }
}

function files(Context $c): void
{
    if (home($c)) {
        $file = $_FILES['f'] ?? null;
        if (is_array($file) && is_string($file['tmp_name']) && is_file($file['tmp_name'])) {
            own($c, file_get_contents($file['tmp_name']));
            own($c, $file['name']);
        }
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

/** Objects that outlive the request that created them; the oldest is removed when there are too many. */
final class Kept
{
    public static array $things = [];
}

function keep(mixed $thing): void
{
    Kept::$things[] = $thing;
    if (count(Kept::$things) > 8) {
        elsewhere(fn () => array_shift(Kept::$things));
    }
}

function kept(int $n): mixed
{
    return Kept::$things[$n % 8] ?? null;
}

/** A Fiber that is suspended in a `finally` brings an exception along, of the request in which it was thrown. */
function elsewhere(Closure $fn): void
{
    try {
        $fn();
    } catch (Own) {
        throw new Own('elsewhere');
    }
}

function revive(mixed $thing, int $n = 0): void
{
    elsewhere(fn () => goOn($thing, $n));
}

function goOn(mixed $thing, int $n): void
{
    if ($thing instanceof Fiber && $thing->isSuspended()) {
        $n % 3 === 2 ? $thing->throw(new Own('revived')) : $thing->resume();
    } elseif ($thing instanceof Generator) {
        quietly(fn () => $thing->next());
    } elseif ($thing instanceof Hearth\Task) {
        $n % 2 ? $thing->cancel() : quietly(fn () => $thing->await(0.005));
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
