
// What a request has set and read for itself, looked at after each wait: settings, its body, its buffers, its session.

/** What the request has set, by name. Background work and code of other requests have other values. */
final class Settings
{
    /** By the token of the request that looks at its settings: its other tasks leave these alone. */
    public static array $watched = [];
    private array $set = [];

    public function __construct(private Context $c, int $n)
    {
        libxml_use_internal_errors($n % 2 === 0);
        mb_internal_encoding(['UTF-8', 'ISO-8859-1', 'EUC-JP'][$n % 3]);
        mb_substitute_character(0x40 + $n);
        date_default_timezone_set(['Europe/Berlin', 'Asia/Tokyo', 'UTC', 'America/Lima'][$n % 4]);
        setlocale(LC_CTYPE, $n % 2 ? 'C.UTF-8' : 'C');
        ini_set('precision', (string) (5 + $n));
        ini_set('user_agent', $c->token);
        set_include_path("/nowhere/$n");
        // error_reporting() changes nothing where the running task has that level already.
        ini_set('error_reporting', (string) ($n % 2 ? E_ALL : E_ALL & ~E_DEPRECATED));
        putenv("CHAOS=$c->token");
        umask(0700 + $n);
        chdir(['/', '/tmp', '/usr'][$n % 3]);
        mb_regex_encoding($n % 2 ? 'UTF-8' : 'EUC-JP');
        bcscaled($n);
        $this->set = $this->now();
    }

    /** @return array<string, mixed> */
    private function now(): array
    {
        return [
            'libxml' => libxml_use_internal_errors(),
            'mb' => mb_internal_encoding() . mb_substitute_character() . mb_regex_encoding(),
            'zone' => date_default_timezone_get() . date('e', 0),
            'locale' => setlocale(LC_CTYPE, 0),
            'precision' => ini_get('precision') . ini_get('user_agent'),
            'path' => get_include_path(),
            'errors' => error_reporting(),
            'environment' => getenv('CHAOS'),
            'umask' => umask(),
            'directory' => getcwd(),
            'bc' => function_exists('bcscale') ? bcscale() : 0,
        ];
    }

    /** In a handler, `@` of the code that is in error may be in force. */
    public function check(string $when, bool $inHandler = false): void
    {
        // The handler of errors may still run in another task.
        if ((self::$watched[$this->c->token] ?? null) !== $this) {
            return;
        }
        $now = $this->now();
        $inHandler && $now['errors'] = $this->set['errors'];
        $now === $this->set || mixed("settings $when", $this->c, array_diff_assoc($now, $this->set) + ['was' => array_diff_assoc($this->set, $now)]);
    }
}

function bcscaled(int $n): void
{
    function_exists('bcscale') && bcscale($n);
}

/** Sets, waits and checks. Code in between may set something else: `$fn` only waits. */
function set(Context $c, int $n, Closure $fn): void
{
    if (!home($c) || isset(Settings::$watched[$c->token])) {
        return;
    }
    $settings = Settings::$watched[$c->token] = new Settings($c, $n);
    for ($i = 0; $i < 3; $i++) {
        $fn();
        $settings->check('after a wait');
    }
    set_error_handler(function ($level, $text) use ($c, $settings, $fn) { heard($c, $text); $settings->check('in a handler', true); $fn(); $settings->check('after a wait in a handler', true); return true; });
    try {
        (string) [$c->token][0][200];
        Hearth\async(function () use ($settings, $fn) { $fn(); $settings->check('in a task'); })->await();
    } finally {
        restore_error_handler();
        $settings->check('at the end');
        unset(Settings::$watched[$c->token]);
    }
}

/** The input, read in parts, by two tasks at once, before and after the form. */
function inputOf(Context $c, int $n, Closure $fn): void
{
    if (!home($c)) {
        return;
    }
    $length = (int) ($_SERVER['CONTENT_LENGTH'] ?? 0);
    $isForm = str_starts_with($_SERVER['CONTENT_TYPE'] ?? '', 'application/x-www-form-urlencoded');
    $check = function (string $text) use ($c, $length, $isForm) {
        own($c, $text);
        !$isForm || $length === 0 || strlen($text) === $length && str_starts_with($text, "t=$c->token&more=") || mixed('input', $c, [$length, $text]);
    };
    $inParts = function (mixed $stream) use ($fn) {
        for ($text = ''; !feof($stream); $fn()) {
            $text .= fread($stream, 700);
        }
        return $text;
    };
    match ($n % 6) {
        0 => $check($inParts(fopen('php://input', 'r'))),
        1 => array_map($check, Hearth\parallel([fn () => $inParts(fopen('php://input', 'r')), fn () => file_get_contents('php://input')])),
        2 => [$fn(), $check($c->request->body()), $check(file_get_contents('php://input'))],
        3 => [Hearth\async(fn () => $c->request->form('t')), $fn(), $check($inParts(fopen('php://input', 'r')))],
        4 => uploaded($c, $fn),
        default => array_map($check, Hearth\parallel([fn () => $c->request->body(), fn () => $inParts(fopen('php://input', 'r')), fn () => $c->request->body()])),
    };
    $fn();
    !$isForm || ($_POST['t'] ?? $c->token) === $c->token || mixed('$_POST', $c, $_POST);
    see($c);
}

