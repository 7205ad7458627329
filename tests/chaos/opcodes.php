
// Each opcode that calls code, for an object in a static property, in whose place another request puts something else while that code waits.

/** An object that knows its own text: after a wait it must still be itself. */
final class Answers implements IteratorAggregate, ArrayAccess, Countable, JsonSerializable
{
    /** Without a type, so that functions may turn it into a text. */
    public static $one = null;
    public static string $typed = '';
    public static array $list = [];
    public static string $name = 'missing';
    private static int $last = 0;
    private string $own;
    public array $array = [];

    public function __construct(private Context $c, private ?Closure $fn)
    {
        $this->own = sealed('answer' . ++self::$last);
        $this->array = ['x' => ['y' => $this->own]];
    }

    /** Waits; the object may be gone from the static meanwhile, but is not another one. */
    private function call(string $what): string
    {
        $own = $this->own;
        $this->fn && ($this->fn)();
        $this->own === $own || mixed($what, $this->c, [$own, $this->own]);
        return $own;
    }

    public function __toString(): string { return $this->call('__toString'); }
    public function __get(string $name): mixed { return $this->call('__get'); }
    public function __set(string $name, mixed $value): void { $this->call('__set'); whole($this->c, '__set', $value); }
    public function __isset(string $name): bool { return $this->call('__isset') !== ''; }
    public function __unset(string $name): void { $this->call('__unset'); }
    public function __call(string $name, array $args): string { array_map(fn ($x) => whole($this->c, '__call', $x), $args); return $this->call('__call'); }
    public static function __callStatic(string $name, array $args): string { array_map(fn ($x) => whole($args[0]->c, '__callStatic', $x), $args); return $args[0]->call('__callStatic'); }
    public function __invoke(mixed ...$args): string { return $this->call('__invoke'); }
    public function __clone() { $this->call('__clone'); }
    public function __serialize(): array { return [$this->call('__serialize')]; }
    public function __unserialize(array $data): void { $this->own = $data[0]; $this->fn = null; }
    public function __debugInfo(): array { Excuses::unlessItThrows(fn () => $this->call('__debugInfo')); return [$this->own]; }
    public function getIterator(): Iterator { return new ArrayIterator(['a' => $this->call('getIterator'), 'b' => $this->own]); }
    public function offsetExists(mixed $o): bool { return $this->call('offsetExists') !== ''; }
    public function offsetGet(mixed $o): mixed { return $this->call('offsetGet'); }
    public function offsetSet(mixed $o, mixed $value): void { $this->call('offsetSet'); whole($this->c, 'offsetSet', $value); }
    public function offsetUnset(mixed $o): void { $this->call('offsetUnset'); }
    public function count(): int { return strlen($this->call('count')) ? 2 : 0; }
    public function jsonSerialize(): mixed { return $this->call('jsonSerialize'); }

    /** What any request may put in its place. */
    public static function replace(Context $c, Closure $fn, int $n): void
    {
        match ($n % 6) {
            0 => self::$one = null,
            1 => self::$one = [sealed('array'), 'x' => sealed('x')],
            2 => self::$one = sealed('text'),
            3 => self::$list = [],
            4 => self::$list = self::$list ? array_fill(0, 5, sealed('list')) : ['k' => ['l' => sealed('k')]],
            default => self::$one = new self($c, $fn),
        };
    }
}

final class Text
{
    public function __construct(public string $text) {}
}

function &referred(): mixed
{
    return Answers::$one;
}

function &referredText(): string
{
    return Answers::$one;
}

function byText(string &$text, string &...$more): string
{
    return $text . implode('', $more);
}

function asText(string $text, string ...$more): string
{
    return $text . implode('', $more);
}

function returned(): string
{
    return Answers::$one;
}

