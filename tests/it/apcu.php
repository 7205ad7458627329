<?php

// What the functions of APCu do, line by line: printed by APCu and by Hearth's in its place, and compared (tests/it/apcu.rs).

function show(string $what, callable $f): void {
    try { $r = $f(); } catch (Throwable $e) { $r = get_class($e) . ': ' . $e->getMessage(); }
    echo $what, ' ', json_encode($r), "\n";
}
function sorted(array $list): array { sort($list); return $list; }
set_error_handler(function ($n, $m) { echo "[$m] "; return true; });
apcu_clear_cache();
show('store int key', fn () => apcu_store(5, 1));
show('store empty', fn () => [apcu_store('', 1), apcu_fetch('')]);
show('store nul', fn () => [apcu_store("a\0b", 1), apcu_fetch("a\0b")]);
show('neg ttl', fn () => [apcu_store('n', 1, -5), apcu_fetch('n')]);
show('array store', fn () => apcu_store(['a' => 1, 'b' => 2, 7 => 3]));
show('array fetch', function () { $r = apcu_fetch(['a', 'none', 'b', '7', 7], $s); return [$r, $s]; });
show('array fetch none', function () { $r = apcu_fetch(['none'], $s); return [$r, $s]; });
show('array fetch bad', function () { $r = apcu_fetch(['a', 1.5, null], $s); return [$r, $s]; });
show('fetch int', function () { $r = apcu_fetch(7, $s); return [$r, $s]; });
show('add array', fn () => apcu_add(['a' => 9, 'c' => 9]));
show('exists array', fn () => apcu_exists(['a', 'x', '7', 7, null]));
show('exists null', fn () => apcu_exists(null));
show('delete array', fn () => apcu_delete(['a', 'x', 7, null]));
show('delete null', fn () => apcu_delete(5.5));
show('inc new', function () { $r = apcu_inc('i', 5, $s, 60); return [$r, $s, apcu_fetch('i')]; });
show('inc', function () { $r = apcu_inc('i', -2, $s); return [$r, $s, apcu_dec('i')]; });
show('inc string', function () { apcu_store('s', '5'); $r = apcu_inc('s', 1, $s); return [$r, $s]; });
show('inc float', function () { apcu_store('s', 1.5); $r = apcu_inc('s', 1, $s); return [$r, $s]; });
show('cas', fn () => [apcu_store('c', 1), apcu_cas('c', 2, 3), apcu_cas('c', 1, 3), apcu_fetch('c'), apcu_cas('none', 1, 2), apcu_store('t','1'), apcu_cas('t',1,2)]);
show('entry', fn () => [apcu_entry('e', fn ($k) => "$k made", 60), apcu_entry('e', fn () => 'no'), apcu_fetch('e')]);
show('entry throws', fn () => apcu_entry('et', fn ($k) => throw new DomainException('x')));
show('entry throws', fn () => apcu_exists('et'));
show('entry null', fn () => [apcu_entry('en', fn () => null), apcu_exists('en')]);
show('closure', fn () => apcu_store('f', fn () => 1));
show('resource', fn () => apcu_store('f', STDIN ?? null));
show('false', function () { apcu_store('f', false); $r = apcu_fetch('f', $s); return [$r, $s]; });
show('object', function () { $o = new ArrayObject([1]); apcu_store('o', [$o, $o]); $o[] = 2; $a = apcu_fetch('o'); return [$a, $a[0] === $a[1], apcu_fetch('o')[0] === $a[0]]; });
show('key_info', fn () => apcu_key_info('none'));
show('key_info keys', fn () => array_keys(apcu_key_info('o')));
show('info keys', fn () => [array_keys(apcu_cache_info()), array_keys(apcu_cache_info(true)), array_keys(apcu_cache_info()['cache_list'][0])]);
show('sma', fn () => [array_keys(apcu_sma_info()), array_keys(apcu_sma_info(true))]);
show('enabled', fn () => apcu_enabled());
show('ttl', fn () => [apcu_store('x', 1, 600), apcu_key_info('x')['ttl'], apcu_cas('x', 1, 2), apcu_key_info('x')['ttl'], apcu_inc('x'), apcu_key_info('x')['ttl']]);
show('functions', fn () => sorted(array_map(fn ($f) => [$f, (new ReflectionFunction($f))->getNumberOfRequiredParameters(), array_map(fn ($p) => $p->getName(), (new ReflectionFunction($f))->getParameters())], array_filter(get_defined_functions()['internal'], fn ($f) => str_starts_with($f, 'apcu_')))));
show('clear', fn () => [apcu_clear_cache(), apcu_fetch('o'), apcu_cache_info(true)['num_entries']]);
apcu_store(['ia1' => 1, 'ia2' => [2], 'ib' => 'x'], null, 60);
$sorted = function ($it) { $a = []; foreach ($it as $k => $v) { if (is_array($v)) { unset($v['mtime'], $v['access_time'], $v['creation_time'], $v['num_hits']); if (isset($v['mem_size'])) { $v['mem_size'] = $v['mem_size'] > 0; } } $a[$k] = $v; } ksort($a); return $a; };
show('it count', function () { $i = new APCUIterator('/^ia/'); return [$i->getTotalCount(), $i->getTotalSize() > 0, is_int($i->getTotalHits())]; });
show('it regex', fn () => $sorted(new APCUIterator('/^ia/', APC_ITER_KEY | APC_ITER_VALUE)));
show('it none', fn () => $sorted(new APCUIterator(null, APC_ITER_NONE)));
show('it array', fn () => $sorted(new APCUIterator(['ib', 'none'], APC_ITER_VALUE)));
show('constants', function () { $all = array_filter(get_defined_constants(), fn ($n) => str_starts_with($n, 'APC_'), ARRAY_FILTER_USE_KEY); ksort($all); return $all; });
show('ini', fn () => [ini_get('apc.enabled'), ini_get('apc.enable_cli')]);
show('it all', fn () => $sorted(new APCUIterator('/ib/')));
show('it invalid', function () { $i = new APCUIterator('/^none/'); return [$i->valid(), $i->current(), $i->key()]; });
show('it deleted', fn () => $sorted(new APCUIterator(null, APC_ITER_KEY, 0, APC_LIST_DELETED)));
show('delete it', fn () => [apcu_delete(new APCUIterator('/^ia/')), apcu_exists(['ia1', 'ia2', 'ib'])]);
show('store array value ttl', fn () => [apcu_store(['z' => 1], 5), apcu_fetch('z')]);
show('long key', fn () => [apcu_store(str_repeat('k', 3000), 1), apcu_fetch(str_repeat('k', 3000))]);