/** The requests of this worker whose upload one of their tasks moves, by token. */
final class Moved
{
    public static array $uploads = [];
}

/** An upload's file belongs to the request until one of its tasks moves it. */
function uploaded(Context $c, Closure $fn): void
{
    [$files] = Hearth\parallel([fn () => $_FILES, function () use ($c, $fn) { $fn(); own($c, json_encode($c->request->files()['f'] ?? null)); }]);
    $path = $files['f']['tmp_name'] ?? '';
    if ($path === '' || !is_uploaded_file($path)) {
        return;
    }
    $files['f']['name'] === $c->token && $_POST['t'] === $c->token || mixed('upload', $c, $files);
    $fn();
    if (isset(Moved::$uploads[$c->token])) {
        return;
    }
    Moved::$uploads[$c->token] = true;
    $text = file_get_contents($path);
    strlen($text) === $files['f']['size'] && str_starts_with($text, $c->token) || mixed('uploaded file', $c, $text);
    $to = __DIR__ . "/moved-$c->token";
    move_uploaded_file($path, $to) || mixed('move_uploaded_file()', $c, $path);
    $fn();
    $text === @file_get_contents($to) || mixed('moved file', $c, $to);
    @unlink($to);
}

/** An object in the session: each of its methods waits, or starts a task. */
final class InSession
{
    public function __construct(private ?Context $c, private ?Closure $fn, public string $token, private int $n) {}

    private function call(): void
    {
        if ($this->fn) {
            $this->n % 2 ? ($this->fn)() : Hearth\async($this->fn);
        }
    }

    public function __serialize(): array { $this->call(); return [$this->token]; }
    public function __unserialize(array $data): void { [$this->token, $this->c, $this->fn, $this->n] = [$data[0], null, null, 0]; usleep(200); }
    public function __destruct() { $this->call(); }
}

final class Slept
{
    public array $more = [];
    public function __construct(public string $token, private ?Closure $fn, private int $n) { $this->more = [[$token], $token]; }
    public function __sleep(): array { if ($this->fn) { $this->n % 2 ? ($this->fn)() : Hearth\async($this->fn); } return ['token', 'more']; }
    public function __wakeup(): void { usleep(100); }
}

/** A session that several requests of one visitor use: what was written, is read again. `$fn` only waits. */
function visited(Context $c, int $n, int $i, Closure $fn): void
{
    if (!home($c) || session_status() !== PHP_SESSION_NONE || headers_sent()) {
        return;
    }
    if ($n % 3) {
        @session_module_name('hearth');
        session_save_path('chaos-visits');
    } else {
        session_save_path(__DIR__);
    }
    session_id("visitor$i");
    if (!@session_start()) {
        return;
    }
    $visit = is_int($_SESSION['visit'] ?? null) ? $_SESSION['visit'] : 0;
    foreach ($_SESSION['all'] ?? [] as $one) {
        $one->token === "visitor$i" || mixed('an object of the session', $c, $one);
        $fn();
    }
    ($_SESSION['slept']->more ?? [["visitor$i"], "visitor$i"]) === [["visitor$i"], "visitor$i"] || mixed('a session', $c, $_SESSION['slept']->more);
    $_SESSION['visit'] = $visit + 1;
    $_SESSION['all'] = [new InSession($c, $fn, "visitor$i", $n), 'b' => new InSession($c, $fn, "visitor$i", $n + 1)];
    $_SESSION['slept'] = new Slept("visitor$i", $fn, $n);
    $fn();
    $_SESSION['visit'] === $visit + 1 || mixed('a locked session', $c, $_SESSION['visit']);
    match ($n % 5) {
        0 => @session_write_close(),
        1 => @session_reset(),
        2 => own($c, (string) @session_encode()),
        3 => $_SESSION['all'] = null,
        default => null,
    };
}

/** Buffers in buffers, whose callbacks wait: what was written in each comes out of it. */
function buffered(Context $c, int $n, Closure $fn): void
{
    if (!home($c) || ob_get_level() > 5) {
        return;
    }
    $level = ob_get_level();
    $expected = '';
    ob_start();
    try {
        for ($i = 0; $i < 3; $i++) {
            // No task is left in the callback of a buffer that another one is in.
            ob_start(fn (string $text) => "<$text>", ($n + $i) % 3 ? 0 : 1);
            echo $text = "$c->token$i";
            $fn();
            Hearth\async(function () use ($c, $fn) { ob_start(); echo "$c->token of a child"; $fn(); ob_get_clean() === "$c->token of a child" || mixed('a buffer of a child', $c, ''); });
            ob_end_flush();
            $expected .= ($n + $i) % 3 ? "<$text>" : "<$text><>";
        }
        ob_get_contents() === $expected || mixed('a buffer', $c, [$expected, ob_get_contents()]);
    } finally {
        while (ob_get_level() > $level) {
            ob_end_clean();
        }
    }
}
