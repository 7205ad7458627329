<?php
$exists = method_exists(ReflectionClass::class, 'newLazyGhost');
if ($exists) {
    eval(<<<'CODE'
        CLASS {
            public array $list = [];
            public string $text = 'half' HOOK;
            public ?string $any = null;
            public function text() { return $this->text; }
        }
        CODE);
}
$wait = function () { touch('waits'); UNTIL_GO };
$set = function ($object) { [$object->text, $object->any, $object->list] = ['whole', 'set', [1]]; };
$attempts = 0;
$fill = function (Service $object) use (&$attempts, $wait, $set) {
    $attempts++;
    if (file_exists('fiber')) {
        $fiber = new Fiber(function () { try { Fiber::suspend(); } finally { UNTIL_GO } });
        $fiber->start();
        $fiber = null;
    }
    $wait();
    $object->text = 'begun';
    if (file_exists('fatal')) { trigger_error('no service', E_USER_ERROR); }
    if (file_exists('throw') && $attempts === 1) { throw new RuntimeException('no service'); }
    $set($object);
};
class Forwards {
    public function __construct(private $to) {}
    public function __call($name, $arguments) { $object = $arguments[0]; $arguments = null; ($this->to)($object); }
}
$ghost = fn ($initializer) => (new ReflectionClass(Service::class))->newLazyGhost($initializer);
$proxy = fn ($factory) => (new ReflectionClass(Service::class))->newLazyProxy($factory);
$make = [
    'ghost' => fn () => $ghost($fill),
    'proxy' => fn () => $proxy(function () use ($fill) { $fill($real = new Service); return $real; }),
    'assigned' => fn () => $proxy(function ($object) use ($wait, $set) { $object = new Service; $wait(); $set($object); return $object; }),
    'unset' => fn () => $ghost(function ($object) use ($wait, $set) { $own = $object; unset($object); $wait(); $set($own); }),
    'reference' => fn () => $ghost(function ($object) use ($wait, $set) { $own = &$object; $wait(); $set($object); }),
    'forwarded' => fn () => $ghost([new Forwards(function () use ($wait, $set) { $wait(); $set(func_get_arg(0)); }), 'make']),
    'suspended' => fn () => $ghost(function ($object) use ($set) { Fiber::suspend(); $set($object); }),
];
$fiber = null;
$start = function ($service) use (&$fiber) { $fiber = new Fiber(fn () => $service->text); $fiber->start(); };
$begin = function ($kind, $service) use ($start, $wait, &$fiber) {
    if ($kind !== 'suspended') { return $service->text; }
    $start($service);
    $seen = $service->text;
    $wait();
    $seen .= $service->text;
    $fiber->resume();
    return $seen === 'halfhalf' ? $service->text : $seen;
};
$put = function ($service) { $service->dynamic = 'mine'; return $service->text . $service->dynamic; };
$limit = function ($use) { try { return Hearth\timeout(0.02, $use); } catch (Hearth\TimeoutError) { return 'timed out'; } };
$whole = fn ($all) => $all == ['text' => 'whole', 'any' => 'set', 'list' => [1]] ? 'whole' : json_encode($all);
$each = function ($service) use ($whole) {
    $all = [];
    foreach ($service as $name => $value) { $all[$name] = $value; }
    return $whole($all);
};
$uses = [
    'read' => fn ($service) => $service->text,
    'method' => fn ($service) => $service->text(),
    'isset' => fn ($service) => isset($service->any) ? 'whole' : 'half',
    'unset' => function ($service) { unset($service->list); return $service->text; },
    'write' => function ($service) { $service->any = 'mine'; return $service->text . $service->any; },
    'reference' => function ($service) { $list = &$service->list; return $list === [1] ? 'whole' : 'half'; },
    'each' => $each,
    'variables' => fn ($service) => $whole(get_object_vars($service)),
    'array' => fn ($service) => $whole((array) $service),
    'json' => fn ($service) => $whole(json_decode(json_encode($service), true)),
    'serialized' => fn ($service) => unserialize(serialize($service))->text,
    'clone' => fn ($service) => (clone $service)->text,
    'equal' => fn ($service) => $service == new Service ? 'half' : 'whole',
    'printed' => fn ($service) => preg_match('/1.*whole.*set/s', print_r($service, true)) ? 'whole' : 'half',
    'exported' => fn ($service) => preg_match('/1.*whole.*set/s', var_export($service, true)) ? 'whole' : 'half',
    'reflected' => fn ($service) => (new ReflectionProperty(Service::class, 'text'))->getValue($service),
    'timeout' => fn ($service) => $limit(fn () => $service->text),
    'each-timeout' => fn ($service) => $limit(fn () => $each($service)),
    'put' => function ($service) use ($put) { $put(new Service); $put(new Service); return $put($service); },
    'dynamic' => fn ($service) => $service->dynamic,
];
$service = $exists && BOOT ? $make['ghost']() : null;
return function ($request) use (&$service, &$attempts, &$fiber, $make, $begin, $start, $uses, $exists) {
    try {
        switch ($request->path) {
            case '/exists': return $exists ? 'yes' : 'no';
            case '/begin': $service ??= $make[$request->queryString](); return $begin($request->queryString, $service);
            case '/leave': $start($service = $make['suspended']()); return 'left';
            case '/resume': $fiber->resume(); return $service->text;
            case '/end': $service = null; $attempts = 0; return 'ended';
            default: return $uses[substr($request->path, 1)]($service);
        }
    } catch (RuntimeException | Error $e) {
        return $e->getMessage();
    }
};
