<?php

declare(strict_types=1);

namespace Hearth\Pool;

use Hearth\CancelledError;
use Hearth\Internal;

use function Hearth\background;
use function Hearth\Internal\monotonic;

/**
 * Makes the connections of a pool: as many as are needed, a few at a time, and with growing delays while it fails.
 *
 * Each is made in a task of its own, so that no borrower that could take another connection waits for it.
 *
 * @internal
 */
final class Connector
{
    /** Seconds between checks of removed connections that code still holds, while borrowers wait for their places. */
    private const LINGERING = 0.002;

    /** The timer for the next attempt, null = none. */
    private ?int $retry = null;

    private float $retryAt = 0.0;

    private ?Driver $driver = null;

    /** The number of times that all connections were replaced. */
    private int $generation = 0;

    /** The number of worn-out connections that wait for a successor. */
    private int $successors = 0;

    /**
     * @param \Closure(): object $factory
     * @param \Closure(Entry): void $onConnected called when a connection has been made, to hand it to a borrower
     */
    public function __construct(
        private readonly string $name,
        private readonly \Closure $factory,
        private readonly Options $options,
        private readonly Store $store,
        private readonly Statistics $statistics,
        private readonly ConnectBackoff $backoff,
        private readonly ?Budget $budget,
        private readonly Reporter $reporter,
        private readonly \Closure $onConnected,
    ) {
    }

    /** Starts to make what the waiting borrowers, $more that are about to wait, and the minimum need. Returns at once. */
    public function ensure(int $more = 0): void
    {
        while ($this->store->connecting < $this->wanted($more)) {
            if (!$this->room()) {
                if ($this->store->lingering() > 0) {
                    $this->tryAgainAfter(self::LINGERING);
                }

                return;
            }
            $delay = $this->backoff->delay(monotonic(), $this->store->waiters->count() + $more > 0);
            if ($delay > 0) {
                $this->tryAgainAfter($delay);

                return;
            }
            if (!$this->acquireBudget($more)) {
                return;
            }
            $this->start();
        }
    }

    /** Returns how many connections should be in the making. */
    private function wanted(int $more): int
    {
        if (!$this->store->open || $this->store->closed) {
            return 0;
        }
        $made = $this->store->total() - $this->store->connecting;
        $needed = \max(
            $this->store->waiters->count() + $more - \count($this->store->idle) - $this->store->checking,
            $this->options->minimumIdle - $made,
            $this->successors,
        );

        return \min($needed, $this->backoff->isOpen() ? 1 : $this->options->maxConnecting);
    }

    /** Makes connections that replace worn-out ones. */
    public function ensureSuccessors(int $count): void
    {
        $this->successors = $count;
        $this->ensure();
    }

    /** Whether the size allows one more connection. */
    public function room(): bool
    {
        if ($this->store->total() < $this->options->size) {
            return true;
        }

        return $this->store->sweep() > 0 && $this->store->total() < $this->options->size;
    }

    /** Makes a connection without a task, waiting for it: at boot, or in a script without tasks. */
    public function makeNow(): Entry
    {
        if (!$this->room() || ($this->budget !== null && !$this->budget->acquire())) {
            throw BorrowTimeout::of($this->name, 'all connections are in use, and code outside of tasks cannot wait', $this->statistics, null);
        }
        ++$this->store->connecting;
        try {
            return $this->make();
        } catch (\Throwable $error) {
            $this->failed($error);
            throw $error;
        } finally {
            --$this->store->connecting;
        }
    }

    private function start(): void
    {
        ++$this->store->connecting;
        $watchdog = null;
        $task = background(function () use (&$watchdog): void {
            $entry = null;
            $error = new \RuntimeException('the factory ended its task, by exit() or a fatal error');
            Internal\onTaskEnd(Internal\taskId(), function () use (&$entry, &$error, &$watchdog): void {
                if ($watchdog !== null) {
                    Internal\stopTimer($watchdog);
                }
                $this->ended($entry, $error);
            });
            try {
                $entry = $this->make();
                $error = null;
            } catch (\Throwable $thrown) {
                $error = self::wasCancelled($thrown) ? $this->tooSlow($thrown) : $thrown;
            }
        });
        if (!$task->isDone()) {
            $watchdog = Internal\after($this->options->connectTimeout, static fn () => $task->cancel());
        }
    }

