<?php

declare(strict_types=1);

namespace Hearth\Internal;

/**
 * The statistics of each pool of this worker.
 *
 * @internal called by the server, for its metrics and its status
 * @return array<string, array<string, mixed>>
 */
function poolStats(): array
{
    return \Hearth\Pool\Pools::stats();
}
