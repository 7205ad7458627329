<?php

declare(strict_types=1);

namespace Hearth\Pool;

/**
 * The methods of `Hearth\Pool\Redis` with code of their own; its other methods are forwarded to the
 * current task's connection.
 *
 * @internal
 */
trait RedisForwarding
{
    private ?Pool $pool = null;

    /** @var array<string, mixed> */
    private array $poolOptions;

    private RedisFactory $factory;

    /**
     * @param string|null $host name, address, or path of a socket; null = `connect()` sets it later
     * @param float $timeout seconds for connecting, 0 = as in php.ini
     * @param float $readTimeout seconds for an answer, 0 = as in php.ini
     * @param mixed $auth password, or [user, password]
     * @param array<int, mixed> $options `Redis::OPT_…` for every connection
     * @param mixed ...$pool options of `Pool`, by name
     * @throws \ValueError on invalid options of the pool
     */
    public function __construct(
        ?string $host = null,
        int $port = 6379,
        float $timeout = 0.0,
        float $readTimeout = 0.0,
        #[\SensitiveParameter] mixed $auth = null,
        int $database = 0,
        array $options = [],
        mixed ...$pool,
    ) {
        foreach (['factory', 'bindToTask', 'autoReturn'] as $option) {
            if (isset($pool[$option])) {
                throw new \ValueError("$option is no option of Hearth\\Pool\\Redis, but of Hearth\\Pool\\Pool");
            }
        }
        $this->poolOptions = $pool;
        $this->factory = new RedisFactory($auth, $database, $options);
        if ($host !== null) {
            $this->connect($host, $port, $timeout, null, 0, $readTimeout);
        }
    }

    public function __destruct()
    {
        if (\Hearth\Internal\taskId() !== 0) {
            $this->pool?->abandon();
        }
    }

    /** Sets the server of all connections of the pool; the first command connects. */
    public function connect($host, $port = 6379, $timeout = 0.0, $persistent_id = null, $retry_interval = 0, $read_timeout = 0.0, $context = null): bool
    {
        if ($this->pool !== null) {
            throw new \RedisException('the pool is connected already; make a second Hearth\Pool\Redis for another server');
        }
        $arguments = [$host, $host[0] === '/' ? -1 : (int) $port, (float) $timeout, null, (int) $retry_interval, (float) $read_timeout];
        if ($context !== null) {
            $arguments[] = $context;
        }
        $this->factory->arguments = $arguments;
        $this->pool = new Pool(...['factory' => $this->factory] + $this->poolOptions);

        return true;
    }

    /** The same as `connect()`: the pool keeps the connections. */
    public function pconnect($host, $port = 6379, $timeout = 0.0, $persistent_id = null, $retry_interval = 0, $read_timeout = 0.0, $context = null): bool
    {
        return $this->connect($host, $port, $timeout, null, $retry_interval, $read_timeout, $context);
    }

    public function open($host, $port = 6379, $timeout = 0.0, $persistent_id = null, $retry_interval = 0, $read_timeout = 0.0, $context = null): bool
    {
        return $this->connect($host, $port, $timeout, null, $retry_interval, $read_timeout, $context);
    }

    public function popen($host, $port = 6379, $timeout = 0.0, $persistent_id = null, $retry_interval = 0, $read_timeout = 0.0, $context = null): bool
    {
        return $this->connect($host, $port, $timeout, null, $retry_interval, $read_timeout, $context);
    }

    /** @return array<string, mixed> without the password */
    public function __debugInfo(): array
    {
        return ['pool' => $this->pool, 'database' => $this->factory->database, 'options' => $this->factory->options];
    }

    public function __serialize(): array
    {
        throw new \Exception('a Hearth\Pool\Redis cannot be serialized');
    }

    /** Returns the pool behind it, for its statistics and its operations. */
    public function pool(): Pool
    {
        return $this->pool ?? throw new \RedisException('connect() has not been called');
    }

    /** Outside a task, applies to all connections; inside one to this task's connection, which is closed after its lease. */
    public function auth(#[\SensitiveParameter] $credentials): \Redis|bool
    {
        if (\Hearth\Internal\taskId() === 0 || $this->pool === null) {
            $this->factory->secret = new \SensitiveParameterValue($credentials);
            $this->pool?->recycle();

            return true;
        }
        $this->entry()->evictReason = 'auth';

        return $this->forward('auth', [$credentials]);
    }

    /** Outside a task, applies to all connections; inside one to this task's connection, until it goes back. */
    public function select($db): \Redis|bool
    {
        if (\Hearth\Internal\taskId() === 0 || $this->pool === null) {
            $this->factory->database = $db;
            $this->pool?->recycle();

            return true;
        }

        return $this->forward('select', [$db]);
    }

    /** Outside a task, applies to all connections; inside one to this task's connection, until it goes back. */
    public function setOption($option, $value): bool
    {
        if (\Hearth\Internal\taskId() === 0 || $this->pool === null) {
            $this->factory->options[$option] = $value;
            $this->pool?->recycle();

            return true;
        }
        $entry = $this->entry();
        if (!\array_key_exists($option, $entry->attributes)) {
            $entry->attributes[$option] = $entry->connection->getOption($option);
        }

        return (bool) $this->forward('setOption', [$option, $value]);
    }

    /** Closes the current task's connection; its next command gets another. */
    public function close(): bool
    {
        $entry = $this->pool?->current();
        if ($entry !== null) {
            $entry->evictReason ??= 'closed by the task';
            $this->pool->giveBack($entry->connection);
        }

        return true;
    }

    private function entry(): Entry
    {
        $entry = $this->pool()->leases()->ofTask();
        if ($entry->evictReason === 'broken') {
            $entry = $this->pool->leases()->renewed($entry);
        }
        $entry->watched = true;
        if ($entry->ran !== $entry->lease) {
            $entry->ran = $entry->lease;
            // The error of an earlier lease is none of this one.
            $entry->connection->clearLastError();
        }

        return $entry;
    }

    /** @param array<array-key, mixed> $arguments */
    private function forward(string $method, array $arguments): mixed
    {
        try {
            $entry = $this->entry();
        } catch (PoolException $error) {
            throw new \RedisException($error->getMessage(), 0, $error);
        }
        $change = self::CHANGING[$method] ?? null;
        if ($change !== null) {
            $entry->dirty = true;
            if ($change !== '') {
                $entry->evictReason ??= $change;
            }
        }
        try {
            $result = $entry->connection->$method(...$arguments);
        } catch (\Throwable $error) {
            if ($entry->evictReason === null && $this->pool->driver()->isBroken($error)) {
                $entry->evictReason = 'broken';
            }
            throw $error;
        }

        return $result === $entry->connection ? $this : $result;
    }
}
