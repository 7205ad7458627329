<?php

declare(strict_types=1);

namespace Hearth\Pool;

/**
 * What a connection of a pool is doing.
 *
 * @internal
 */
enum State: string
{
    /** Ready to be lent. */
    case Idle = 'idle';

    /** The pool itself has it: to check, reset, keep alive or hand it on. */
    case Reserved = 'reserved';

    /** A borrower has it. */
    case Lent = 'lent';

    /** No longer of the pool. */
    case Removed = 'removed';
}
