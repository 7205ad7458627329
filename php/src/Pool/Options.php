<?php

declare(strict_types=1);

namespace Hearth\Pool;

/**
 * The options of a pool, checked; all mistakes are reported at once.
 *
 * @internal the names and meanings are those of the parameters of `Pool`
 */
final class Options
{
    public readonly int $size;
    public readonly int $minimumIdle;

    public function __construct(
        ?int $size,
        ?int $minimumIdle,
        public readonly float $idleTimeout,
        public readonly float $maxLifetime,
        public readonly float $borrowTimeout,
        public readonly float $returnTimeout,
        public readonly float $reserveTimeout,
        public readonly bool $bindToTask,
        public readonly bool $autoReturn,
        public readonly float $leakThreshold,
        public readonly ?\Closure $keepalive,
        public readonly float $keepaliveInterval,
        public readonly ?\Closure $check,
        public readonly float $checkAfter,
        public readonly string|\Closure $reset,
        public readonly ?\Closure $init,
        public readonly ?int $total,
        public readonly ?int $maxWaiters,
        public readonly int $maxConnecting,
        public readonly float $connectTimeout,
        public readonly string $order,
        public readonly float $validationTimeout,
    ) {
        $cores = $size === null || $minimumIdle === null ? self::cores() : 1;
        $this->size = $size ?? 4 * $cores;
        $this->minimumIdle = $minimumIdle ?? \min(2 * $cores, $this->size);
        $problems = [...$this->wrongCounts(), ...$this->wrongTimes()];
        if (!\in_array($order, ['lifo', 'fifo'], true)) {
            $problems[] = "order must be 'lifo' or 'fifo', '$order' given";
        }
        if (\is_string($reset) && !\in_array($reset, ['auto', 'transaction', 'none'], true)) {
            $problems[] = "reset must be 'auto', 'transaction', 'none' or a callable, '$reset' given";
        }
        if ($problems !== []) {
            throw new \ValueError('pool: ' . \implode('; ', $problems));
        }
    }

    /** @return list<string> */
    private function wrongCounts(): array
    {
        $problems = [];
        if ($this->size < 1) {
            $problems[] = "size must be at least 1, $this->size given";
        }
        if ($this->minimumIdle < 0 || $this->minimumIdle > $this->size) {
            $problems[] = "minimumIdle must be from 0 to size ($this->size), $this->minimumIdle given";
        }
        if ($this->total !== null && $this->total < 1) {
            $problems[] = "total must be at least 1, $this->total given";
        }
        if ($this->maxWaiters !== null && $this->maxWaiters < 0) {
            $problems[] = "maxWaiters must be 0 or more, $this->maxWaiters given";
        }
        if ($this->maxConnecting < 1) {
            $problems[] = "maxConnecting must be at least 1, $this->maxConnecting given";
        }

        return $problems;
    }

    /** @return list<string> */
    private function wrongTimes(): array
    {
        $problems = [];
        $atLeastZero = ['borrowTimeout', 'reserveTimeout', 'leakThreshold', 'checkAfter'];
        foreach (['idleTimeout', 'maxLifetime', 'returnTimeout', 'keepaliveInterval', 'connectTimeout', 'validationTimeout', ...$atLeastZero] as $name) {
            $seconds = $this->$name;
            if (!($seconds > 0 || ($seconds == 0 && \in_array($name, $atLeastZero, true)))) {
                $problems[] = "$name must be " . (\in_array($name, $atLeastZero, true) ? '0 or more' : 'more than 0') . " seconds, $seconds given";
            }
        }

        return $problems;
    }

    private static function cores(): int
    {
        static $cores = null;

        return $cores ??= \max(1, \preg_match_all('/^processor\s*:/m', (string) @\file_get_contents('/proc/cpuinfo')));
    }
}
