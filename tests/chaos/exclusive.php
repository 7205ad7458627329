
// What one task at a time may do, over all workers: computations of the cache, and what a lock guards.

/** Endings that excuse a second one: deletions of a key, and fatal errors, after which nothing of a worker counts. */
final class Excuses
{
    public static bool $fatal = false;

    public static function count(string $when, string $name): int
    {
        clearstatcache();
        $files = array_filter([__DIR__ . "/$when-$name", __DIR__ . "/$when-all"], is_file(...));
        return array_sum(array_map(filesize(...), $files));
    }

    /** Deletes something; what is computed meanwhile, others may compute, too. */
    public static function during(string $name, Closure $delete): mixed
    {
        file_put_contents(__DIR__ . "/begun-$name", '.', FILE_APPEND);
        try {
            return $delete();
        } finally {
            file_put_contents(__DIR__ . "/ended-$name", '.', FILE_APPEND);
        }
    }

    /** Calls the code of a `__debugInfo()`: an exception there is a fatal error. */
    public static function unlessItThrows(Closure $fn): void
    {
        try {
            self::during('all', $fn);
        } catch (Throwable $e) {
            self::$fatal = true;
            throw $e;
        }
    }

    public static function fatal(): void
    {
        self::$fatal = true;
        self::during('all', fn () => null);
    }
}

/** Holds a lock on a file of a name as long as it exists: the kernel lends it to one owner in all workers. */
final class Alone
{
    private mixed $file;

    /**
     * @param float $until when it need no longer be alone: a time, in seconds
     * @param ?int $ended the deletions that had ended before it asked to be alone: one that ends later may give it company
     */
    public function __construct(Context $c, string $name, float $until = 1e12, ?int $ended = null)
    {
        $this->file = fopen(__DIR__ . "/alone-$name", 'c+');
        if (flock($this->file, LOCK_EX | LOCK_NB)) {
            ftruncate($this->file, 0);
            // Independent of the ini settings of the request: precision, a locale.
            fwrite($this->file, sprintf("%d %s %.6F %d", $ended ?? Excuses::count('ended', $name), $c->token, $until, getmypid()));
            return;
        }
        [$ended, $token, $limit, $pid] = explode(' ', (string) stream_get_contents($this->file)) + [1e12, '', 0, 0];
        // A program that a worker has started may outlive it, and has its files.
        $lives = posix_kill((int) $pid, 0);
        if ($lives && Excuses::count('begun', $name) <= (float) $ended && microtime(true) < (float) $limit && maySuspend()) {
            mixed("$name at the same time as $token", $c, [$ended, $limit, "held by pid=$pid"]);
        }
    }

    /** A program that is being started has the file for a moment, so it is not enough to close it. */
    public function __destruct()
    {
        flock($this->file, LOCK_UN);
    }
}

/** Whether the running code may wait for others; where it may not, it computes for itself. */
function maySuspend(): bool
{
    try {
        Hearth\Internal\park(0.0);
        return true;
    } catch (Hearth\CancelledError | Hearth\TimeoutError) {
        return true;
    } catch (Error) {
        return false;
    }
}

/** A value that can be told from that of another key. */
function valueOf(string $key): array
{
    return [$key, str_repeat($key, 40), ['in' => [$key, strlen($key)]]];
}

/** Computes values that need values of later keys only, so no computation waits for itself. `$fn` only waits. */
function computed(Context $c, int $level, int $n, Closure $fn): void
{
    if ($level > 5) {
        $fn();
        return;
    }
    $key = "computed$level" . ($n % 2 ? 'a' : 'b');
    $ended = Excuses::count('ended', $key);
    $compute = fn () => computing($c, $key, $level, $n, $ended, $fn);
    $value = cache(1)->remember($key, 0.001 * (1 + $n % 9), $compute, $n % 5 ? null : 0.02, $n % 3 ? ["tag of $key"] : []);
    $value === valueOf($key) || mixed("value of $key", $c, $value);
}

