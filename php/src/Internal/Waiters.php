<?php

declare(strict_types=1);

namespace Hearth\Internal;

/**
 * Tasks that wait, first come first served.
 *
 * A linked list, because a waiter whose time is up or that is cancelled leaves from the middle: that must cost the same however
 * many wait, and leave nothing behind.
 *
 * @internal
 */
final class Waiters
{
    /** The one that is served next; read it, do not set it. */
    public ?Waiter $first = null;
    private ?Waiter $last = null;
    private int $count = 0;

    public function count(): int
    {
        return $this->count;
    }

    /** Takes out one that is in it. */
    public function remove(Waiter $waiter): void
    {
        if ($waiter->previous === null) {
            $this->first = $waiter->next;
        } else {
            $waiter->previous->next = $waiter->next;
        }
        if ($waiter->next === null) {
            $this->last = $waiter->previous;
        } else {
            $waiter->next->previous = $waiter->previous;
        }
        $waiter->previous = $waiter->next = null;
        $waiter->queued = false;
        --$this->count;
    }

    /**
     * Gives the first waiter its turn and makes its task runnable.
     *
     * A waiter that was cancelled, or whose time is up, but that has not run since, is passed over.
     *
     * @return Waiter|null the one that was served, null if nobody waits
     */
    public function serve(mixed $value = null): ?Waiter
    {
        while (($waiter = $this->first) !== null) {
            // As remove(), of the first.
            $next = $waiter->next;
            $this->first = $next;
            if ($next === null) {
                $this->last = null;
            } else {
                $next->previous = null;
                $waiter->next = null;
            }
            $waiter->queued = false;
            --$this->count;
            $before = $waiter->value;
            $waiter->done = true;
            $waiter->value = $value;
            if (unpark($waiter->task)) {
                return $waiter;
            }
            $waiter->done = false;
            $waiter->value = $before;
        }

        return null;
    }

    /**
     * The current task waits in this queue until served.
     *
     * @param float|null $timeout seconds, null = for ever
     * @param \Closure(Waiter): void $passOn called when the waiter was served but cannot make use of it, because it was cancelled meanwhile
     * @param mixed $value what it has to give
     * @param float|null $since when it began to wait, null = now
     * @return Waiter|null as it was served, null when the time was up first
     * @throws \Hearth\CancelledError
     */
    public function wait(?float $timeout, \Closure $passOn, mixed $value = null, ?float $since = null): ?Waiter
    {
        $waiter = new Waiter();
        $waiter->task = taskId();
        $waiter->since = $since ??= monotonic();
        $waiter->value = $value;
        $this->enqueue($waiter);
        try {
            // Who is woken without being served was woken for something else.
            do {
                $woken = park($timeout === null ? null : $since + $timeout - monotonic());
            } while ($woken && !$waiter->done);
        } catch (\Throwable $error) {
            if ($waiter->done) {
                $passOn($waiter);
            }
            throw $error;
        } finally {
            if ($waiter->queued) {
                $this->remove($waiter);
            }
        }

        return $waiter->done ? $waiter : null;
    }

    private function enqueue(Waiter $waiter): void
    {
        $waiter->queued = true;
        $last = $this->last;
        if ($last === null) {
            $this->first = $waiter;
        } else {
            $waiter->previous = $last;
            $last->next = $waiter;
        }
        $this->last = $waiter;
        ++$this->count;
    }
}