    /** Called when an attempt has ended, whatever its result. */
    private function ended(?Entry $entry, ?\Throwable $error): void
    {
        --$this->store->connecting;
        if ($error !== null) {
            $this->failed($error);
        }
        if ($entry !== null) {
            $this->successors = \max(0, $this->successors - 1);
            ($this->onConnected)($entry);
        }
        $this->ensure();
    }

    private function make(): Entry
    {
        $began = monotonic();
        do {
            $generation = $this->generation;
            [$connection, $texts] = Internal\withTexts($this->factory);
            // A connection made with an address or a password that has been replaced meanwhile is dropped.
        } while ($generation !== $this->generation);
        if (!\is_object($connection)) {
            throw new \TypeError("the factory of pool \"$this->name\" must return an object, " . \get_debug_type($connection) . ' returned');
        }
        if ($this->store->find($connection) !== null) {
            throw new \LogicException("the factory of pool \"$this->name\" returned a connection that the pool has already");
        }
        $now = monotonic();
        $jitter = \random_int(-25000, 25000) / 1_000_000;
        $expires = $now + $this->options->maxLifetime * (1 + $jitter);
        $entry = new Entry($connection, $now, $expires, $expires + $this->options->reserveTimeout);
        $entry->settings = PostgresqlSession::names($texts);
        $this->driver ??= $this->driver($connection);
        $this->driver->adopt($entry);
        if ($this->options->init !== null) {
            ($this->options->init)($connection);
            $this->driver->remember($entry);
        }
        $this->backoff->succeeded();
        ++$this->statistics->created;
        $this->statistics->createTime->record(monotonic() - $began);
        $this->store->add($entry);
        if ($generation !== $this->generation) {
            $entry->evictReason = 'recycled';
        }

        return $entry;
    }

    private function failed(\Throwable $error): void
    {
        $this->budget?->release();
        ++$this->statistics->failedConnects;
        $this->backoff->failed($error, monotonic());
        $this->reporter->report('warning', 'connect', "could not connect: {$error->getMessage()}", ['exception' => $error]);
    }

    /** Finds the cancelled wait behind PDO's error, which only says that the server has gone away. */
    private static function wasCancelled(\Throwable $error): bool
    {
        while ($error !== null && !$error instanceof CancelledError) {
            $error = $error->getPrevious();
        }

        return $error !== null;
    }

    private function tooSlow(\Throwable $error): \Throwable
    {
        return new \RuntimeException("connecting took longer than connectTimeout ({$this->options->connectTimeout} s)", 0, $error);
    }

    private function acquireBudget(int $more): bool
    {
        if ($this->budget === null || $this->budget->acquire()) {
            $this->budget?->starve(false);

            return true;
        }
        $urgent = $this->store->waiters->count() + $more > 0;
        $this->budget->starve($urgent);
        $this->tryAgainAfter($urgent ? Budget::INTERVAL : 1.0);

        return false;
    }

    private function tryAgainAfter(float $seconds): void
    {
        $at = monotonic() + $seconds;
        if ($this->retry !== null && $this->retryAt <= $at) {
            return;
        }
        if ($this->retry !== null) {
            Internal\stopTimer($this->retry);
        }
        $this->retryAt = $at;
        $this->retry = Internal\after($seconds, function (): void {
            $this->retry = null;
            $this->budget?->starve(false);
            $this->ensure();
        });
    }

    public function stop(): void
    {
        if ($this->retry !== null) {
            Internal\stopTimer($this->retry);
            $this->retry = null;
        }
        $this->budget?->starve(false);
    }

    /** Returns the driver of the pool's connections; until one has been made, a driver for $connection. */
    public function driver(?object $connection = null): Driver
    {
        return $this->driver ?? self::driverOf($connection, $this->options->reset === 'transaction');
    }

    private static function driverOf(?object $connection, bool $transactionOnly): Driver
    {
        return match (true) {
            $connection instanceof \PDO => new PdoDriver((string) $connection->getAttribute(\PDO::ATTR_DRIVER_NAME), $transactionOnly),
            $connection instanceof \mysqli => new MysqliDriver($transactionOnly),
            $connection instanceof \PgSql\Connection => new PgsqlDriver($transactionOnly),
            $connection instanceof \Redis => new RedisDriver($transactionOnly),
            default => new AnyDriver(),
        };
    }

    /** Called when all connections are replaced: forgets what was learnt about them; connections being made count as old. */
    public function forget(): void
    {
        ++$this->generation;
        $this->driver = null;
    }
}
