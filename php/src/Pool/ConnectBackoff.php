<?php

declare(strict_types=1);

namespace Hearth\Pool;

/**
 * When to try to connect again after a failure: later and later, but while borrowers wait soon enough for them to see a short outage out.
 *
 * @internal
 */
final class ConnectBackoff
{
    private const FIRST = 0.05;
    private const LONGEST = 5.0;
    private const OPENS_AFTER = 3;

    private int $failures = 0;
    /** While borrowers wait, no attempt is put off for longer; seconds. */
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
     * Seconds until the next attempt may be made.
     *
     * @param bool $isUrgent whether borrowers wait for it
     */
    public function delay(float $now, bool $isUrgent): float
    {
        $next = $isUrgent ? \min($this->nextAttempt, $this->failedAt + self::LONGEST_URGENT) : $this->nextAttempt;

        return \max(0.0, $next - $now);
    }

    /** Whether enough attempts have failed for one at a time to do. */
    public function isOpen(): bool
    {
        return $this->failures >= self::OPENS_AFTER;
    }

    public function cause(): ?\Throwable
    {
        return $this->cause;
    }
}
