<?php

declare(strict_types=1);

namespace Hearth\Pool;

/**
 * Makes the connections of a `Redis`. It does not refer to that object, which must go when the app drops it, and the pool with it.
 *
 * @internal
 */
final class RedisFactory
{
    /** Password, or user and password. */
    public ?\SensitiveParameterValue $secret;

    /** @var list<mixed> those of `\Redis::connect()` */
    public array $arguments = [];

    /** @param array<int, mixed> $options `Redis::OPT_…` for every connection */
    public function __construct(#[\SensitiveParameter] mixed $auth, public int $database, public array $options)
    {
        $this->secret = $auth === null ? null : new \SensitiveParameterValue($auth);
    }

    public function __invoke(): \Redis
    {
        $redis = new \Redis();
        $redis->connect(...$this->arguments);
        if ($this->secret !== null) {
            $this->authenticate($redis, $this->secret);
        }
        foreach ($this->options as $option => $value) {
            $redis->setOption($option, $value);
        }
        if ($this->database !== 0 && !$redis->select($this->database)) {
            throw new \RedisException("database $this->database could not be selected: " . $redis->getLastError());
        }

        return $redis;
    }

    private function authenticate(\Redis $redis, \SensitiveParameterValue $secret): void
    {
        $failure = null;
        try {
            if (!$redis->auth($secret->getValue())) {
                $failure = (string) $redis->getLastError();
            }
        } catch (\RedisException $error) {
            // The trace of the original exception has the password.
            $failure = $error->getMessage();
        }
        if ($failure !== null) {
            throw new \RedisException("authentication failed: $failure");
        }
    }
}