/** The expressions, by number: reads, writes, calls, comparisons, conversions. */
function expressed(int $n): mixed
{
    return match ($n) {
        0 => Answers::$one->missing . Answers::$one['x'],
        1 => isset(Answers::$one->missing, Answers::$one['x']) . empty(Answers::$one->missing),
        2 => Answers::$one->missing ??= sealed('new'),
        3 => Answers::$one['x'] .= Answers::$one->missing,
        4 => [Answers::$one->missing = Answers::$one, Answers::$one['k'] = Answers::$one->other, Answers::$one[] = Answers::$one['x']][2],
        5 => implode('', [...Answers::$one, ...Answers::$one]),
        6 => implode('', iterator_to_array((function () { yield from Answers::$one; })(), false)),
        7 => (function () { ['a' => $a, 'b' => [$b]] = Answers::$one; return $a . $b; })(),
        8 => (Answers::$one)(Answers::$one->missing, ...Answers::$one),
        9 => Answers::$one->method((string) Answers::$one, Answers::$one['b']),
        10 => Answers::$one::missing(Answers::$one, Answers::$one . ''),
        11 => (clone Answers::$one)->missing,
        12 => (Answers::$one == sealed('other')) . (Answers::$one <=> 'z') . match (true) { Answers::$one == 'a' => sealed('a'), default => Answers::$one->missing },
        13 => 'a' . Answers::$one . (fn ($x) => "$x and {$x->missing}")(Answers::$one) . Answers::$one,
        14 => asText(Answers::$one, Answers::$one, ...Answers::$one),
        15 => returned() . (Answers::$typed = Answers::$one),
        16 => Answers::$list[(string) Answers::$one][] = Answers::$one->missing,
        17 => Answers::$list['k']['l'] = Answers::$one['v'],
        18 => Answers::$list['k']['l'] .= Answers::$one,
        19 => Answers::$one->array['x']['y'] .= Answers::$one,
        20 => Answers::$one->{Answers::$one->missing},
        21 => (function () { unset(Answers::$one->missing, Answers::$one['x'], Answers::$list[(string) Answers::$one]); })(),
        22 => (function () { foreach (Answers::$one as $k => $text) { $all[] = $k . $text . Answers::$one; } return implode('', $all ?? []); })(),
        23 => (function () { ob_start(); try { echo Answers::$one, Answers::$one->missing; print Answers::$one; } finally { $text = ob_get_clean(); } return $text; })(),
        24 => count(Answers::$one) . json_encode([Answers::$one, [Answers::$one]]),
        25 => unserialize(serialize([Answers::$one, Answers::$list]))[0]->missing,
        26 => str_replace('#', (string) Answers::$one, implode(',', [Answers::$one, '#', Answers::$one])),
        27 => print_r(Answers::$one, true) ? sprintf('%s %s', Answers::$one, Answers::$one->missing) : '',
        28 => (function () { $x = &referred(); $y = $x->missing; $x .= ''; return $x . $y; })(),
        29 => implode('', array_map(Answers::$one, [1, 2])) . implode('', array_map('strval', [Answers::$one, Answers::$one])),
        30 => (function () { $all = [Answers::$one, sealed('z'), Answers::$one]; sort($all); return implode('', $all); })(),
        31 => (fn (string $text = '') => $text . Answers::$one)(text: Answers::$one->missing),
        32 => (function () { static $kept = null; $kept = $kept === null ? Answers::$one->missing : null; return $kept; })(),
        33 => Answers::$one?->missing?->more ?? Answers::$one['x']['y'] ?? sealed('none'),
        34 => (function () { switch (Answers::$one) { case 'a': return ''; default: return (string) Answers::$one; } })(),
        35 => byText(Answers::$one) . byText(Answers::$typed, Answers::$list['t'], Answers::$one),
        36 => referredText() . (function () { $text = new Text(''); $text->text = &Answers::$one; return $text->text; })(),
        37 => [Answers::$one->array['z'][(string) Answers::$one] = &Answers::$one->array['x'], Answers::$one->array['z']['k']->l ?? ''][1],
        38 => [Answers::$one->count ??= 1, Answers::$one->count++, Answers::$one['n'] ??= Answers::$one->missing][2],
        default => (new Text(Answers::$one))->text,
    };
}

/** The same expressions for a variable that is a reference to the static property. */
function expressedByReference(int $n): mixed
{
    static $made = null;
    if ($made === null) {
        $function = new ReflectionFunction('expressed');
        $text = implode('', array_slice(file(__FILE__), $function->getStartLine() + 1, $function->getEndLine() - $function->getStartLine() - 2));
        $made = eval('return function (int $n, mixed &$one): mixed {' . str_replace(['Answers::$one', '(function () {'], ['$one', '(function () use (&$one) {'], $text) . '};');
    }
    return $made($n, Answers::$one);
}

/** `$fn` only waits: in `php` too, code that the engine calls must not free what it is called for. */
function inPlace(Context $c, int $n, bool $byReference, Closure $fn): void
{
    Answers::$one = new Answers($c, $fn);
    Hearth\async(function () use ($c, $fn, $n) { $fn(); Answers::replace($c, $fn, intdiv(hrtime(true), 1000) + $n); });
    set_error_handler(function () use ($fn) { $fn(); return true; });
    try {
        $value = $byReference ? expressedByReference($n) : expressed($n);
        whole($c, "expression $n", is_object($value) ? '' : $value);
    } catch (Error $e) {
        ours($e) && throw $e;
    } finally {
        restore_error_handler();
    }
    [] === array_filter([]) && json_encode([]) === '[]' || mixed('[]', $c, json_encode([]));
}

/** Classes whose constants warn when they are computed, at the first use: an error handler waits there. */
function evaluated(Context $c, int $n, Closure $fn): void
{
    static $used = 0, $class = 0;
    if ($used++ % 5 === 0 && $class < 300) {
        $class++;
        eval("enum Once$class: string { const K = [1.5 => 'k$class', 2.5 => self::A]; case A = 'a$class'; case B = self::K[1]; }
            class Uses$class { const TEXT = [1.5 => 'once$class'][1]; public static \$list = [1.5 => self::TEXT, 2.5 => Once$class::B]; public \$own = [1.5 => self::TEXT]; public function __construct(public array \$x = [1.5 => self::TEXT]) {} }");
    }
    [$enum, $uses, $number, $key] = ["Once$class", "Uses$class", $class, "use $used"];
    withErrors($fn, function () use ($c, $n, $enum, $uses, $number, $key, $fn) {
        $first = match ($n % 4) {
            0 => $enum::from("k$number"),
            1 => $uses::$list[2],
            2 => $enum::B,
            default => (new $uses())->own ? $enum::tryFrom("k$number") : null,
        };
        $fn();
        $first === $enum::B && $enum::K[2] === $enum::A || mixed('a case of an enumeration', $c, [$first, $enum::K]);
        $uses::$list[$key] = true;
        $fn();
        isset($uses::$list[$key]) || mixed('a static property', $c, $uses::$list);
        (new $uses())->x[1] === $uses::TEXT && $uses::TEXT === "once$number" || mixed('a constant', $c, $uses::TEXT);
        unset($uses::$list[$key]);
    });
}
