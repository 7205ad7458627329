<?php

declare(strict_types=1);

namespace Hearth\Pool;

/**
 * The delay before the next attempt to connect after a failure: it grows, but while borrowers wait it stays short enough for
 * them to survive a short outage.
 *
 * @internal
 */
final class ConnectBackoff
{
    private const FIRST = 0.05;
    private const LONGEST = 5.0;
    private const OPENS_AFTER = 3;

    private int $failures = 0;
    /** The longest delay while borrowers wait; seconds. */
    private const LONGEST_URGENT = 0.25;

    private float $failedAt = 0.0;
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
        $this->failedAt = $now;
        $delay = \min(self::LONGEST, self::FIRST * 2 ** \min(10, $this->failures - 1));
        $this->nextAttempt = $now + $delay * \random_int(750, 1250) / 1000;
    }

    /**
     * Returns the seconds until the next attempt may be made.
     *
     * @param bool $isUrgent whether borrowers wait for a connection
     */
    public function delay(float $now, bool $isUrgent): float
    {
        $next = $isUrgent ? \min($this->nextAttempt, $this->failedAt + self::LONGEST_URGENT) : $this->nextAttempt;

        return \max(0.0, $next - $now);
    }

    /** Whether the pool makes one attempt at a time only, because `OPENS_AFTER` attempts in a row have failed. */
    public function isOpen(): bool
    {
        return $this->failures >= self::OPENS_AFTER;
    }

    public function cause(): ?\Throwable
    {
        return $this->cause;
    }
}
