<?php

declare(strict_types=1);

namespace Hearth\Pool;

use Hearth\Internal;

use function Hearth\background;

/**
 * Makes the database cancel queries of tasks that no longer wait for them.
 *
 * The database continues a query although its client has disconnected, and holds locks meanwhile. The cancellation is sent
 * over another connection: an idle one, or a new one if one more is allowed. Otherwise the query runs to its end.
 *
 * @internal
 */
final class QueryCancel
{
    /** @var list<int> the numbers of sessions whose query is to be cancelled */
    private array $sessions = [];

    private bool $runs = false;

    /** @param \Closure(): object $factory */
    public function __construct(
        private readonly \Closure $factory,
        private readonly Options $options,
        private readonly Store $store,
        private readonly Connector $connector,
        private readonly ConnectBackoff $backoff,
        private readonly ?Budget $budget,
        private readonly Reporter $reporter,
        private readonly Eviction $eviction,
    ) {
    }

    /** Starts to cancel the query of this connection. Returns at once. */
    public function start(Entry $entry): void
    {
        if ($entry->session === 0 || $entry->cancelled || $this->backoff->isOpen() || Internal\taskId() === 0 || $this->isAnswered($entry)) {
            return;
        }
        $entry->cancelled = true;
        $this->sessions[] = $entry->session;
        if ($this->runs) {
            return;
        }
        $this->runs = true;
        $task = background(function (): void {
            Internal\onTaskEnd(Internal\taskId(), function (): void {
                $this->runs = false;
            });
            $this->run();
        });
        if (!$task->isDone()) {
            Internal\after($this->options->connectTimeout + $this->options->validationTimeout, static fn () => $task->cancel());
        }
    }

    private function isAnswered(Entry $entry): bool
    {
        return \function_exists('Hearth\Internal\hasInput') && Internal\hasInput($entry->connection);
    }

    private function run(): void
    {
        try {
            if ($this->store->idle !== []) {
                $this->over($this->store->takeIdle($this->options->order));
            } elseif ($this->budget === null || $this->budget->acquire()) {
                try {
                    $this->cancelAll(($this->factory)());
                } finally {
                    $this->budget?->releaseSoon(1);
                }
            }
        } catch (\Throwable $error) {
            $this->reporter->report('info', 'cancel', "a query could not be cancelled: {$error->getMessage()}", ['exception' => $error]);
        }
        $this->sessions = [];
    }

    private function over(Entry $entry): void
    {
        $entry->suspect = true;
        try {
            $this->cancelAll($entry->connection);
            $entry->suspect = false;
        } finally {
            $this->eviction->settle($entry);
        }
    }

    private function cancelAll(object $connection): void
    {
        while ($this->sessions !== []) {
            $this->connector->driver($connection)->cancel($connection, \array_shift($this->sessions));
        }
    }
}