function computing(Context $c, string $key, int $level, int $n, int $ended, Closure $fn): array
{
    // Where code may not wait it computes without a claim.
    $alone = Fiber::getCurrent() || !maySuspend() ? null : new Alone($c, $key, ended: $ended);
    $next = fn (int $step, int $other = 0) => fn () => computed($c, $level + $step, intdiv($n, 2) + $step + $other, $fn);
    $fn();
    match ($n % 12) {
        0, 1 => $next(1)(),
        2 => Hearth\parallel([$next(1), $next(2), $next(1, 1)]),
        3 => quietly(fn () => Hearth\timeout(0.002, $next(1))),
        4 => Hearth\async($next(2))->cancel(),
        5 => Hearth\race([$next(1), $next(1, 1)]),
        6 => $n % 24 < 12 ? throw Own::of($c) : null,
        7 => Excuses::during($key, fn () => cache(1)->delete($key)),
        8 => Excuses::during('computed' . $level + 1 . 'a', fn () => cache(1)->deleteTag('tag of computed' . $level + 1 . 'a')),
        9 => [Hearth\background($next(1)), $next(1, 1)()],
        10 => (new Fiber($next(1)))->start(),
        default => [Hearth\async($next(1)), $next(2)()],
    };
    return valueOf($key);
}

/** Computations of one worker that need each other: one of them computes again, so none waits for long. */
function circled(Context $c, int $n, Closure $fn): void
{
    $key = fn (int $n) => 'circled' . $n % 3 . '-' . getmypid();
    // A worker that other code blocks does not count.
    $ticks = 0;
    $timer = Hearth\every(0.05, function () use (&$ticks) { $ticks++; });
    $of = function (int $n, int $left) use (&$of, &$ticks, $key, $c, $fn) {
        $begin = $ticks;
        try {
            $value = cache(2)->remember($key($n), 0.01, function () use (&$of, $key, $n, $left, $fn) {
                $fn();
                $left > 0 && ($n % 2 ? $of($n + 1 + $left % 2, $left - 1) : Hearth\parallel([fn () => $of($n + 1, $left - 1), fn () => $of($n + 2, $left - 1)]));
                return valueOf($key($n));
            });
            $value === valueOf($key($n)) || mixed('value of a circle', $c, $value);
        } finally {
            $ticks - $begin < 14 || mixed('a circle that took too long', $c, $ticks - $begin);
        }
    };
    try { $of($n, 3); } finally { $timer->stop(); }
}

/** Counts how many run something at once in this worker. */
final class Inside
{
    /** By name and by number. */
    private static array $inside = [];
    private static int $last = 0;
    private int $number;

    public function __construct(Context $c, private string $name, int $most)
    {
        self::$inside[$name][$this->number = ++self::$last] = true;
        $count = count(self::$inside[$name]);
        $count <= $most || mixed("more than $most in $name", $c, $count);
    }

    /** A task that a fatal error ends destroys no object. A callback is called before those that were registered before it. */
    public function endsWithTask(): void
    {
        [$name, $number, $task] = [$this->name, $this->number, Hearth\Internal\EffectiveTask::id()];
        $task === 0 || Hearth\Internal\onTaskEnd($task, static function () use ($name, $number) { unset(self::$inside[$name][$number]); });
    }

    public function __destruct()
    {
        unset(self::$inside[$this->name][$this->number]);
    }
}

/**
 * Calls `$fn`, and checks that no more than `$most` do so. A Fiber that is suspended in `$fn` may stay there for ever.
 *
 * @param bool $released whether what `$fn` has is released at the end of its task
 */
function inside(Context $c, string $name, int $most, bool $released, Closure $fn): void
{
    $inside = Fiber::getCurrent() ? null : new Inside($c, $name, $most);
    $released && $inside?->endsWithTask();
    $fn();
}

/** A value of a channel, which one task receives. */
final class Parcel
{
    private static int $last = 0;
    private static array $received = [];

    public static function next(): string
    {
        return 'parcel ' . ++self::$last;
    }

    public static function received(Context $c, mixed $parcel): void
    {
        if (is_string($parcel)) {
            isset(self::$received[$parcel]) && mixed('a value that was received twice', $c, $parcel);
            self::$received[$parcel] = true;
            count(self::$received) < 1000 || array_shift(self::$received);
        }
    }
}
