<?php

// As apcu.php: values, arguments and orders that are less usual. What differs on purpose is in the guide.

function show(string $what, callable $f): void {
    try { $r = $f(); } catch (Throwable $e) { $r = get_class($e) . ': ' . $e->getMessage(); }
    echo $what, ' ', is_string($r) ? $r : var_export($r, true), "\n";
}
set_error_handler(function ($n, $m) { echo "[$m] "; return true; });
apcu_clear_cache();
enum Suit: string { case Hearts = 'H'; case Spades = 'S'; }
enum Unit { case A; }
final class RO { public function __construct(public readonly int $a, public readonly ?RO $next = null) {} }
class Thrower { public function __serialize(): array { throw new DomainException('ser'); } }
class Wake { public $x = 1; public function __unserialize(array $d): void { throw new DomainException('wake'); } }
class Sl { public $a = 1; public $b = 2; public function __sleep() { return ['a']; } }
show('nan', fn () => [apcu_store('d', [NAN, INF, -INF, -0.0, 1e308, 5e-324]), array_map('serialize', apcu_fetch('d'))]);
show('nan single', function () { apcu_store('d', NAN); return is_nan(apcu_fetch('d')); });
show('neg zero', function () { apcu_store('d', -0.0); return 1/ (apcu_fetch('d') ?: 1) . serialize(apcu_fetch('d')); });
show('enum', fn () => [apcu_store('e', Suit::Hearts), apcu_fetch('e') === Suit::Hearts]);
show('enum arr', fn () => [apcu_store('e', [Suit::Hearts, Unit::A, 'x' => ['y' => Unit::A]]), apcu_fetch('e') === [Suit::Hearts, Unit::A, 'x' => ['y' => Unit::A]]]);
show('readonly', function () { apcu_store('r', new RO(1, new RO(2))); return [apcu_fetch('r')->next->a, apcu_fetch('r') == new RO(1, new RO(2))]; });
show('refs', function () { $a = [1]; $a['r'] = &$a[0]; apcu_store('refs', $a); $b = apcu_fetch('refs'); $b[0] = 5; return $b; });
show('rec refs', function () { $a = [1]; $a['self'] = &$a; try { return apcu_store('rec', $a); } finally { } });
show('rec refs fetch', function () { $b = apcu_fetch('rec'); return is_array($b) ? [count($b), $b['self'][0] ?? null] : $b; });
show('obj refs', function () { $o = new stdClass; $o->me = $o; apcu_store('or', $o); $p = apcu_fetch('or'); return $p->me === $p; });
show('sleep', function () { apcu_store('sl', new Sl); return serialize(apcu_fetch('sl')); });
show('thrower', fn () => apcu_store('th', new Thrower));
show('thrower list', fn () => apcu_store(['t1' => 1, 't2' => new Thrower, 't3' => 3]));
show('thrower in array', fn () => apcu_store('th', [1, new Thrower]));
show('closure list', fn () => apcu_store(['c1' => 1, 'c2' => fn () => 1]));
show('resource', fn () => apcu_store('f', fopen('php://memory', 'r')));
show('resource in list', fn () => apcu_store(['f1' => fopen('php://memory', 'r'), 'f2' => 2]));
show('no value', fn () => apcu_store('k'));
show('null value', fn () => [apcu_store('k', null), apcu_exists('k'), apcu_fetch('k')]);
show('store null key', fn () => apcu_store(null, 1));
show('store float key', fn () => apcu_store(1.5, 1));
show('store true key', fn () => apcu_store(true, 1));
show('store obj key', fn () => apcu_store(new stdClass, 1));
show('store array as value null', fn () => apcu_store(['q' => 1, 'w' => 2], 99));
show('q', fn () => apcu_fetch('q'));
show('store empty array', fn () => apcu_store([]));
show('add empty array', fn () => apcu_add([]));
show('fetch empty array', function () { $r = apcu_fetch([], $s); return [$r, $s]; });
show('exists empty', fn () => apcu_exists([]));
show('delete empty', fn () => apcu_delete([]));
show('delete dups', fn () => [apcu_store('dd', 1), apcu_delete(['dd', 'dd'])]);
show('delete list mixed', fn () => [apcu_store('dd', 1), apcu_delete(['zz' => 'dd', 5 => 'none', [1], new stdClass, 1.5])]);
show('delete int', fn () => [apcu_store('5', 1), apcu_delete(5)]);
show('delete null', fn () => apcu_delete(null));
show('fetch null', fn () => apcu_fetch(null));
show('fetch true', fn () => [apcu_store('1', 'one'), apcu_fetch(true), apcu_fetch(1), apcu_fetch(1.0)]);
show('fetch obj', fn () => apcu_fetch(new stdClass));
show('exists ref', function () { $k = 'a'; $l = [&$k]; return apcu_exists($l); });
show('inc not there neg', function () { $r = apcu_inc('nn', -3, $s); return [$r, $s, apcu_fetch('nn')]; });
show('dec not there', function () { $r = apcu_dec('nd', 3, $s); return [$r, $s, apcu_fetch('nd')]; });
show('inc zero', fn () => [apcu_inc('z0', 0), apcu_exists('z0')]);
show('inc array', function () { apcu_store('ia', [1]); $r = apcu_inc('ia', 1, $s); return [$r, $s]; });
show('inc null', function () { apcu_store('in', null); $r = apcu_inc('in', 1, $s); return [$r, $s]; });
show('inc bool', function () { apcu_store('ib', true); $r = apcu_inc('ib', 1, $s); return [$r, $s]; });
show('exists runs nothing', fn () => [apcu_store('wk', new Wake), apcu_exists('wk'), apcu_exists(['wk'])]);
show('inc max', function () { apcu_store('im', PHP_INT_MAX - 1); $r = apcu_inc('im', 1, $s); return [$r, $s]; });
show('inc beyond', function () { apcu_store('io', PHP_INT_MAX, 60); $r = apcu_inc('io', 2, $s); return [$r, $s, apcu_dec('io', 3), apcu_key_info('io')['ttl']]; });
show('inc string step', fn () => apcu_inc('z1', '5'));
show('inc bad step', fn () => apcu_inc('z1', 'x'));
show('inc float step', fn () => apcu_inc('z1', 1.5));
show('inc ttl', fn () => [apcu_inc('it', 1, $s, 60), apcu_key_info('it')['ttl'], apcu_inc('it', 1, $s, 90), apcu_key_info('it')['ttl']]);
show('inc ttl neg', fn () => [apcu_inc('itn', 1, $s, -60), $s]);
show('inc key array', fn () => apcu_inc([], 1));
show('cas string', fn () => [apcu_store('cs', 'x'), apcu_cas('cs', 0, 1)]);
show('cas none', fn () => [apcu_cas('cnone', 0, 1), apcu_exists('cnone')]);
show('cas same', fn () => [apcu_store('cc', 4), apcu_cas('cc', 4, 4), apcu_fetch('cc')]);
show('cas types', fn () => apcu_cas('cc', '4', 5));
show('cas bad', fn () => apcu_cas('cc', 'a', 5));
show('cas args', fn () => apcu_cas('cc', 4));
show('add', fn () => [apcu_add('ad', 1), apcu_add('ad', 2), apcu_fetch('ad')]);
show('add neg ttl', fn () => [apcu_add('adn', 1, -1), apcu_exists('adn'), apcu_add('adn', 2, 10), apcu_fetch('adn')]);
show('store neg ttl list', fn () => [apcu_store(['sn' => 1, 'sm' => 2], null, -1), apcu_exists(['sn', 'sm'])]);
show('add neg ttl list', fn () => [apcu_add(['sn' => 1, 'so' => 2], null, -1), apcu_exists(['sn', 'so'])]);
show('ttl string', fn () => apcu_store('ts', 1, '60'));
show('ttl bad', fn () => apcu_store('ts', 1, 'x'));
show('ttl float', fn () => apcu_store('ts', 1, 1.9));
show('ttl null', fn () => apcu_store('ts', 1, null));
show('entry nested', fn () => apcu_entry('n1', fn () => apcu_entry('n2', fn () => 'inner') . ' outer'));
show('entry nested after', fn () => apcu_fetch(['n1', 'n2']));
show('entry throws', fn () => apcu_entry('ex', fn () => throw new RuntimeException('boom')));
show('entry throws after', fn () => [apcu_exists('ex'), apcu_entry('ex', fn () => 2)]);
show('entry key type', fn () => apcu_entry(5, fn ($k) => var_export($k, true)));
show('entry args', fn () => apcu_entry('ea', fn (...$a) => $a));
show('entry bad', fn () => apcu_entry('eb', 'no_such_function'));
show('entry ttl', fn () => [apcu_entry('et', fn () => 1, 60), apcu_key_info('et')['ttl']]);
show('entry neg ttl', fn () => [apcu_entry('en', fn () => 1, -60), apcu_exists('en')]);
show('entry stores', fn () => [apcu_entry('es', function () { apcu_store('es', 9); return 1; }), apcu_fetch('es')]);
show('entry void', fn () => [apcu_entry('ev', function () {}), apcu_exists('ev')]);
show('entry object', fn () => apcu_entry('eo', fn () => new ArrayObject([1])));
show('entry object identity', function () { $o = new stdClass; $p = apcu_entry('ei', fn () => $o); return [$o === $p, apcu_fetch('ei') === $o]; });
show('entry of closure', fn () => apcu_entry('ec', fn () => fn () => 1));
show('key_info', function () { apcu_store('ki', 1, 30); $i = apcu_key_info('ki'); return [array_keys($i), $i['ttl'], $i['refs'], $i['deletion_time']]; });
show('key_info bad', fn () => apcu_key_info([]));
show('info', function () { $i = apcu_cache_info(true); return [$i['num_entries'] > 0, $i['memory_type'], $i['expunges'], is_float($i['num_hits']), is_float($i['num_misses']), is_float($i['num_inserts']), is_int($i['start_time']), $i['ttl'], is_float($i['mem_size'])]; });
show('types', fn () => array_map('gettype', apcu_cache_info(true)));
show('sma types', fn () => array_map('gettype', apcu_sma_info(true)));
show('row types', fn () => array_map('gettype', apcu_cache_info()['cache_list'][0]));
show('key types', fn () => array_map('gettype', apcu_key_info('ki')));
show('sma blocks', fn () => array_map('gettype', apcu_sma_info()['block_lists'][0][0]));
show('sma', fn () => [apcu_sma_info(true)['num_seg'], array_keys(apcu_sma_info())]);
show('many args', fn () => apcu_clear_cache(1));
show('enabled args', fn () => apcu_enabled(1));
show('long keys', function () { $k = str_repeat('x', 2000); apcu_store([$k => 1, $k . 'y' => 2]); return [apcu_fetch([$k, $k . 'y']) === [$k => 1, $k . 'y' => 2], apcu_delete([$k, 'q' . $k]) === ['q' . $k], apcu_exists($k)]; });
show('bin keys', function () { $k = "\0\xff\x80bin"; apcu_store($k, 'b'); return [apcu_fetch($k), apcu_exists([$k]) === [$k => true], apcu_inc("\0n"), apcu_key_info($k) !== null]; });
show('bin vs', function () { apcu_store("a\0b", 1); apcu_store("a", 2); return [apcu_fetch("a\0b"), apcu_fetch('a')]; });
show('case', fn () => [apcu_store('Case', 1), apcu_exists('case')]);
apcu_clear_cache();
for ($i = 0; $i < 25; $i++) apcu_store("k$i", $i, 60);
apcu_store('other', ['x' => 1]); apcu_store('007', 'bond'); apcu_store('42', 'num');
show('it count', fn () => iterator_count(new APCUIterator('/^k/')));
show('it chunk', fn () => iterator_count(new APCUIterator('/^k/', APC_ITER_ALL, 3)));
show('it key', function () { $i = new APCUIterator('/^k1$/', APC_ITER_ALL); return [$i->key(), $i->current()['value'], $i->current()['key'], $i->current()['ttl'], $i->current()['type']]; });
show('it keys numeric', function () { $k = []; foreach (new APCUIterator('/^(007|42)$/') as $key => $v) { $k[] = [$key, $v['value'], gettype($key)]; } sort($k); return $k; });
show('it all fields', function () { $i = new APCUIterator('/^other$/'); return array_map('gettype', $i->current()); });
show('it list', function () { $k = []; foreach (new APCUIterator(['k1', 'nope', 'k3'], APC_ITER_VALUE) as $key => $v) { $k[$key] = $v; } ksort($k); return $k; });
show('it list non string', function () { $k = []; foreach (new APCUIterator([42, 'k1'], APC_ITER_VALUE) as $key => $v) { $k[$key] = $v; } ksort($k); return $k; });
show('it empty list', fn () => iterator_count(new APCUIterator([])));
show('it empty string', fn () => iterator_count(new APCUIterator('')));
show('it null', fn () => iterator_count(new APCUIterator(null)));
show('it none args', fn () => iterator_count(new APCUIterator()));
show('it int', fn () => iterator_count(new APCUIterator(5)));
show('it case', fn () => iterator_count(new APCUIterator('/^K1$/i')));
show('it utf', fn () => iterator_count(new APCUIterator('/^k1$/u')));
show('it rewind', function () { $i = new APCUIterator('/^k/'); foreach ($i as $a) { break; } $n = 0; foreach ($i as $a) $n++; return $n; });
show('it fresh', function () { $i = new APCUIterator('/^fresh/'); apcu_store('fresh', 1); return iterator_count($i); });
show('it gone', function () { apcu_store('gone1', 1); $i = new APCUIterator('/^gone/', APC_ITER_VALUE); apcu_delete('gone1'); $r = []; foreach ($i as $k => $v) $r[$k] = $v; return $r; });
show('it gone mid', function () { apcu_store(['m1' => 1, 'm2' => 2, 'm3' => 3]); $n = 0; foreach (new APCUIterator('/^m\d/') as $k => $v) { $n++; apcu_delete($k); } return [$n, apcu_exists(['m1', 'm2', 'm3'])]; });
show('it ref', fn () => [(new ReflectionClass('APCUIterator'))->isFinal(), (new ReflectionClass('APCUIterator'))->getInterfaceNames(), (new ReflectionMethod('APCUIterator', '__construct'))->getNumberOfParameters()]);
class Sub extends APCUIterator { public $extra = 3; function __construct() {} }
class Sub2 extends APCUIterator { function __construct() { parent::__construct('/^k1$/'); } public function current(): mixed { return 'sub ' . parent::current()['value']; } }
show('it sub', function () { $r = []; foreach (new Sub2 as $k => $v) $r[$k] = $v; return $r; });
show('delete sub', fn () => [apcu_delete(new Sub2), apcu_exists('k1')]);
show('delete it', fn () => [apcu_delete(new APCUIterator('/^k2/')), apcu_exists(['k2', 'k20', 'k3'])]);
show('delete it list', fn () => [apcu_delete(new APCUIterator(['k3', 'k4'])), apcu_exists(['k3', 'k4', 'k5'])]);
show('delete it none', fn () => [apcu_delete(new APCUIterator('/^nope/'))]);
show('nested it', function () { $n = 0; foreach (new APCUIterator('/^k1/') as $a) foreach (new APCUIterator('/^k1/') as $b) $n++; return $n; });
show('it value obj', function () { apcu_store('vo', new ArrayObject([1, 2])); foreach (new APCUIterator('/^vo$/') as $v) { return get_class($v['value']) . count($v['value']); } });
show('it wake throws', function () { apcu_store('vw', new Wake); foreach (new APCUIterator('/^vw$/') as $v) { return 'none'; } return 'end'; });
show('it hits', function () {
    apcu_store(['h1' => [1], 'h2' => new ArrayObject([1]), 'h3' => 3]);
    $before = apcu_cache_info(true);
    $seen = iterator_count(new APCUIterator('/^h\d/'));
    foreach (new APCUIterator('/^h\d/') as $entry) { $seen += $entry['num_hits']; }
    $after = apcu_cache_info(true);
    return [$seen, $after['num_hits'] - $before['num_hits'], $after['num_misses'] - $before['num_misses'], apcu_key_info('h1')['hits'],
        (new APCUIterator('/^h\d/'))->getTotalHits()];
});
show('big', function () { $s = str_repeat('ab', 500000); return [apcu_store('big', $s), apcu_fetch('big') === $s]; });
show('too big', fn () => [apcu_store('huge', str_repeat('x', 60 * 1024 * 1024)), apcu_exists('huge')]);
show('too big list', fn () => [apcu_store(['huge' => str_repeat('x', 60 * 1024 * 1024), 'small' => 1]), apcu_exists(['huge', 'small'])]);
show('deep', function () { $a = 1; for ($i = 0; $i < 400; $i++) $a = [$a]; return [apcu_store('deep', $a), apcu_fetch('deep') === $a]; });
show('int keys', fn () => [apcu_store('m', [5 => 'a', '6' => 'b', 'x' => 'c', -1 => 'd', '' => 'e']), apcu_fetch('m') === [5 => 'a', '6' => 'b', 'x' => 'c', -1 => 'd', '' => 'e']]);
show('next index', function () { $a = [5 => 1]; unset($a[5]); apcu_store('ni', $a); $b = apcu_fetch('ni'); $b[] = 1; return array_keys($b); });
show('next index2', function () { $a = [1, 2, 3]; unset($a[2]); apcu_store('ni', $a); $b = apcu_fetch('ni'); $b[] = 1; return array_keys($b); });
show('holes', function () { $a = [1, 2, 3]; unset($a[0]); apcu_store('ho', $a); return apcu_fetch('ho'); });
show('current', function () { $a = [1, 2, 3]; next($a); apcu_store('cu', $a); return current(apcu_fetch('cu')); });
show('typed prop', function () { $o = new class(5) { public function __construct(public int $n) {} }; return apcu_store('tp', $o); });
class Inner implements Serializable {
    public $read;
    public function serialize() { return ''; }
    public function unserialize($text) { $this->read = apcu_fetch('inner'); }
}
show('within unserialize', function () {
    $value = ['user' => ['enabled' => true], 'fine' => false];
    $value['user']['fine'] = &$value['fine'];
    apcu_store('inner', $value);
    return @unserialize(serialize(new Inner))->read;
});
