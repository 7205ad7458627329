<?php

declare(strict_types=1);

namespace Hearth\Symfony;

use Hearth\Internal\Entry;
use Symfony\Component\Runtime\RunnerInterface;
use Symfony\Component\Runtime\SymfonyRuntime;

use function Hearth\Internal\entryKind;

/**
 * Symfony Runtime: an unchanged `public/index.php` ends in `exit($runtime->getRunner($app)->run())`. This runtime, the
 * default in a server, hands the app over instead of running it once; `APP_RUNTIME` chooses another, as everywhere.
 *
 * Declared when it is asked for: only then is its parent known, from the app's own autoloader.
 *
 * @internal
 */
function declareRuntime(string $class): void
{
    if ($class !== 'Hearth\Symfony\Runtime' || !\class_exists(SymfonyRuntime::class)) {
        return;
    }

    final class Runtime extends SymfonyRuntime
    {
        public function getRunner(?object $application): RunnerInterface
        {
            if ($application === null || entryKind($application) === '') {
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
}

// A command-line script finds no autoloader that it did not register.
if (\PHP_SAPI !== 'cli') {
    \spl_autoload_register('Hearth\\Symfony\\declareRuntime');
}
