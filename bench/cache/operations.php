<?php

declare(strict_types=1);

// What an operation of Hearth\Cache takes beside the same of APCu; a page of 20 rows beside one from a static variable; mixes.

require __DIR__ . '/measure.php';

$cache = new Hearth\Cache();
$get = $set = $both = [];
foreach (values() as $name => $value) {
    $cache->set($name, $value);
    apcu_store($name, $value);
    $get["get, $name"] = [fn () => $cache->get($name), fn () => apcu_fetch($name)];
    $set["set, $name"] = [fn () => $cache->set($name, $value), fn () => apcu_store($name, $value)];
    $both["set and get, $name"] = [
        function () use ($cache, $name, $value): void { $cache->set($name, $value); $cache->get($name); },
        function () use ($name, $value): void { apcu_store($name, $value); apcu_fetch($name); },
    ];
}
$cache->set('n', 0);
apcu_store('n', 0);
$others = ['increment' => [fn () => $cache->increment('n'), fn () => apcu_inc('n')], 'an empty function' => [fn () => null, fn () => null]];
inTurn('ns, with the call', ['Hearth\Cache', 'APCu'], $get + $set + $both + $others);

$keys = \array_map(static fn (int $n): string => "key $n", \range(0, 63));
$values = \array_fill_keys($keys, rows(20));
$cache->setMultiple($values);
apcu_store($values);
inTurn('ns of 64 keys at once', ['Hearth\Cache', 'APCu'], [
    'get 64, in the process' => [fn () => $cache->getMultiple($keys), fn () => apcu_fetch($keys)],
    'set 64' => [fn () => $cache->setMultiple($values), fn () => apcu_store($values)],
    'set 64, get 64' => [
        function () use ($cache, $keys, $values): void { $cache->setMultiple($values); $cache->getMultiple($keys); },
        function () use ($keys, $values): void { apcu_store($values); apcu_fetch($keys); },
    ],
]);

/** Every $nth is a write: 0 of none. */
$mix = static fn (int $nth, callable $read, callable $write): callable =>
    static fn (int $i) => $nth !== 0 && $i % $nth === 0 ? $write($keys[$i % 64], $values[$keys[0]]) : $read($keys[$i % 64]);
$mixes = [];
foreach (['100 % hits' => 0, '10 % writes' => 10, '50 % writes' => 2] as $name => $nth) {
    $mixes[$name] = [$mix($nth, $cache->get(...), $cache->set(...)), $mix($nth, apcu_fetch(...), apcu_store(...))];
}
inTurn('ns of one of 64 keys, 20 rows', ['Hearth\Cache', 'APCu'], $mixes);

$query = static fn (): array => \array_map(static fn (int $n): array => ['id' => (string) $n, 'name' => "name $n"], \range(1, 20));
$static = static function () use ($query): array {
    static $rows;
    return $rows ??= $query();
};
apcu_store('rows', $query());
inTurn('ns of a page of 20 rows', ['a static variable', 'Hearth\Cache', 'APCu'], [
    'print_r' => [
        static fn () => \print_r($static(), true),
        static fn () => \print_r($cache->remember('rows', 60, $query), true),
        static fn () => \print_r(apcu_fetch('rows'), true),
    ],
]);
