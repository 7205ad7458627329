<?php

declare(strict_types=1);

namespace Hearth\Pool;

/**
 * Connections of phpredis.
 *
 * @internal
 */
final class RedisDriver implements Driver
{
    public function __construct(private readonly bool $transactionOnly)
    {
    }

    public function adopt(Entry $entry): void
    {
        $entry->memo = [self::redis($entry)->getDBNum(), []];
    }

    public function isClosed(Entry $entry): bool
    {
        return false;
    }

    public function check(Entry $entry): bool
    {
        return self::redis($entry)->ping() !== false;
    }

    public function holdsState(Entry $entry): bool
    {
        return $entry->dirty || $entry->attributes !== [] || self::redis($entry)->getMode() !== \Redis::ATOMIC;
    }

    public function needsReset(Entry $entry): bool
    {
        return $entry->dirty || $entry->attributes !== [] || (!$entry->watched && $this->differs($entry));
    }

    /** What a connection whose commands are not watched shows of itself; WATCH and subscriptions cannot be seen. */
    private function differs(Entry $entry): bool
    {
        $redis = self::redis($entry);

        return $redis->getMode() !== \Redis::ATOMIC || $redis->getDBNum() !== $entry->memo[0] || !$this->transactionOnly;
    }

    public function reset(Entry $entry): bool
    {
        $redis = self::redis($entry);
        $open = $redis->getMode() !== \Redis::ATOMIC;
        if ($open && !$redis->discard()) {
            throw new \RuntimeException('the transaction could not be discarded');
        }
        foreach ($entry->attributes as $option => $value) {
            $redis->setOption($option, $value);
        }
        $entry->attributes = [];
        if (!$this->transactionOnly) {
            $redis->unwatch();
        }
        if ($redis->getDBNum() !== $entry->memo[0] && !$redis->select($entry->memo[0])) {
            throw new \RuntimeException('the database could not be selected again');
        }

        return $open;
    }

    public function disconnect(object $connection): bool
    {
        return false;
    }

    public function hasLeft(object $connection): bool
    {
        return true;
    }

    public function isBroken(\Throwable $error): bool
    {
        if ($error instanceof \RedisException) {
            return \preg_match('/went away|connection (lost|closed|refused|reset)|read error|timed out|socket|protocol error/i', $error->getMessage()) === 1;
        }

        return $error instanceof \Hearth\CancelledError || $error instanceof \Hearth\TimeoutError;
    }

    private static function redis(Entry $entry): \Redis
    {
        \assert($entry->connection instanceof \Redis);

        return $entry->connection;
    }
}
