<?php

declare(strict_types=1);

namespace Hearth\Tests\Shim;

/** What the tasks of one request share. */
final class RequestState
{
    public \WeakMap $locals;

    /** @var list<\Closure> */
    public array $deferred = [];

    public readonly string $id;

    public function __construct()
    {
        $this->locals = new \WeakMap();
        $this->id = \bin2hex(\random_bytes(8));
    }
}
