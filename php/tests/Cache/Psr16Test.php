<?php

declare(strict_types=1);

namespace Hearth\Tests\Cache;

require_once '/usr/share/php/Psr/SimpleCache/autoload.php';
require_once '/usr/share/php/Cache/IntegrationTests/autoload.php';

/** The tests that PSR-16 caches have in common (php-cache-integration-tests), run by tests/it/cache_psr.rs. */
final class Psr16Test extends \Cache\IntegrationTests\SimpleCacheTest
{
    public function createSimpleCache(): \Psr\SimpleCache\CacheInterface
    {
        return new \Hearth\Cache\SimpleCache();
    }
}
