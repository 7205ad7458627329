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
    /** Options that can be read and set again. */
    private const OPTIONS = ['OPT_SERIALIZER', 'OPT_PREFIX', 'OPT_READ_TIMEOUT', 'OPT_SCAN', 'OPT_TCP_KEEPALIVE', 'OPT_COMPRESSION', 'OPT_REPLY_LITERAL',
        'OPT_COMPRESSION_LEVEL', 'OPT_NULL_MULTIBULK_AS_NULL', 'OPT_MAX_RETRIES', 'OPT_BACKOFF_ALGORITHM', 'OPT_BACKOFF_BASE', 'OPT_BACKOFF_CAP',
        'OPT_PACK_IGNORE_NUMBERS'];

    /** Commands that end what may have begun; each may fail, if there is nothing to end or the server does not know it. */
    private const ENDING = [['DISCARD'], ['UNWATCH'], ['UNSUBSCRIBE'], ['PUNSUBSCRIBE'], ['CLIENT', 'REPLY', 'ON'], ['CLIENT', 'TRACKING', 'OFF'],
        ['CLIENT', 'NO-EVICT', 'off'], ['READWRITE']];

    public function __construct(private readonly bool $transactionOnly)
    {
    }

    public function adopt(Entry $entry): void
    {
        $redis = self::redis($entry);
        if ($redis->ping() === false) {
            throw new \RedisException('the server does not answer: ' . $redis->getLastError());
        }
        $redis->clearLastError();
        if ((float) $redis->getOption(\Redis::OPT_READ_TIMEOUT) === 0.0) {
            // Setting 0 later would mean no time at all, and not the value of php.ini.
            $redis->setOption(\Redis::OPT_READ_TIMEOUT, (float) \ini_get('default_socket_timeout'));
        }
        $entry->memo = [$redis->getDBNum(), self::options($redis), $this->transactionOnly ? null : self::place($redis)];
    }

    /** @return array<int, mixed> */
    private static function options(\Redis $redis): array
    {
        $options = [];
        foreach (self::OPTIONS as $name) {
            if (\defined("Redis::$name")) {
                $option = \constant("Redis::$name");
                $options[$option] = $redis->getOption($option);
            }
        }

        return $options;
    }

    /** @return list<mixed> name and user of the connection, as far as the server tells */
    private static function place(\Redis $redis): array
    {
        $place = [$redis->rawCommand('CLIENT', 'GETNAME'), $redis->rawCommand('ACL', 'WHOAMI')];
        $redis->clearLastError();

        return $place;
    }

    public function remember(Entry $entry): void
    {
    }

    public function isClosed(Entry $entry): bool
    {
        return !self::redis($entry)->isConnected();
    }

    public function check(Entry $entry): bool
    {
        return self::redis($entry)->ping() !== false;
    }

    public function holdsState(Entry $entry): bool
    {
        return $entry->dirty || self::redis($entry)->getMode() !== \Redis::ATOMIC;
    }

    public function needsReset(Entry $entry): bool
    {
        if ($entry->watched) {
            return $entry->dirty || $entry->attributes !== [];
        }

        return !$this->transactionOnly || self::redis($entry)->getMode() !== \Redis::ATOMIC;
    }

    public function reset(Entry $entry): bool
    {
        $redis = self::redis($entry);
        if (!$redis->isConnected()) {
            throw new \RuntimeException('the connection is closed');
        }
        $open = $redis->getMode() !== \Redis::ATOMIC;
        if ($open && !$redis->discard()) {
            throw new \RuntimeException('the transaction could not be discarded');
        }
        $this->resetOptions($entry, $redis);
        if (!$entry->watched && !$this->transactionOnly) {
            $open = $this->resetUnseen($entry, $redis) || $open;
        } elseif (!$this->transactionOnly) {
            $redis->unwatch();
        }
        if ($redis->getDBNum() !== $entry->memo[0] && !$redis->select($entry->memo[0])) {
            throw new \RuntimeException('the database could not be selected again');
        }

        return $open;
    }

    private function resetOptions(Entry $entry, \Redis $redis): void
    {
        $changed = $entry->attributes;
        if (!$entry->watched && !$this->transactionOnly) {
            $now = self::options($redis);
            $changed = \array_filter($entry->memo[1], static fn (mixed $value, int $option) => $value !== $now[$option], \ARRAY_FILTER_USE_BOTH);
        }
        foreach ($changed as $option => $value) {
            $redis->setOption($option, $value);
        }
        $entry->attributes = [];
    }

    /**
     * Ends what unseen commands may have begun, in one round trip. The last answer shows that queries
     * and answers are in step.
     *
     * @return bool whether a transaction was open
     */
    private function resetUnseen(Entry $entry, \Redis $redis): bool
    {
        [$database, , [$name, $user]] = $entry->memo;
        $token = \bin2hex(\random_bytes(8));
        $pipeline = $redis->pipeline();
        foreach (self::ENDING as $command) {
            $pipeline->rawCommand(...$command);
        }
        $pipeline->rawCommand('CLIENT', 'SETNAME', (string) $name);
        $pipeline->rawCommand('SELECT', (string) $database);
        $pipeline->rawCommand('ACL', 'WHOAMI');
        $pipeline->rawCommand('ECHO', $token);
        $answers = $pipeline->exec();
        $redis->clearLastError();
        if (!\is_array($answers) || \end($answers) !== $token || $answers[\count(self::ENDING) + 1] !== true || $answers[\count(self::ENDING) + 2] !== $user) {
            throw new \RuntimeException('the session could not be reset');
        }

        return $answers[0] === true;
    }

    public function disconnect(object $connection): bool
    {
        return false;
    }

    public function hasLeft(object $connection): bool
    {
        return true;
    }

    public function cancel(object $connection, int $session): void
    {
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
