
// More code that C code calls: iterators, filters, parsers, libraries.

final class Steps implements Iterator
{
    private int $n = 0;
    public function __construct(private Closure $fn) {}
    public function current(): mixed { ($this->fn)(); return $this->n; }
    public function key(): mixed { return $this->n; }
    public function next(): void { $this->n++; }
    public function rewind(): void { $this->n = 0; }
    public function valid(): bool { return $this->n < 2; }
}

final class Heap extends SplMinHeap
{
    public function __construct(private Closure $fn) {}
    protected function compare(mixed $a, mixed $b): int { ($this->fn)(); return $b <=> $a; }
}

function nothing2(mixed ...$values): int
{
    return count($values);
}

/** A stream filter that waits at each piece and at its end. */
final class Filter extends php_user_filter
{
    public function filter($in, $out, &$consumed, bool $closing): int
    {
        ($this->params)();
        while ($bucket = stream_bucket_make_writeable($in)) {
            $consumed += $bucket->datalen;
            stream_bucket_append($out, $bucket);
        }
        return PSFS_PASS_ON;
    }
}
stream_filter_register('chaos', Filter::class);

function filter(Closure $fn): mixed
{
    $stream = fopen('php://memory', 'w+');
    stream_filter_append($stream, 'chaos', STREAM_FILTER_WRITE, $fn);
    return $stream;
}

function filtered(Context $c, Closure $fn): void
{
    $stream = filter($fn);
    fwrite($stream, $c->token);
    rewind($stream);
    own($c, stream_get_contents($stream));
    fclose($stream);
}

/** Calls functions that take a callback. */
function calls(Context $c, int $n, Closure $fn): void
{
    $one = function (mixed ...$x) use ($fn): mixed { $fn(); return $x[0] ?? null; };
    $values = [$c->token, 'b'];
    match ($n) {
        0 => array_walk($values, $one),
        1 => array_filter($values, $one),
        2 => array_reduce($values, $one, ''),
        3 => filter_var($c->token, FILTER_CALLBACK, ['options' => $one]),
        4 => iterator_apply(new ArrayIterator([1, 2]), $one),
        5 => iterator_to_array(new CallbackFilterIterator(new ArrayIterator($values), $one)),
        6 => call_user_func_array($one, $values),
        7 => mb_ereg_replace_callback('T', fn () => $one() . 'x', $c->token),
        8 => array_udiff($values, ['c'], function ($a, $b) use ($fn) { $fn(); return $a <=> $b; }),
        9 => uasort($values, function ($a, $b) use ($fn) { $fn(); return $a <=> $b; }),
        10 => preg_replace_callback_array(['/T/' => $one, '/b/' => $one], $values),
        default => array_map($one, $values, $values),
    };
    see($c);
}

function xml(Closure $fn): void
{
    $parser = xml_parser_create();
    xml_set_element_handler($parser, fn () => $fn(), fn () => null);
    xml_set_character_data_handler($parser, fn () => $fn());
    xml_parse($parser, '<a><b>text</b></a>', true);
}

function xpath(Closure $fn): void
{
    $document = new DOMDocument();
    $document->loadXML('<a><b/><b/></a>');
    $path = new DOMXPath($document);
    $path->registerNamespace('php', 'http://php.net/xpath');
    XPathCall::$fn = $fn;
    $path->registerPhpFunctions('XPathCall::call');
    $path->query('//b[php:function("XPathCall::call")]');
}

final class XPathCall
{
    public static ?Closure $fn = null;
    public static function call(): bool { [$fn, self::$fn] = [self::$fn, null]; $fn && $fn(); return true; }
}

function curl(Context $c, Closure $fn): void
{
    $curl = curl_init('file://' . __DIR__ . '/part.php');
    curl_setopt($curl, CURLOPT_WRITEFUNCTION, function ($curl, string $text) use ($fn): int { $fn(); return strlen($text); });
    curl_exec($curl);
    see($c);
}

function sqlite(Context $c, Closure $fn): void
{
    $pdo = new PDO('sqlite::memory:');
    $pdo->sqliteCreateFunction('chaos', function ($x) use ($fn) { $fn(); return $x; }, 1);
    quietly(fn () => own($c, $pdo->query("SELECT chaos('$c->token')")->fetchColumn()));
    see($c);
}

final class Row
{
    public $t;
    public function __construct(?Closure $fn = null) { $fn && $fn(); }
}

function fetched(Context $c, Closure $fn): void
{
    $pdo = new PDO('sqlite::memory:');
    $rows = $pdo->query("SELECT '$c->token' AS t UNION SELECT 'b'")->fetchAll(PDO::FETCH_CLASS, Row::class, [$fn]);
    own($c, $rows[0]->t . $rows[1]->t);
    $pdo->query("SELECT '$c->token' AS t")->fetchAll(PDO::FETCH_FUNC, function ($t) use ($c, $fn) { own($c, $t); $fn(); return $t; });
}

/** A stream wrapper: each call on the path `paths://N` waits. */
final class Paths
{
    public $context;
    private static array $functions = [];
    private static int $last = 0;
    private int $read = 0;

