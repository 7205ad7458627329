<?php

declare(strict_types=1);

namespace Hearth\Pool;

/**
 * Counts a statement that talks to the server when it is freed: while there is one, its connection is not lent again.
 *
 * Only such a statement holds one of these objects. The statement itself has no destructor, because most need none.
 *
 * @internal
 */
final class OpenStatement
{
    public function __construct(private Entry $entry)
    {
        ++$entry->statements;
    }

    public function __destruct()
    {
        --$this->entry->statements;
    }
}
