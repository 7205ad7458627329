<?php

declare(strict_types=1);

namespace Hearth\Pool;

/**
 * When to try to connect again after a failure: later and later, and after three failures nobody is kept waiting for it.
 *
 * @internal
 */
final class Circuit
{
    private const FIRST = 0.05;
    private const LONGEST = 5.0;
    private const OPENS_AFTER = 3;

    private int $failures = 0;
    private float $nextAttempt = 0.0;
    private ?\Throwable $cause = null;

    public function succeeded(): void
    {
        $this->failures = 0;
        $this->nextAttempt = 0.0;
        $this->cause = null;
    }

    public function failed(\Throwable $cause, float $now): void
    {
        ++$this->failures;
        $this->cause = $cause;
        $delay = \min(self::LONGEST, self::FIRST * 2 ** \min(10, $this->failures - 1));
        $this->nextAttempt = $now + $delay * \random_int(750, 1250) / 1000;
    }

    /** Seconds until the next attempt may be made. */
    public function delay(float $now): float
    {
        return \max(0.0, $this->nextAttempt - $now);
    }

    /** Whether so many attempts have failed that it is not worth waiting for the next. */
    public function isOpen(): bool
    {
        return $this->failures >= self::OPENS_AFTER;
    }

    public function cause(): ?\Throwable
    {
        return $this->cause;
    }
}
