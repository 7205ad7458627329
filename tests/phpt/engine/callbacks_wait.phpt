--TEST--
Waits inside the callbacks of internal functions
--FILE--
<?php
$wait = fn ($x) => usleep(200) ?? $x;
echo implode(',', array_map($wait, [1, 2, 3])), "\n";
$list = [3, 1, 2];
usort($list, function ($a, $b) { usleep(200); return $a <=> $b; });
echo implode(',', $list), "\n";
echo preg_replace_callback('/\d/', fn ($m) => $wait($m[0] + 1), 'a1b2'), "\n";
array_walk($list, function (&$value) { usleep(200); $value *= 2; });
echo implode(',', $list), "\n";
echo implode(',', array_filter([1, 2, 3, 4], function ($x) { usleep(200); return $x % 2; })), "\n";
echo array_reduce([1, 2, 3], function ($sum, $x) { usleep(200); return $sum + $x; }, 0), "\n";
echo implode(',', iterator_to_array((function () { foreach ([1, 2] as $x) { usleep(200); yield $x; } })())), "\n";
echo call_user_func_array(function (...$all) { usleep(200); return count($all); }, [1, 2]), "\n";
--EXPECT--
1,2,3
1,2,3
a2b3
2,4,6
1,3
6
1,2
2
