// What all requests share, in static properties and in an object: one request writes, walks or passes it by reference while code inside that waits,
// another one puts something else in its place.

final class Common
{
    public static $value = null;
    public static array $list = [];
    public static string $text = '';
    public static ?object $object = null;
    public static ?Countable $counted = null;
    public mixed $property = null;
}

/** What any request may put there at any time. */
function disturb(Context $c, int $n, Closure $fn): void
{
    match ($n % 8) {
        0 => Common::$value = [],
        1 => Common::$value = Common::$object = null,
        2 => Common::$value = str_repeat($c->token, 20),
        3 => Common::$list = array_fill(0, 30, $c->token),
        4 => Common::$object = new Speaks($fn),
        5 => Common::$counted = new ArrayObject([$c->token]),
        6 => Common::$list = [],
        default => Common::$object instanceof Common ? Common::$object->property = [$c->token] : Common::$object = new Common(),
    };
}

function byReference(string &$text, string &...$more): int
{
    return strlen($text) + count($more);
}

function &ofCommon(): mixed
{
    return Common::$value;
}

/** `$fn` only waits: in `php` too, code that the engine calls must not free what it is called for. */
function sharing(Context $c, int $n, Closure $fn): void
{
    $speaks = new Speaks($fn);
    try {
        match ($n) {
            0 => [Common::$value = [$c->token], exec("echo $c->token", Common::$value), disturb($c, $n, $fn)],
            1 => [Common::$list = ['z', $speaks, 'a', $c->token], sort(Common::$list), rsort(Common::$list)],
            2 => [Common::$value = $speaks, byReference(Common::$value), Common::$value = new Speaks($fn), byReference(Common::$text, Common::$value)],
            3 => [Common::$list = [$speaks, [$c->token, new Speaks($fn)]], serialize(['list' => &Common::$list])],
            4 => [Common::$object = $speaks, count(Common::$object), clone Common::$object, [...Common::$object]],
            5 => [Common::$object = new Common(), Common::$object->property .= $speaks, Common::$object->property['k']['l'] = $c->token],
            6 => (function () use ($fn) { foreach (Common::$object ?? [] as $x) { $fn(); } foreach (Common::$list as &$x) { $fn(); } })(),
            7 => [$heap = Common::$counted = new Heap($fn), $heap->insert(2), $heap->insert(1), $heap->isCorrupted() || $heap->insert(3)],
            8 => [Common::$text = $speaks, Common::$text .= new Speaks($fn), Common::$value = &ofCommon()],
            9 => (function () use ($c, $fn) {
                set_error_handler(function () use ($fn) { $fn(); return true; });
                try {
                    unset(Common::$list[1.5]);
                    Common::$value = false;
                    Common::$value['k'] = $c->token;
                    Common::$object ??= new Speaks($fn);
                    strlen(Common::$list['missing']);
                } finally {
                    restore_error_handler();
                }
            })(),
            10 => [$list = [Common::$list, $speaks], json_encode($list), http_build_query([Common::$list]), print_r(Common::$list, true)],
            default => disturb($c, ord($c->token[3]), $fn),
        };
    } catch (Error $e) {
        if (str_starts_with(get_class($e), 'Hearth')) {
            throw $e;
        }
        // Another request has put something else there, or the code cannot wait there.
    }
    if (json_encode([]) !== '[]') {
        mixed('[]', $c, json_encode([]));
    }
}
