<?php

declare(strict_types=1);

namespace Hearth\Internal;

use Hearth\Pool\Entry;
use Hearth\Pool\State;
use Hearth\Tests\Shim\Loop;

/** The native class, on the shim's loop; it leaves all decisions to PHP. */
final class LeaseTable
{
    /** @var array<int, list<Entry>> by task */
    private array $leases = [];

    /** @var array<int, true> tasks at whose end their leases come back */
    private array $watched = [];

    private int $process = 0;

    public function __construct(
        string $name,
        WaitQueue $waiters,
        private readonly Histogram $borrowTime,
        private readonly Histogram $useTime,
        private readonly \Closure $returned,
        private readonly bool $binds,
        private readonly bool $autoReturn,
    ) {
    }

    public function current(): ?Entry
    {
        return $this->binds && $this->process === processId() ? $this->of(EffectiveTask::id()) : null;
    }

    public function find(object $connection): ?Entry
    {
        foreach ($this->leases[EffectiveTask::id()] ?? [] as $entry) {
            if ($entry->connection === $connection) {
                return $entry;
            }
        }

        return null;
    }

    public function of(int $task): ?Entry
    {
        return $this->leases[$task][0] ?? null;
    }

    public function lend(Entry $entry, float $since, ?float $now = null): void
    {
        $task = $entry->owner = EffectiveTask::id();
        $this->leases[$task][] = $entry;
        if ($task !== 0 && !isset($this->watched[$task])) {
            $this->watched[$task] = true;
            Loop::current()->onTaskEnd($task, $this->taskEnded(...));
        }
        $entry->state = State::Lent;
        $entry->depth = 1;
        $entry->borrowedAt = $now ?? monotonic();
        $this->borrowTime->record($entry->borrowedAt - $since);
    }

    public function takeBack(Entry $entry): bool
    {
        $this->leases[$entry->owner] = \array_values(\array_filter($this->leases[$entry->owner], static fn (Entry $other) => $other !== $entry));
        $entry->usedAt = monotonic();
        $this->useTime->record($entry->usedAt - $entry->borrowedAt);
        ++$entry->lease;
        $entry->state = State::Reserved;

        return false;
    }

    private function taskEnded(int $task): void
    {
        while ($this->autoReturn && ($entry = $this->of($task)) !== null) {
            ($this->returned)($entry, $this->takeBack($entry));
        }
        unset($this->leases[$task], $this->watched[$task]);
    }

    public function begin(): void
    {
        $this->process = processId();
        $this->leases = $this->watched = [];
    }

    public function forget(Entry $entry): void
    {
    }

    public function handOn(bool $handsOn): void
    {
    }

    public function know(bool $resets, bool $shows): void
    {
    }
}
