<?php

declare(strict_types=1);

namespace Hearth\Tests\Cache;

require_once '/usr/share/php/Symfony/Contracts/Cache/autoload.php';
require_once '/usr/share/php/Cache/IntegrationTests/autoload.php';

/** The tests that PSR-6 pools have in common, for the adapter of Symfony; run by tests/it/cache/adapters.rs. */
final class SymfonyPsr6Test extends \Cache\IntegrationTests\CachePoolTest
{
    public function createCachePool(): \Psr\Cache\CacheItemPoolInterface
    {
        return new \Hearth\Cache\SymfonyCache();
    }
}
