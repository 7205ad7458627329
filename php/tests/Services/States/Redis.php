<?php

declare(strict_types=1);

namespace Hearth\Tests\Services\States;

use Hearth\Pool\Pool;
use Hearth\Pool\Redis as PooledRedis;
use Hearth\Tests\Services;

final class Redis implements Database
{
    public function name(): string
    {
        return 'Redis';
    }

    public function prepare(): void
    {
        $redis = new \Redis();
        $redis->connect(Services::redis());
        $redis->rawCommand('ACL', 'SETUSER', 'other', 'on', 'nopass', '~*', '&*', '+@all');
    }

    public function states(): array
    {
        return [
            '`MULTI`' => ['$c->multi()', '$c->getMode()'],
            '`MULTI` as a raw command' => ['$c->rawCommand("MULTI")', 'json_encode($c->rawCommand("ECHO", "x"))'],
            '`SELECT`' => ['$c->select(5)', 'json_encode([$c->getDBNum(), preg_match("/ db=(\d+)/", $c->rawCommand("CLIENT", "INFO"), $m), $m[1] ?? null])'],
            '`SELECT` as a raw command' => ['$c->rawCommand("SELECT", "5")', 'json_encode([preg_match("/ db=(\d+)/", $c->rawCommand("CLIENT", "INFO"), $m), $m[1]])'],
            'prefix' => ['$c->setOption(\Redis::OPT_PREFIX, "mine:")', '$c->getOption(\Redis::OPT_PREFIX)'],
            'serializer' => ['$c->setOption(\Redis::OPT_SERIALIZER, \Redis::SERIALIZER_PHP)', '$c->getOption(\Redis::OPT_SERIALIZER)'],
            'read timeout' => ['$c->setOption(\Redis::OPT_READ_TIMEOUT, 7)', '$c->getOption(\Redis::OPT_READ_TIMEOUT)'],
            'name of the client' => ['$c->rawCommand("CLIENT", "SETNAME", "mine")', 'json_encode($c->rawCommand("CLIENT", "GETNAME") ?: "")'],
            'user (`AUTH`)' => ['$c->auth(["other", "x"])', '$c->rawCommand("ACL", "WHOAMI")'],
            '`CLIENT TRACKING`' => ['$c->rawCommand("CLIENT", "TRACKING", "ON", "BCAST", "NOLOOP")', 'preg_replace("/.* flags=(\w+) .*/s", "$1", $c->rawCommand("CLIENT", "INFO"))'],
        ];
    }

    public function drivers(): array
    {
        return [
            '`Pool\Redis`' => static fn (mixed ...$options) => new PooledRedis(Services::redis(), ...$options),
            '`Pool` of `Redis`' => static fn (mixed ...$options) => new Pool(static function (): \Redis {
                $redis = new \Redis();
                $redis->connect(Services::redis());

                return $redis;
            }, ...$options),
        ];
    }

    public function change(object $connection, string $change): void
    {
        $this->eval($connection, $change);
    }

    public function look(object $connection, string $show): mixed
    {
        return $this->eval($connection, $show);
    }

    private function eval(object $c, string $code): mixed
    {
        return eval("return $code;");
    }

    /** @var \WeakMap<object, int>|null */
    private static ?\WeakMap $numbers = null;

    /** A command that asks for it would close the connection after the lease. */
    public function number(object $connection): mixed
    {
        if ($connection instanceof PooledRedis) {
            $connection = $connection->pool()->borrow();
        }
        self::$numbers ??= new \WeakMap();

        return self::$numbers[$connection] ??= \hrtime(true);
    }
}
