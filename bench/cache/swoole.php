<?php

declare(strict_types=1);

// What Swoole\Table takes: a row of fixed columns, each copied out of shared memory. A value without columns is serialized.

require __DIR__ . '/measure.php';

$table = new Swoole\Table(16);
$table->column('n', Swoole\Table::TYPE_INT);
$table->column('text', Swoole\Table::TYPE_STRING, 262_144);
$table->create();
$cases = [];
foreach (values() as $name => $value) {
    $text = \is_string($value) ? $value : \serialize($value);
    if (\is_int($value)) {
        $table->set($name, ['n' => $value]);
        $cases["get, $name"] = [static fn () => $table->get($name, 'n')];
        $cases["set, $name"] = [static fn () => $table->set($name, ['n' => $value])];
    } elseif (\is_string($value)) {
        $table->set($name, ['text' => $text]);
        $cases["get, $name"] = [static fn () => $table->get($name, 'text')];
        $cases["set, $name"] = [static fn () => $table->set($name, ['text' => $text])];
    } else {
        $table->set($name, ['text' => $text]);
        $cases["get, $name"] = [static fn () => \unserialize($table->get($name, 'text'))];
        $cases["set, $name"] = [static fn () => $table->set($name, ['text' => \serialize($value)])];
    }
}
$table->set('counter', ['n' => 0]);
inTurn('ns, with the call', ['Swoole\Table'], $cases + ['increment' => [static fn () => $table->incr('counter', 'n')]]);
