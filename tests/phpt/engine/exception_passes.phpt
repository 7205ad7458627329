--TEST--
What runs code of its own when it goes, wherever an exception may pass
--SKIPIF--
<?php
if (getenv('PHPT_WAY') === 'php') { echo 'skip there are no tasks, and it is a defect of the engine'; }
?>
--INI--
error_log=/dev/null
--FILE--
<?php
if (!class_exists('Dies', false)) {
    eval('class Dies { public $x; public function __construct(private Closure $fn) {} public function __destruct() { ($this->fn)(); } }
        class Passes extends Exception {}
        class Instead extends Exception {}
        class Fails { public $p; function __construct($x) { $this->p = $x; throw new Passes("passes"); } }
        class Texts extends Exception { public ?Closure $fn = null; function __toString(): string { ($this->fn)(); return "text"; } }
        function identity($x) { return $x; }
        function two($a, $b) { return [$a, $b]; }
        function variadic(...$a) { return $a; }');
}
$things = [
    'generator' => function ($in) { $g = (function () use ($in) { try { yield 1; yield 2; } finally { $in(); } })(); $g->current(); return $g; },
    'generator-call' => function ($in) { $g = (function () use ($in) { try { two([1, 'x' . mt_rand()], 'y' . identity(yield 1)); } finally { $in(); } })(); $g->current(); return $g; },
    'delegating' => function ($in) { $i = (function () use ($in) { try { yield 1; } finally { $in(); } })(); $g = (function () use ($i, $in) { try { yield from $i; } finally { $in(); } })(); unset($i); $g->current(); return $g; },
    'fiber' => function ($in) { $f = new Fiber(function () use ($in) { try { Fiber::suspend(1); } finally { $in(); } }); $f->start(); return $f; },
    'fiber-generator' => function ($in) { $f = new Fiber(function () use ($in) { foreach ((function () use ($in) { try { yield Fiber::suspend(1); } finally { $in(); } })() as $x) { } }); $f->start(); return $f; },
    'dies-generator' => function ($in) { $d = new Dies($in); $d->x = (function () use ($in) { try { yield 1; } finally { $in(); } })(); $d->x->current(); return $d; },
    'unseen' => function ($in) { return Hearth\async(function () use ($in) { $t = new Texts('t'); $t->fn = $in; throw $t; }); },
];
$pending = [
    'throw' => 'throw new Passes("passes")',
    'internal' => 'array_map(function ($x) { throw new Passes("passes"); }, [1])',
    'none' => 'null',
];
$inner = [
    'park' => function () { (new Hearth\Channel())->receive(0.0001); },
    'throw' => function () { throw new Instead('instead'); },
];
$positions = [
    'variable' => '$thing = $make(); %s; return 1;',
    'variables' => '$one = $make(); $thing = $make(); $two = $make(); %s; return 1;',
    'element' => '$a = [1, $make(), "x" . mt_rand(), %s]; return $a;',
    'argument' => '$a = two($make(), %s); return $a;',
    'argument-after' => '$a = variadic(1, $make(), "x" . mt_rand(), %s); return $a;',
    'internal-argument' => '$a = array_map(function ($x) { return %s; }, [$make()]); return $a;',
    'loop' => 'foreach ([$make(), $make()] as $thing) { %s; } return 1;',
    'loop-over' => 'foreach ((fn () => yield from [$make(), $make()])() as $thing) { %s; } return 1;',
    'try' => 'try { $thing = $make(); %s; } finally { $thing = null; }',
    'finally' => 'try { return $make(); } finally { %s; }',
    'finally-both' => 'try { $thing = $make(); throw new Passes("first"); } finally { %s; }',
    'catch' => 'try { %s; } catch (Exception $e) { $thing = $make(); throw $e; }',
    'catch-over' => '$e = $make(); try { %s; } catch (Exception $e) { return 1; }',
    'inner-call' => '$f = function ($x) { $y = $x; %s; }; return two(1, $f($make()));',
    'method' => '$o = new class($make()) { function __construct(public $x) {} function run() { $thing = $this->x; $this->x = null; %s; } }; $o->run();',
    'temporary' => 'return [$make(), 1][0] . (%s);',
    'rope' => '$n = "k" . mt_rand(); return "$n {$make(...)} " . (%s);',
    'new' => 'return new ArrayObject([$make(), %s]);',
    'constructor' => '$x = new Fails($make()); return %s;',
    'generator' => 'foreach ((function () use ($make) { $thing = $make(); yield 1; %s; })() as $x) {} return 1;',
    'static' => '$f = static fn () => [$make(), %s]; return $f();',
    'replaced' => '$thing = $make(); $thing = %s; return 1;',
    'unset' => '$thing = $make(); try { %s; } catch (Exception $e) { unset($thing); throw $e; }',
    'reference' => '$thing = $make(); $r = &$thing; (function () use (&$r) { $r = null; %s; })();',
    'match' => 'return match (true) { default => [$make(), %s] };',
    'spread' => 'return variadic(...[$make(), 2], ...[%s]);',
    'callback' => 'ob_start(function ($b) { return $b; }); $thing = $make(); try { %s; } finally { ob_end_clean(); }',
];
$count = 0;
foreach ($positions as $where => $code) {
    foreach ($pending as $passes => $throws) {
        $run = eval('return function ($make) { ' . str_replace('%s', $throws, $code) . ' };');
        foreach ($things as $thing => $make) {
            foreach ($inner as $in => $inside) {
                $kept = [new ArrayObject(["$where $passes $thing $in"]), 'k' . mt_rand()];
                for ($n = 0; $n < 2; $n++) {
                    try {
                        $made = [$kept[1] . 'x', $run(fn () => $make($inside)), $kept, $kept[1] . 'y'];
                        $made = null;
                    } catch (Passes | Instead | Error) {
                    }
                }
                $count++;
                if ($kept[0][0] !== "$where $passes $thing $in") { echo "damaged: $where $passes $thing $in\n"; }
            }
        }
    }
}
echo "$count\n";
?>
--EXPECT--
1134
