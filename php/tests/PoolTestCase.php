<?php

declare(strict_types=1);

namespace Hearth\Tests;

use Hearth\Pool\Pool;
use Hearth\Tests\Fixtures\FakeConnection;
use Hearth\Tests\Fixtures\ListLogger;

/** A test with pools of fake connections; it closes them. */
abstract class PoolTestCase extends TestCase
{
    protected ListLogger $logger;

    /** @var list<Pool> */
    private array $pools = [];

    protected function setUp(): void
    {
        FakeConnection::reset();
        $this->logger = new ListLogger();
    }

    protected function tearDown(): void
    {
        foreach ($this->pools as $pool) {
            $pool->close();
        }
        $this->pools = [];
    }

    /** @param mixed ...$options of the pool; without a factory it makes fake connections at once */
    protected function pool(mixed ...$options): Pool
    {
        $options += ['factory' => fn () => new FakeConnection(), 'size' => 2, 'minimumIdle' => 0, 'logger' => $this->logger];

        return $this->pools[] = new Pool(...$options);
    }

    /** A factory that takes so many seconds. */
    protected static function slowly(float $seconds): \Closure
    {
        return static function () use ($seconds): FakeConnection {
            self::pause($seconds);

            return new FakeConnection();
        };
    }
}
