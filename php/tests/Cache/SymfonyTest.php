<?php

declare(strict_types=1);

namespace Hearth\Tests\Cache;

require_once '/usr/share/php/Symfony/Contracts/Cache/autoload.php';

use Hearth\Cache\SymfonyCache;
use PHPUnit\Framework\TestCase;
use Psr\Cache\CacheItemInterface;
use Psr\Cache\InvalidArgumentException;
use Symfony\Contracts\Cache\CacheInterface;
use Symfony\Contracts\Cache\CallbackInterface;
use Symfony\Contracts\Cache\ItemInterface;
use Symfony\Contracts\Cache\TagAwareCacheInterface;

/** What Symfony's cache contracts ask; run by tests/it/cache/adapters.rs. */
final class SymfonyTest extends TestCase
{
    private SymfonyCache $cache;

    protected function setUp(): void
    {
        $this->cache = new SymfonyCache();
        $this->cache->clear();
    }

    /** @return callable(ItemInterface): string that counts its calls */
    private function counter(int &$calls, ?float $ttl = null, string ...$tags): callable
    {
        return static function (ItemInterface $item) use (&$calls, $ttl, $tags): string {
            if ($ttl !== null) {
                $item->expiresAt(\DateTimeImmutable::createFromFormat('U.u', \sprintf('%.6F', \microtime(true) + $ttl)));
            }
            $item->tag($tags);
            return 'computed ' . ++$calls;
        };
    }

    public function testItIsWhatSymfonyAsksFor(): void
    {
        self::assertInstanceOf(CacheInterface::class, $this->cache);
        self::assertInstanceOf(TagAwareCacheInterface::class, $this->cache);
        self::assertInstanceOf(ItemInterface::class, $this->cache->getItem('k'));
    }

    public function testAValueIsComputedOnce(): void
    {
        $calls = 0;
        for ($i = 0; $i < 3; ++$i) {
            self::assertSame('computed 1', $this->cache->get('k', $this->counter($calls)));
        }
        self::assertSame('computed 1', $this->cache->getItem('k')->get());
        self::assertTrue($this->cache->delete('k'));
        self::assertSame('computed 2', $this->cache->get('k', $this->counter($calls)));
    }

    public function testTheCallbackSaysHowLong(): void
    {
        $calls = 0;
        self::assertSame('computed 1', $this->cache->get('k', $this->counter($calls, 0.05)));
        self::assertSame('computed 1', $this->cache->get('k', $this->counter($calls)));
        \usleep(60_000);
        self::assertSame('computed 2', $this->cache->get('k', $this->counter($calls)));
    }

    public function testATagEndsWhatWasComputedWithIt(): void
    {
        $calls = 0;
        $this->cache->get('a', $this->counter($calls, null, 'news', '7'));
        $this->cache->get('b', $this->counter($calls, null, 'shop'));
        self::assertTrue($this->cache->invalidateTags(['7', 'unknown']));
        self::assertFalse($this->cache->hasItem('a'));
        self::assertTrue($this->cache->hasItem('b'));
    }

    public function testTagsOfSavedItems(): void
    {
        $item = $this->cache->getItem('k')->set('v');
        $this->cache->save($item->tag(['news', 'first']));
        self::assertSame('v', $this->cache->getItem('k')->get());
        $this->cache->invalidateTags(['first']);
        self::assertFalse($this->cache->hasItem('k'));
    }

    public function testWhatIsNotToBeSavedIsNot(): void
    {
        $once = static function (ItemInterface $item, bool &$save): string {
            $save = false;
            return 'v';
        };
        self::assertSame('v', $this->cache->get('k', $once));
        self::assertFalse($this->cache->hasItem('k'));
        $callback = new class () implements CallbackInterface {
            public function __invoke(CacheItemInterface $item, bool &$save): mixed
            {
                return $item->getKey();
            }
        };
        self::assertSame('k', $this->cache->get('k', $callback));
        self::assertTrue($this->cache->hasItem('k'));
    }

    public function testWhatCannotBeKeptIsReturned(): void
    {
        $closure = static fn (): int => 1;
        self::assertSame($closure, $this->cache->get('k', static fn () => $closure));
        self::assertFalse($this->cache->hasItem('k'));
    }

    public function testAFailureIsItsCallers(): void
    {
        try {
            $this->cache->get('k', static fn () => throw new \DomainException('no database'));
            self::fail('it is thrown');
        } catch (\DomainException $failure) {
            self::assertSame('no database', $failure->getMessage());
        }
        self::assertSame(1, $this->cache->get('k', static fn () => 1));
    }

    public function testBeta(): void
    {
        $calls = 0;
        $this->cache->get('k', $this->counter($calls));
        self::assertSame('computed 1', $this->cache->get('k', $this->counter($calls), 0));
        self::assertSame('computed 2', $this->cache->get('k', $this->counter($calls), \INF));
        self::assertSame('computed 2', $this->cache->get('k', $this->counter($calls)));
        $this->expectException(InvalidArgumentException::class);
        $this->cache->get('k', $this->counter($calls), -1.0);
    }

    public function testMetadata(): void
    {
        $calls = 0;
        $this->cache->get('k', $this->counter($calls, 60, 'news'), null, $metadata);
        self::assertEqualsWithDelta(\microtime(true) + 60, $metadata[ItemInterface::METADATA_EXPIRY], 1);
        self::assertSame(['news' => 'news'], $metadata[ItemInterface::METADATA_TAGS]);
        self::assertGreaterThan(0, $metadata[ItemInterface::METADATA_CTIME]);
        $this->cache->get('k', $this->counter($calls), null, $metadata);
        self::assertSame([], $metadata);
    }

    /** @dataProvider mistakes */
    public function testMistakes(callable $mistake): void
    {
        $this->expectException(InvalidArgumentException::class);
        $mistake($this->cache);
    }

    /** @return iterable<list<callable>> */
    public static function mistakes(): iterable
    {
        yield [static fn (SymfonyCache $cache) => $cache->get('{k}', static fn () => 1)];
        yield [static fn (SymfonyCache $cache) => $cache->delete('')];
        yield [static fn (SymfonyCache $cache) => $cache->invalidateTags(['a', 'b:c'])];
        yield [static fn (SymfonyCache $cache) => $cache->getItem('k')->tag('a/b')];
    }
}
