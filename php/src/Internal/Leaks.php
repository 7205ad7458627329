<?php

declare(strict_types=1);

namespace Hearth\Internal;

use Hearth\Request;

/**
 * The worker's side of `hearth check --leaks`: answers the command's own requests, which come between those of the app.
 *
 * @internal
 */
final class Leaks
{
    private const PATH = '/hearth-check-leaks';

    /** @var array{php: int, native: int} bytes in use when the last mark had been made */
    private static array $memory = ['php' => 0, 'native' => 0];

    /** @var array<string, int> */
    private static array $sizes = [];

    /**
     * Wraps the app's handler so that the requests of the command are answered here.
     *
     * @param \Closure(Request): mixed $handler
     * @return \Closure(Request): mixed
     */
    public static function around(\Closure $handler): \Closure
    {
        // The first call finds variables without a name, by calling functions that change them.
        stateTake('begin');

        return static fn (Request $request): mixed => match ($request->path === self::PATH ? $request->query('step') : null) {
            'begin' => self::begin(),
            'changes' => self::answer(['changes' => stateChanges('begin')]),
            'mark' => self::mark($handler),
            default => $handler($request),
        };
    }

    private static function begin(): \Hearth\Response
    {
        stateTake('begin');

        return self::answer([]);
    }

    /** Answers with the growth since the last mark. */
    private static function mark(\Closure $handler): \Hearth\Response
    {
        \gc_collect_cycles();
        $memory = stateMemory();
        $changes = self::$sizes === [] ? [] : stateChanges('mark');
        $sizes = (new Sizes())->of($handler);
        $grown = [];
        foreach ($sizes as $place => $size) {
            if ($size > (self::$sizes[$place] ?? $size)) {
                $grown[$place] = $size - self::$sizes[$place];
            }
        }
        $growth = ['php' => $memory['php'] - self::$memory['php'], 'native' => $memory['native'] - self::$memory['native']];
        $answer = self::answer(['grown' => (object) $grown, 'changes' => $changes] + $growth);
        self::$sizes = $sizes;
        unset($sizes, $grown, $changes);
        \gc_collect_cycles();
        stateTake('mark');
        self::$memory = stateMemory();

        return $answer;
    }

    /** @param array<string, mixed> $facts */
    private static function answer(array $facts): \Hearth\Response
    {
        return \Hearth\Response::json(['worker' => \getmypid()] + $facts, flags: \JSON_INVALID_UTF8_SUBSTITUTE);
    }
}
