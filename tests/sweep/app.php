<?php

// The app of `./dev test sweep`: calls one function of PHP with arguments that run PHP code in the middle of the call, while another
// task changes what the call works on.
//
// /cases                       the cases, one a line: TARGET POSITION KIND
// /probe?case=C                makes the call without a wait, then with one: calls of PHP code, which of them the task was left in, and whether the result differs
// /act?case=C&action=A&at=N    the same, while the other task does A

declare(strict_types=1);

foreach (['wait', 'pieces', 'objects', 'values', 'act', 'operators', 'targets'] as $part) {
    require __DIR__ . "/$part.php";
}

stream_wrapper_register('sweep', Wrapper::class);
stream_filter_register('sweep', Filter::class);

/** What a value is, without what differs from run to run. */
function described(mixed $value, int $depth = 0): string
{
    return match (true) {
        is_array($value) => '[' . ($depth > 3 ? count($value) : implode(',', array_map(
            static fn ($key) => "$key=" . described($value[$key], $depth + 1),
            array_slice(array_keys($value), 0, 50),
        ))) . ']',
        $value instanceof Throwable => $value::class . ': ' . $value->getMessage(),
        is_object($value) => $value::class,
        is_resource($value) => 'resource',
        is_float($value) => 'float',
        default => get_debug_type($value) . ' ' . substr(var_export($value, true), 0, 200),
    };
}

/** The text without numbers of objects, and counts of owners. */
function without(string $text): string
{
    return preg_replace('/#\d+|0x[0-9a-f]+|refcount\(\d+\)|resource\(\d+\)/', '', $text);
}

/** One call, described. */
function once(string $case, string $action, int $at): string
{
    [$target, $position, $kind] = explode(' ', $case);
    $make = static fn () => Targets::prepare($target, (int) $position, $kind);
    try {
        $call = $make();
    } catch (Throwable $thrown) {
        return 'not made: ' . $thrown->getMessage();
    }
    $text = Wait::during(static function () use ($call): string {
        set_error_handler(static function (): bool { Wait::here(); return true; });
        $level = ob_get_level();
        ob_start();
        try {
            $result = $call();
        } catch (Throwable $thrown) {
            $result = $thrown;
        }
        Wait::over();
        $printed = '';
        while (ob_get_level() > $level) {
            $printed = ob_get_clean() . $printed;
        }
        return substr(without(described($result)), 0, 300) . '|' . substr(without(described(Act::$places)), 0, 200) . '|' . substr(without($printed), 0, 500);
    }, $at, $action === 'throw', static fn () => Act::run($action, $call, $make));
    Act::clear();
    return $text;
}

function probe(string $case): array
{
    $first = once($case, 'none', 0);
    $calls = Wait::$calls;
    $same = $first === once($case, 'none', 0);
    $left = $differs = [];
    foreach (array_unique(array_filter([min(1, $calls), min(2, $calls), $calls])) as $at) {
        $text = once($case, 'none', $at);
        if (Wait::$left) {
            $left[] = $at;
        }
        if ($same && $text !== $first) {
            $differs = [$at, $first, $text];
        }
    }
    return ['calls' => $calls, 'left' => $left, 'differs' => $differs, 'result' => substr($first, 0, 200)];
}

function act(string $case, string $action, int $at): array
{
    if ($action !== 'again') {
        once($case, $action, $at);
        return ['left' => Wait::$left, 'differs' => []];
    }
    $first = once($case, 'none', 0);
    $same = $first === once($case, 'none', 0);
    $text = once($case, $action, $at);
    return ['left' => Wait::$left, 'differs' => $same && $text !== $first ? [$at, $first, $text] : []];
}

// The server's own folder.
$folder = getcwd();

return static function (Hearth\Request $request) use ($folder): string {
    chdir($folder);
    // What calls before have left: archives, and what they were told to write.
    array_map('unlink', array_filter(glob('*'), static fn ($file) => is_file($file) && !str_ends_with($file, '.php')));
    file_put_contents('a.txt', "one,two\nthree,four\n");
    $case = (string) $request->query('case');
    return match ($request->path) {
        '/cases' => implode("\n", Targets::cases()),
        '/probe' => json_encode(probe($case), JSON_INVALID_UTF8_SUBSTITUTE | JSON_THROW_ON_ERROR),
        '/act' => json_encode(act($case, (string) $request->query('action'), (int) $request->query('at')), JSON_INVALID_UTF8_SUBSTITUTE | JSON_THROW_ON_ERROR),
    };
};
