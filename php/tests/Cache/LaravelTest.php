<?php

declare(strict_types=1);

namespace Hearth\Tests\Cache;

require_once '/usr/share/php/Illuminate/Cache/autoload.php';

use Hearth\Cache;
use Hearth\Cache\LaravelStore;
use Illuminate\Cache\RateLimiter;
use Illuminate\Cache\Repository;
use Illuminate\Contracts\Cache\LockTimeoutException;
use PHPUnit\Framework\TestCase;

/** What Laravel's repository, tags, rate limiter and locks ask of a store; run by tests/it/cache/adapters.rs. */
final class LaravelTest extends TestCase
{
    private LaravelStore $store;
    private Repository $cache;

    protected function setUp(): void
    {
        $this->store = new LaravelStore('shop:');
        $this->store->flush();
        $this->cache = new Repository($this->store);
    }

    public function testValues(): void
    {
        self::assertNull($this->cache->get('k'));
        self::assertTrue($this->cache->put('k', ['a' => 1.5, 'o' => new \ArrayObject([1])], 60));
        self::assertEquals(['a' => 1.5, 'o' => new \ArrayObject([1])], $this->cache->get('k'));
        self::assertSame('other', $this->cache->get('none', 'other'));
        self::assertTrue($this->cache->forever('f', 'v'));
        self::assertSame('v', $this->cache->pull('f'));
        self::assertFalse($this->cache->has('f'));
        self::assertTrue($this->cache->forget('k'));
        self::assertFalse($this->cache->forget('k'));
        self::assertSame('shop:', $this->store->getPrefix());
    }

    public function testTimes(): void
    {
        $this->store->put('k', 1, 0.05);
        self::assertTrue($this->store->touch('k', 60));
        self::assertFalse($this->store->touch('none', 60));
        $this->store->put('short', 1, 0.03);
        \usleep(60_000);
        self::assertSame(1, $this->store->get('k'));
        self::assertNull($this->store->get('short'));
        self::assertTrue($this->cache->put('k', 2, -1));
        self::assertNull($this->cache->get('k'));
    }

    public function testMany(): void
    {
        self::assertTrue($this->cache->putMany(['a' => 1, '7' => 2], 60));
        self::assertSame(['a' => 1, '7' => 2, 'none' => null], $this->cache->many(['a', '7', 'none']));
        self::assertSame(['none' => 'default'], $this->cache->many(['none' => 'default']));
        self::assertSame(['a' => 1, '7' => 2], $this->cache->many(['a', '7', 'a', 7]));
    }

    public function testNumbers(): void
    {
        self::assertSame(1, $this->cache->increment('n'));
        self::assertSame(6, $this->cache->increment('n', 5));
        self::assertSame(4, $this->cache->decrement('n', 2));
        $this->cache->put('text', '41', 60);
        self::assertSame(42, $this->cache->increment('text'));
        self::assertSame(42, $this->cache->get('text'));
    }

    public function testAddAndRemember(): void
    {
        self::assertTrue($this->cache->add('k', 1, 60));
        self::assertFalse($this->cache->add('k', 2, 60));
        self::assertSame(1, $this->cache->remember('k', 60, static fn () => 2));
        self::assertSame([3], $this->cache->rememberForever('r', static fn () => [3]));
        self::assertSame([3], $this->cache->get('r'));
    }

    public function testEveryKeyIsOne(): void
    {
        $keys = ['', "a\0b", \str_repeat('k', 2000), 'tag:x:key', '0'];
        foreach ($keys as $n => $key) {
            $this->store->forever($key, $n);
        }
        self::assertSame(\array_keys($keys), \array_map($this->store->get(...), $keys));
    }

    public function testTags(): void
    {
        $this->cache->tags(['people', 'artists'])->put('john', 1, 60);
        $this->cache->tags(['people', 'authors'])->put('anne', 2, 60);
        self::assertSame(1, $this->cache->tags(['people', 'artists'])->get('john'));
        self::assertNull($this->cache->get('john'));
        $this->cache->tags('authors')->flush();
        self::assertNull($this->cache->tags(['people', 'authors'])->get('anne'));
        self::assertSame(1, $this->cache->tags(['people', 'artists'])->get('john'));
        $this->cache->tags('people')->flush();
        self::assertNull($this->cache->tags(['people', 'artists'])->get('john'));
    }

    public function testTheRateLimiter(): void
    {
        $limiter = new RateLimiter($this->cache);
        foreach ([1, 2, 3] as $attempt) {
            self::assertFalse($limiter->tooManyAttempts('login', 3));
            self::assertSame($attempt, $limiter->hit('login', 60));
        }
        self::assertTrue($limiter->tooManyAttempts('login', 3));
        self::assertGreaterThan(50, $limiter->availableIn('login'));
        $limiter->clear('login');
        self::assertSame(3, $limiter->remaining('login', 3));
    }

    public function testALockHasOneHolder(): void
    {
        $lock = $this->store->lock('import', 10);
        self::assertTrue($lock->get());
        self::assertFalse($lock->get());
        self::assertFalse($this->store->lock('import', 10)->get());
        self::assertFalse($this->store->lock('import', 10)->release());
        self::assertTrue($lock->release());
        self::assertFalse($lock->release());
        self::assertSame('done', $this->store->lock('import', 10)->get(static fn () => 'done'));
        self::assertTrue($lock->get());
        $lock->release();
    }

    public function testALockOutlivesItsObjectAndIsRestored(): void
    {
        $lock = $this->store->lock('import', 10);
        self::assertTrue($lock->get());
        $owner = $lock->owner();
        unset($lock);
        self::assertFalse($this->store->lock('import', 10)->get());
        self::assertFalse($this->store->restoreLock('import', 'another')->release());
        self::assertTrue($this->store->restoreLock('import', $owner)->release());
        self::assertTrue($this->store->lock('import', 0, 'me')->get());
        $this->store->lock('import')->forceRelease();
        self::assertTrue($this->store->lock('import', 10)->get());
        $this->store->lock('import')->forceRelease();
    }

    public function testALockEnds(): void
    {
        $cache = new Cache('laravel');
        self::assertNotNull($cache->lock('shop:short', 0.02, owner: 'dead'));
        self::assertSame('waited', $this->store->lock('short', 10)->block(5, static fn () => 'waited'));
        self::assertTrue($this->store->lock('short', 10)->get());
        $this->expectException(LockTimeoutException::class);
        try {
            $this->store->lock('short', 10)->block(0);
        } finally {
            $this->store->lock('short')->forceRelease();
        }
    }
}
