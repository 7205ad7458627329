<?php

declare(strict_types=1);

namespace Hearth\Pool;

/**
 * The state of a pool's connection.
 *
 * @internal
 */
enum State: string
{
    /** Ready to be lent. */
    case Idle = 'idle';

    /** Taken by the pool itself: to check, reset, keep alive or hand on. */
    case Reserved = 'reserved';

    /** Lent to a borrower. */
    case Lent = 'lent';

    /** No longer part of the pool. */
    case Removed = 'removed';
}
