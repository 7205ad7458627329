<?php

declare(strict_types=1);

namespace Hearth\Tests\Cache;

// The next does so in Debian 12 only.
require_once '/usr/share/php/Psr/Cache/autoload.php';
require_once '/usr/share/php/Cache/IntegrationTests/autoload.php';

/** The tests that PSR-6 pools have in common (php-cache-integration-tests), run by tests/it/cache_psr.rs. */
final class Psr6Test extends \Cache\IntegrationTests\CachePoolTest
{
    public function createCachePool(): \Psr\Cache\CacheItemPoolInterface
    {
        return new \Hearth\Cache\Pool();
    }
}
