<?php

declare(strict_types=1);

namespace Hearth\Symfony;

use Hearth\Internal\Adapter;
use Hearth\Internal\Entry;
use Symfony\Component\Runtime\RunnerInterface;
use Symfony\Component\Runtime\SymfonyRuntime;

// The parent class is the app's, and a command-line script is not served.
if (\PHP_SAPI === 'cli' || !\class_exists(SymfonyRuntime::class)) {
    return;
}

/**
 * A runtime for Symfony Runtime: an unchanged `public/index.php` ends in `exit($runtime->getRunner($app)->run())`.
 * This runtime, the default in a server, hands the app to the server instead of running it once; `APP_RUNTIME`
 * selects another, as everywhere.
 *
 * @internal
 */
final class Runtime extends SymfonyRuntime
{
    public function getRunner(?object $application): RunnerInterface
    {
        if ($application === null || Adapter::entryKind($application) === '') {
            return parent::getRunner($application);
        }

        return new class($application) implements RunnerInterface {
            public function __construct(private readonly object $application)
            {
            }

            public function run(): int
            {
                Entry::give($this->application);

                return 0;
            }
        };
    }
}
