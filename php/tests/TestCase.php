<?php

declare(strict_types=1);

namespace Hearth\Tests;

use Hearth\Tests\Shim\Loop;

/** A test whose parts run as tasks: of the shim under plain `php`, of the server under `hearth run`. */
abstract class TestCase extends \PHPUnit\Framework\TestCase
{
    /** Runs $fn as a request of its own. */
    protected function inTask(callable $fn): mixed
    {
        return $this->native() ? \Hearth\background($fn)->await() : Loop::run($fn);
    }

    protected function native(): bool
    {
        return (new \ReflectionFunction('Hearth\Internal\park'))->isInternal();
    }

    /** Suspends the running task. */
    protected static function pause(float $seconds): void
    {
        \Hearth\Internal\park($seconds);
    }

    /** Waits until $holds says so; an event that took longer than the tests' own pauses allow is not a failure. */
    protected static function until(callable $holds): void
    {
        for ($i = 0; !$holds(); ++$i) {
            self::assertLessThan(2000, $i, 'it did not come about within 10 s');
            self::pause(0.005);
        }
    }

    /** Runs $fn, which must throw $class, and returns what it threw. */
    protected function thrown(string $class, callable $fn): \Throwable
    {
        try {
            $fn();
        } catch (\Throwable $error) {
            self::assertInstanceOf($class, $error, (string) $error);

            return $error;
        }
        self::fail("no $class was thrown");
    }
}
