<?php

declare(strict_types=1);

namespace Hearth\Tests\Shim;

/** What the shim knows about one task. */
final class TaskState
{
    public ?\Fiber $fiber = null;
    public bool $parked = false;
    public ?string $wake = null;
    public bool $cancelled = false;
    public bool $ended = false;
    public mixed $result = null;
    public ?\Throwable $error = null;

    /** @var list<int> ids of the tasks that await this one */
    public array $awaiting = [];

    /** The task that it runs a function for, 0 = none. */
    public int $effectiveTask = 0;

    /** @var list<\Closure> */
    public array $onEnd = [];

    public function __construct(public readonly int $id, public readonly RequestState $request)
    {
    }

    /** The result, or its exception. */
    public function outcome(): mixed
    {
        return $this->error === null ? $this->result : throw $this->error;
    }
}
