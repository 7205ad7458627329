<?php

declare(strict_types=1);

namespace Hearth\Pool;

use Hearth\Internal;

use function Hearth\background;
use function Hearth\Internal\monotonic;

/**
 * Checks whether idle connections work, before they are lent.
 *
 * Each is checked in a task of its own, so that borrowers take the first that answers, or a new one, and
 * wait no longer than allowed.
 *
 * @internal
 */
final class Check
{
    /** Seconds for which a connection that was made, used or checked is taken to work. */
    public const RECENT = 0.005;

    /** Seconds without an answer after which other connections are checked too, and a new one is made. */
    private const FIRST_WAIT = 0.05;

    public function __construct(
        private readonly Options $options,
        private readonly Store $store,
        private readonly Connector $connector,
        private readonly Statistics $statistics,
        private readonly Reporter $reporter,
        private readonly Eviction $eviction,
    ) {
    }

    /** Whether a reserved connection may be lent: true; null = it must be checked first; false = it was closed. */
    public function known(Entry $entry, float $now): ?bool
    {
        $proven = \max($entry->usedAt, $entry->provenAt);
        $hasCheck = $this->options->check !== null;
        if (!$entry->suspect && $now - ($hasCheck ? \max($entry->createdAt, $entry->provenAt) : $proven) < self::RECENT) {
            return true;
        }
        try {
            $isClosed = $this->connector->driver()->isClosed($entry);
        } catch (\Throwable $error) {
            // No task has the connection: if this ended by the exception, it would be lost.
            $isClosed = true;
        }
        if ($isClosed) {
            $this->failed($entry, $error ?? null);

            return false;
        }

        return $hasCheck || $entry->suspect || $now - $proven > $this->options->checkAfter ? null : true;
    }

    /** Checks a reserved connection, and hands it to a borrower that waits, or closes it. Returns at once. */
    public function start(Entry $entry): void
    {
        ++$this->store->checking;
        $open = true;
        $firstWait = $watchdog = null;
        // Until the check ends or takes long, borrowers count on this connection.
        $counted = function () use (&$open): void {
            if ($open) {
                $open = false;
                --$this->store->checking;
            }
        };
        $task = background(function () use ($entry, $counted, &$firstWait, &$watchdog): void {
            $works = false;
            $why = null;
            Internal\onTaskEnd(Internal\taskId(), function () use ($entry, $counted, &$works, &$why, &$firstWait, &$watchdog): void {
                $counted();
                foreach ([$firstWait, $watchdog] as $timer) {
                    $timer === null || Internal\stopTimer($timer);
                }
                $this->ended($entry, $works, $why);
            });
            try {
                $works = $this->validate($entry);
            } catch (\Throwable $error) {
                $why = $error;
            }
        });
        if (!$task->isDone()) {
            $watchdog = Internal\after($this->options->validationTimeout, static fn () => $task->cancel());
            $firstWait = Internal\after(self::FIRST_WAIT, function () use ($counted): void {
                $counted();
                $this->validateAll();
            });
        }
    }

    /** Checks a connection and waits for the answer; for code outside of tasks. */
    public function passes(Entry $entry): bool
    {
        try {
            $works = $this->validate($entry);
        } catch (\Throwable $error) {
            $works = false;
        }
        $works || $this->failed($entry, $error ?? null);

        return $works;
    }

    private function validate(Entry $entry): bool
    {
        $check = $this->options->check;
        $works = $check === null ? $this->connector->driver()->check($entry) : $entry->useBy($check) !== false;
        $entry->provenAt = monotonic();
        $entry->suspect = false;

        return $works;
    }

    private function ended(Entry $entry, bool $works, ?\Throwable $why): void
    {
        if ($works) {
            $this->eviction->settle($entry);

            return;
        }
        $this->failed($entry, $why);
        // If one connection is broken, others may be.
        $this->validateAll();
    }

    private function failed(Entry $entry, ?\Throwable $why): void
    {
        ++$this->statistics->failedChecks;
        $this->reporter->report('info', 'check', 'a connection was found broken' . ($why === null ? '' : ": {$why->getMessage()}"), ['exception' => $why]);
        $this->eviction->close($entry, 'broken');
    }

    /** Has as many idle connections checked as tasks wait, and $more. */
    public function validateFor(int $more): void
    {
        while ($this->store->open && $this->store->idle !== [] && $this->store->checking < $this->store->waiters->count() + $more) {
            $this->checkIdle($this->store->takeIdle($this->options->order));
        }
    }

    /** Has all idle connections checked, while a task waits for a connection. */
    private function validateAll(): void
    {
        for ($count = \count($this->store->idle); $count > 0 && $this->store->open && $this->store->idle !== [] && $this->store->waiters->count() > 0; --$count) {
            $this->checkIdle($this->store->takeIdle($this->options->order));
        }
        $this->connector->ensure();
    }

    private function checkIdle(Entry $entry): void
    {
        match ($this->known($entry, monotonic())) {
            true => $this->eviction->settle($entry),
            null => $this->start($entry),
            false => null,
        };
    }
}
