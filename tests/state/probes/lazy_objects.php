<?php
if (PHP_VERSION_ID < 80400) { return; }
final class Later { public int $number = 1; }
$class = new ReflectionClass('Later');
$ghost = $class->newLazyGhost(function (Later $ghost): void { $ghost->number = 2; });
$proxy = $class->newLazyProxy(static fn (): Later => new Later());
$class->newLazyGhost(function (): void { throw new Exception(); });
try { $class->newLazyProxy(function (): never { throw new Exception(); })->number; } catch (Exception) {}
$ghost->number; clone $proxy;
