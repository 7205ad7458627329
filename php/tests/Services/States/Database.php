<?php

declare(strict_types=1);

namespace Hearth\Tests\Services\States;

/** What the sessions of one database can be left with. */
interface Database
{
    public function name(): string;

    /** Makes what the states need. */
    public function prepare(): void;

    /** @return array<string, array{string, string}> what changes a session, and what shows it */
    public function states(): array;

    /** @return array<string, \Closure(mixed...): object> pools by the name of their driver, made with options; what their factory sets is part of the state */
    public function drivers(): array;

    public function change(object $connection, string $change): void;

    public function look(object $connection, string $show): mixed;

    /** What tells one connection from another. */
    public function number(object $connection): mixed;
}