    public static function at(Closure $fn): string
    {
        count(self::$functions) < 100 || self::$functions = [];
        self::$functions[++self::$last] = $fn;
        return 'paths://' . self::$last;
    }

    private function call(string $path): bool
    {
        $fn = self::$functions[(int) substr($path, 8)] ?? null;
        $fn && $fn();
        return $fn !== null;
    }

    public function url_stat(string $path, int $flags): array|false { return $this->call($path) ? ['mode' => 0100644] : false; }
    public function unlink(string $path): bool { return $this->call($path); }
    public function rename(string $from, string $to): bool { return $this->call($from); }
    public function mkdir(string $path, int $mode, int $options): bool { return $this->call($path); }
    public function dir_opendir(string $path, int $options): bool { return $this->call($path); }
    public function dir_readdir(): string|false { return $this->read++ < 2 ? "f$this->read" : false; }
    public function dir_closedir(): bool { return true; }
    public function stream_metadata(string $path, int $option, mixed $value): bool { return $this->call($path); }
}
stream_wrapper_register('paths', Paths::class);

function paths(Context $c, int $n, Closure $fn): void
{
    $path = Paths::at($fn);
    match ($n % 6) {
        0 => file_exists($path),
        1 => @unlink($path),
        2 => @rename($path, $path),
        3 => @mkdir($path),
        4 => @scandir($path),
        default => @touch($path),
    };
    see($c);
}

/** Background work has superglobals of its own. A Fiber that another task goes on with has those of that task. */
function variables(Context $c, Closure $fn): void
{
    Hearth\background(function () use ($c, $fn) {
        $task = Hearth\Internal\taskId();
        $_GET['background'] = $_ENV['background'] = $_SESSION['background'] = $c->token;
        $fn();
        if (Hearth\Internal\taskId() === $task && ($_GET['background'] ?? '') . ($_ENV['background'] ?? '') !== $c->token . $c->token) {
            mixed('background', $c, [$_GET, $_ENV['background'] ?? null]);
        }
    });
    nap($c, 300);
    home($c) && isset($_GET['background']) && mixed('$_GET', $c, $_GET);
    home($c) && isset($_ENV['background']) && mixed('$_ENV', $c, $_ENV['background']);
    home($c) && own($c, $_SESSION['background'] ?? '');
}

/** A converter whose bytes have no meaning. */
final class Converter extends UConverter
{
    public ?Closure $fn = null;
    public function toUCallback(int $reason, string $source, string $units, &$error): string|int|array|null
    {
        $this->fn && ($this->fn)();
        $error = U_ZERO_ERROR;
        return '?';
    }
}

function converter(Context $c, Closure $fn): void
{
    $converter = new Converter('utf-8', 'ascii');
    $converter->fn = $fn;
    own($c, (string) $converter->convert("\xe4$c->token\xff"));
}

function aggregated(Context $c, Closure $fn): void
{
    $database = new SQLite3(':memory:');
    $database->createAggregate('last', function ($all, $n, $x) use ($fn) { $fn(); return $x; }, fn ($all) => $all, 1);
    $database->createCollation('own', function ($a, $b) use ($fn) { $fn(); return $a <=> $b; });
    own($c, (string) @$database->querySingle("SELECT last(x) FROM (SELECT '$c->token' x UNION ALL SELECT '$c->token') ORDER BY 1 COLLATE own"));
}

function entity(Context $c, Closure $fn): void
{
    libxml_set_external_entity_loader(function () use ($c, $fn) {
        $fn();
        $file = fopen('php://memory', 'w+');
        fwrite($file, "<!ENTITY e '$c->token'>");
        rewind($file);
        return $file;
    });
    $document = new DOMDocument();
    @$document->loadXML('<!DOCTYPE a SYSTEM "http://x/y.dtd"><a>&e;</a>', LIBXML_DTDLOAD | LIBXML_NOENT);
    own($c, $document->textContent);
}

function transformed(Context $c, Closure $fn): void
{
    $style = new DOMDocument();
    $style->loadXML('<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" xmlns:php="http://php.net/xsl">'
        . '<xsl:template match="/"><r><xsl:value-of select="php:function(\'XPathCall::call\')"/><xsl:value-of select="."/></r></xsl:template></xsl:stylesheet>');
    $processor = new XSLTProcessor();
    $processor->importStylesheet($style);
    $processor->registerPHPFunctions();
    $source = new DOMDocument();
    $source->loadXML("<a>$c->token</a>");
    XPathCall::$fn = $fn;
    own($c, (string) $processor->transformToXml($source));
}

function written(Context $c, Closure $fn): void
{
    $writer = new XMLWriter();
    @$writer->openUri(Wrapper::at($fn));
    $writer->writeElement('a', $c->token);
    $writer->flush();
}

/** Code that libraries call. */
function libraries(Context $c, int $n, Closure $fn): void
{
    match ($n % 5) {
        0 => converter($c, $fn),
        1 => aggregated($c, $fn),
        2 => entity($c, $fn),
        3 => transformed($c, $fn),
        default => written($c, $fn),
    };
    see($c);
}
