<?php

declare(strict_types=1);

// Two rows that were made once, read from a cache: Redis, memory that all processes share (APCu), or the process itself. KEPT says which.

function boot(): void
{
}

/** @return list<array<string, int|string>> */
function rows(): array
{
    $row = static fn (int $id, int $stamp, string $letter, int $key): array => [
        'test1_id' => $id, 'test1_timestamp' => $stamp, 'test1_data' => implode("\r\n", array_fill(0, 10, str_repeat($letter, 20))), 'test1_some_fk' => $key,
    ];

    return [$row(1, 1572448636, 'A', 33), $row(2, 1572448639, 'B', 35)];
}

final class Free
{
    /** @var list<Redis> Connections of this process that no request uses. */
    public static array $connections = [];
}

/** A connection for one request. Where each request has a process, PHP keeps it for the next one. */
function take(): Redis
{
    $redis = array_pop(Free::$connections) ?? new Redis();
    if (!$redis->isConnected()) {
        PERSISTENT ? $redis->pconnect(REDIS) : $redis->connect(REDIS);
        $redis->setOption(Redis::OPT_SERIALIZER, Redis::SERIALIZER_PHP);
    }

    return $redis;
}

/** @return list<array<string, int|string>> */
function from_redis(): array
{
    $redis = take();
    $rows = $redis->get('rows');
    if ($rows === false) {
        $redis->set('rows', $rows = rows());
    }
    Free::$connections[] = $redis;

    return $rows;
}

/** @return list<array<string, int|string>> */
function from_shared_memory(): array
{
    $rows = apcu_fetch('rows', $found);
    if (!$found) {
        apcu_store('rows', $rows = rows());
    }

    return $rows;
}

/** @return list<array<string, int|string>> */
function from_the_process(): array
{
    static $rows = null;

    return $rows ??= rows();
}

function respond(): string
{
    return print_r(match (KEPT) {
        'redis' => from_redis(),
        'apcu' => from_shared_memory(),
        'process' => from_the_process(),
    }, true);
}
