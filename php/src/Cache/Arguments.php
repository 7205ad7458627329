<?php

declare(strict_types=1);

namespace Hearth\Cache;

/**
 * Checks that PSR-6 and PSR-16 require of keys and times, and `Hearth\Cache` does not.
 *
 * @internal
 */
final class Arguments
{
    private const RESERVED = '{}()/\@:';
    /** The most bytes of a key: as many fit with any namespace. */
    private const LONGEST = 512;
    /** As many seconds are for ever, as in `Hearth\Cache`: a hundred years. */
    private const EVER = 3e9;

    /** @param class-string<\Exception> $exception class of the exception for an invalid key */
    public static function key(mixed $key, string $exception): string
    {
        if (!\is_string($key)) {
            throw new $exception('A cache key must be a string, ' . \get_debug_type($key) . ' given');
        }
        if ($key === '') {
            throw new $exception('A cache key must not be empty');
        }
        if (\strlen($key) > self::LONGEST) {
            throw new $exception('A cache key must not be longer than ' . self::LONGEST . ' bytes, one of ' . \strlen($key) . ' given');
        }
        if (\str_contains($key, "\0")) {
            throw new $exception('A cache key must not contain a NUL byte');
        }
        if (\strpbrk($key, self::RESERVED) !== false) {
            throw new $exception("The cache key \"$key\" has one of " . self::RESERVED . ', which the PSRs reserve');
        }
        return $key;
    }

    /** Returns the seconds from now; null means no expiry. */
    public static function seconds(mixed $ttl, string $exception): ?float
    {
        $seconds = match (true) {
            $ttl === null => null,
            \is_int($ttl) => (float) $ttl,
            $ttl instanceof \DateInterval => self::until((new \DateTimeImmutable())->add($ttl)),
            default => throw new $exception('A time to live must be an int, a DateInterval or null, ' . \get_debug_type($ttl) . ' given'),
        };
        return $seconds > self::EVER ? null : $seconds;
    }

    /**
     * Returns whether the value was written. A value that cannot be kept, by its type or because its
     * own code throws, was not.
     *
     * @param callable(): bool $write
     */
    public static function isKept(callable $write): bool
    {
        try {
            return $write();
        } catch (\ValueError | \Exception $error) {
            self::logLoss($error);
            return false;
        }
    }

    /** Logs why a value was not kept. */
    public static function logLoss(\Throwable $error): void
    {
        \error_log('Hearth\Cache did not keep a value: ' . $error->getMessage());
    }

    public static function until(\DateTimeInterface $time): float
    {
        return (float) $time->format('U.u') - \microtime(true);
    }
}
