
// Documents and collections in static properties: one request walks them, and waits in the middle; another one changes them or puts others in their place.

/** A text that can be told from memory that is no longer its own. */
function sealed(string $name): string
{
    return "~$name:" . crc32($name) . '~';
}

/** Checks that a text consists of whole seals, and of nothing that no request wrote. */
function whole(Context $c, string $what, mixed $text): void
{
    if (!is_string($text)) {
        return;
    }
    preg_match_all('/~([^:~]*):?[^~]*~?/', $text, $found, PREG_SET_ORDER);
    $torn = array_filter($found, fn ($seal) => sealed($seal[1]) !== $seal[0]);
    if ($torn || preg_match('/[^\x20-\x7e\n\t]/', $text)) {
        mixed($what, $c, [$text, $torn]);
    }
}

final class Documents
{
    public static ?DOMDocument $document = null;
    public static ?SimpleXMLElement $simple = null;
    public static ?XSLTProcessor $processor = null;
    public static ?Closure $fn = null;

    private const STYLE = '<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" xmlns:php="http://php.net/xsl"><xsl:template match="/list">'
        . '<r><xsl:for-each select="item"><i><xsl:value-of select="php:functionString(\'Documents::call\', @n)"/><xsl:value-of select="."/></i></xsl:for-each></r></xsl:template></xsl:stylesheet>';

    public static function text(string $name): string
    {
        $item = fn (int $n) => "<item n=\"$n\">" . sealed("$name$n") . '<b>' . sealed("b$n") . '</b></item>';
        return '<list>' . implode('', array_map($item, range(0, 9))) . '</list>';
    }

    public static function document(string $name): DOMDocument
    {
        if (self::$document === null) {
            self::$document = new DOMDocument();
            self::$document->loadXML(self::text($name));
        }
        return self::$document;
    }

    public static function processor(): XSLTProcessor
    {
        if (self::$processor === null) {
            $style = new DOMDocument();
            $style->loadXML(self::STYLE);
            self::$processor = new XSLTProcessor();
            self::$processor->registerPHPFunctions();
            self::$processor->importStylesheet($style);
        }
        return self::$processor;
    }

    /** Called for each item by XPath and XSLT. */
    public static function call(string $n): string
    {
        self::$fn && (self::$fn)();
        return $n === '3' ? '' : sealed("x$n");
    }

    /** What any request may do to them at any time. */
    public static function change(string $name, int $n): void
    {
        $list = self::document($name)->documentElement;
        match ($n % 7) {
            0 => $list->firstChild && $list->removeChild($list->firstChild),
            1 => self::$document = null,
            2 => $list->appendChild(self::$document->createElement('item', sealed($name))),
            3 => self::$simple = null,
            4 => $list->nodeValue = sealed($name),
            5 => $list->lastChild && $list->replaceChild(self::$document->createElement('item', sealed($name)), $list->lastChild),
            default => $list->firstChild instanceof DOMElement && $list->firstChild->setAttribute('n', (string) $n),
        };
    }
}

/** `$fn` only waits. */
function documented(Context $c, int $n, Closure $fn): void
{
    $name = "d$n";
    $document = Documents::document($name);
    $simple = Documents::$simple ??= new SimpleXMLElement(Documents::text($name));
    $change = function () use ($name, $n, $fn) { $fn(); Documents::change($name, intdiv(hrtime(true), 1000) + $n); };
    Documents::$fn = $fn;
    Hearth\async($change);
    try {
        whole($c, "document $n", match ($n) {
            0 => joined($document->getElementsByTagName('item'), $change),
            1 => joined($document->documentElement->childNodes, $change),
            2 => joined((function () use ($document) {
                $path = new DOMXPath($document);
                $path->registerNamespace('php', 'http://php.net/xpath');
                $path->registerPhpFunctions('Documents::call');
                yield from $path->query('//item[php:functionString("Documents::call", @n)]');
            })(), $fn),
            3 => Documents::processor()->transformToXml($document),
            4 => joined($simple->item, function () use ($simple, $change) { $change(); unset($simple->item[0]); }),
            5 => joined($simple->xpath('//item') ?: [], fn () => [$change(), $simple->addChild('item', sealed($simple->getName()))]),
            6 => saved($fn, fn (string $path) => [$document->save($path), $document->saveHTMLFile($path), $simple->asXML($path)]),
            7 => saved($fn, fn (string $path) => $document->C14NFile($path) . $document->documentElement?->firstChild?->C14N()),
            8 => withErrors($change, fn () => $document->loadXML('<list><item>' . sealed($name) . '</list>') ? $document->saveXML() : ''),
            9 => [$copy = $document->cloneNode(true), $change(), $copy->textContent][2],
            10 => joined(new CallbackFilterIterator(new IteratorIterator($document->documentElement->childNodes), function () use ($change) { $change(); return true; }), $fn),
            default => (string) $simple->item[0] . joined($simple->children(), $change) . ($change() ?? $simple->item[1]?->b),
        });
    } catch (DOMException | Error $e) {
        ours($e) && throw $e;
    }
}

