<?php

declare(strict_types=1);

namespace Hearth\Internal;

use Hearth\Tests\Shim\Loop;

/** The native class, on the shim's loop. */
final class WaitQueue
{
    /** @var array<int, array{float, mixed}> by task, in the order of their coming: since when it waits, and what it has to give */
    private array $waiting = [];

    /** @var array<int, mixed> by task: what it was served */
    private array $served = [];

    public function wait(?float $timeout, \Closure $passOn, mixed $offer = null, ?float $since = null): mixed
    {
        $task = Loop::current()->taskId();
        $since ??= monotonic();
        $this->waiting[$task] = [$since, $offer];
        try {
            do {
                $woken = park($timeout === null ? null : $since + $timeout - monotonic());
            } while ($woken && !isset($this->served[$task]));
        } catch (\Throwable $error) {
            if (isset($this->served[$task])) {
                $passOn($this->served[$task]);
            }
            throw $error;
        } finally {
            $served = $this->served[$task] ?? null;
            unset($this->waiting[$task], $this->served[$task]);
        }

        return $served;
    }

    public function serve(mixed $value, mixed &$offer = null): int
    {
        foreach ($this->waiting as $task => [, $its]) {
            unset($this->waiting[$task]);
            if (unpark($task)) {
                $this->served[$task] = $value;
                $offer = $its;

                return $task;
            }
        }

        return 0;
    }

    public function count(): int
    {
        return \count($this->waiting);
    }

    public function oldest(): ?float
    {
        return $this->waiting === [] ? null : \reset($this->waiting)[0];
    }
}
