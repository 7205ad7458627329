<?php

declare(strict_types=1);

namespace Hearth\Cache;

/**
 * What PSR-6 and PSR-16 ask of keys and times, and `Hearth\Cache` does not.
 *
 * @internal
 */
final class Arguments
{
    private const RESERVED = '{}()/\@:';

    /** @param class-string<\Exception> $exception what a mistake is told with */
    public static function key(mixed $key, string $exception): string
    {
        if (!\is_string($key)) {
            throw new $exception('A cache key must be a string, ' . \get_debug_type($key) . ' given');
        }
        if ($key === '') {
            throw new $exception('A cache key must not be empty');
        }
        if (\strpbrk($key, self::RESERVED . "\0") !== false) {
            throw new $exception("The cache key \"$key\" has one of " . self::RESERVED . ', which the PSRs reserve');
        }
        return $key;
    }

    /** Seconds from now; null is for ever. */
    public static function seconds(mixed $ttl, string $exception): ?float
    {
        return match (true) {
            $ttl === null => null,
            \is_int($ttl) => (float) $ttl,
            $ttl instanceof \DateInterval => self::until((new \DateTimeImmutable())->add($ttl)),
            default => throw new $exception('A time to live must be an int, a DateInterval or null, ' . \get_debug_type($ttl) . ' given'),
        };
    }

    public static function until(\DateTimeInterface $time): float
    {
        return (float) $time->format('U.u') - \microtime(true);
    }
}
