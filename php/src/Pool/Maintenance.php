<?php

declare(strict_types=1);

namespace Hearth\Pool;

use Hearth\Internal;

use function Hearth\background;
use function Hearth\Internal\monotonic;

/**
 * Maintains a pool's connections while no task asks for one: closes, replaces, keeps alive, reports.
 *
 * There is one timer, and only while there are connections.
 *
 * @internal
 */
final class Maintenance
{
    private ?int $timer = null;

    /** Seconds that the wall clock was ahead of the monotonic clock; null = not read yet. */
    private ?float $clocks = null;

    public function __construct(
        private readonly Options $options,
        private readonly Store $store,
        private readonly Connector $connector,
        private readonly Statistics $statistics,
        private readonly ?Budget $budget,
        private readonly Reporter $reporter,
        private readonly Eviction $eviction,
    ) {
    }

    /** Starts the timer unless it runs. */
    public function start(): void
    {
        $this->timer ??= Internal\after($this->interval(), $this->tick(...));
    }

    public function stop(): void
    {
        if ($this->timer !== null) {
            Internal\stopTimer($this->timer);
            $this->timer = null;
        }
    }

    private function interval(): float
    {
        if ($this->budget !== null) {
            return Budget::INTERVAL;
        }
        $times = [$this->options->idleTimeout, $this->options->maxLifetime, 10.0];
        if ($this->options->keepalive !== null) {
            $times[] = $this->options->keepaliveInterval;
        }
        if ($this->options->leakThreshold > 0) {
            $times[] = $this->options->leakThreshold;
        }

        return \max(0.01, \min($times) / 2);
    }

    private function tick(): void
    {
        $this->timer = null;
        $now = monotonic();
        $this->store->sweep();
        $this->watchClocks($now);
        $this->yieldToOthers($now);
        $this->closeIdle($now);
        $this->replaceWornOut($now);
        $this->keepAlive($now);
        $this->reportLeaks($now);
        $this->connector->ensure();
        if ($this->store->total() > 0) {
            $this->start();
        }
    }

    /** Marks connections to be checked after the machine was suspended, or its clock set. */
    private function watchClocks(float $now): void
    {
        $clocks = \microtime(true) - $now;
        if ($this->clocks !== null && \abs($clocks - $this->clocks) > 1.0) {
            foreach ($this->store->idle as $entry) {
                $entry->suspect = true;
            }
        }
        $this->clocks = $clocks;
    }

    /** Closes an idle connection if another worker needs its place; with more than its share, a busy one on its return. */
    private function yieldToOthers(float $now): void
    {
        $idle = $this->store->idle[0] ?? null;
        if ($this->budget === null || !$this->budget->yields($idle, $now)) {
            return;
        }
        if ($idle !== null) {
            $this->eviction->close($idle, 'yielded');

            return;
        }
        foreach ($this->store->entries as $entry) {
            if ($entry->state === State::Lent) {
                if ($entry->evictReason === null) {
                    $entry->evictReason = 'yielded';

                    return;
                }
                if ($entry->evictReason === 'yielded') {
                    return;
                }
            }
        }
    }

    private function closeIdle(float $now): void
    {
        $spare = $this->store->total() - $this->options->minimumIdle;
        foreach ($this->store->idle as $entry) {
            if ($spare > 0 && $now - $entry->usedAt > $this->options->idleTimeout) {
                --$spare;
                $this->eviction->close($entry, 'idle');
            }
        }
    }

    /** Closes a worn-out connection when its successor is there, or at once if the size does not allow both. */
    private function replaceWornOut(float $now): void
    {
        $wornOut = \array_values(\array_filter($this->store->idle, static fn (Entry $entry) => $entry->expiresAt <= $now));
        if ($wornOut === []) {
            return;
        }
        if (!$this->connector->room()) {
            $this->eviction->close(\array_shift($wornOut), 'lifetime');
        }
        $this->connector->ensureSuccessors(\max(1, \count($wornOut)));
    }

    /** Called when a new connection has been made: a worn-out one is closed. */
    public function successorCame(): void
    {
        $now = monotonic();
        foreach ($this->store->idle as $entry) {
            if ($entry->expiresAt <= $now) {
                $this->eviction->close($entry, 'lifetime');

                return;
            }
        }
    }

    private function keepAlive(float $now): void
    {
        if ($this->options->keepalive === null) {
            return;
        }
        foreach ($this->store->idle as $entry) {
            $interval = $this->options->keepaliveInterval * \random_int(800, 1000) / 1000;
            if ($now - \max($entry->usedAt, $entry->provenAt) >= $interval && $this->store->reserve($entry)) {
                background(fn () => $this->keepOneAlive($entry, $this->options->keepalive));
            }
        }
    }

    private function keepOneAlive(Entry $entry, \Closure $keepalive): void
    {
        $ended = false;
        // Even if the callable ends the task, for example by exit(), the connection is settled.
        Internal\onTaskEnd(Internal\taskId(), function () use ($entry, &$ended): void {
            $ended || $this->eviction->close($entry, 'keepalive');
        });
        try {
            $alive = \Hearth\timeout($this->options->validationTimeout, static fn () => $entry->useBy($keepalive)) !== false;
        } catch (\Throwable $error) {
            $alive = false;
            $this->reporter->report('warning', 'keepalive', "keepalive failed: {$error->getMessage()}", ['exception' => $error]);
        }
        $ended = true;
        if (!$alive) {
            ++$this->statistics->failedChecks;
            $this->eviction->close($entry, 'keepalive');
            $this->connector->ensure();
        } else {
            $entry->provenAt = monotonic();
            $this->eviction->settle($entry);
        }
    }

    private function reportLeaks(float $now): void
    {
        if ($this->options->leakThreshold <= 0) {
            return;
        }
        foreach ($this->store->entries as $entry) {
            if ($entry->state === State::Lent && !$entry->leakReported && $now - $entry->borrowedAt > $this->options->leakThreshold) {
                $entry->leakReported = true;
                ++$this->statistics->leaks;
                $this->reporter->report('warning', '', \sprintf(
                    'a connection has been out for %.3f s; it was borrowed by task %d at %s',
                    $now - $entry->borrowedAt,
                    $entry->owner,
                    self::place($entry->trace ?? []),
                ), ['trace' => $entry->trace]);
            }
        }
    }

    /**
     * Returns where a connection was borrowed, as `file:line`.
     *
     * @param list<array<string, mixed>> $trace
     */
    public static function place(array $trace): string
    {
        foreach ($trace as $frame) {
            if (!\str_starts_with((string) ($frame['class'] ?? ''), 'Hearth\Pool\\')) {
                break;
            }
            $place = isset($frame['file']) ? "{$frame['file']}:{$frame['line']}" : null;
        }

        return $place ?? 'an unknown place';
    }
}