/** Whether it is no complaint about what another request has put there. */
function ours(Throwable $e): bool
{
    return str_starts_with(get_class($e), 'Hearth');
}

/** Goes over the first of them: a list may grow as fast as it is walked. */
function joined(iterable $nodes, Closure $fn): string
{
    [$text, $left] = ['', 50];
    foreach ($nodes as $node) {
        if ($left-- === 0) {
            break;
        }
        $text .= is_string($node) ? $node : ($node instanceof DOMNode ? $node->textContent : $node);
        $fn();
        $text .= $node instanceof DOMElement ? $node->firstChild?->textContent : '';
    }
    return $text;
}

function saved(Closure $fn, Closure $save): string
{
    @$save(Source::at($fn));
    return '';
}

function withErrors(Closure $fn, Closure $code): mixed
{
    set_error_handler(function () use ($fn) { $fn(); return true; });
    try {
        return $code();
    } finally {
        restore_error_handler();
    }
}

/** What requests keep in collections of PHP. */
final class Collections
{
    public static ?ArrayObject $all = null;
    public static ?ArrayIterator $steps = null;
    public static ?SplObjectStorage $storage = null;
    public static ?SplPriorityQueue $queue = null;
    public static ?SplDoublyLinkedList $list = null;
    public static ?SplFixedArray $fixed = null;
    public static ?WeakMap $map = null;
    public static ?Iterator $outer = null;
    public static array $objects = [];

    public static function fill(): void
    {
        $texts = array_map(fn (int $n) => sealed("c$n"), range(0, 9));
        self::$objects = array_map(fn (string $text) => (object) ['text' => $text], $texts);
        self::$all ??= new ArrayObject($texts);
        self::$steps ??= new ArrayIterator($texts);
        self::$fixed ??= SplFixedArray::fromArray($texts);
        self::$storage ??= new SplObjectStorage();
        self::$queue ??= new SplPriorityQueue();
        self::$list ??= new SplDoublyLinkedList();
        self::$map ??= new WeakMap();
        foreach (self::$objects as $n => $object) {
            count(self::$storage) > 50 || self::$storage->attach($object, $texts[$n]);
            count(self::$queue) > 50 || self::$queue->insert($texts[$n], $n);
            count(self::$list) > 50 || self::$list->push($texts[$n]);
            self::$map[$object] = $texts[$n];
        }
    }

    public static function change(int $n): void
    {
        match ($n % 9) {
            0 => count(self::$all) ? self::$all->offsetUnset(array_key_first(self::$all->getArrayCopy())) : self::$all = null,
            1 => self::$all->exchangeArray([sealed('exchanged'), sealed('other')]),
            2 => self::$storage->removeAll(self::$storage),
            3 => self::$objects = [],
            4 => self::$list->isEmpty() ? self::$list = null : self::$list->shift(),
            5 => self::$fixed->setSize(self::$fixed->getSize() > 3 ? 3 : 9),
            6 => self::$steps = self::$map = self::$queue = null,
            7 => self::$queue->isEmpty() || self::$queue->extract(),
            default => self::$all[] = sealed("more$n"),
        };
    }
}

/** `$fn` only waits. */
function gathered(Context $c, int $n, Closure $fn): void
{
    Collections::fill();
    $change = function () use ($n, $fn) { $fn(); Collections::fill(); Collections::change(intdiv(hrtime(true), 1000) + $n); };
    Hearth\async($change);
    try {
        whole($c, "collection $n", match ($n) {
            0 => joined(Collections::$all, $change),
            1 => joined(new LimitIterator(new IteratorIterator(Collections::$all), 1, 5), $change),
            2 => joined((function () { foreach (Collections::$storage as $n => $object) { yield $object->text; yield Collections::$storage[$object] ?? ''; } })(), $change),
            3 => joined((function () { while (!Collections::$queue->isEmpty()) { yield Collections::$queue->extract(); } })(), $change),
            4 => joined(Collections::$outer ??= new CachingIterator(new ArrayIterator([sealed('o1'), sealed('o2'), sealed('o3')])), function () use ($change) { $change(); Collections::$outer = null; }),
            5 => joined((function () { foreach (Collections::$map as $object => $text) { yield $text; yield $object->text; } })(), $change),
            6 => joined(Collections::$list, $change),
            7 => joined(Collections::$fixed, $change),
            8 => implode('', array_map(function ($text) use ($change) { $change(); return $text; }, Collections::$all->getArrayCopy())),
            9 => [Collections::$all->uasort(function ($a, $b) use ($fn) { $fn(); return strcmp((string) $a, (string) $b); }), joined(Collections::$all, $fn)][1],
            10 => joined((function () use ($change) { foreach (Collections::$all as $k => &$text) { $change(); $text .= sealed('by'); yield $text; } })(), $change),
            default => joined((function () { yield from Collections::$steps; yield from new NoRewindIterator(Collections::$steps); })(), $change),
        });
    } catch (Error | RuntimeException | LogicException $e) {
        ours($e) && throw $e;
    }
}
