<?php

declare(strict_types=1);

namespace Hearth\Pool;

use Hearth\CancelledError;
use Hearth\Internal;

use function Hearth\background;
use function Hearth\Internal\monotonic;

/**
 * Resets returned connections, without the request that used them waiting for it.
 *
 * @internal
 */
final class Reset
{
    public function __construct(
        private readonly Options $options,
        private readonly Connector $connector,
        private readonly Statistics $statistics,
        private readonly Reporter $reporter,
        private readonly Eviction $eviction,
    ) {
    }

    /** Resets the connection and gives it back to the pool, or closes it; in a task of its own, within `returnTimeout`. */
    public function start(Entry $entry): void
    {
        if (Internal\taskId() === 0) {
            $this->run($entry);

            return;
        }
        $watchdog = null;
        $task = background(function () use ($entry, &$watchdog): void {
            $ended = false;
            // Even if a callable of the app ends the task, for example by exit(), the connection is settled.
            Internal\onTaskEnd(Internal\taskId(), function () use ($entry, &$ended): void {
                $ended || $this->failed($entry, 'what it called ended the task');
            });
            $this->run($entry);
            $ended = true;
            if ($watchdog !== null) {
                Internal\stopTimer($watchdog);
            }
        });
        if (!$task->isDone()) {
            $watchdog = Internal\after($this->options->returnTimeout, static fn () => $task->cancel());
        }
    }

    private function run(Entry $entry): void
    {
        try {
            if (Internal\taskId() !== 0 && !$entry->watched && ($entry->connection instanceof \PDO || $entry->connection instanceof \mysqli)) {
                // First frees what the borrower's function leaves when it returns: the server still knows those statements.
                Internal\park(0.0);
            }
            $this->free($entry);
            if ($this->options->reset !== 'none') {
                ++$this->statistics->resets;
                $this->by($entry, $this->options->reset);
            }
            $this->free($entry);
            $entry->dirty = false;
            $entry->provenAt = monotonic();
        } catch (\Throwable $error) {
            $late = $error instanceof CancelledError;
            $this->failed($entry, $late ? "it took longer than returnTimeout ({$this->options->returnTimeout} s)" : $error->getMessage(), $error);

            return;
        }
        $this->eviction->settle($entry);
    }

    /** Frees kept statements, also those that are added meanwhile. */
    private function free(Entry $entry): void
    {
        while ($entry->kept !== []) {
            $entry->kept = [];
        }
    }

    private function failed(Entry $entry, string $why, ?\Throwable $error = null): void
    {
        $this->reporter->report('warning', 'reset', "a connection could not be reset and is closed: $why", ['exception' => $error]);
        $this->eviction->close($entry, 'reset');
    }

    private function by(Entry $entry, string|\Closure $reset): void
    {
        if ($reset instanceof \Closure) {
            if ($entry->useBy($reset) === false) {
                throw new \RuntimeException('the reset callable returned false');
            }
        } elseif ($this->connector->driver()->reset($entry)) {
            ++$this->statistics->rollbacks;
            $this->reporter->report('warning', 'rollback', 'a connection came back with a transaction open; it was rolled back');
        }
        if ($this->options->init !== null) {
            $entry->useBy($this->options->init);
            $this->connector->driver()->remember($entry);
        }
    }
}
