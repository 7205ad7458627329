<?php

// What the language itself does with a value in a variable that requests share.

// They convert their operands.
declare(strict_types=0);

final class Operators
{
    public static string|int $typed = '';
    public static int $number = 0;
    public static $key;
    public static $element;

    /** @return array<string, Closure> */
    public static function all(): array
    {
        static $all;
        return $all ??= self::reads() + self::compares() + self::writes() + self::functions();
    }

    private static function reads(): array
    {
        return [
            'string' => static fn () => (string) Act::$value,
            'int' => static fn () => (int) Act::$value,
            'bool' => static fn () => (bool) Act::$value,
            'array' => static fn () => (array) Act::$value,
            'echo' => static function () { echo Act::$value; },
            'concat' => static fn () => Act::$value . 'x' . Act::$value,
            'rope' => static fn () => 'a' . "b {Act::$inner} c" . strlen('x' . Act::$value),
            'add' => static fn () => Act::$value + 1,
            'multiply' => static fn () => 2 * Act::$value,
            'not' => static fn () => ~Act::$value,
            'clone' => static fn () => clone Act::$value,
            'count' => static fn () => count(Act::$value),
            'foreach' => static function () { $all = []; foreach (Act::$value as $key => $element) { $all[] = [$key, $element]; } return $all; },
            'foreach-static' => static function () { foreach (Act::$value as self::$key => self::$element) { $all[] = self::$key; } return $all ?? 0; },
            'foreach-reference' => static function () { foreach (Act::$value as $key => &$element) { $all[] = $key; } return $all ?? 0; },
            'spread' => static fn () => [...Act::$value],
            'arguments' => static fn () => max(1, ...Act::$value),
            'yield-from' => static function () { $all = []; foreach ((static function () { yield from Act::$value; })() as $one) { $all[] = $one; } return $all; },
            'list' => static function () { [$one, $two] = Act::$value; return [$one, $two]; },
            'keys' => static function () { ['a' => $one, 'ref' => $two] = Act::$value; return [$one, $two]; },
            'element' => static fn () => Act::$value['k1'],
            'element-fraction' => static fn () => Act::$value[1.5],
            'element-null' => static fn () => Act::$value[null],
            'element-deep' => static fn () => Act::$value['k2'][1.5],
            'element-isset' => static fn () => isset(Act::$value['k1']),
            'element-empty' => static fn () => empty(Act::$value['k1']['x']),
            'element-or' => static fn () => Act::$value['k1']['x'] ?? Act::$value[1.5] ?? 7,
            'property' => static fn () => Act::$value->missing,
            'property-known' => static fn () => Act::$value->one->two,
            'property-isset' => static fn () => isset(Act::$value->missing->more),
            'property-or' => static fn () => Act::$value->missing->more ?? 7,
            'invoke' => static fn () => (Act::$value)('x'),
            'method' => static fn () => Act::$value->unknown('x'),
            'key' => static fn () => ['1' => 'x'][Act::$value],
            'throw' => static fn () => throw Act::$value,
            'instance' => static fn () => new (Act::$value)(1.5),
            'match' => static fn () => match (true) { Act::$value == '1' => 1, default => 2 },
        ];
    }

    private static function compares(): array
    {
        return [
            'equal' => static fn () => Act::$value == Act::$second,
            'equal-number' => static fn () => Act::$value == 1,
            'equal-text' => static fn () => 'text' == Act::$value,
            'spaceship' => static fn () => Act::$value <=> Act::$second,
            'less' => static fn () => Act::$value < Act::$second,
            'switch' => static function () { switch (Act::$value) { case Act::$second: return 1; default: return 2; } },
            'in_array' => static fn () => in_array(Act::$value, [1, 'x', Act::$second]),
            'sort' => static function () { $list = [Act::$value, Act::$second, 'x']; sort($list); return count($list); },
            'unique' => static fn () => count(array_unique([Act::$value, Act::$second, Act::$value], SORT_REGULAR)),
            'max' => static fn () => gettype(max([Act::$value, Act::$second])),
        ];
    }

    private static function writes(): array
    {
        return [
            'assign' => static function () { Act::$value = 'new'; },
            'assign-typed' => static function () { self::$typed = Act::$value; },
            'assign-number' => static function () { self::$number = Act::$inner; self::$number = 1.5; },
            'assign-concat' => static function () { return Act::$value .= new Text(); },
            'assign-concat-own' => static function () { return Act::$inner['k'] .= Act::$value; },
            'assign-add' => static function () { return Act::$value += new Text(); },
            'assign-property' => static function () { Act::$value->kept = Act::$second; },
            'assign-missing' => static function () { Act::$value->missing = Act::$second; },
            'assign-property-concat' => static function () { return Act::$value->kept .= new Text(); },
            'assign-property-element' => static function () { return Act::$value->list['a'] .= new Text(); },
            'assign-property-deep' => static function () { return Act::$value->two->three[1.5]['x'] = new Text(); },
            'assign-element' => static function () { return Act::$value['k1'] = Act::$second; },
            'assign-element-fraction' => static function () { return Act::$value[1.5] = new Text(); },
            'assign-element-deep' => static function () { return Act::$value['k2'][1.5]['z'] = new Text(); },
            'assign-element-concat' => static function () { return Act::$value['k1'] .= new Text(); },
            'assign-element-or' => static function () { return Act::$value['k1'][1.5] ??= new Text(); },
            'append' => static function () { return Act::$value[] = Act::$second; },
            'append-deep' => static function () { return Act::$value[][1.5] = Act::$second; },
            'reference' => static function () { $one = &Act::$value['k1'][1.5]; $one = 7; },
            'reference-property' => static function () { $one = &Act::$value->missing; $one = 7; },
            'increment' => static function () { return ++Act::$value; },
            'increment-property' => static function () { return Act::$value->missing++; },
            'increment-element' => static function () { return Act::$value['k1']++; },
            'unset-element' => static function () { unset(Act::$value['k1']); },
            'unset-fraction' => static function () { unset(Act::$value[1.5]); },
            'unset-deep' => static function () { unset(Act::$value['k2'][1.5]); },
            'unset-property' => static function () { unset(Act::$value->missing); },
            'unset-property-known' => static function () { unset(Act::$value->kept); },
            'return-type' => static fn (): string => Act::$value,
            'parameter-type' => static fn () => (static fn (string $text, int $n) => $text)(Act::$value, 1.5),
        ];
    }

    private static function functions(): array
    {
        return [
            'var_dump' => static function () { var_dump(Act::$value); },
            'print_r' => static fn () => print_r(Act::$value, true),
            'var_export' => static fn () => var_export(Act::$value, true),
            'debug_zval_dump' => static function () { debug_zval_dump(Act::$value); },
            'serialize' => static fn () => serialize(Act::$value),
            'serialize-part' => static fn () => serialize(['x' => &Act::$value, 'y' => &Act::$inner]),
            'unserialize' => static fn () => unserialize(serialize(Act::$value)),
            'json' => static fn () => json_encode(Act::$value),
            'vars' => static fn () => count(get_object_vars(Act::$value)),
            'iterate' => static fn () => count(iterator_to_array(Act::$value)),
            'walk' => static fn () => array_walk_recursive(Act::$value, static function () { Wait::here(); }),
            'extract' => static fn () => extract(Act::$value, EXTR_PREFIX_ALL, null),
            'implode' => static fn () => implode(',', Act::$value),
        ];
    }
}
